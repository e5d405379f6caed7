"""A question that a broker does not answer is asked of another one, a bounded number of times."""

import marshal
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from reconciler.kafka.sent_kind import SentKind
from reconciler.model.kinds import listed_kind
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import PasswordSource, ScramUser
from reconciler.model.listing import Create, Delete, Update

with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
    messages: Any = import_module("reconciler.kafka.raw_messages")
    client: Any = import_module("reconciler.kafka.message_client")
    wire: Any = import_module("kafka.protocol.admin")
errors: Any = import_module("kafka.errors")

_GIVEN_MS = 60_000


class _Manager:
    """Brokers 1 to 3, of which the client prefers the first whatever it knows of it."""

    def __init__(self, silent: set[int | None]) -> None:
        self.silent = silent
        self.asked: list[tuple[int | None, int | None]] = []
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(node_id=one) for one in (1, 2, 3)])

    def least_loaded_node(self) -> int:
        return 1

    def run(self, call: Callable[..., Any], *args: Any) -> Any:
        return call(*args)

    def send(self, request: str, broker: int | None, milliseconds: int | None) -> str:
        self.asked.append((broker, milliseconds))
        if broker in self.silent:
            raise errors.RequestTimedOutError
        return f"{request} by {broker}"


def _client(manager: _Manager) -> SimpleNamespace:
    config = {"bootstrap_timeout_ms": _GIVEN_MS}
    return SimpleNamespace(_manager=manager, config=config)


@pytest.mark.parametrize(("silent", "by"), [(set[int | None](), 1), ({1}, 2), ({1, 2}, 3)])
def test_the_broker_that_said_nothing_is_not_asked_again(silent: set[int | None], by: int) -> None:
    manager = _Manager(silent)
    assert messages.read(_client(manager), "told") == f"told by {by}"
    assert [broker for broker, _ in manager.asked] == list(range(1, by + 1))


def test_where_no_broker_answers_the_last_one_has_the_time_that_the_user_gave() -> None:
    manager = _Manager({1, 2, 3})
    with pytest.raises(errors.RequestTimedOutError):
        messages.read(_client(manager), "told")
    assert [broker for broker, _ in manager.asked] == [1, 2, 3]
    assert manager.asked[-1][1] == _GIVEN_MS


def test_what_the_controller_alone_knows_is_not_waited_for_as_long() -> None:
    manager = _Manager({1, 2, 3})
    with pytest.raises(errors.RequestTimedOutError):
        messages.read(_client(manager), "told", patience=messages.CONTROLLER_MS)
    assert [milliseconds for _, milliseconds in manager.asked] == list(messages.CONTROLLER_MS)


def test_a_question_to_one_broker_is_asked_of_no_other() -> None:
    manager = _Manager({2})
    with pytest.raises(errors.RequestTimedOutError):
        messages.read(_client(manager), "told", broker=2)
    assert [broker for broker, _ in manager.asked] == [2]


def _encoded(question: Any) -> bytes:
    """The message of a question, as the client's process makes it of what it was sent."""
    asked = marshal.loads(marshal.dumps(question))  # noqa: S302 - as it is sent to our own child
    made = client._message(asked["message"], asked["fields"])
    encoded: bytes = made.encode(version=made.max_version)
    return encoded


def test_a_message_of_quotas_is_that_of_the_librarys_own_classes() -> None:
    kind: SentKind = listed_kind(ClientQuota)
    entity = QuotaEntity.of("alice")
    change = Update(ClientQuota(entity, {"consumer_byte_rate": 1}), ClientQuota(entity, {"producer_byte_rate": 2}))
    alteration = kind.alteration(change, {})
    entry = wire.AlterClientQuotasRequest.EntryData
    ops = [("consumer_byte_rate", 0.0, True), ("producer_byte_rate", 2.0, False)]
    by_classes = wire.AlterClientQuotasRequest(
        entries=[entry(entity=[entry.EntityData("user", "alice")], ops=[entry.OpData(*op) for op in ops])],
        validate_only=True,
    )
    assert _encoded(kind.altering([alteration], only_validate=True)) == by_classes.encode(version=1)
    everything = wire.DescribeClientQuotasRequest(components=[], strict=False)
    assert _encoded(kind.reading) == everything.encode(version=1)


def test_a_message_of_users_is_that_of_the_librarys_own_classes() -> None:
    kind: SentKind = listed_kind(ScramUser)
    source = PasswordSource(salt="${env:SALT}", salted_password="${env:SALTED}")
    changes = (
        Create(ScramUser("alice", {"SCRAM-SHA-256": 8192}, {"SCRAM-SHA-256": source})),
        Delete(ScramUser("bob", {"SCRAM-SHA-512": 4096})),
    )
    alterations = [kind.alteration(one, {"${env:SALT}": "YQ==", "${env:SALTED}": "Yg=="}) for one in changes]
    request = wire.AlterUserScramCredentialsRequest
    by_classes = request(
        deletions=[request.ScramCredentialDeletion("bob", 2)],
        upsertions=[request.ScramCredentialUpsertion("alice", 1, 8192, b"a", b"b")],
    )
    assert _encoded(kind.altering(alterations, only_validate=False)) == by_classes.encode(version=0)
    everything = wire.DescribeUserScramCredentialsRequest(users=None)
    assert _encoded(kind.reading) == everything.encode(version=0)


def test_one_user_that_may_not_be_read_is_no_empty_listing() -> None:
    """One that went meanwhile is left out; any other error is the answer."""
    response = wire.DescribeUserScramCredentialsResponse
    user, info = response.DescribeUserScramCredentialsResult, "CredentialInfo"
    there = user(user="a", error_code=0, error_message=None, credential_infos=[getattr(user, info)(1, 8192)])
    gone, hidden = (user(user="b", error_code=code, error_message="why", credential_infos=[]) for code in (91, 31))
    kind: SentKind = listed_kind(ScramUser)
    replies = []
    for results in ([there, gone], [there, hidden]):
        answer = response(error_code=0, error_message=None, results=results)
        with patch.object(client, "read", lambda *_, told=answer: told):
            replies.append(client._listed(None, kind.reading))
    (listed, entries), refused = replies
    assert (listed, list(map(kind.item, entries))) == ("listed", [ScramUser("a", {"SCRAM-SHA-256": 8192})])
    assert refused == ("refused", 31, "CLUSTER_AUTHORIZATION_FAILED", "why")


def test_a_message_that_cannot_be_written_is_not_sent_and_says_no_value() -> None:
    task = {"message": "AlterUserScramCredentialsRequest", "fields": {"secret": "hunter2"}, "entries": "results"}
    assert client._altered(None, task) == ("unsent", "the request cannot be written: KeyError")


def test_a_connection_is_closed_beside_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process answers more than once; a connection that does not end holds no answer back."""
    answered, closing, closed = threading.Event(), threading.Event(), threading.Event()

    def close() -> None:
        closing.set()
        if answered.wait(10):
            closed.set()

    monkeypatch.setattr(client, "_connected", lambda _: SimpleNamespace(close=close))
    monkeypatch.setitem(client._QUESTIONS, "acls", messages.Question(lambda _client, _task: ("rows",)))
    assert client.answer({"ask": "acls"}) == ("rows",)
    answered.set()
    assert closing.wait(10)
    assert closed.wait(10)
