"""One JSON object of a snapshot, field by field, with the place of what is wrong."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.ports import ClusterError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class SnapshotError(ClusterError):
    """A snapshot that cannot be believed. ``place`` is where: ``topics[3].partitions``, ``line 4, column 9``."""

    def __init__(self, place: str, problem: str) -> None:
        """Keeps the place; the message names it."""
        super().__init__("invalid_snapshot", f"{place}: {problem}", "Take the snapshot again, or mend the file there.")
        self.place = place


def text(value: object, place: str) -> str:
    """``value`` as text; raises :class:`SnapshotError`."""
    if not isinstance(value, str):
        raise SnapshotError(place, "text is missing" if value is None else f"{_kind(value)} where text is expected")
    if not value.isascii() and _LONE_SURROGATE.search(value):
        raise SnapshotError(place, "half of a surrogate pair is no text")
    return value


def integer(value: object, place: str, least: int | None) -> int:
    """``value`` as a number of at least ``least``; raises :class:`SnapshotError`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise SnapshotError(place, f"{_kind(value)} where a whole number is expected")
    if least is not None and value < least:
        raise SnapshotError(place, f"{value} is less than {least}")
    return value


def items(value: object, place: str) -> list[Any]:
    """``value`` as an array; raises :class:`SnapshotError`."""
    if not isinstance(value, list):
        raise SnapshotError(place, "an array is missing" if value is None else f"{_kind(value)} instead of an array")
    return value


def _kind(value: object) -> str:
    names = {
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a fraction",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")


class Fields:
    """The fields of one object; each is taken once, and :meth:`close` refuses what nobody took."""

    def __init__(self, value: object, place: str, *, strict: bool) -> None:
        """``strict`` refuses fields that nobody took. Raises :class:`SnapshotError` where it is no object."""
        if not isinstance(value, dict):
            raise SnapshotError(place, f"{_kind(value)} instead of an object")
        self.place, self._strict = place, strict
        self._rest: dict[str, Any] = dict(value)

    def inside(self, value: object, place: str) -> "Fields":
        """An object inside this one."""
        return Fields(value, place, strict=self._strict)

    def take(self, name: str) -> Any:
        """The field's value, ``None`` where it is absent."""
        return self._rest.pop(name, None)

    def close(self, *others: str) -> None:
        """Refuses fields that nobody took, but for ``others``."""
        unknown = sorted(self._rest.keys() - set(others))
        if unknown and self._strict:
            raise SnapshotError(self._at(unknown[0]), "no snapshot of this version has that field")

    def text(self, name: str) -> str:
        """A text that must be there."""
        return text(self.take(name), self._at(name))

    def filled_text(self, name: str) -> str:
        """A text that must be there and must not be empty."""
        found = self.text(name)
        if not found:
            raise SnapshotError(self._at(name), "it is empty")
        return found

    def optional_text(self, name: str) -> str | None:
        """A text or nothing."""
        value = self.take(name)
        return None if value is None else text(value, self._at(name))

    def optional_integer(self, name: str, least: int | None) -> int | None:
        """A number or nothing."""
        value = self.take(name)
        return None if value is None else integer(value, self._at(name), least)

    def integer_or(self, name: str, default: int, *, least: int) -> int:
        """A number, or ``default`` where it is absent."""
        value = self.optional_integer(name, least)
        return default if value is None else value

    def texts(self, name: str) -> Mapping[str, str]:
        """An object from texts to texts; absent is empty."""
        value, place = self.take(name), self._at(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise SnapshotError(place, f"{_kind(value)} instead of an object")
        return {text(key, place): text(item, f"{place}.{key}") for key, item in value.items()}

    def items(self, name: str) -> list[Any]:
        """An array that must be there."""
        return items(self.take(name), self._at(name))

    def objects(self, name: str) -> Iterator["Fields"]:
        """The objects of an array that must be there."""
        for index, value in enumerate(self.items(name)):
            yield self.inside(value, f"{self._at(name)}[{index}]")

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name
