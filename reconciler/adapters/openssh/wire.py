"""Strings of the SSH protocol (RFC 4251, section 5): four bytes of length, then so many bytes."""

import struct
from typing import Final

_LENGTH: Final = struct.Struct(">I")


class WireError(ValueError):
    """The bytes are not what the protocol says."""


def string(value: bytes) -> bytes:
    """``value`` as a string of the protocol."""
    return _LENGTH.pack(len(value)) + value


def mpint(value: int) -> bytes:
    """A positive number as the protocol writes it: no more bytes than it needs, the highest bit free."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


class Reader:
    """Takes one value after another; raises :class:`WireError` where there is none."""

    def __init__(self, data: bytes) -> None:
        """From the beginning of ``data``."""
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size > len(self._data) - self._at:
            raise WireError("it ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """An unsigned number of four bytes."""
        found: int = _LENGTH.unpack(self.take(4))[0]
        return found

    def string(self) -> bytes:
        """A string."""
        return self.take(self.number())

    def mpint(self) -> int:
        """A positive number, written in the one way that the protocol allows."""
        found = self.string()
        value = int.from_bytes(found, "big")
        if string(found) != mpint(value):
            raise WireError("a number in it is negative or not written in the shortest form")
        return value

    def end(self) -> None:
        """There must be no more: what nobody reads could differ between two equal signatures."""
        if self._at != len(self._data):
            raise WireError("there is more than belongs to it")
