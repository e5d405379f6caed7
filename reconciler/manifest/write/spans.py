"""YAML texts changed in place: spans, splices, new items.

A YAML text as a tree of spans: where each value begins and ends, so that it can be changed and nothing else is.

The nodes of ``manifest.reader`` say where values begin; an edit also needs their ends, the dashes and the way in which
a collection is written. Only texts that the reader takes come here, so there are no anchors, tags or odd keys.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple, TypeAlias

import yaml
from yaml._yaml import CParser

from reconciler.dataclass import dataclass
from reconciler.manifest.write.text import WIDTH, document_head, scalar

_BLANK: Final = " \t"
_BREAKS: Final = "\r\n"
#: Of a text between two values.
_COMMENT: Final = re.compile(r"(?:^|[\s\[{,\]}])(#[^\r\n]*)")


@dataclass(slots=True, eq=False)
class TextSpan:
    """One value: ``text[start:end]``, and the line and column of its beginning, from 0.

    A scalar has neither ``items`` nor ``entries``. ``flow``: written in brackets. ``dashes`` are the places of the
    dashes of a list's items; the end of a block collection is that of its last value, without comments after it.
    """

    kind: str
    start: int
    end: int
    line: int
    column: int
    flow: bool = False
    plain: str = ""
    items: "list[TextSpan]" = field(default_factory=list)
    dashes: list[int] = field(default_factory=list)
    entries: "list[tuple[TextSpan, TextSpan]]" = field(default_factory=list)

    def get(self, *path: str) -> "TextSpan | None":
        """The value at the end of a path of keys, or ``None``."""
        span: TextSpan | None = self
        for key in path:
            entry = None if span is None else span.entry(key)
            span = None if entry is None else entry[1]
        return span

    def entry(self, key: str) -> "tuple[TextSpan, TextSpan] | None":
        """The key and value of that name, or ``None``."""
        return next((entry for entry in self.entries if entry[0].plain == key), None)

    def walk(self) -> "Iterator[TextSpan]":
        """The value itself and all below it."""
        yield self
        for item in self.items:
            yield from item.walk()
        for _, value in self.entries:
            yield from value.walk()

    @property
    def texts(self) -> "list[TextSpan]":
        """A scalar, or the scalars of a list."""
        if self.kind == "scalar":
            return [self]
        return [item for item in self.items if item.kind == "scalar"]


@dataclass(frozen=True, slots=True, eq=False)
class DocumentSpan:
    """A document: its root, and the place of its ``---`` (the beginning of the text where it has none)."""

    root: TextSpan
    start: int


def layout(text: str) -> list[DocumentSpan]:
    """The documents of a text that are not empty, in order; the reader has to have taken the text."""
    following: Callable[[], Any] = CParser(text).get_event
    event: Any
    documents = []
    start = 0
    while type(event := following()) is not yaml.StreamEndEvent:
        if type(event) is yaml.DocumentStartEvent:
            mark: Any = event.start_mark
            start = mark.index
            first = following()
            root = _node(text, first, following)
            if root.kind != "scalar":
                documents.append(DocumentSpan(root, start))
    return documents


def _node(text: str, opening: Any, following: Callable[[], Any]) -> TextSpan:
    mark = opening.start_mark
    kind = type(opening)
    if kind is yaml.ScalarEvent:
        end = opening.end_mark.index
        if opening.style in ("|", ">"):
            # Its end mark is where the next token begins.
            end = mark.index + len(text[mark.index : end].rstrip())
        return TextSpan("scalar", mark.index, end, mark.line, mark.column, plain=opening.value)
    is_list = kind is yaml.SequenceStartEvent
    span = TextSpan(
        "list" if is_list else "mapping", mark.index, mark.index, mark.line, mark.column, bool(opening.flow_style)
    )
    closing = yaml.SequenceEndEvent if is_list else yaml.MappingEndEvent
    at = span.start
    event: Any
    while type(event := following()) is not closing:
        node = _node(text, event, following)
        if not is_list:
            value = _node(text, following(), following)
            span.entries.append((node, value))
            at = value.end
            continue
        if not span.flow:
            span.dashes.append(past_blanks(text, at))
        span.items.append(node)
        at = node.end
    closed: Any = event.end_mark
    span.end = closed.index if span.flow else at
    return span


def past_blanks(text: str, at: int) -> int:
    """The first place from ``at`` on that is neither blank nor in a comment."""
    while at < len(text):
        if text[at] == "#":
            at = line_end(text, at)
        elif text[at] in _BLANK or text[at] in _BREAKS:
            at += 1
        else:
            break
    return at


def line_start(text: str, at: int) -> int:
    """Where the line of that place begins."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def line_end(text: str, at: int) -> int:
    """Where the line of that place ends, before its break."""
    places = [place for mark in _BREAKS if (place := text.find(mark, at)) >= 0]
    return min(places, default=len(text))


