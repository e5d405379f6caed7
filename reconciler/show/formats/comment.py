"""A pull request's comment in Markdown, with a hidden marker by which a bot finds it again."""

from typing import Final

from reconciler.show.formats import FormatOptions
from reconciler.show.formats.markdown import default_marker, document
from reconciler.show.reading import Report

#: GitHub takes 65,536 characters for a comment; some room is left for what a bot adds.
LIMIT: Final = 60_000


def write(report: Report, options: FormatOptions) -> str:
    """At most 60,000 characters."""
    return document(report, options.marker or default_marker(report), LIMIT, _utf16, options.on_cut)


def _utf16(text: str) -> int:
    """Characters as JavaScript counts them, never fewer than others do."""
    return len(text.encode("utf-16-le", "replace")) // 2
