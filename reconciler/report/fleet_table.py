"""Rows with named columns as text."""

from collections.abc import Iterator, Sequence
from typing import Any

from reconciler.report.style import counted, safe


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Columns as wide as they have to be, and how many rows there are."""
    shown = [[_text(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[index]) for row in shown), 0) for index, name in enumerate(columns)]
    yield "  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip()
    for row in shown:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield counted(len(rows), "row")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    return "" if value is None else safe(str(value))
