"""A broker of an attacker's on loopback: it speaks as much Kafka as makes a client log in, and keeps what arrives."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_API_VERSIONS, _HANDSHAKE, _AUTHENTICATE = 18, 17, 36
_SUPPORTED = ((_API_VERSIONS, 0, 0), (_HANDSHAKE, 0, 1), (_AUTHENTICATE, 0, 0), (3, 0, 1))
_UNSUPPORTED_VERSION = 35


@dataclass
class Listener:
    """``address`` is ``host:port``; ``heard`` is everything that clients sent."""

    address: str
    heard: bytearray = field(default_factory=bytearray)

    def heard_login(self, *secrets: str) -> bool:
        """Whether one of the secrets arrived."""
        return any(secret.encode() in self.heard for secret in secrets)


@contextmanager
def listening(mechanism: str = "PLAIN") -> Iterator[Listener]:
    """Listen until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Listener(f"127.0.0.1:{server.getsockname()[1]}")
        threading.Thread(target=_accept, args=(server, found, mechanism), daemon=True).start()
        yield found


def _accept(server: socket.socket, found: Listener, mechanism: str) -> None:
    with suppress(OSError):  # the block has ended
        while True:
            client, _ = server.accept()
            threading.Thread(target=_talk, args=(client, found, mechanism), daemon=True).start()


def _talk(client: socket.socket, found: Listener, mechanism: str) -> None:
    with client, client.makefile("rb") as received, suppress(OSError, struct.error):
        while size := received.read(4):
            request = received.read(struct.unpack(">i", size)[0])
            found.heard += request
            key, version, correlation = struct.unpack(">hhi", request[:8])
            answer = struct.pack(">i", correlation) + _answer(key, version, mechanism)
            client.sendall(struct.pack(">i", len(answer)) + answer)


def _answer(key: int, version: int, mechanism: str) -> bytes:
    if key == _API_VERSIONS:
        error = _UNSUPPORTED_VERSION if version else 0
        return struct.pack(">hi", error, len(_SUPPORTED)) + b"".join(struct.pack(">hhh", *api) for api in _SUPPORTED)
    if key == _HANDSHAKE:
        return struct.pack(">hih", 0, 1, len(mechanism)) + mechanism.encode()
    refused = b"no"
    return struct.pack(">hh", 58, len(refused)) + refused + struct.pack(">i", 0)
