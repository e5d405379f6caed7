"""Reads an answer to DescribeConfigs of version 4 (``DescribeConfigsResponse.json``), without what is told again.

Brokers tell the configs of each topic in one order, and defaults in the same bytes: what a topic repeats of the ones
before it is compared and skipped, and left out of what is returned. So each config that is set on a topic is there, of
each topic, and a default with the first topic that has it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

#: ``ConfigSource.DYNAMIC_TOPIC_CONFIG``: set on the topic.
OWN: Final = 1
#: Name, value, source, and the synonyms' values and sources.
Configs: TypeAlias = list[tuple[str, str | None, int, list[tuple[str | None, int]]]]


class ConfigAnswer(NamedTuple):
    """``results``: for each resource its name, the error's code and message, and its configs."""

    throttle_time_ms: int
    results: Sequence[tuple[str, int, str | None, Configs]]


def read_answer(data: bytes) -> ConfigAnswer:
    """Raises ``ValueError`` for bytes that are no such answer."""
    return _Reader(data).answer()


class _Reader:
    """A place in the bytes."""

    __slots__ = ("_alike", "_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        #: By its number in a topic: the bytes of a config that was not set on a topic.
        self._alike: dict[int, bytes] = {}

    def answer(self) -> ConfigAnswer:
        throttle = self._number(4)
        results = [self._result() for _ in range(self._length())]
        self._tags()
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes are left over")
        return ConfigAnswer(throttle, results)

    def _result(self) -> tuple[str, int, str | None, Configs]:
        code, message, _ = self._number(2), self._text(), self._number(1)
        name = self._text()
        configs: Configs = []
        for number in range(self._length()):
            alike = self._alike.get(number)
            if alike is not None and self._data.startswith(alike, self._at):
                self._at += len(alike)
            else:
                self._config(number, configs)
        self._tags()
        return name or "", code, message, configs

    def _config(self, number: int, configs: Configs) -> None:
        begin = self._at
        name, value, _ = self._text() or "", self._text(), self._number(1)
        source, _ = self._number(1), self._number(1)
        synonyms = [self._synonym() for _ in range(self._length())]
        self._number(1)
        self._text()
        self._tags()
        configs.append((name, value, source, synonyms))
        if source != OWN:
            self._alike[number] = self._data[begin : self._at]

    def _synonym(self) -> tuple[str | None, int]:
        self._text()
        found = self._text(), self._number(1)
        self._tags()
        return found

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._take(1)[0]
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
            if shift > 28:
                raise ValueError("a length has too many bytes")

    def _length(self) -> int:
        """Of an array; one that is null has none."""
        return max(0, self._varint() - 1)

    def _text(self) -> str | None:
        size = self._varint()
        return self._take(size - 1).decode() if size else None

    def _tags(self) -> None:
        for _ in range(self._varint()):
            self._varint()
            self._take(self._varint())

    def _take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise ValueError("the answer ends in the middle")
        self._at += size
        return found
