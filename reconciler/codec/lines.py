"""Arrays with an item a line, so that a line-by-line comparison of two files reads as a list of facts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Lines:
    """An array that is written with an item a line; the items are made while they are written."""

    def __init__(self, items: Iterator[Any]) -> None:
        """``items`` are JSON values, which may hold :class:`Lines` in turn as fields of objects.

        A tuple is an array of strings alone: a snapshot has up to a million of them.
        """
        self.items = items


def in_lines(value: Any, encode: Callable[[Any], str]) -> str:
    """``value`` as text by ``encode``, with the lines that it asks for."""
    if value.__class__ is Lines:
        return "".join(_pieces(value, encode))
    if value.__class__ is dict and Lines in map(type, value.values()):
        return f"{{{', '.join(_parts(value, encode))}}}"
    return encode(value)


def _pieces(lines: Lines, encode: Callable[[Any], str]) -> Iterator[str]:
    """An array as text, an item at a time."""
    before = "[\n"
    for item in lines.items:
        text = f"[{', '.join(map(encode, item))}]" if item.__class__ is tuple else in_lines(item, encode)
        yield f"{before}{text}"
        before = ",\n"
    yield "\n]" if before == ",\n" else "[]"


def _parts(value: dict[str, Any], encode: Callable[[Any], str]) -> Iterator[str]:
    """Fields as text; neighbours without lines by one call of ``encode``: a snapshot may have 100,000 groups."""
    plain: dict[str, Any] = {}
    for name, item in value.items():
        if item.__class__ is not Lines and item.__class__ is not dict:
            plain[name] = item
            continue
        if plain:
            yield encode(plain)[1:-1]
            plain = {}
        yield f"{encode(name)}: {in_lines(item, encode)}"
    if plain:
        yield encode(plain)[1:-1]


def document_text(document: Mapping[str, Any], encode: Callable[[Any], str], colon: str = ":") -> str:
    """An object with a field a line, ending in a newline."""
    return "".join(document_pieces(document, encode, colon))


def document_pieces(document: Mapping[str, Any], encode: Callable[[Any], str], colon: str = ":") -> Iterator[str]:
    """The same bit by bit; of a field with lines, each is a piece."""
    before = "{\n"
    for name, value in document.items():
        yield f"{before}{encode(name)}{colon}"
        if value.__class__ is Lines:
            yield from _pieces(value, encode)
        else:
            yield in_lines(value, encode)
        before = ",\n"
    yield "\n}\n" if document else "{\n\n}\n"
