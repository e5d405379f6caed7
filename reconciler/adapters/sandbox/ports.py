"""Free ports on loopback, reserved until just before the broker binds them."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from reconciler.adapters.sandbox.error import SandboxError

HOST = "127.0.0.1"

# Below the ephemeral ranges of Linux and macOS, so that no outgoing connection takes one in between.
_RANGE = range(20_000, 32_000)
_TRIES = 1_000


@contextmanager
def reserved(count: int, fixed: tuple[int, ...] = ()) -> Iterator[list[int]]:
    """``fixed``, then free ones up to ``count`` in all, taken while the block runs; a taken fixed one is an error."""
    with ExitStack() as held:
        for port in fixed:
            if not _bind(port, held):
                raise SandboxError(f"Port {port} on {HOST} is taken.", "Choose another, or omit the option.")
        ports = list(fixed)
        for port in random.sample(_RANGE, _TRIES):
            if len(ports) >= count:
                break
            if port not in ports and _bind(port, held):
                ports.append(port)
        if len(ports) < count:
            raise SandboxError(f"There are no {count} free ports between {_RANGE.start} and {_RANGE.stop} on {HOST}.")
        yield ports


def accepts(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as attempt:
        attempt.settimeout(1)
        return attempt.connect_ex((HOST, port)) == 0


def _bind(port: int, held: ExitStack) -> bool:
    holder = held.enter_context(socket.socket())
    # As Java's ServerSocket does: a port whose last connection is in TIME_WAIT is free.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((HOST, port))
        holder.listen(1)  # two sockets that only bind may share a port on Linux
    except OSError:
        return False
    return True
