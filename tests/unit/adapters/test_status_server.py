"""Pages for strangers: whatever they send, and however slowly, this process keeps its threads, descriptors and log."""

import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reconciler.parts.serve import http as module
from reconciler.parts.serve.http import StatusAnswer, status_server
from tests.unit.workflow.serving import World

#: Seconds for what a busy machine takes long to do, and what never comes is not waited for longer.
_PATIENCE = 60


class _Pages:
    def __init__(self) -> None:
        self.go_on = threading.Event()

    def answer(self, method: str, path: str) -> StatusAnswer:
        match path:
            case "/large":
                return StatusAnswer(200, "text/plain", "x" * 50_000_000)
            case "/wrong":
                raise RuntimeError("a secret word")
        return StatusAnswer(200, "text/plain", "alive\n")


class _Site:
    """A server, what it said, and a way to it."""

    def __init__(self, address: str, said: list[str]) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        assert parts.port is not None
        self.place, self.said = (parts.hostname, parts.port), said

    def connect(self, text: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self.place, timeout=_PATIENCE)
        connection.sendall(text)
        return connection

    def get(self, path: str) -> bytes:
        with self.connect(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()) as connection:
            return _all(connection)


def _all(connection: socket.socket) -> bytes:
    found = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            found += part
    return found


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _wait_for(descriptors: int) -> None:
    """Until this process, in which the server runs, has no more descriptors than so many."""
    until = time.monotonic() + _PATIENCE
    while _descriptors() > descriptors:
        assert time.monotonic() < until, "a connection is kept"
        time.sleep(0.02)


@pytest.fixture
def site() -> Iterator[_Site]:
    said: list[str] = []
    with status_server("127.0.0.1", 0, _Pages().answer, said.append) as address:
        yield _Site(address, said)


def test_an_address_of_ipv6_is_told_as_browsers_take_it() -> None:
    with status_server("::1", 0, _Pages().answer, print) as address:
        assert address.startswith("http://[::1]:")


_CROWD = """\
import resource, socket, sys, time
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
crowd, end = [], time.monotonic() + 60
for number in range(1000):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", int(sys.argv[1])))
    crowd.append(one)
while time.monotonic() < end:
    sent = 0
    for one in crowd:
        try:
            sent += one.send(b"GET / HTTP/1.0\\r\\nX: ")
        except OSError:
            pass
    print("there" if sent else "gone", flush=True)
    time.sleep(0.2)
"""


def test_a_thousand_slow_clients_do_not_stop_a_revocation(site: _Site, tmp_path: Path) -> None:
    """Under a limit of descriptors that they would use up."""
    world = World(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(768, used + 256), hard))
    command = [sys.executable, "-c", _CROWD, str(site.place[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crowd:
        try:
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "there\n"
            time.sleep(1)
            assert len(os.listdir("/proc/self/fd")) <= used + 2 * module.MOST_CONNECTIONS + 8
            assert world.round().revoked == 1
            # Kubernetes gives up after the sixth, by the chart's `livenessProbe`.
            assert any(site.get("/healthz").endswith(b"alive\n") for _ in range(6)), "a probe gets through"
        finally:
            crowd.kill()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert site.said == []


def test_a_request_has_so_much_time_however_often_a_byte_comes(site: _Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 1.0)
    with site.connect(b"GET / HTTP/1.0\r\nX: ") as connection:
        stopped = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not stopped.wait(0.1):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        _all(connection)  # to the end that the server makes of it; raises where it makes none
        stopped.set()
        thread.join()


def test_an_answer_that_nobody_takes_is_given_up(site: _Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 1.0)
    before = _descriptors()
    with site.connect(b"GET /large HTTP/1.0\r\nHost: localhost\r\n\r\n") as connection:
        assert connection.recv(1)
        _wait_for(before + 1)  # our own end
        assert len(_all(connection)) < 50_000_000


def test_headers_without_end_are_cut_off(site: _Site) -> None:
    with site.connect(b"GET / HTTP/1.0\r\n") as connection, suppress(OSError):
        for _ in range(100_000):
            connection.sendall(b"X: " + b"x" * 1_000 + b"\r\n")
        pytest.fail("it took 100 MB of headers")


def test_a_client_that_goes_early_is_no_news(site: _Site, capfd: pytest.CaptureFixture[str]) -> None:
    before = _descriptors()
    for text in (b"", b"GET", b"GET /large HTTP/1.0\r\nHost: localhost\r\n\r\n"):
        for _ in range(20):
            site.connect(text).close()
    assert site.get("/").endswith(b"alive\n")
    _wait_for(before)
    assert (site.said, *capfd.readouterr()) == ([], "", "")


def test_an_error_of_ours_is_a_line_and_not_one_for_each_request(
    site: _Site, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(20):
        assert site.get("/wrong") == b""
    assert site.said == ["a page could not be shown: RuntimeError"]
    assert capfd.readouterr().err == ""
