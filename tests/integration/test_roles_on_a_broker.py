"""Built-in roles are enough for what they are for, and no more: a real broker asks, a real client tries."""

import datetime
import time
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from confluent_kafka.admin import ResourceType as ConfigType

from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.parts.local.sandbox.state import Sandbox
from tests.verbs import creations

pytestmark = pytest.mark.broker

_RULES = {
    "viewer": "{role: viewer, topics: {prefix: roles.}, groups: {any: true}}",
    "monitor": "{role: monitor, topics: {prefix: roles.}, groups: {any: true}}",
    "sink": "{role: connect-sink, topics: [roles.in], groups: [connect-roles]}",
    "consumer": "{role: consumer, topics: [roles.in], groups: [roles-share]}",
    "groupless": "{role: consumer, topics: [roles.in], groups: [roles-other]}",
}
_DOCUMENT = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: %s}
spec:
  principal: User:roles-%s
  rules: [%s]
"""
_TIMEOUT = 20


class _As:
    """One principal's clients."""

    def __init__(self, broker: Sandbox, name: str) -> None:
        self.settings: dict[str, Any] = {**broker.settings(f"roles-{name}", "OAUTHBEARER"), "log_level": "0"}
        self.admin = AdminClient(self.settings)
        self.admin.poll(0)

    def reads(self, group: str) -> str:
        """The first message of the topic, without joining the group."""
        consumer = Consumer({**self.settings, "group.id": group, "enable.auto.commit": False})
        consumer.assign([TopicPartition("roles.in", 0, 0)])
        try:
            message = consumer.poll(_TIMEOUT)
            if message is None or message.error() is not None:
                raise KafkaException(None if message is None else message.error())
            return (message.value() or b"").decode()
        finally:
            consumer.close()


def _await_coordinator(settings: dict[str, Any]) -> None:
    """A broker that has just started loads its groups first, and who joins one waits for that.

    To ask for offsets meanwhile has ended the process now and then: librdkafka does not survive every such refusal.
    """
    consumer = Consumer({**settings, "group.id": "roles-first", "enable.auto.commit": False})
    try:
        consumer.subscribe(["roles.in"])
        deadline = time.monotonic() + 3 * _TIMEOUT
        while not consumer.assignment():
            assert time.monotonic() < deadline, "nobody can join a group"
            consumer.poll(0.1)
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def granted(broker: Sandbox) -> Sandbox:
    """The topic with a message, and what the four roles bring."""
    settings = broker.settings("admin")
    servers = settings["bootstrap.servers"]
    admin = AdminClient({**settings})
    admin.create_topics([NewTopic("roles.in", 1, 1), NewTopic("other.in", 1, 1)])["roles.in"].result(_TIMEOUT)
    producer = Producer(settings)
    producer.produce("roles.in", b"hello")
    producer.flush(_TIMEOUT)
    cluster = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {bootstrapServers: [b:1]}\n"
    sources = [Source(f"{name}.yaml", _DOCUMENT % (name, name, rule)) for name, rule in _RULES.items()]
    wanted = desired_state(load([Source("c.yaml", cluster), *sources]), "c", datetime.date.min)
    others = {key: value for key, value in settings.items() if key != "bootstrap.servers"}
    with connect(client_settings(servers, others, SecretSource())) as live:
        live.send(creations(sorted(wanted.bindings)))
    _await_coordinator(settings)
    return broker


@pytest.mark.parametrize("name", ["viewer", "monitor"])
def test_who_watches_sees_names_configs_offsets_and_the_cluster(granted: Sandbox, name: str) -> None:
    one = _As(granted, name)
    assert "roles.in" in one.admin.list_topics(timeout=_TIMEOUT).topics
    assert "other.in" not in one.admin.list_topics(timeout=_TIMEOUT).topics
    resource = ConfigResource(ConfigType.TOPIC, "roles.in")
    assert "retention.ms" in one.admin.describe_configs([resource])[resource].result(_TIMEOUT)
    broker = ConfigResource(ConfigType.BROKER, "1")
    assert "num.partitions" in one.admin.describe_configs([broker])[broker].result(_TIMEOUT)
    assert one.admin.describe_cluster().result(_TIMEOUT).cluster_id
    asked = one.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("connect-roles")])
    assert asked["connect-roles"].result(_TIMEOUT).topic_partitions == []


def test_a_viewer_reads_and_a_monitor_does_not(granted: Sandbox) -> None:
    assert _As(granted, "viewer").reads("nobody") == "hello"
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        _As(granted, "monitor").reads("nobody")


def test_a_sink_alters_and_deletes_its_offsets_and_nobody_elses(granted: Sandbox) -> None:
    admin = _As(granted, "sink").admin
    place = [ConsumerGroupTopicPartitions("connect-roles", [TopicPartition("roles.in", 0, 1)])]
    [altered] = admin.alter_consumer_group_offsets(place)["connect-roles"].result(_TIMEOUT).topic_partitions
    assert altered.error is None
    assert admin.delete_consumer_groups(["connect-roles"])["connect-roles"].result(_TIMEOUT) is None
    with pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"):
        admin.delete_consumer_groups(["connect-other"])["connect-other"].result(_TIMEOUT)


def test_a_consumer_may_consume_in_a_share_group(granted: Sandbox) -> None:
    one = _As(granted, "consumer")
    consumer = ShareConsumer({**one.settings, "group.id": "roles-share"})
    try:
        consumer.subscribe(["roles.in"])
        deadline = time.monotonic() + _TIMEOUT
        found: list[Any] = []
        producer = Producer(granted.settings("admin"))
        while not found and time.monotonic() < deadline:
            # A share group begins at the end of a topic, whenever it begins.
            producer.produce("roles.in", b"shared")
            producer.flush(_TIMEOUT)
            found = list(consumer.poll(1.0) or [])
        assert {message.value() for message in found if message.error() is None} == {b"shared"}
    finally:
        consumer.close()


def test_without_read_on_the_share_group_there_is_nothing_to_consume(granted: Sandbox) -> None:
    consumer = ShareConsumer({**_As(granted, "groupless").settings, "group.id": "roles-share"})
    try:
        consumer.subscribe(["roles.in"])
        deadline = time.monotonic() + _TIMEOUT
        errors: list[Any] = []
        while not errors and time.monotonic() < deadline:
            try:
                found: list[Any] = list(consumer.poll(1.0) or [])
            except KafkaException as error:
                errors = [error.args[0]]
            else:
                errors = [message.error() for message in found]
        assert [error.name() for error in errors if error is not None] == ["GROUP_AUTHORIZATION_FAILED"]
    finally:
        consumer.close()
