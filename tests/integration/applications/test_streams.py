"""The role ``streams`` with real Kafka Streams applications: enough for both group protocols, and none too many."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from reconciler.parts.local.sandbox.state import Sandbox
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

# Twelve applications in one Java, and the broker that they tell from all others, take a minute.
pytestmark = [pytest.mark.broker, pytest.mark.long]

_TIMEOUT = 20
_INPUT = "streams-in"
_RULE = "{role: streams, topics: {prefix: NAME-}, groups: [NAME], reads: [streams-in], writes: [NAME.out]}"
_EXACTLY_ONCE = "{role: streams, topics: {prefix: NAME-}, groups: [NAME], transactionalIds: {prefix: NAME-}}"


class _Application(NamedTuple):
    """An application, what it lacks of its roles, and how the error speaks that ends it; none if it goes on."""

    lacks: str = ""
    says: str = ""
    protocol: str = "classic"
    guarantee: str = "exactly_once_v2"


_APPLICATIONS = {
    "classic": _Application(),
    "kip1071": _Application(protocol="streams"),
    "simple": _Application(guarantee="at_least_once"),
    "unpurged": _Application("TOPIC NAME- DELETE"),
}
_LACKING = {
    "read": _Application("TOPIC NAME- READ", "topics: [NAME-counts-"),
    "write": _Application("TOPIC NAME- WRITE", "topics: [NAME-counts-repartition"),
    "create": _Application("TOPIC NAME- CREATE", "Could not create topic NAME-counts-repartition"),
    "input": _Application(f"TOPIC {_INPUT} READ", f"topics: [{_INPUT}]"),
    "output": _Application("TOPIC NAME.out WRITE", "topics: [NAME.out]"),
    "group": _Application("GROUP NAME READ", "access group: NAME"),
    "group1071": _Application("GROUP NAME READ", "access group: NAME", "streams"),
    "transaction": _Application("TRANSACTIONAL_ID NAME- WRITE", "Transactional Id authorization failed"),
}


class _Run(NamedTuple):
    """All applications while they run."""

    admin: AdminClient
    consumer: Consumer
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def counted(self, name: str) -> bool:
        """Whether committed counts are in the application's output topic."""
        place = TopicPartition(f"{name}.out", 0, 0)
        self.consumer.assign([place])
        message = self.consumer.poll(1.0)
        return message is not None and message.error() is None

    def purged(self, name: str) -> bool:
        """Whether the application has deleted records of its repartition topic that it no longer needs."""
        low, _ = self.consumer.get_watermark_offsets(TopicPartition(f"{name}-counts-repartition", 0), _TIMEOUT)
        return bool(low > 0)


@pytest.fixture(scope="module")
def run(broker: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Run]:
    """One process runs them all: a Java of its own for each costs more than the rest."""
    directory = tmp_path_factory.mktemp("streams")
    jars = application_jars("kafka-streams")
    (directory / "classes").mkdir()
    classes = compiled(Path(__file__).parent / "programs" / "streams", directory / "classes", VERSION, jars=jars)
    settings = broker.settings("admin")
    admin = AdminClient({**settings})
    names = {**_APPLICATIONS, **_LACKING}
    topics = [_INPUT, *(f"{name}.out" for name in names)]
    for created in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        created.result(_TIMEOUT)
    producer = Producer(settings)
    for word in ("ant", "bee", "ant"):
        producer.produce(_INPUT, word.encode())
    producer.flush(_TIMEOUT)
    files = [_configured(broker, directory, name, names[name]) for name in names]
    log = directory / "log"
    consumer = Consumer({**settings, "group.id": "nobody", "isolation.level": "read_committed"})
    with program(log, (classes, jars), "StreamsApplications", *files):
        yield _Run(admin, consumer, log)
    consumer.close()


def _configured(broker: Sandbox, directory: Path, name: str, application: _Application) -> Path:
    rules = [_RULE] if application.guarantee == "at_least_once" else [_RULE, _EXACTLY_ONCE]
    grant(broker, name, [rule.replace("NAME", name) for rule in rules], application.lacks.replace("NAME", name))
    settings = {
        **login(broker, name),
        "application.id": name,
        "group.protocol": application.protocol,
        "processing.guarantee": application.guarantee,
        "default.dsl.store": "in_memory",
        "auto.offset.reset": "earliest",
        "commit.interval.ms": "100",
        "repartition.purge.interval.ms": "100",
        "state.dir": str(directory / "state"),
        "input": _INPUT,
        "output": f"{name}.out",
    }
    return write_properties(directory / f"{name}.properties", settings)


@pytest.mark.parametrize("name", [name for name, application in _APPLICATIONS.items() if not application.lacks])
def test_the_role_is_enough(run: _Run, name: str) -> None:
    await_true(lambda: run.counted(name) and run.purged(name), run.said)
    assert f"{name} stopped" not in run.said()


@pytest.mark.parametrize("name", _LACKING)
def test_without_one_of_its_bindings_the_application_stops(run: _Run, name: str) -> None:
    says = _LACKING[name].says.replace("NAME", name)
    await_true(lambda: f"{name} stopped" in run.said(), run.said)
    [line] = [line for line in run.said().splitlines() if line.startswith(f"{name} stopped")]
    assert says in line
    assert not run.counted(name)


def test_without_delete_it_works_and_keeps_every_record_of_its_repartition_topic(run: _Run) -> None:
    await_true(lambda: run.counted("unpurged"), run.said)
    await_true(lambda: "unpurged-counts-repartition-0" in run.said() and "DeleteRecords" in run.said(), run.said)
    assert not run.purged("unpurged")