def next_line(text: str, at: int) -> int:
    """Where the line after that of the place begins; the end of the text where it is the last."""
    end = line_end(text, at)
    return end + (2 if text[end : end + 2] == "\r\n" else 1 if end < len(text) else 0)


def line_break(text: str) -> str:
    """How the text ends its lines."""
    return "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"


def comments_between(text: str) -> list[str]:
    """The comments of a text in which no value stands, in order."""
    return [match.group(1).rstrip() for match in _COMMENT.finditer(text)]


def comments(text: str, span: TextSpan, *, flow: bool = False) -> list[str]:
    """The comments inside a value and at the end of its last line, in order; ``flow``: it stands between brackets."""
    notes, at = [], span.start
    after = past_comma(text, span.end) if flow else span.end
    # Behind a value between brackets there may be another one on the line, and the comment is about that.
    last = line_end(text, after) if ends_line(text, after) else after
    for start, end in (*((leaf.start, leaf.end) for leaf in _leaves(span)), (last, last)):
        notes += comments_between(text[at:start])
        at = end
    return notes


def past_comma(text: str, at: int) -> int:
    """The place after the comma that follows a value between brackets; ``at`` where none does."""
    comma = past_blanks(text, at)
    return comma + 1 if text[comma : comma + 1] == "," else at


def ends_line(text: str, end: int) -> bool:
    """Whether nothing but a comma and a comment follows on the line."""
    rest = text[end : line_end(text, end)].strip().removeprefix(",").strip()
    return not rest or rest.startswith("#")


def _leaves(span: TextSpan) -> Iterator[TextSpan]:
    if span.kind == "scalar":
        yield span
    for item in span.items:
        yield from _leaves(item)
    for key, value in span.entries:
        yield key
        yield from _leaves(value)


# Changes to a text by place: what lies between two of them stays to the byte.
#
# A cut takes whole lines where a value has them for itself, with the comment at its end. Comments on lines of their
# own stay, unless they stand inside what is cut.


class Splice(NamedTuple):
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str = ""


class OverlapError(Exception):
    """Two changes meet at one place, which the editor does not untangle."""


def spliced(text: str, splices: Collection[Splice]) -> str:
    """The text with all changes; raises :class:`OverlapError` where two of them overlap and not both only cut."""
    parts, at, cutting = list[str](), 0, False
    for splice in _untangled(text, sorted(set(splices))):
        if splice.start < at and not (cutting and not splice.new):
            raise OverlapError
        parts += [text[at : splice.start], splice.new]
        at, cutting = max(at, splice.end), not splice.new
    return "".join([*parts, text[at:]])


