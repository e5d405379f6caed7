"""The summary of a workflow's step, in Markdown."""

from typing import Final

from reconciler.show.formats import FormatOptions
from reconciler.show.formats.markdown import default_marker, document
from reconciler.show.reading import Report

#: GitHub takes 1 MiB for everything that is written to a step's summary; some room is left for others.
LIMIT: Final = 1024 * 1024 - 4096


def write(report: Report, options: FormatOptions) -> str:
    """At most 1 MiB of UTF-8."""
    return document(report, default_marker(report), LIMIT, _utf8, options.on_cut)


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
