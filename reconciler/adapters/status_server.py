"""A small HTTP server for what a long-running process shows of itself: metrics, health, pages. Answers GET and POST.

It has no TLS and no login: it listens on loopback, unless an operator puts something in front of it.
"""

import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Protocol

from reconciler.dataclass import dataclass

#: Seconds in which a client has to have sent its request.
_SECONDS: Final = 10
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


class StatusPages(Protocol):
    """What a server shows."""

    def answer(self, method: str, path: str) -> StatusAnswer:
        """The answer to a request; called by many threads."""
        ...


@contextmanager
def status_server(host: str, port: int, pages: StatusPages) -> Iterator[str]:
    """Serve ``pages`` until the context ends; yields the address. Raises ``OSError`` where it cannot listen."""
    loopback = _is_loopback(host)

    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version = "reconciler"
        sys_version = ""

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
                found = StatusAnswer(403, "text/plain", "this server answers to localhost only\n")
            else:
                found = pages.answer(method, self.path.partition("?")[0])
            body = found.body.encode()
            self.send_response(found.status)
            self.send_header("Content-Type", f"{found.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for header, value in _HEADERS.items():
                if header != "Content-Security-Policy" or not found.own_policy:
                    self.send_header(header, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Nothing: scrapes every few seconds would drown what the server has to say."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    with Server((host, port), Handler) as server:
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
