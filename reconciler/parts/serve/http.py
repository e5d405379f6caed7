"""The server's HTTP: bounds for strangers, metrics, health, pages.

A small HTTP server for what a long-running process shows of itself: metrics, health, pages. Answers GET and POST.

It has no TLS and no login: it listens on loopback, unless an operator puts something in front of it.

Everything that a stranger sends is bounded: connections, and with them threads and descriptors; the time of a request,
headers and answer together; its bytes; and the lines that it makes this process write.
"""

import datetime
import ipaddress
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from typing import Any, Final
from urllib.parse import unquote

from reconciler import __version__
from reconciler.app.options import now
from reconciler.dataclass import dataclass
from reconciler.show.formats.html import page, rounds_page
from reconciler.show.rounds import RoundHistory

#: Connections at a time. One more closes the oldest, so that a probe of /healthz gets through a crowd of slow clients.
MOST_CONNECTIONS: Final = 32
#: Seconds from the connection to the end of the answer: a client that is not through by then is cut off.
SECONDS: Final = 20.0
#: Bytes of a request line and its headers. No body is read.
_MOST_BYTES: Final = 32_768
#: Seconds between two lines about errors of our own.
_QUIET: Final = 60.0
#: A page shows access to whoever is asked by a browser: nothing may frame or keep it.
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; style-src 'unsafe-inline'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NAMES_OF_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """An answer; ``own_policy`` where the body says itself what it may do."""

    status: int
    kind: str
    body: str
    own_policy: bool = False


class _BoundedReader(RawIOBase):
    """What a client sends, up to ``_MOST_BYTES``: after them it looks like its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._left = connection, _MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count = self._connection.recv_into(view) if view else 0
        self._left -= count
        return count


class _BoundedServer(ThreadingHTTPServer):
    """Threads and descriptors for so many connections, each for so long."""

    daemon_threads = True
    request_queue_size = 128
    #: A thread that is cut off ends by itself; the end of the server does not wait for it.
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], say: Callable[[str], None]):
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._say, self._quiet_until = say, 0.0
        # Rounds need descriptors for manifests, brokers and logs: under a low limit, pages get an eighth.
        self._most = max(1, min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 16))
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for it, unless connections that were cut off still have all threads."""
        with self._lock:
            if len(self._open) >= self._most:
                _cut_off(min(self._open, key=self._open.__getitem__))
            full = len(self._open) >= 2 * self._most
            if not full:
                self._open[request] = time.monotonic()
        if full:
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread is left on this machine
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, however it ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut off those whose time is over; called twice a second."""
        with self._lock:
            late = [connection for connection, began in self._open.items() if time.monotonic() - began > SECONDS]
            for connection in late:
                _cut_off(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes early is no news; an error of ours is a line, and no more than one a minute."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError) or time.monotonic() < self._quiet_until:
            return
        self._quiet_until = time.monotonic() + _QUIET
        self._say(f"a page could not be shown: {type(error).__name__}")


def _cut_off(connection: socket.socket) -> None:
    """Whoever waits for it sees its end, closes it, and with that gives its descriptor back."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def status_server(
    host: str, port: int, answer: Callable[[str, str], StatusAnswer], say: Callable[[str], None] = lambda _: None
) -> Iterator[str]:
    """Serve until the context ends; yields the address. Raises ``OSError`` where it cannot listen.

    ``answer`` is called with method and path, by many threads; ``say`` gets a line, rarely, about an error in it.
    """
    loopback = _is_loopback(host)

    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS
        server_version = "reconciler"
        sys_version = ""

        def setup(self) -> None:
            super().setup()
            self.rfile.close()
            self.rfile = BufferedReader(_BoundedReader(self.connection))

        def do_GET(self) -> None:
            self._answer("GET")

        def do_HEAD(self) -> None:
            self._answer("GET", with_body=False)

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str, *, with_body: bool = True) -> None:
            # A page of any site can have its own name lead to 127.0.0.1, and would read what is here as its own.
            name = self.headers.get("Host", "").lower().rpartition(":")[0] or self.headers.get("Host", "").lower()
            if loopback and name not in _NAMES_OF_LOOPBACK:
                reply = StatusAnswer(403, "text/plain", "this server answers to localhost only\n")
            else:
                reply = answer(method, self.path.partition("?")[0])
            body = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for header, value in _HEADERS.items():
                if header != "Content-Security-Policy" or not reply.own_policy:
                    self.send_header(header, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Nothing: scrapes every few seconds would drown what the server has to say."""

    with _BoundedServer((host, port), Handler, say) as server:
        thread = threading.Thread(target=server.serve_forever, name="status", daemon=True)
        thread.start()
        try:
            shown = f"[{host}]" if ":" in host else host
            yield f"http://{shown}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# What a server answers over HTTP: its metrics, whether it is alive and up to date, and pages for people.

_CLUSTERS: Final = "/clusters/"
_TEXT: Final = "text/plain"
_NOT_FOUND: Final = StatusAnswer(
    404, _TEXT, "there are /, /clusters/NAME, /metrics, /healthz, /readyz and POST /reload\n"
)


@dataclass(frozen=True, slots=True)
class ServePages:
    """The answers from what rounds left; ``wake`` begins a round, ``most`` is how old a reading may be."""

    history: RoundHistory
    wake: threading.Event
    most: datetime.timedelta
    #: However many ask at a time, one page is made at a time, so that rounds get their share of this process.
    making: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str) -> StatusAnswer:
        """The answer to a request. The webhook needs no secret: all that it does is to look sooner."""
        if method == "POST":
            if path != "/reload":
                return _NOT_FOUND
            self.wake.set()
            return StatusAnswer(202, _TEXT, "a round begins\n")
        match path:
            case "/healthz":
                return StatusAnswer(200, _TEXT, "alive\n")
            case "/readyz":
                late = self._late()
                return StatusAnswer(503, _TEXT, f"not read lately: {', '.join(late)}\n") if late else _READY
            case "/metrics":
                return StatusAnswer(200, "text/plain; version=0.0.4", self.history.metrics())
            case "/":
                with self.making:
                    return _page(rounds_page(self.history, __version__, now(), self._late()))
            case _ if path.startswith(_CLUSTERS):
                return self._cluster(unquote(path.removeprefix(_CLUSTERS)))
        return _NOT_FOUND

    def _cluster(self, name: str) -> StatusAnswer:
        read = self.history.read.get(name)
        if read is None:
            return _NOT_FOUND
        with self.making:
            return _page(page(self.history.report([name]), __version__, read.began))

    def _late(self) -> tuple[str, ...]:
        return self.history.late(now(), self.most)


_READY: Final = StatusAnswer(200, _TEXT, "ready\n")


def _page(text: str) -> StatusAnswer:
    return StatusAnswer(200, "text/html", text, own_policy=True)
