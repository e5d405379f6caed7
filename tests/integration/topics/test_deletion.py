"""Deleting topics on a broker: what goes is told, another topic of that name stays, one that returns is named."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus
from tests.integration.kafka.conftest import settings_of
from tests.integration.topics.conftest import Asked
from tests.integration.topics.test_validate_with_broker import make, topics_document
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

_DELETE = ("--allow-deletes", "--accept", "topic-delete=goes")
_GOES = topics_document({"name": "goes", "absent": "true"})


def client(policed: Sandbox) -> dict[str, object]:
    return dict(settings_of(policed.settings("admin")).config)


def produce(policed: Sandbox, topic: str, count: int) -> None:
    producer = Producer({**client(policed), "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, b"x" * 1000, key=str(number), timestamp=1_700_000_000_000 + number)
    assert producer.flush(30) == 0


def test_what_goes_is_told_before_it_goes(policed: Sandbox, admin: KafkaCluster, asked: Asked) -> None:
    make(admin, Topic("goes", 2, 1))
    produce(policed, "goes", 30)
    reader = Consumer({**client(policed), "group.id": "readers"})
    reader.commit(offsets=[TopicPartition("goes", 0, 1)], asynchronous=False)
    reader.close()

    status, plan = asked(_GOES, "plan", *_DELETE)
    assert status == 0
    (use,) = plan["topics"]["uses"].values()
    assert use["records"] == 30
    assert use["lastWrite"] == "2023-11-14T22:13:20+00:00"
    assert use["groups"] == ["readers"]
    assert use["sizeBytes"] > 30_000
    assert use["gaps"] == []
    assert plan["topics"]["brokerDefaults"] == {"auto.create.topics.enable": "true"}
    assert any("brokers make topics that clients ask for" in text for text in plan["warnings"])

    status, text = asked(_GOES, "plan", "--allow-deletes", expect_json=False)
    assert status == 5
    assert "holds up to 30 records, " in text
    assert "; last write 2023-11-14T22:13:20+00:00; " in text
    assert "1 group with offsets in it: readers" in text
    assert "--accept topic-delete=goes" in text


def test_another_topic_of_that_name_is_not_deleted(admin: KafkaCluster, asked: Asked, tmp_path: Path) -> None:
    (answer,) = admin.send(creations([Topic("goes", 1, 1)]))
    assert answer.status is AnswerStatus.DONE or answer.code == "TOPIC_ALREADY_EXISTS"
    out = tmp_path / "plan.json"
    status, text = asked(_GOES, "plan", *_DELETE, "--out", str(out), expect_json=False)
    assert status == 0, text
    admin.send(deletions([Topic("goes")]))
    remade(admin, "goes")
    status, text = asked(_GOES, "apply", str(out), "--yes", expect_json=False, saved=True)
    assert status == 4, text
    assert "another topic of that name" in text


def remade(admin: KafkaCluster, name: str) -> None:
    for _ in range(100):
        if admin.send(creations([Topic(name, 1, 1)]))[0].status is AnswerStatus.DONE:
            return
    raise AssertionError(f"{name} could not be made again")


@contextmanager
def wanted(policed: Sandbox, topic: str) -> Iterator[None]:
    """A client that goes on writing to a topic, which holds what it wrote first: no plan is made of an empty one."""
    producer, over = Producer({**client(policed), "topic.metadata.refresh.interval.ms": 100}), threading.Event()
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0

    def write() -> None:
        while not over.wait(0.05):
            producer.produce(topic, b"x")
            producer.poll(0)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        producer.purge()


def test_a_topic_that_a_broker_makes_again_is_named(policed: Sandbox, admin: KafkaCluster, asked: Asked) -> None:
    make(admin, Topic("back", 1, 1))
    manifest = topics_document({"name": "back", "absent": "true"})
    with wanted(policed, "back"):
        options = ("--allow-deletes", "--accept", "topic-delete=back", "--yes")
        status, text = asked(manifest, "apply", *options, expect_json=False)
    assert status == 1
    assert "topic back is there again, as another one and empty" in text
