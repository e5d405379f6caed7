"""Codes that librdkafka loses, given back from its log: exactly, or not at all."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from reconciler.kafka.errors import CodeLog, EntryCodes, as_returned, with_logged

USER, TOKEN, TOPIC = 7, 6, 2
_TYPE, _PATTERN, _OPERATION = "resource type", "resource pattern type", "acl operation"


def entry(kind: int, name: str, operation: int, *, pattern: int = 3, permission: int = 3) -> Any:
    """As the client returns it."""
    codes = {"restype": kind, "resource_pattern_type": pattern, "operation": operation, "permission_type": permission}
    return SimpleNamespace(name=name, **{field: SimpleNamespace(value=code) for field, code in codes.items()})


def test_codes_come_back_in_the_order_of_the_answer() -> None:
    listed = [entry(0, "x", 0), entry(0, "x", 0), entry(0, "y", 2), entry(TOPIC, "t", 3), entry(5, "t", 0, pattern=0)]
    logged = [(_TYPE, USER), (_OPERATION, 14), (_OPERATION, 13), (_TYPE, TOKEN), (_PATTERN, 9), (_OPERATION, 15)]
    assert with_logged(listed, logged) == [
        EntryCodes(USER, 3, 14, 3),
        EntryCodes(USER, 3, 13, 3),
        EntryCodes(TOKEN, 3, 2, 3),
        EntryCodes(TOPIC, 3, 3, 3),
        EntryCodes(5, 9, 15, 3),
    ]
    assert as_returned(listed)[0] == EntryCodes(None, 3, None, 3)


@pytest.mark.parametrize(
    "logged",
    [
        pytest.param([], id="nothing was logged"),
        pytest.param([(_TYPE, USER)], id="a line is missing"),
        pytest.param([(_OPERATION, 13), (_TYPE, USER)], id="another order"),
        # USER x and DELEGATION_TOKEN x, one entry each, look like one resource with two entries.
        pytest.param([(_TYPE, USER), (_OPERATION, 13), (_TYPE, TOKEN)], id="two resources that look alike"),
    ],
)
def test_what_does_not_fit_gives_nothing_back(logged: list[tuple[str, int]]) -> None:
    assert with_logged([entry(0, "x", 0), entry(0, "x", 8)], logged) is None


def test_the_log_keeps_codes_alone() -> None:
    log = CodeLog()
    for text in (
        "DESCRIBEACLSRESPONSE [rdkafka#producer-3] [thrd:main]: sasl_plaintext://127.0.0.1:24959/1: "
        "DescribeAclsResponse returned unknown acl operation 14",
        "FAIL [rdkafka#producer-3] [thrd:main]: password is secret",
    ):
        log.emit(logging.LogRecord("x", logging.WARNING, "", 0, text, None, None))
    assert log.codes == [("acl operation", 14)]
