"""Replicas of topics on three brokers in two racks, and on a cluster in memory that has to behave alike."""

import datetime
import itertools
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from reconciler.apply.lease import marker
from reconciler.cli.main import run
from reconciler.model.listing import Create, Update
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, Topic, TopicConfigs, TopicReplicas
from reconciler.model.topic_configs import FOLLOWERS, LEADERS
from reconciler.ports import REPLICATION_RATES, AnswerStatus, InspectableCluster, ReadRequest
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster
from tests.faults.cluster import Cluster
from tests.integration.main_job import connections_file
from tests.verbs import creations

pytestmark = pytest.mark.broker
RACKS: Final = {1: "rack-1", 2: "rack-0", 3: "rack-1"}
_SECONDS: Final = 60.0
_numbers = itertools.count()


@dataclass(frozen=True)
class Moving:
    """A cluster under test, and the name of a topic that only one test uses."""

    cluster: InspectableCluster
    topic: str

    def layout(self) -> Layout:
        """The layout of the topic."""
        request = ReadRequest(acls=False, all_topics=False, layout=[self.topic, "no.such.topic"])
        found = self.cluster.read(request).layout
        assert found is not None
        return found

    def create(self, *assignments: tuple[int, ...]) -> None:
        """Make the topic, and wait for all of its replicas."""
        answers = self.cluster.send(creations([Topic(self.topic, replica_assignments=assignments)]))
        assert [answer.status for answer in answers] == [AnswerStatus.DONE]
        self.shows(*assignments)

    def shows(self, *assignments: tuple[int, ...]) -> Layout:
        """Waits until the replicas are these, in sync, and nothing is moving."""
        until = time.monotonic() + _SECONDS
        while True:
            found = self.layout()
            parts = found.topics.get(self.topic, ())
            settled = not any(one.is_moving or one.behind for one in parts)
            if settled and tuple(one.replicas for one in parts) == assignments:
                return found
            assert time.monotonic() < until, found
            time.sleep(0.1)

    def move(self, old: tuple[tuple[int, ...], ...], new: tuple[tuple[int, ...], ...]) -> tuple[AnswerStatus, str]:
        """The answer to one reassignment."""
        (answer,) = self.cluster.send([Update(TopicReplicas(self.topic, old), TopicReplicas(self.topic, new))])
        return answer.status, answer.code


def _memory() -> MemoryCluster:
    return MemoryCluster(ClusterState("memory"), BrokerFacts(broker_ids=(1, 2, 3)), RACKS)


@pytest.fixture(params=["memory", "three"])
def moving(request: pytest.FixtureRequest) -> Iterator[Moving]:
    name = f"moves-{next(_numbers)}"
    if request.param == "memory":
        yield Moving(_memory(), name)
        return
    three: Cluster = request.getfixturevalue("three")
    with three.connect() as cluster:
        yield Moving(cluster, name)


def test_replicas_move_each_partition_by_itself(moving: Moving) -> None:
    start = ((1,), (2,), (3,))
    moving.create(*start)
    found = moving.layout()
    assert (dict(found.racks), set(found.topics)) == (RACKS, {moving.topic})
    more = ((1, 2), (2,), (3, 2))
    assert moving.move(start, more) == (AnswerStatus.DONE, "")
    moving.shows(*more)
    # The same again is no error: a run that was killed sends it again.
    assert moving.move(start, more) == (AnswerStatus.DONE, "")
    other = ((2, 1), (1, 2), (2, 3))
    assert moving.move(more, other) == (AnswerStatus.DONE, "")
    moving.shows(*other)
    assert moving.move(other, start) == (AnswerStatus.DONE, "")
    moving.shows(*start)
    # What is refused leaves everything as it is; where only a part is, the answer says neither.
    assert moving.move(start, ((9,), (2,), (3,))) == (AnswerStatus.FAILED, "INVALID_REPLICA_ASSIGNMENT")
    assert moving.move(start, ((1, 1), (2,), (3,))) == (AnswerStatus.FAILED, "INVALID_REPLICA_ASSIGNMENT")
    assert moving.move(start, ((9,), (3,), (3,))) == (AnswerStatus.UNKNOWN, "INVALID_REPLICA_ASSIGNMENT")
    moving.shows((1,), (3,), (3,))
    gone = Moving(moving.cluster, "no.such.topic")
    assert gone.move(start, more) == (AnswerStatus.FAILED, "UNKNOWN_TOPIC_OR_PARTITION")


_MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: three}}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  scope: {{include: [{{topics: [{name}]}}]}}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {{name: moved}}
spec:
  topics:
    - {{name: {name}, replicationFactor: {factor}}}
"""


class Declared:
    """Manifests with one topic, and commands on them."""

    def __init__(self, three: Cluster, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.three, self.directory, self.capsys = three, directory, capsys
        self.name = f"declared-{next(_numbers)}"
        file = connections_file(directory / "connections.yaml", three.sandbox, "reconciler", name="three")
        self.connections = str(file)

    def run(self, command: str, factor: int, *options: str) -> tuple[int, str]:
        """Exit status and text of a command on manifests with this replication factor."""
        (self.directory / "m").mkdir(exist_ok=True)
        (self.directory / "m" / "all.yaml").write_text(_MANIFESTS.format(name=self.name, factor=factor))
        reach = ["--cluster", "three", "--connections", self.connections]
        plan = [options[0]] if command == "apply" else []
        status = run([*command.split(), *plan, "--path", str(self.directory / "m"), *reach, *options[len(plan) :]])
        told = self.capsys.readouterr()
        return status, told.out + told.err

    def start_apply(self, plan: Path, *options: str) -> "subprocess.Popen[bytes]":
        """An apply in a process of its own, which can be killed."""
        program = "import sys; from reconciler.cli.main import run; sys.exit(run(sys.argv[1:]))"
        words = ["apply", str(plan), str(self.directory / "m"), "--cluster", "three", "--connections", self.connections]
        return subprocess.Popen(
            [sys.executable, "-c", program, *words, "--yes", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def produce(self, records: int = 300) -> None:
        """Records of 10 KB each, spread over the partitions."""
        producer = Producer({**self.three.settings("admin"), "linger.ms": "50"})
        for number in range(records):
            producer.produce(self.name, key=str(number), value=secrets.token_bytes(10_000))
        assert producer.flush(60) == 0


def test_a_declared_factor_is_reached_by_racks_verified_and_undone(
    three: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = Declared(three, tmp_path, capsys)
    with three.connect() as cluster:
        topic = Moving(cluster, declared.name)
        start = ((1,), (2,), (3,), (1,))
        topic.create(*start)
        declared.produce()
        status, text = declared.run("plan", 2, "--out", str(tmp_path / "plan.json"))
        assert status == 0, text
        assert f"topic {declared.name}: replicas of " in text
        assert "1 → 2 replicas, at most 4.0 MiB copied" in text
        status, text = declared.run("drift", 2)
        assert status == 2, text
        status, text = declared.run("apply", 2, str(tmp_path / "plan.json"), "--yes", "--batch", "3")
        assert status == 0, text
        found = topic.layout().topics[declared.name]
        # Broker 2 is alone in its rack: it has a replica of every partition.
        assert all(len(one.replicas) == 2 and 2 in one.replicas and one.in_sync == {*one.replicas} for one in found)
        assert declared.run("drift", 2)[0] == 0


@pytest.mark.long
def test_a_throttled_move_outlives_its_apply_and_a_broker_and_the_next_apply_ends_both(
    three: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = Declared(three, tmp_path, capsys)
    plan = tmp_path / "plan.json"
    with three.connect() as cluster:
        topic = Moving(cluster, declared.name)
        topic.create((1,), (2,), (3,), (1,))
        # A throttle lets 1 MiB of each partition (replica.fetch.max.bytes) through every 11 seconds, its window.
        declared.produce(3_000)
        assert declared.run("plan", 2, "--out", str(plan))[0] == 0
        killed = declared.start_apply(plan, "--throttle", "2KiB")
        try:
            until = time.monotonic() + _SECONDS
            while not any(topic.layout().moving(declared.name)):
                assert killed.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
        finally:
            killed.kill()
            killed.wait()
        rates = cluster.broker_settings(REPLICATION_RATES, features=False).configs
        assert {config.value for found in rates.values() for config in found.values()} == {"2048"}
        three.kill(3)
        three.heal()
        # At this rate it would take a minute at the least: that it goes on is what the throttle does.
        status, text = declared.run("drift", 2)
        assert (status, "is unfinished" in text) == (2, True), text
        status, text = declared.run("apply", 2, str(plan), "--yes", "--throttle", "100MiB")
        assert status == 0, text
        found = topic.layout().topics[declared.name]
        assert all(len(one.replicas) == 2 and one.in_sync == {*one.replicas} for one in found)
        left = cluster.broker_settings(REPLICATION_RATES, features=False).configs
        assert not any(config.value for found in left.values() for config in found.values())
        state = cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=[declared.name]))
        assert not state.topics[declared.name].configs


def test_a_throttled_move_is_cancelled_and_brokers_go_back(
    three: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = Declared(three, tmp_path, capsys)
    with three.connect() as cluster:
        topic = Moving(cluster, declared.name)
        start, new = ((1, 3), (3, 1)), ((3, 2), (3, 2))
        topic.create(*start)
        declared.produce(1_500)
        # As an apply that was killed leaves it.
        marks = TopicConfigs(declared.name, {FOLLOWERS: "0:2,1:2", LEADERS: "0:1,0:3,1:3,1:1"})
        unmarked = TopicConfigs(declared.name, dict.fromkeys(marks.configs))
        assert cluster.send([Update(unmarked, marks)])[0].good
        assert cluster.set_replication_rates((1, 2, 3), 2048) == {}
        assert topic.move(start, new) == (AnswerStatus.DONE, "")
        status, text = declared.run("reassignments list", 2)
        assert (status, f"topic {declared.name}: 2 partitions moving" in text) == (0, True), text
        assert "throttled on brokers 1, 2, 3" in text
        until = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(minutes=2)
        held = marker("ann@host", "20260101T000000Z-run", until)
        assert cluster.send([Create(held)])[0].good
        status, text = declared.run("reassignments cancel", 2, declared.name, "--yes")
        assert (status, "ann@host" in text) == (6, True), text
        assert any(topic.layout().moving(declared.name))
        audit = tmp_path / "audit.jsonl"
        written = ("--audit", str(audit), "--break-lease", "ann@host")
        status, text = declared.run("reassignments cancel", 2, declared.name, "--yes", *written)
        assert (status, "2 cancelled" in text) == (0, True), text
        before, after = map(json.loads, audit.read_text().splitlines())
        assert [one["target"] for one in before["partitions"]] == [[3, 2], [3, 2]]
        assert {one["ending"] for one in after["partitions"]} == {"cancelled"}
        assert before["throttled"] == [declared.name]
        state = cluster.read(ReadRequest(all_topics=False))
        assert not [binding for binding in state.bindings if is_reserved(binding.pattern.name)]
        topic.shows((3, 1), (3, 1))
        assert cluster.reassignments().topics == {}
        (answer,) = cluster.cancel_reassignments([(declared.name, 0)])
        assert (answer.status, answer.code) == (AnswerStatus.FAILED, "NO_REASSIGNMENT_IN_PROGRESS")
        left = cluster.broker_settings(REPLICATION_RATES, features=False).configs
        assert not any(config.value for found in left.values() for config in found.values())
        state = cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=[declared.name]))
        assert not state.topics[declared.name].configs
        assert declared.run("drift", 2)[0] == 0
