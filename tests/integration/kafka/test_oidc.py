"""OAUTHBEARER by OIDC: librdkafka fetches the token from an endpoint, here a small one on loopback."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.sasl import UnsecuredToken
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ClusterError, ReadRequest

pytestmark = pytest.mark.broker

SECRET = "oidc-secret-of-the-test"


class Endpoint(HTTPServer):
    """Gives tokens for ``User:admin``, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str | None, dict[str, list[str]]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.server.asked.append((self.headers.get("authorization"), parse_qs(body)))
        answer = json.dumps({"access_token": UnsecuredToken("admin").token().text, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(broker: Sandbox, url: str) -> ClientSettings:
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.token.endpoint.url": url,
    }
    return client_settings(broker.bootstrap, client, SecretSource())


def test_tokens_are_fetched_with_the_client_s_secret(broker: Sandbox, endpoint: Endpoint) -> None:
    with connect(settings(broker, endpoint.url)) as cluster:
        assert cluster.read(ReadRequest(all_topics=False)).cluster_id
    login = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert (login, {"grant_type": ["client_credentials"], "scope": ["kafka"]}) in endpoint.asked


def test_an_endpoint_that_is_not_there_is_told_without_the_secret(broker: Sandbox) -> None:
    with Endpoint() as gone:
        url = gone.url
    with connect(settings(broker, url)) as cluster, pytest.raises(ClusterError) as refused:
        cluster.read(ReadRequest(all_topics=False))
    assert refused.value.code == "_AUTHENTICATION"
    assert "OAUTHBEARER" in refused.value.message
    assert SECRET not in str(refused.value)
