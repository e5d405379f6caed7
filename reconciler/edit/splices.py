"""Changes to a text by place: what lies between two of them stays to the byte.

A cut takes whole lines where a value has them for itself, with the comment at its end. Comments on lines of their own
stay, unless they stand inside what is cut.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from reconciler.edit.layout import (
    TextSpan,
    ends_line,
    line_break,
    line_end,
    line_start,
    next_line,
    past_blanks,
    past_comma,
)


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
    last = next((one for one in splices if one.end == len(text) and text.startswith(newline, one.start)), None)
    if last is None or text.endswith(newline):
        return splices
    first = last.start + len(newline)
    meeting = [one for one in splices if one is not last and one.end == first and one.new.endswith(newline)]
    if not meeting:
        return splices
    shorter = meeting[-1]._replace(new=meeting[-1].new.removesuffix(newline))
    others = [one for one in splices if one not in (last, meeting[-1])]
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
    left = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    if left.strip() or any(kept):
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
        lines = [f"{margin}{one}{newline}" if whole else f"{newline}{margin}{one}" for one in kept]
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
    found = []
    for number in numbers:
        start, end = places[number]
        if number == 0 and text[line_start(text, start) : start].strip():
            # It stands behind the dash of its item: the next key that stays takes its place.
            staying = next(one for one in range(len(places)) if one not in numbers)
            return [
                Splice(start, places[staying][0]),
                *without_entries(text, _tail(span, staying), gone),
            ]
        found.append(_lines(text, start, end))
    return found


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
    found = []
    kept = [number for number in range(len(places)) if number not in gone]
    for number in sorted(gone):
        start, end = places[number]
        if number > kept[-1]:
            if not _own_line(text, start):
                # All that follows the last one that stays goes at once.
                found.append(Splice(places[kept[-1]][1] if number == kept[-1] + 1 else places[number - 1][1], end))
                continue
            after = past_blanks(text, end)
            found.append(
                _lines(text, start, after if text[after] == "," else end)
                if ends_line(text, end)
                else Splice(start, end)
            )
            continue
        comma = past_blanks(text, end)
        if _own_line(text, start) and ends_line(text, comma + 1):
            found.append(Splice(line_start(text, start), next_line(text, comma)))
        else:
            after = comma + 1
            while text[after] == " ":
                after += 1
            found.append(Splice(start, comma + 1 if text[after] == "#" else after))
    return found


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
