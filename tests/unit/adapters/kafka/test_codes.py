"""What each error code means for a write: FAILED only where nothing can have changed."""

import pytest

from reconciler.kafka.errors import failure
from reconciler.ports import AnswerStatus

NO_BROKER = "Failed while waiting for controller: Local: Timed out"
NO_ANSWER = "Failed while waiting for response from broker: Local: Timed out"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (3, "UNKNOWN_TOPIC_OR_PARTITION"),
        (17, "INVALID_TOPIC_EXCEPTION"),
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (36, "TOPIC_ALREADY_EXISTS"),
        (37, "INVALID_PARTITIONS"),
        (38, "INVALID_REPLICATION_FACTOR"),
        (40, "INVALID_CONFIG"),
        (42, "INVALID_REQUEST"),
        (44, "POLICY_VIOLATION"),
        (54, "SECURITY_DISABLED"),
        (-186, "_INVALID_ARG"),
    ],
)
def test_a_refusal_is_known_and_not_worth_repeating(code: int, name: str) -> None:
    answer = failure(code, name, "why").answer()
    assert (answer.status, answer.code, answer.message, answer.retriable) == (AnswerStatus.FAILED, name, "why", False)


@pytest.mark.parametrize("code", [14, 15, 16, 41, 56, 89])
def test_some_refusals_may_pass_later(code: int) -> None:
    answer = failure(code, "X", "").answer()
    assert (answer.status, answer.retriable, answer.message) == (AnswerStatus.FAILED, True, "X")


@pytest.mark.parametrize("code", [-1, 7, 13, -195, -199, -169, -181, -197, 119, 9_999, -9_999])
def test_everything_else_leaves_the_outcome_unknown(code: int) -> None:
    answer = failure(code, "X", "").answer()
    assert (answer.status, answer.retriable) == (AnswerStatus.UNKNOWN, False)


def test_a_timeout_is_known_only_if_nothing_was_sent() -> None:
    before, after = failure(-185, "_TIMED_OUT", NO_BROKER).answer(), failure(-185, "_TIMED_OUT", NO_ANSWER).answer()
    assert (before.status, before.retriable) == (AnswerStatus.FAILED, True)
    assert (after.status, after.retriable) == (AnswerStatus.UNKNOWN, False)


def test_kafka_s_names_are_used() -> None:
    assert failure(-1, "UNKNOWN", "").name == "UNKNOWN_SERVER_ERROR"
    assert failure(3, "UNKNOWN_TOPIC_OR_PART", "").name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert failure(17, "TOPIC_EXCEPTION", "").name == "INVALID_TOPIC_EXCEPTION"
