"""Faults that change nothing that anybody may rely on, each with the reason: the score leaves them out."""

from typing import Final

#: File, function, before, after (as ``tests.mutants.sites.Site.key``): why.
EQUIVALENT: Final[dict[tuple[str, str, str, str], str]] = {}
