"""A large JSON object read from a file bit by bit: one of its arrays is never there as a whole, neither as text.

A snapshot of millions of bindings would otherwise be in memory three times: as text, as JSON values, and as bindings.
What does not go smoothly is left to :func:`reconciler.codec.document.load`, which alone says what is wrong and where.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

from reconciler.codec.document import no_number, unique_object
from reconciler.codec.interface import SchemaError

#: Characters that are read at once; a value that is longer is looked at again with as many more as there are.
_PIECE: Final = 1 << 18
_SPACE: Final = re.compile(r"[ \t\n\r]*").match

#: Makes a value of an array's items, which it has to take to the last; the dictionary is what precedes the array.
FromItems = Callable[[dict[str, Any], Iterator[Any]], Any]


class UnevenError(Exception):
    """The file is to be read as a whole: something is wrong with it, or a value is not where it usually is."""


def load_streamed(file: TextIO, name: str, make: FromItems, *, piece: int = _PIECE) -> dict[str, Any]:
    """The object that ``file`` holds from its position on, with what ``make`` gives in place of the array ``name``.

    Raises :class:`UnevenError` wherever :func:`reconciler.codec.document.load` or ``make`` would raise
    ``SchemaError``, and where ``name`` is no array; then nothing of the object may be used.
    """
    window = _Window(file, piece)
    try:
        return _object(window, name, make)
    except (ValueError, RecursionError) as error:  # among them SchemaError, and text that is not UTF-8
        raise UnevenError from error


def _object(window: "_Window", name: str, make: FromItems) -> dict[str, Any]:
    found: dict[str, Any] = {}
    window.take("{")
    if not window.took("}"):
        while True:
            key = window.value()
            if key.__class__ is not str or key in found:
                raise UnevenError
            window.take(":")
            found[key] = make(found, _items(window)) if key == name else window.value()
            if window.took("}"):
                break
            window.take(",")
    if not window.at_end():
        raise UnevenError
    return found


def _items(window: "_Window") -> Iterator[Any]:
    window.take("[")
    if window.took("]"):
        return
    while True:
        yield window.value()
        if window.took("]"):
            return
        window.take(",")


class _Window:
    """The part of a file that is being looked at."""

    __slots__ = ("_at", "_ended", "_file", "_piece", "_scan", "_text")

    def __init__(self, file: TextIO, piece: int) -> None:
        self._file, self._piece = file, piece
        self._scan = json.JSONDecoder(object_pairs_hook=unique_object, parse_constant=no_number).raw_decode
        self._text, self._at, self._ended = "", 0, False

    def _more(self) -> bool:
        """Reads on; whether there was anything."""
        left = self._text[self._at :]
        # As much again as is left: a value of any length is looked at a few times, not once for each piece.
        read = self._file.read(max(self._piece, len(left)))
        self._text, self._at, self._ended = left + read, 0, not read
        return bool(read)

    def _next(self) -> str:
        """The next character that is not space; empty at the end of the file."""
        while True:
            found = _SPACE(self._text, self._at)
            self._at = found.end() if found is not None else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def at_end(self) -> bool:
        return self._next() == ""

    def took(self, wanted: str) -> bool:
        """Whether ``wanted`` is next; then it is taken."""
        if self._next() != wanted:
            return False
        self._at += 1
        return True

    def take(self, wanted: str) -> None:
        if not self.took(wanted):
            raise UnevenError

    def value(self) -> Any:
        """The next value; what ends where the text does may go on in the rest of the file."""
        if self._next() == "":
            raise UnevenError
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except SchemaError:
                raise
            except json.JSONDecodeError:
                if self._ended or not self._more():
                    raise UnevenError from None
                continue
            if end < len(self._text) or self._ended:
                self._at = end
                return value
            self._more()
