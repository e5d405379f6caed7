"""New items and documents as YAML text, in the way in which the file around them is written.

Leaves are texts that are quoted already, so that they may stand between brackets: :func:`reconciler.report.export.
yaml_text.scalar` with ``flow``. Names come from clusters and may be anything that a manifest can hold.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from reconciler.edit.layout import TextSpan, comments_between
from reconciler.edit.splices import Splice, with_flow_item, with_lines_after
from reconciler.report.export.yaml_text import WIDTH, document_head, scalar

#: A leaf is YAML already.
Written: TypeAlias = "str | Sequence[Written] | Mapping[str, Written]"
Item: TypeAlias = Mapping[str, Written]
#: The key of an item whose text is a comment above it.
NOTE: Final = "#"

_STEP: Final = 2


def quoted(text: str) -> str:
    """A text as YAML that may stand anywhere."""
    return scalar(text, flow=True)


def flow(value: Written) -> str:
    """On one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(key)}: {flow(one)}" for key, one in value.items() if key != NOTE) + "}"
    return "[" + ", ".join(map(flow, value)) + "]"


def entry_lines(key: str, value: Written, column: int) -> list[str]:
    """A key and its value, on one line if it fits."""
    margin = " " * column
    line = f"{margin}{quoted(key)}: {flow(value)}"
    if isinstance(value, str) or len(line) <= WIDTH:
        return [line]
    if isinstance(value, Mapping):
        below = [line for name, one in value.items() for line in entry_lines(name, one, column + _STEP)]
        return [f"{margin}{quoted(key)}:", *below]
    return [f"{margin}{quoted(key)}:", *(f"{margin}{' ' * _STEP}- {flow(one)}" for one in value)]


def item_lines(item: Item, column: int) -> list[str]:
    """An item of a block list; ``column`` is that of its dash."""
    margin = " " * column
    lines = [line for key, value in item.items() if key != NOTE for line in entry_lines(key, value, column + _STEP)]
    return [*_note(item, margin), f"{margin}- {lines[0].lstrip()}", *lines[1:]]


def _note(item: Item, margin: str) -> list[str]:
    return [f"{margin}# {item[NOTE]}"] if NOTE in item else []


def with_items(text: str, mapping: TextSpan, key: str, items: Sequence[Item]) -> list[Splice]:
    """Items after the last one of a key's list, which may be empty or not there."""
    entry = mapping.entry(key)
    if entry is None:
        return with_list(text, mapping, key, items)
    named, span = entry
    if span.items or mapping.flow or text[named.end : span.start].strip() != ":":
        return appended(text, span, items)
    # An empty list on the line of its key: it becomes one with an item a line, which reads better.
    column = named.column + _STEP
    notes = [f"{' ' * column}{note}" for note in comments_between(text[span.start : span.end])]
    lines = [*notes, *(line for item in items for line in item_lines(item, column))]
    return [Splice(text.index(":", named.end) + 1, span.end), with_lines_after(text, span.end, lines)]


def appended(text: str, span: TextSpan, items: Sequence[Item]) -> list[Splice]:
    """The items after the last one of a list, each written as that one is if it fits."""
    if span.flow:
        return [with_flow_item(text, span, ", ".join(map(flow, items)))]
    column, last = span.column, span.items[-1]
    lines: list[str] = []
    for item in items:
        line = f"{' ' * column}- {flow(item)}"
        fits = last.flow and len(line) <= WIDTH
        lines += [*_note(item, " " * column), line] if fits else item_lines(item, column)
    return [with_lines_after(text, last.end, lines)]


def with_entry(text: str, mapping: TextSpan, key: str, value: Written) -> list[Splice]:
    """A key with this value: in place of its value, or as the last entry."""
    found = mapping.entry(key)
    if found is not None:
        return [Splice(found[1].start, found[1].end, flow(value))]
    if mapping.flow or not mapping.entries:
        return [with_flow_item(text, mapping, f"{quoted(key)}: {flow(value)}")]
    return [with_lines_after(text, mapping.entries[-1][1].end, entry_lines(key, value, mapping.column))]


def with_list(text: str, mapping: TextSpan, key: str, items: Sequence[Item]) -> list[Splice]:
    """A list of items as a new last entry of a mapping."""
    if mapping.flow:
        return with_entry(text, mapping, key, items)
    column = mapping.column
    lines = [f"{' ' * column}{key}:", *(line for item in items for line in item_lines(item, column + _STEP))]
    return [with_lines_after(text, mapping.entries[-1][1].end, lines)]


def document(kind: str, name: str, head: Mapping[str, Written], key: str, items: Sequence[Item]) -> list[str]:
    """The lines of a new document: fields of its spec, and a list of items."""
    lines = document_head(kind, name)
    lines += [line for field, value in head.items() for line in entry_lines(field, value, _STEP)]
    return [*lines, f"  {key}:", *(line for item in items for line in item_lines(item, 2 * _STEP))]
