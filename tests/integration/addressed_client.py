"""Requests to a broker from any address of the loopback network: the wire by hand, for no client binds its source."""

import base64
import json
import socket
import struct
import time
from collections.abc import Iterator
from typing import Final

from reconciler.model.acl import SUPPORTED_OPERATIONS, AclOperation, ResourceType

_TIMEOUT: Final = 20.0
_HANDSHAKE, _AUTHENTICATE, _METADATA = (17, 1), (36, 0), (3, 8)
_REFUSED: Final = 29


class _Reader:
    """Fields of an answer, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def number(self, form: str) -> int:
        (found,) = struct.unpack_from(form, self._data, self._place)
        self._place += struct.calcsize(form)
        return int(found)

    def text(self) -> str:
        length = self.number(">h")
        self._place += max(length, 0)
        return self._data[self._place - max(length, 0) : self._place].decode()

    def skip_numbers(self) -> None:
        count = self.number(">i")
        self._place += 4 * count


class AddressedClient:
    """One principal's connection from one address; logs in by an unsigned token, as sandboxes take it."""

    def __init__(self, servers: str, user: str, address: str) -> None:
        host, _, port = servers.partition(":")
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT, source_address=(address, 0))
        self._asked = 0
        handshake = self._ask(_HANDSHAKE, _text("OAUTHBEARER"))
        assert handshake.number(">h") == 0
        token = f"n,,\x01auth=Bearer {_token(user)}\x01\x01".encode()
        answer = self._ask(_AUTHENTICATE, struct.pack(">i", len(token)) + token)
        assert answer.number(">h") == 0, answer.text()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def topics(self, names: list[str]) -> Iterator[tuple[str, AclOperation, bool]]:
        """Every operation on topics that exist (KIP-430); of those that are hidden, that DESCRIBE is refused."""
        body = struct.pack(">i", len(names)) + b"".join(map(_text, names)) + bytes((0, 0, 1))
        answer = self._ask(_METADATA, body)
        answer.number(">i")  # how long the broker throttled
        for _ in range(answer.number(">i")):
            answer.number(">i")
            answer.text()
            answer.number(">i")
            answer.text()
        answer.text()
        answer.number(">i")
        for _ in range(answer.number(">i")):
            error, name = answer.number(">h"), answer.text()
            answer.number(">b")
            for _ in range(answer.number(">i")):
                answer.number(">h")
                for _ in range(3):
                    answer.number(">i")
                for _ in range(3):
                    answer.skip_numbers()
            granted = answer.number(">i")
            if error == _REFUSED:
                yield name, AclOperation.DESCRIBE, False
                continue
            assert error == 0, f"{name}: error {error}"
            for operation in SUPPORTED_OPERATIONS[ResourceType.TOPIC]:
                yield name, operation, bool(granted >> operation & 1)

    def _ask(self, api: tuple[int, int], body: bytes) -> _Reader:
        self._asked += 1
        header = struct.pack(">hhi", *api, self._asked) + _text("addressed")
        self._socket.sendall(struct.pack(">i", len(header + body)) + header + body)
        (length,) = struct.unpack(">i", self._received(4))
        answer = _Reader(self._received(length))
        assert answer.number(">i") == self._asked
        return answer

    def _received(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self._socket.recv(length - len(data))
            assert part, "the broker closed the connection"
            data += part
        return data


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _token(subject: str) -> str:
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + 3_600})
    return ".".join(
        (*(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts), "")
    )
