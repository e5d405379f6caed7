"""Patterns that get their first binding or lose their last, which default-allow closes or opens; for all formats."""

from collections.abc import Iterator

from reconciler.plan import Plan
from reconciler.report.words import pattern_words


def coverage_words(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A title and its patterns; nothing where coverage stays."""
    for title, patterns in (
        ("Gets its first ACL: closed to everybody else if default-allow is on", plan.coverage.closed),
        ("Loses its last ACL: open to everybody if default-allow is on", plan.coverage.opened),
    ):
        if patterns:
            yield title, tuple(map(pattern_words, patterns))
