"""A YAML text as a tree of spans: where each value begins and ends, so that it can be changed and nothing else is.

The nodes of ``manifest.reader`` say where values begin; an edit also needs their ends, the dashes and the way in which
a collection is written. Only texts that the reader takes come here, so there are no anchors, tags or odd keys.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Final

import yaml
from yaml._yaml import CParser

from reconciler.dataclass import dataclass

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
        found: TextSpan | None = self
        for key in path:
            entry = None if found is None else found.entry(key)
            found = None if entry is None else entry[1]
        return found

    def entry(self, key: str) -> "tuple[TextSpan, TextSpan] | None":
        """The key and value of that name, or ``None``."""
        return next((one for one in self.entries if one[0].plain == key), None)

    def holds(self, place: tuple[int, int]) -> bool:
        """Whether a value below this one, or this one, begins at the line and column."""
        return any((one.line, one.column) == place for one in self.walk())

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
    found = []
    start = 0
    while type(event := following()) is not yaml.StreamEndEvent:
        if type(event) is yaml.DocumentStartEvent:
            mark: Any = event.start_mark
            start = mark.index
            first = following()
            root = _node(text, first, following)
            if root.kind != "scalar":
                found.append(DocumentSpan(root, start))
    return found


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
    found = [place for mark in _BREAKS if (place := text.find(mark, at)) >= 0]
    return min(found, default=len(text))


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
    found, at = [], span.start
    after = past_comma(text, span.end) if flow else span.end
    # Behind a value between brackets there may be another one on the line, and the comment is about that.
    last = line_end(text, after) if ends_line(text, after) else after
    for start, end in (*((leaf.start, leaf.end) for leaf in _leaves(span)), (last, last)):
        found += comments_between(text[at:start])
        at = end
    return found


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
