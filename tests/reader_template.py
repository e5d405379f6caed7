"""Processes that list ACLs, forked from one that has its libraries loaded: a tenth of the processor time of a new one.

Most tests read a cluster many times, and each reading has a process of its own. It runs the same code here, with the
same pipes and the same end. What a new process is, its command line and its environment, is tested with new ones:
``new_readers`` in ``tests/conftest.py``.
"""

import contextlib
import importlib
import marshal
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final, NoReturn

from reconciler.adapters.child_environment import child_environment
from reconciler.adapters.kafka.child_process import serve

#: A reader's module, and what in it answers a task.
_READERS: Final = {"message_client": "answer", "client_reader": "read"}
_LENGTH: Final = struct.Struct("=I")
_NUMBER: Final = struct.Struct("=i")


class Template:
    """The process that others are forked from; it ends when this one does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-m", __name__, str(theirs.fileno())],
                cwd=Path(__file__).parents[1],
                env={**child_environment(), "PYTHONPATH": str(Path(__file__).parents[1])},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is for us, and we end it
            )

    def start(self, module: str) -> "Forked":
        """A process with this reader that waits for its task."""
        wanted = marshal.dumps((module, child_environment()))
        (task, to_task), (from_reply, reply), (from_status, status) = os.pipe(), os.pipe(), os.pipe()
        with self._lock:
            socket.send_fds(self._channel, [_LENGTH.pack(len(wanted))], [task, reply, status])
            self._channel.sendall(wanted)
            for theirs in (task, reply, status):
                os.close(theirs)
            pid = _number(from_status)
        assert pid is not None, "the template has ended"
        return Forked(pid, to_task, from_reply, from_status)

    def end(self) -> None:
        self._channel.close()
        self._process.wait()


class Forked:
    """What ``subprocess.Popen`` is to a reading."""

    def __init__(self, pid: int, task: int, reply: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._task, self._reply, self._status = os.fdopen(task, "wb"), os.fdopen(reply, "rb"), os.fdopen(status, "rb")

    def communicate(self, task: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Pass on the task and read the reply; a reader reads all of the first before it writes the second."""
        if not self._task.closed:
            with contextlib.suppress(BrokenPipeError), self._task:
                self._task.write(task)
        until, read = time.monotonic() + timeout if timeout is not None else None, bytearray()
        while not self._reply.closed:
            if part := self._part(until):
                read += part
            else:
                self._reply.close()
        self._ended(None)
        return bytes(read), b""

    def _part(self, until: float | None) -> bytes:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([self._reply], [], [], left)[0]:
            raise subprocess.TimeoutExpired("a reader", left or 0.0)
        return os.read(self._reply.fileno(), 1 << 20)

    def poll(self) -> int | None:
        return self._ended(0.0)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self, seconds: float | None) -> int | None:
        """The exit status; waits for it so long, without ``seconds`` until it is there."""
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            status = _number(self._status.fileno())
            self._status.close()
            assert status is not None
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def main(descriptor: int) -> None:
    """Fork a reader whenever one is asked for, until nobody is there any more to ask."""
    for module in _READERS:
        importlib.import_module(f"reconciler.adapters.kafka.{module}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for who waits for a reader
    channel = socket.socket(fileno=descriptor)
    while True:
        head, given, *_ = socket.recv_fds(channel, _LENGTH.size, 3)
        if not head:
            return
        wanted = b""
        while len(wanted) < _LENGTH.unpack(head)[0]:
            wanted += channel.recv(_LENGTH.unpack(head)[0] - len(wanted))
        if os.fork() == 0:
            channel.close()
            _wait_for_a_reader(given, *marshal.loads(wanted))  # noqa: S302 - the tests' own process wrote it
        for ours in given:
            os.close(ours)


def _wait_for_a_reader(given: list[int], module: str, environment: dict[str, str]) -> NoReturn:
    """Tells the reader's pid and its exit status, which only who forked it gets to know."""
    task, reply, status = given
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(task, 0)
        os.dup2(reply, 1)
        for ours in given:
            os.close(ours)
        os.environ.clear()
        os.environ.update(environment)
        reader = importlib.import_module(f"reconciler.adapters.kafka.{module}")
        serve(getattr(reader, _READERS[module]))
    os.close(task)
    os.close(reply)
    os.write(status, _NUMBER.pack(pid))
    os.write(status, _NUMBER.pack(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _number(descriptor: int) -> int | None:
    read = os.read(descriptor, _NUMBER.size)
    return int(_NUMBER.unpack(read)[0]) if read else None


if __name__ == "__main__":
    main(int(sys.argv[1]))
