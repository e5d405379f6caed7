"""The roles ``mirror-source`` and ``mirror`` with real MirrorMakers 2: enough for what the documents say."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.applications.applications import (
    VERSION,
    application_jars,
    await_true,
    grant,
    login,
    program,
    write_properties,
)
from tests.integration.topics.java_classes import compiled
from tests.shared_brokers import opened

# Each MirrorMaker is three workers and six connectors.
pytestmark = [pytest.mark.broker, pytest.mark.long]

_TIMEOUT = 60
_SECONDS = 300
_SOURCE = ["{role: mirror-source, topics: [mm.NAME], groups: [readers.NAME]}"]
_TARGET = [
    f"{{role: mirror, topics: {topics}, groups: [NAME-mm2, readers.NAME]}}"
    for topics in ("{prefix: NAME.}", "{prefix: mm2-}", "[heartbeats]")
]
_TRANSACTIONS = [
    _TARGET[0].replace("groups:", "transactionalIds: {prefix: NAME-mm2-}, groups:"),
    _TARGET[1].replace("groups:", "transactionalIds: [connect-cluster-NAME-mm2], groups:"),
]
#: What the reverse flow, which only sends heartbeats, needs on the source (docs/manifests/roles.md).
_BACKWARDS = [
    "{role: mirror, topics: {prefix: mm2-}, groups: [to-NAME-mm2]}",
    "{role: mirror, topics: [heartbeats], groups: [to-NAME-mm2]}",
]
_ONES = (
    "replication",
    "checkpoints.topic.replication",
    "heartbeats.topic.replication",
    "offset-syncs.topic.replication",
)
_STORES = ("config.storage.replication", "offset.storage.replication", "status.storage.replication")
_QUICK = (
    "emit.checkpoints",
    "sync.group.offsets",
    "refresh.topics",
    "refresh.groups",
    "emit.heartbeats",
    "sync.topic.acls",
)


class _Mirror(NamedTuple):
    """A MirrorMaker: the rules on the source and on the target, what one of them lacks, and its own settings."""

    source: list[str] = _SOURCE
    target: list[str] = _TARGET
    lacks: tuple[str, str] = ("", "")
    settings: dict[str, str] = {}  # noqa: RUF012 - never changed


_NO_HEARTBEATS = {"to-NAME->NAME.emit.heartbeats.enabled": "false"}
_NO_ACLS = {"sync.topic.acls.enabled": "false"}
_USUAL = {**_NO_HEARTBEATS, **_NO_ACLS}
_MIRRORS = {
    "whole": _Mirror(settings=_USUAL),
    "beating": _Mirror([*_SOURCE, *_BACKWARDS], settings=_NO_ACLS),
    "once": _Mirror(
        target=[*_TARGET, *_TRANSACTIONS], settings={**_USUAL, "to-NAME.exactly.once.source.support": "enabled"}
    ),
    "granting": _Mirror(
        [*_SOURCE, "{allow: DESCRIBE, cluster: true}"],
        [*_TARGET, "{allow: ALTER, cluster: true}"],
        settings=_NO_HEARTBEATS,
    ),
    "unread": _Mirror(lacks=("TOPIC mm.NAME READ", ""), settings=_USUAL),
    "uncreated": _Mirror(lacks=("", "TOPIC NAME. CREATE"), settings=_USUAL),
    "unsynced": _Mirror(lacks=("", "GROUP readers.NAME READ"), settings=_USUAL),
}
_ALONE = _Mirror(settings=_NO_ACLS)


class _Run(NamedTuple):
    """All MirrorMakers while they run."""

    admin: AdminClient
    consumer: Consumer
    said: Callable[[], str]

    def mirrored(self, name: str) -> bool:
        """Whether the messages of the source are on the target."""
        topic = f"{name}.mm.{name}"
        if topic not in self.admin.list_topics(timeout=_TIMEOUT).topics:
            return False
        return bool(self.consumer.get_watermark_offsets(TopicPartition(topic, 0), _TIMEOUT)[1] > 0)

    def synced(self, name: str) -> bool:
        """Whether the offsets of the group hold for the mirrored topic too."""
        group = f"readers.{name}"
        found = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(_TIMEOUT)
        return any(place.topic == f"{name}.mm.{name}" for place in found.topic_partitions)

    def await_(self, test: Callable[[], bool]) -> None:
        await_true(test, self.said, _SECONDS)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The class path of the program that runs MirrorMakers."""
    jars = application_jars("connect-mirror", "connect-file")
    sources = Path(__file__).parent / "programs" / "mirror"
    return compiled(sources, tmp_path_factory.mktemp("classes"), VERSION, jars=jars), jars


