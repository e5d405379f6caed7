"""Each item of a request gets the answer that is its own, whatever objects the client uses as keys."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from reconciler.kafka.client import AdminConnection, Item, request
from reconciler.kafka.errors import ClientFailure
from reconciler.ports import DONE, Answer, AnswerStatus

_HELD_BACK = Answer(AnswerStatus.FAILED, "UNSUPPORTED", "the client cannot carry it")
_CONNECTION = cast(
    "AdminConnection",
    SimpleNamespace(settings=SimpleNamespace(write_timeout=1.0), outcome=lambda future: future.result()),
)


def _binding(name: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        name,
        ResourcePatternType.LITERAL,
        "User:a",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def _call(key: Callable[[AclBinding], Any]) -> Callable[..., Mapping[Any, "Future[Any]"]]:
    """A client's method that refuses the topic ``b``, and that finds its futures by ``key`` of what it was given."""

    def called(given: list[AclBinding], *, request_timeout: float) -> Mapping[Any, "Future[Any]"]:
        futures = {}
        for one in reversed(given):
            futures[key(one)] = future = Future[Any]()
            future.set_result(ClientFailure(44, "POLICY_VIOLATION", "no b") if one.name == "b" else None)
        return futures

    return called


@pytest.mark.parametrize("key", [lambda one: one, lambda one: _binding(one.name)], ids=["its own", "an equal one"])
def test_an_answer_is_found_by_the_object_or_by_an_equal_one(key: Callable[[AclBinding], Any]) -> None:
    items = [Item(name, None, partial(_binding, name)) for name in "abc"]
    items.insert(1, Item("x", _HELD_BACK, partial(_binding, "x")))
    first, held_back, second, third = request(_CONNECTION, _call(key), items)
    assert (first, held_back, third) == (DONE, _HELD_BACK, DONE)
    assert second.code == "POLICY_VIOLATION"


def test_an_answer_is_found_by_the_key_that_the_client_uses() -> None:
    items = [Item(name, None, partial(_binding, name), name) for name in "ab"]
    first, second = request(_CONNECTION, _call(lambda one: one.name), items)
    assert first == DONE
    assert second.code == "POLICY_VIOLATION"