def _untangled(text: str, splices: list[Splice]) -> list[Splice]:
    """The same where new lines end at the last lines of a text without a last break, and those are cut.

    Such a cut takes the break before its lines. It is left that break, and the new lines do without their own.
    """
    newline = line_break(text)
    last = next(
        (splice for splice in splices if splice.end == len(text) and text.startswith(newline, splice.start)), None
    )
    if last is None or text.endswith(newline):
        return splices
    first = last.start + len(newline)
    meeting = [
        splice for splice in splices if splice is not last and splice.end == first and splice.new.endswith(newline)
    ]
    if not meeting:
        return splices
    shorter = meeting[-1]._replace(new=meeting[-1].new.removesuffix(newline))
    others = [splice for splice in splices if splice not in (last, meeting[-1])]
    return sorted([*others, shorter, last._replace(start=first)])


def without_items(text: str, span: TextSpan, gone: Collection[int]) -> list[Splice]:
    """A list without some of its items, by number; some remain."""
    places = [(item.start, item.end) for item in span.items]
    if span.flow:
        return _without_flow(text, places, gone)
    return [_lines(text, span.dashes[number], span.items[number].end) for number in sorted(gone)]


def emptied(text: str, key: TextSpan, span: TextSpan, notes: Sequence[Sequence[str]] | None = None) -> list[Splice]:
    """The list of a key without any items: ``[]`` where it began. ``notes`` are comments to keep, for each item."""
    kept = notes or [()] * len(span.items)
    if not span.flow:
        # "key:" ends a line before the first dash: the brackets go there, and the lines of the items go.
        before = text.index(":", key.end) + 1
        cuts = without_items(text, span, range(len(span.items)))
        return [Splice(before, before, " []"), *with_notes(text, span, cuts, kept)]
    cuts = [_flow_item(text, item.start, item.end) for item in span.items]
    ends = [span.start + 1, *(cut.end for cut in cuts)]
    starts = [*(cut.start for cut in cuts), span.end - 1]
    remaining = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    if remaining.strip() or any(kept):
        return with_notes(text, span, cuts, kept)
    return [Splice(span.start, span.end, "[]")]


def _flow_item(text: str, start: int, end: int) -> Splice:
    """An item between brackets with its comma, with its line and the comment there where it has it for itself."""
    end = past_comma(text, end)
    if not ends_line(text, end):
        return Splice(start, end)
    if _own_line(text, start):
        return Splice(line_start(text, start), next_line(text, end))
    return Splice(start, line_end(text, end))


def with_notes(text: str, span: TextSpan, cuts: Sequence[Splice], notes: Sequence[Sequence[str]]) -> list[Splice]:
    """The cuts of items of a list, in order, with the comments that each of them leaves, on lines of their own."""
    newline, done = line_break(text), list[Splice]()
    for cut, kept in zip(cuts, notes, strict=True):
        if span.flow:
            at = line_start(text, cut.start)
            blank = len(text[at:]) - len(text[at:].lstrip(" "))
            margin = " " * (blank if at == cut.start else blank + 2)
        else:
            margin = " " * span.column
        # A cut at the end of a text without a last break takes the break before it.
        whole = line_start(text, cut.start) == cut.start
        lines = [f"{margin}{note}{newline}" if whole else f"{newline}{margin}{note}" for note in kept]
        if kept and span.flow and not whole:
            lines.append(f"{newline}{margin}")
        done.append(cut._replace(new="".join(lines)))
    return done


def without_entries(text: str, span: TextSpan, gone: Collection[str]) -> list[Splice]:
    """A mapping without some of its keys; some remain."""
    places = [(key.start, value.end) for key, value in span.entries]
    numbers = [number for number, (key, _) in enumerate(span.entries) if key.plain in gone]
    if span.flow:
        return _without_flow(text, places, numbers)
    splices = []
    for number in numbers:
        start, end = places[number]
        if number == 0 and text[line_start(text, start) : start].strip():
            # It stands behind the dash of its item: the next key that stays takes its place.
            staying = next(number for number in range(len(places)) if number not in numbers)
            return [
                Splice(start, places[staying][0]),
                *without_entries(text, _tail(span, staying), gone),
            ]
        splices.append(_lines(text, start, end))
    return splices


