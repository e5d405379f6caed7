"""A TLS server on this machine that takes webhooks, as a receiver of Slack's or somebody's own would."""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

_TLS: Final = Path(__file__).parent / "tls"
AUTHORITY: Final = str(_TLS / "authority.pem")


@dataclass
class Receiver:
    """What arrived: path, headers in lower case, body; ``status`` is what is answered."""

    port: int = 0
    status: int = 200
    location: str = ""
    arrived: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where to send."""
        return f"https://localhost:{self.port}/services/T0/secret-part?x=1"


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    """A running receiver."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.arrived.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            self.send_response(found.status)
            if found.location:
                self.send_header("Location", found.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base class calls it
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that does not trust the certificate goes away."""

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_TLS / "localhost.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
