"""What the client cannot carry is found before it is asked to; what Kafka alone refuses is left to Kafka."""

import pytest

from reconciler.kafka.bindings import increase_problem, settings_problem, text_problem, topic_problem
from reconciler.model.topic import Topic, TopicPartitions


@pytest.mark.parametrize("text", ["a\0b", "\0", "x" * 32_768, "é" * 16_384, "🦀" * 8_192])
def test_texts_that_would_be_sent_as_others_or_not_at_all(text: str) -> None:
    assert text_problem("fine", text) is not None


@pytest.mark.parametrize("text", ["", "*", "tab\there", "x" * 32_767, "é" * 16_383, "🦀" * 8_191])
def test_texts_that_are_carried(text: str) -> None:
    assert text_problem(text, None) is None


@pytest.mark.parametrize(
    "topic",
    [
        Topic("t", 0),
        Topic("t", -1),
        Topic("t", 1, 0),
        Topic("t", 100_001),
        Topic("t", 2**40),
        Topic("t", 1, 10_001),
        Topic("t", replica_assignments=((1,), ())),
        Topic("t", replica_assignments=((2**31,),)),
        Topic("t", replica_assignments=((1,),) * 100_001),
        Topic("t", 1, 1, {"": "1"}),
        Topic("t", 1, 1, {"retention.ms": "1\0"}),
    ],
)
def test_topics_on_which_the_client_would_raise(topic: Topic) -> None:
    assert topic_problem(topic) is not None


def test_topics_that_are_carried() -> None:
    assert topic_problem(Topic("t")) is None
    assert topic_problem(Topic("t", 100_000, 10_000, {"no.such.setting": "x"})) is None
    assert topic_problem(Topic("t", replica_assignments=((1, 1), (2**31 - 1,)))) is None


def test_increases() -> None:
    assert increase_problem(TopicPartitions("t", 100_000)) is None
    assert increase_problem(TopicPartitions("t", 100_001)) is not None
    assert increase_problem(TopicPartitions("t", 2, assignments=((),))) is not None


def test_settings() -> None:
    assert settings_problem({"retention.ms": None, "cleanup.policy": ""}) is None
    assert settings_problem({"": None}) is not None
