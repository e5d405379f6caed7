"""Faults that change nothing that anybody may rely on, each with the reason: the score leaves them out."""

from typing import Final

from tests.mutants.equivalent_access import EQUIVALENT_ACCESS
from tests.mutants.equivalent_apply import EQUIVALENT_APPLY
from tests.mutants.equivalent_diff import EQUIVALENT_DIFF
from tests.mutants.equivalent_manifest import EQUIVALENT_MANIFEST
from tests.mutants.equivalent_parts import EQUIVALENT_PARTS
from tests.mutants.equivalent_plan import EQUIVALENT_PLAN

#: File, function, before, after (as ``tests.mutants.sites.Site.key``): why.
EQUIVALENT: Final[dict[tuple[str, str, str, str], str]] = {
    **EQUIVALENT_ACCESS,
    **EQUIVALENT_APPLY,
    **EQUIVALENT_DIFF,
    **EQUIVALENT_MANIFEST,
    **EQUIVALENT_PARTS,
    **EQUIVALENT_PLAN,
}