def _tail(span: TextSpan, number: int) -> TextSpan:
    return TextSpan(span.kind, span.entries[number][0].start, span.end, 0, 0, entries=span.entries[number:])


def _lines(text: str, start: int, end: int) -> Splice:
    """The lines from ``start`` to ``end`` with the comment after it; also the break before the last line of a text."""
    first, last = line_start(text, start), next_line(text, end)
    if last == len(text) and first and line_end(text, end) == len(text):
        return Splice(first - len(line_break(text)), last)
    return Splice(first, last)


def _without_flow(text: str, places: Sequence[tuple[int, int]], gone: Collection[int]) -> list[Splice]:
    """Items between brackets, without those that go and the commas after them, or before the last ones."""
    splices = []
    kept = [number for number in range(len(places)) if number not in gone]
    for number in sorted(gone):
        start, end = places[number]
        if number > kept[-1]:
            if not _own_line(text, start):
                # All that follows the last one that stays goes at once.
                splices.append(Splice(places[kept[-1]][1] if number == kept[-1] + 1 else places[number - 1][1], end))
                continue
            after = past_blanks(text, end)
            splices.append(
                _lines(text, start, after if text[after] == "," else end)
                if ends_line(text, end)
                else Splice(start, end)
            )
            continue
        comma = past_blanks(text, end)
        if _own_line(text, start) and ends_line(text, comma + 1):
            splices.append(Splice(line_start(text, start), next_line(text, comma)))
        else:
            after = comma + 1
            while text[after] == " ":
                after += 1
            splices.append(Splice(start, comma + 1 if text[after] == "#" else after))
    return splices


def _own_line(text: str, start: int) -> bool:
    return not text[line_start(text, start) : start].strip()


def with_lines_after(text: str, at: int, lines: Sequence[str]) -> Splice:
    """Whole lines after the one of the place."""
    newline, place = line_break(text), next_line(text, at)
    if place == len(text) and line_end(text, at) == place and place:
        return Splice(place, place, "".join(newline + line for line in lines))
    return Splice(place, place, "".join(line + newline for line in lines))


def with_flow_item(text: str, span: TextSpan, written: str) -> Splice:
    """One more item or entry before the closing bracket, on a line of its own where the last one has one."""
    ends = [item.end for item in span.items] or [value.end for _, value in span.entries]
    starts = [item.start for item in span.items] or [key.start for key, _ in span.entries]
    if not ends:
        blank = " " if text[span.start + 1] == "#" else ""
        return Splice(span.start + 1, span.start + 1, written + blank)
    last, end = starts[-1], ends[-1]
    if _own_line(text, last):
        margin = text[line_start(text, last) : last]
        return Splice(end, end, f",{line_break(text)}{margin}{written}")
    return Splice(end, end, f", {written}")


# New items and documents as YAML text, in the way in which the file around them is written.
#
# Leaves are texts that are quoted already, so that they may stand between brackets: :func:`reconciler.manifest.write.
# yaml_text.scalar` with ``flow``. Names come from clusters and may be anything that a manifest can hold.

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
        return "{" + ", ".join(f"{quoted(key)}: {flow(inner)}" for key, inner in value.items() if key != NOTE) + "}"
    return "[" + ", ".join(map(flow, value)) + "]"


def entry_lines(key: str, value: Written, column: int) -> list[str]:
    """A key and its value, on one line if it fits."""
    margin = " " * column
    line = f"{margin}{quoted(key)}: {flow(value)}"
    if isinstance(value, str) or len(line) <= WIDTH:
        return [line]
    if isinstance(value, Mapping):
        below = [line for name, inner in value.items() for line in entry_lines(name, inner, column + _STEP)]
        return [f"{margin}{quoted(key)}:", *below]
    return [f"{margin}{quoted(key)}:", *(f"{margin}{' ' * _STEP}- {flow(item)}" for item in value)]


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
    entry = mapping.entry(key)
    if entry is not None:
        return [Splice(entry[1].start, entry[1].end, flow(value))]
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
