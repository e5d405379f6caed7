"""A question that a broker does not answer is asked of another one, a bounded number of times."""

import warnings
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
    messages: Any = import_module("reconciler.kafka.raw_messages")
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
