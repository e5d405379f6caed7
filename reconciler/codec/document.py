"""JSON documents as text: strict reading, versions, canonical writing, schemas as files."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Never, TextIO, cast

from reconciler.codec.codec import TEXT, Codec, SchemaError, unexpected
from reconciler.model.characters import first_of

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
#: Longer values are names and ids, most of which occur once.
_SHORT: Final = 11
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)

#: JSON without spaces, keys in the order of the value.
compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: JSON without spaces, keys sorted. What codecs write holds no value within itself, so nobody has to look for one.
canonical: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")
).encode


def load(text: str) -> dict[str, Any]:
    """The object that ``text`` holds; a key that occurs twice, NaN and Infinity are refused.

    Raises :class:`SchemaError`.
    """
    try:
        document = json.loads(text, object_pairs_hook=_object_hook(), parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise SchemaError(error.msg, f"line {error.lineno}, column {error.colno}") from None
    except SchemaError:
        raise
    except (ValueError, RecursionError) as error:
        raise SchemaError(str(error)) from None
    if document.__class__ is not dict:
        raise unexpected("an object", document)
    return document


def known_minor(document: Mapping[str, Any], version: str) -> bool:
    """Whether ``formatVersion`` is no newer than ``version``, which this program writes.

    Terraform's rule: fields of a newer minor version are ignored, another major version is refused.
    Raises :class:`SchemaError`.
    """
    try:
        written = TEXT.read(document.get("formatVersion"))
        match = _VERSION.fullmatch(written)
        if match is None:
            raise SchemaError(f"{written!r} is not a version such as {version!r}")
        major, minor = map(int, version.split("."))
        if int(match[1]) != major:
            raise SchemaError(f"this version reads {major}.x, the file is {written}")
    except SchemaError as error:
        raise error.inside("formatVersion") from None
    return int(match[2]) <= minor


def schema_text(title: str, codec: Codec[Any]) -> str:
    """The schema as it is in ``schema/``: sorted, indented, with a newline at the end."""
    schema = {"$schema": DRAFT, "title": title, **codec.schema}
    return json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _object_hook() -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Makes objects of their pairs. Equal short values of them are one string, which JSON's reader does for keys alone.

    The 150,000 steps of a plan say ALLOW, TOPIC, LITERAL and ``*`` each: a tenth of the memory that reading it takes.
    """
    shared: dict[str, str] = {}

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = {
            name: shared.setdefault(value, value) if value.__class__ is str and len(value) <= _SHORT else value
            for name, value in pairs
        }
        return _checked(members, pairs)

    return unique


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; raises :class:`SchemaError` for a key that occurs twice."""
    return _checked(dict(pairs), pairs)


def _checked(members: dict[str, Any], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError("occurs twice in one object", f"the key {twice!r}")
    return members


def no_number(constant: str) -> Never:
    """Refuse NaN and Infinity, which Python's reader takes."""
    raise SchemaError("is not a JSON number", constant)


# A large JSON object read from a file bit by bit: one of its arrays is never there as a whole, neither as text.
#
# A snapshot of millions of bindings would otherwise be in memory three times: as text, as JSON values, and as
# bindings. What does not go smoothly is left to :func:`reconciler.codec.document.load`, which alone says what is
# wrong and where.

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
    members: dict[str, Any] = {}
    window.take("{")
    if not window.took("}"):
        while True:
            key = window.value()
            if key.__class__ is not str or key in members:
                raise UnevenError
            window.take(":")
            members[key] = make(members, _items(window)) if key == name else window.value()
            if window.took("}"):
                break
            window.take(",")
    if not window.at_end():
        raise UnevenError
    return members


def _items(window: "_Window") -> Iterator[Any]:
    if (short := window.short_array()) is not None:
        yield from short
        return
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
        rest = self._text[self._at :]
        # As much again as is left: a value of any length is looked at a few times, not once for each piece.
        read = self._file.read(max(self._piece, len(rest)))
        self._text, self._at, self._ended = rest + read, 0, not read
        return bool(read)

    def _next(self) -> str:
        """The next character that is not space; empty at the end of the file."""
        while True:
            space = _SPACE(self._text, self._at)
            self._at = space.end() if space is not None else self._at
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

    def short_array(self) -> list[Any] | None:
        """The next value, if it is an array that ends in what has been read: at once, in a third of the time."""
        if self._next() != "[":
            return None
        try:
            value, self._at = self._scan(self._text, self._at)
        except json.JSONDecodeError:
            return None
        return cast("list[Any]", value)

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


# What differs between two JSON documents, in a few words for people: an item as it was left, and as it is found.

#: So many are named, the others counted.
_MOST: Final = 5


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``configs.flush.ms: 9 → 8, partitions: 2 → 3``, sorted by place; empty where the documents are equal."""
    # It takes a second to load, and few runs find that somebody has changed anything.
    from deepdiff import DeepDiff  # noqa: PLC0415

    changes = (item for group in DeepDiff(before, after, view="tree").values() for item in group)
    places = sorted((item.path(output_format="list") for item in changes), key=lambda path: [*map(str, path)])
    texts = [f"{'.'.join(map(str, path))}: {_side(before, path)} → {_side(after, path)}" for path in places]
    return first_of(texts, _MOST)


def _side(document: Any, path: list[Any]) -> str:
    """The value at a place of a document; ``not set`` where it has none."""
    for key in path:
        try:
            document = document[key]
        except (KeyError, IndexError):
            return "not set"
    return "not set" if document is None else document if isinstance(document, str) else compact(document)
