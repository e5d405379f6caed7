"""What a sandbox lets in and what it refuses, on real brokers."""

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reconciler.parts.local.sandbox.layout import Listener, SandboxError, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running, start_node, stop_node
from reconciler.parts.local.sandbox.state import Sandbox

pytestmark = pytest.mark.broker

_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
_REFUSED = "TOPIC_AUTHORIZATION_FAILED"
_CONTROLLER, _FIRST, _SECOND = 101, 1, 2


@pytest.fixture(scope="module")
def listening(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with every listener that there is, and without unsigned tokens."""
    spec = SandboxSpec(name="listening", tls=True, plaintext=True, users=generated_users("carol", "reconciler"))
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture
def many(sandbox_root: Path) -> Iterator[Sandbox]:
    """Two brokers and a controller of its own."""
    with running(SandboxSpec(name="many", nodes=2, controllers=1), root=sandbox_root) as sandbox:
        yield sandbox


@pytest.mark.parametrize("mechanism", [*_MECHANISMS, "OAUTHBEARER"])
@pytest.mark.parametrize(("user", "answer"), [("admin", "allowed"), ("alice", _REFUSED)])
def test_every_user_logs_in_with_every_mechanism_and_is_that_user(
    broker: Sandbox, user: str, mechanism: str, answer: str
) -> None:
    assert _create_topic(broker.settings(user, mechanism)) == answer


@pytest.mark.parametrize("mechanism", [*_MECHANISMS, "OAUTHBEARER"])
@pytest.mark.parametrize(("user", "answer"), [("admin", "allowed"), ("alice", _REFUSED)])
def test_kafka_3_9_does_so_too(broker_3_9: Sandbox, user: str, mechanism: str, answer: str) -> None:
    assert _create_topic(broker_3_9.settings(user, mechanism)) == answer


def test_without_an_authorizer_everybody_may(broker_no_authorizer: Sandbox) -> None:
    assert _create_topic(broker_no_authorizer.settings("alice")) == "allowed"


@pytest.mark.parametrize("mechanism", _MECHANISMS)
def test_a_wrong_password_does_not_log_in(broker: Sandbox, mechanism: str) -> None:
    assert _refusal(broker.settings("admin", mechanism)) == ""
    assert _refusal({**broker.settings("admin", mechanism), "sasl.password": "guess"}) == "_AUTHENTICATION"


def test_unsigned_tokens_are_refused_unless_asked_for(listening: Sandbox) -> None:
    assert _refusal(listening.settings("reconciler", "OAUTHBEARER")) == "_AUTHENTICATION"


@pytest.mark.parametrize("mechanism", _MECHANISMS)
@pytest.mark.parametrize(("user", "answer"), [("reconciler", "allowed"), ("carol", _REFUSED)])
def test_passwords_over_tls(listening: Sandbox, user: str, mechanism: str, answer: str) -> None:
    assert _create_topic(listening.settings(user, mechanism, tls=True)) == answer


def test_the_client_certificate_is_a_login(listening: Sandbox) -> None:
    assert _create_topic(listening.certificate_settings()) == "allowed"


def test_no_certificate_is_no_login(listening: Sandbox) -> None:
    settings = {name: value for name, value in listening.certificate_settings().items() if "keystore" not in name}
    assert _refusal(settings) in {"_SSL", "_TRANSPORT"}  # as the alert comes before or after the reset


def test_a_connection_without_login_may_do_nothing(listening: Sandbox) -> None:
    settings = {"bootstrap.servers": listening.addresses(Listener.CLIENT_PLAINTEXT), "security.protocol": "PLAINTEXT"}
    assert _create_topic(settings) == _REFUSED


@pytest.mark.parametrize("listener", [Listener.BROKER, Listener.CONTROLLER])
def test_the_listeners_between_nodes_want_a_password_that_no_user_has(listening: Sandbox, listener: Listener) -> None:
    addresses = ",".join(f"127.0.0.1:{node.ports[listener]}" for node in listening.nodes if listener in node.ports)
    assert _refusal({**listening.settings("reconciler", "PLAIN"), "bootstrap.servers": addresses}) == "_AUTHENTICATION"


@pytest.mark.long
def test_a_node_is_stopped_and_started_alone(many: Sandbox) -> None:
    without = stop_node(many, _SECOND)
    assert without.condition() == "partly up"
    assert [node.pid for node in without.nodes if not node.is_running()] == [None]
    again = start_node(without, _SECOND)
    assert again.condition() == "up"
    assert again.node(_SECOND).ports == many.node(_SECOND).ports
    assert again.node(_FIRST) == many.node(_FIRST)
    killed = stop_node(again, _CONTROLLER, kill=True)
    assert not killed.node(_CONTROLLER).is_running()
    assert start_node(killed, _CONTROLLER).condition() == "up"
    with pytest.raises(SandboxError, match="running already"):
        start_node(again, _FIRST)


@pytest.mark.long
def test_three_combined_nodes_know_each_other_and_outlive_one(sandbox_root: Path) -> None:
    with running(SandboxSpec(name="three", nodes=3), root=sandbox_root) as sandbox:
        assert _broker_ids(sandbox.settings("alice")) == {1, 2, 3}
        stop_node(sandbox, 3)
        assert _create_topic(sandbox.settings("admin"), replicas=2) == "allowed"


def _create_topic(settings: dict[str, str], replicas: int = 1) -> str:
    """Whether these may create topics (none is): ``allowed``, or the name of the broker's error."""
    with AdminClient({**settings, "log_level": 0}) as admin:
        wish = NewTopic("wish", 1, replicas)
        (future,) = admin.create_topics([wish], validate_only=True, request_timeout=20).values()
        return _outcome(future) or "allowed"


def _outcome(future: Future[Any]) -> str:
    problem = future.exception()
    if problem is None:
        return ""
    assert isinstance(problem, KafkaException)
    return str(problem.args[0].name())


def _refusal(settings: dict[str, str]) -> str:
    """The client's name for why a broker does not let these in; empty if it does."""
    problems: list[str] = []
    client: dict[str, Any] = {**settings, "log_level": 0, "error_cb": lambda problem: problems.append(problem.name())}
    with AdminClient(client) as admin:
        answer = admin.describe_cluster(request_timeout=20)
        while not answer.done() and not problems:
            admin.poll(0.05)
        return problems[0] if problems else _outcome(answer)


def _broker_ids(settings: dict[str, str]) -> set[int]:
    with AdminClient({**settings, "log_level": 0}) as admin:
        return {node.id for node in admin.describe_cluster(request_timeout=20).result().nodes}
