"""Arrays with an item a line, so that a line-by-line comparison of two files reads as a list of facts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Lines:
    """An array that is written with an item a line; the items are made while they are written."""

    def __init__(self, items: Iterator[Any]) -> None:
        """``items`` are JSON values, which may hold :class:`Lines` in turn as fields of objects."""
        self.items = items


def in_lines(value: Any, encode: Callable[[Any], str]) -> str:
    """``value`` as text by ``encode``, with the lines that it asks for."""
    if value.__class__ is Lines:
        text = ",\n".join([encode(item) if item.__class__ is list else in_lines(item, encode) for item in value.items])
        return f"[\n{text}\n]" if text else "[]"
    if value.__class__ is dict and any(item.__class__ is Lines for item in value.values()):
        return f"{{{', '.join(f'{encode(name)}: {in_lines(item, encode)}' for name, item in value.items())}}}"
    return encode(value)


def document_text(document: Mapping[str, Any], encode: Callable[[Any], str], colon: str = ":") -> str:
    """An object with a field a line, ending in a newline."""
    lines = ",\n".join(f"{encode(name)}{colon}{in_lines(value, encode)}" for name, value in document.items())
    return f"{{\n{lines}\n}}\n"