@pytest.fixture(scope="module")
def run(broker: Sandbox, classes: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Run]:
    """One process runs them all."""
    directory = tmp_path_factory.mktemp("mirror")
    files = [_configured(broker, directory, name, mirror) for name, mirror in _MIRRORS.items()]
    admin = AdminClient({**broker.settings("admin")})
    consumer = Consumer({**broker.settings("admin"), "group.id": "nobody"})
    with program(directory / "log", classes, "Mirrors", *files) as said:
        yield _Run(admin, consumer, said)
    consumer.close()


def _configured(broker: Sandbox, directory: Path, name: str, mirror: _Mirror) -> Path:
    """Source and target are one cluster by two names: ``name`` and ``to-name``."""
    settings = broker.settings("admin")
    topic, group = f"mm.{name}", f"readers.{name}"
    admin = AdminClient({**settings})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(_TIMEOUT)
    producer = Producer(settings)
    for number in range(20):
        producer.produce(topic, b"%d" % number)
    producer.flush(_TIMEOUT)
    reader = Consumer({**settings, "group.id": group})
    reader.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    reader.close()
    grant(
        broker,
        f"from-{name}",
        [rule.replace("NAME", name) for rule in mirror.source],
        mirror.lacks[0].replace("NAME", name),
    )
    grant(
        broker,
        f"to-{name}",
        [rule.replace("NAME", name) for rule in mirror.target],
        mirror.lacks[1].replace("NAME", name),
    )
    own = {key.replace("NAME", name): text for key, text in mirror.settings.items()}
    return write_properties(
        directory / f"{name}.properties",
        {
            "clusters": f"{name}, to-{name}",
            f"{name}->to-{name}.enabled": "true",
            "topics": topic,
            "groups": group,
            "sync.group.offsets.enabled": "true",
            "offset.lag.max": "0",
            **{f"{what}.factor": "1" for what in (*_ONES, *_STORES)},
            **{f"{what}.interval.seconds": "1" for what in _QUICK},
            **{f"{what}.storage.partitions": "1" for what in ("offset", "status")},
            # Otherwise each of them looks through all jars.
            **{f"{cluster}.plugin.discovery": "service_load" for cluster in (name, f"to-{name}")},
            **login(broker, f"from-{name}", f"{name}."),
            **login(broker, f"to-{name}", f"to-{name}."),
            **own,
        },
    )


@pytest.mark.parametrize("name", ["whole", "beating", "once", "granting"])
def test_the_roles_are_enough(run: _Run, name: str) -> None:
    run.await_(lambda: run.mirrored(name) and run.synced(name))


def test_mirror_maker_writes_acls_unless_told_otherwise(broker: Sandbox, run: _Run) -> None:
    def readers(name: str) -> set[str]:
        with opened(broker) as cluster:
            found = cluster.read(ReadRequest(all_topics=False)).bindings
        return {binding.entry.principal for binding in found if binding.pattern.name == f"{name}.mm.{name}"}

    run.await_(lambda: "User:from-granting" in readers("granting"))
    assert readers("whole") == set()


def test_without_read_on_the_source_nothing_is_mirrored(run: _Run) -> None:
    run.await_(lambda: "Not authorized to access topics: [mm.unread]" in run.said())
    assert not run.mirrored("unread")


def test_without_create_on_the_target_there_is_no_topic(run: _Run) -> None:
    run.await_(
        lambda: bool(re.search(r"uncreated->to-uncreated.*Could not create topic uncreated\.mm\.uncreated", run.said()))
    )
    assert "uncreated.mm.uncreated" not in run.admin.list_topics(timeout=_TIMEOUT).topics


def test_without_read_on_the_group_its_offsets_are_not_synced(run: _Run) -> None:
    run.await_(
        lambda: "Failed altering group offsets for the following partitions: [unsynced.mm.unsynced-0]" in run.said()
    )
    assert not run.synced("unsynced")


def test_by_default_it_ends_because_it_would_send_heartbeats_to_the_source(
    broker: Sandbox, classes: tuple[Path, Path], tmp_path: Path
) -> None:
    file = _configured(broker, tmp_path, "alone", _ALONE)
    with program(tmp_path / "log", classes, "Mirrors", file) as said:
        await_true(lambda: "Not authorized to access topics: [mm2-offsets.to-alone.internal]" in said(), said, _SECONDS)
        await_true(lambda: "Uncaught exception in herder work thread, exiting" in said(), said, _SECONDS)
