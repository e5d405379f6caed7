"""Where confluent-kafka is connected and kafka-python is not: told from a slow one, given up once, and said once."""

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from reconciler.kafka import errors
from reconciler.kafka.cluster import connect
from reconciler.kafka.listing import ask, no_messages
from reconciler.kafka.settings import ClientSettings
from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType, ResourcePattern
from reconciler.model.acl import ResourceType as Kind
from reconciler.model.kinds.quota import ClientQuota
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.verbs import creations

pytestmark = pytest.mark.broker

ONLY_ACLS = ReadRequest(all_topics=False)
#: In its first request, ApiVersions, a client names its software: here with its length, for the other one is
#: confluent-kafka-python.
SECOND_CLIENT = b"\x0dkafka-python"
#: Takes the two sockets, client and broker, of a connection by kafka-python, and what it sent first.
Treatment = Callable[[socket.socket, socket.socket, bytes], None]


def silent(client: socket.socket, broker: socket.socket, first: bytes) -> None:
    while client.recv(65536):
        pass


def closing(client: socket.socket, broker: socket.socket, first: bytes) -> None:
    client.close()


def slow(client: socket.socket, broker: socket.socket, first: bytes) -> None:
    """Each answer takes 0.3 s, so that all of them take longer than the patience of these tests."""
    threading.Thread(target=pump, args=(client, broker), daemon=True).start()
    broker.sendall(first)
    while data := broker.recv(65536):
        time.sleep(0.3)
        client.sendall(data)


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def before(sandbox: Sandbox, treat: Treatment, **more: str) -> Iterator[tuple[ClientSettings, list[float]]]:
    """The settings of a bootstrap address that treats kafka-python so, and when it came there."""
    host, port = sandbox.bootstrap.split(",")[0].rsplit(":", 1)
    came: list[float] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            client: socket.socket = self.request
            with socket.create_connection((host, int(port))) as broker:
                first = client.recv(65536)
                if SECOND_CLIENT in first:
                    came.append(time.monotonic())
                    treat(client, broker, first)
                    return
                broker.sendall(first)
                threading.Thread(target=pump, args=(broker, client), daemon=True).start()
                pump(client, broker)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        address = f"127.0.0.1:{server.server_address[1]}"
        yield settings_of({**sandbox.settings("admin"), "bootstrap.servers": address}, **more), came
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "FIRST_CONTACT_SECONDS", 0.6)


@pytest.mark.parametrize("treat", [silent, closing])
def test_it_is_given_up_once_for_every_use_of_the_run(broker: Sandbox, treat: Treatment) -> None:
    token = AclBinding(
        ResourcePattern(Kind.DELEGATION_TOKEN, "contact"),
        AccessControlEntry("User:contact", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    )
    with before(broker, treat) as (settings, came), connect(settings) as cluster:
        began = time.monotonic()
        state = cluster.read(ONLY_ACLS.also(ClientQuota.KIND))
        assert time.monotonic() - began < 50  # not the minute of request.timeout.ms
        assert came, "kafka-python was not asked at all"
        tries = len(came)
        cluster.prepare_listing()
        assert cluster.read(ONLY_ACLS).bindings == state.bindings
        (answer,) = cluster.send(creations([token]))
        assert ask(settings, "features") is None
        seen = cluster.inspect()
        uses = cluster.topic_uses([])
    assert len(came) == tries
    assert (answer.status, answer.code) == (AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT")
    why = no_messages(settings)
    assert why is not None
    assert why.startswith("cannot connect to this cluster: ")
    # Nothing that the other client cannot tell is silently taken for absent.
    gap = state.listing(ClientQuota).gap
    assert gap is not None
    assert gap.endswith(why)
    assert answer.message.endswith(why)
    assert (seen.no_messages, seen.metadata_version, state.kafka_version) == (why, None, None)
    assert dict(uses) == {}
    assert "kafka-python cannot connect to this cluster" in settings.first_contact.news()
    assert settings.first_contact.news() == ""


def test_a_write_is_not_the_first_contact_that_is_silently_lost(broker: Sandbox) -> None:
    entry = AccessControlEntry("User:contact", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    token = AclBinding(ResourcePattern(Kind.DELEGATION_TOKEN, "contact"), entry)
    with before(broker, closing) as (settings, _), connect(settings) as cluster:
        (answer,) = cluster.send(creations([token]))
    assert (answer.status, answer.code, answer.retriable) == (AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", False)
    assert "cannot connect to this cluster" in answer.message


def test_a_slow_one_that_gets_further_is_waited_for(broker: Sandbox) -> None:
    with before(broker, slow) as (settings, came), connect(settings) as cluster:
        began = time.monotonic()
        state = cluster.read(ONLY_ACLS)
        assert time.monotonic() - began > 0.6
    assert came
    assert state.kafka_version is not None, "the ACLs were read by the other client"
    assert settings.first_contact.established
    assert settings.first_contact.news() == ""


def test_one_that_was_connected_before_is_not_given_up(broker: Sandbox) -> None:
    """What fails later is the network's: the next request may succeed."""
    with before(broker, silent, request_timeout_ms="2500") as (settings, came):
        settings.first_contact.established = True
        reply = ask(settings, "altered", message="AlterClientQuotasRequest", fields={"entries": []}, entries="entries")
    assert came
    assert reply is not None
    assert reply[0] == "unsent"
    assert no_messages(settings) is None
