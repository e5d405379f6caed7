"""A reading that gets no answer is asked again by new clients, a few times, however it goes without one."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, KafkaException

from reconciler.kafka import client, settings
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import CLUSTER_AUTHORIZATION_FAILED, TIMED_OUT, UNANSWERED, ClientFailure
from reconciler.kafka.settings import ClientSettings
from reconciler.ports import ClusterError

#: What becomes of a request: it has a result or an error at once, or, with ``None``, nothing ever.
_Fate = str | int | None
_DENIED: Final = CLUSTER_AUTHORIZATION_FAILED


class _Client:
    """One that was made; what is asked of it goes without an answer, once it is closed."""

    def poll(self, _: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> None:
        """Any broker tells who the controller is."""

    def __exit__(self, *_: object) -> None:
        """It is closed."""


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> AdminConnection:
    """One that was heard already, and is as patient as a test can be."""
    monkeypatch.setattr(client, "_ASK_AGAIN_SECONDS", tuple(0.02 for _ in client._ASK_AGAIN_SECONDS))
    monkeypatch.setattr(client, "_LOST_SECONDS", 0.02)
    monkeypatch.setattr(client, "_POLL_SECONDS", 0.005)
    monkeypatch.setattr(settings, "_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(client, "_LOG_SECONDS", 0.0)
    monkeypatch.setattr(AdminConnection, "_new_client", lambda _: _Client())
    made = AdminConnection(ClientSettings({}, request_timeout=1.0))
    made._heard = True
    return made


def _asking(fates: Sequence[_Fate]) -> tuple[list["Future[Any]"], Callable[[], "Future[Any]"]]:
    """Requests that come to these ends in turn, the last one to the last, and those that were sent."""
    sent: list[Future[Any]] = []

    def ask() -> "Future[Any]":
        fate, future = fates[min(len(sent), len(fates) - 1)], Future[Any]()
        sent.append(future)
        if isinstance(fate, str):
            future.set_result(fate)
        elif fate is not None:
            future.set_exception(KafkaException(KafkaError(fate)))
        return future

    return sent, ask


@pytest.mark.parametrize("silent", range(len(client._ASK_AGAIN_SECONDS) + 1))
def test_a_reading_is_answered_however_many_clients_are_sent_to_the_broker_that_stands_still(
    connection: AdminConnection, silent: int
) -> None:
    sent, ask = _asking([None] * silent + ["told"])
    assert connection.read(ask) == "told"
    assert len(sent) == silent + 1


def test_a_reading_that_nobody_answers_ends_and_is_not_asked_without_end(connection: AdminConnection) -> None:
    sent, ask = _asking([None])
    with pytest.raises(ClusterError):
        connection.read(ask)
    assert len(sent) == len(client._ASK_AGAIN_SECONDS) + 1


@pytest.mark.parametrize("code", sorted(UNANSWERED - {TIMED_OUT}))
def test_a_reading_whose_connection_ends_is_asked_again(connection: AdminConnection, code: int) -> None:
    sent, ask = _asking([code, "told"])
    assert connection.read(ask) == "told"
    assert len(sent) == 2


@pytest.mark.parametrize("code", sorted(UNANSWERED))
def test_an_end_without_an_answer_does_not_hide_the_answer_of_the_next_client(
    connection: AdminConnection, code: int
) -> None:
    def ask(names: Sequence[str]) -> Mapping[str, "Future[Any]"]:
        asked.append(names)
        futures = {name: Future[Any]() for name in names}
        if len(asked) == 1:
            futures["ended"].set_exception(KafkaException(KafkaError(code)))
        else:
            for future in futures.values():
                future.set_result("told")
        return futures

    asked: list[Sequence[str]] = []
    found = connection.read_each(["ended", "silent"], ask)
    assert found["silent"] == "told"
    # Its own time may be over; then it is told so, and otherwise the next client's answer counts.
    assert found["ended"] == "told" or code == TIMED_OUT


def test_a_refusal_is_an_answer(connection: AdminConnection) -> None:
    sent, ask = _asking([_DENIED])
    with pytest.raises(ClusterError, match="CLUSTER_AUTHORIZATION_FAILED"):
        connection.read(ask)
    assert len(sent) == 1


def test_what_its_own_time_has_ended_is_not_asked_once_more(connection: AdminConnection) -> None:
    sent, ask = _asking([TIMED_OUT])
    (told,) = connection.read_each(["one"], lambda _: {"one": ask()}).values()
    assert isinstance(told, ClientFailure)
    assert told.code == TIMED_OUT
    assert len(sent) == 1


@pytest.mark.parametrize("code", sorted(UNANSWERED))
def test_after_a_request_without_an_answer_a_new_client_is_used(connection: AdminConnection, code: int) -> None:
    before = connection.admin
    connection._since -= client._YOUNG_SECONDS
    assert isinstance(connection.outcome(_asking([code])[1]()), ClientFailure)
    assert connection.admin is not before


@pytest.mark.parametrize("refuses", [False, True])
def test_the_first_question_of_all_finds_another_controller_where_some_broker_answers(
    connection: AdminConnection, monkeypatch: pytest.MonkeyPatch, *, refuses: bool
) -> None:
    """A broker that died is named as the controller for seconds: a client that just began waits for it alone."""
    monkeypatch.setattr(client, "_QUIET_SECONDS", 0.02)
    connection._heard = False
    waiting: Future[Any] = Future()

    def told(_: _Client, timeout: float) -> None:
        if refuses:
            raise KafkaException(KafkaError(TIMED_OUT, "nobody answers"))
        waiting.set_result("answered")

    monkeypatch.setattr(_Client, "list_topics", told)
    if refuses:
        with pytest.raises(ClusterError):
            connection.read(lambda: waiting)
    else:
        assert connection.read(lambda: waiting) == "answered"
    assert connection._heard is not refuses
