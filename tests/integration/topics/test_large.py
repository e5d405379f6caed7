"""Many topics with all their settings: planned right, and shown within bounds."""

import json
import time
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.kafka.cluster import connect
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import TOPIC_CONFIGS, ConfigType
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import connections_file
from tests.verbs import creations

_OF_TYPE = {
    ConfigType.BOOLEAN: "false",
    ConfigType.INTEGER: "2",
    ConfigType.MILLIS: "86400000",
    ConfigType.BYTES: "1048576",
    ConfigType.DOUBLE: "0.5",
}
_SPECIAL = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "3",
    "compression.lz4.level": "3",
    "compression.type": "zstd",
    "message.timestamp.type": "CreateTime",
}
#: Settings that only some versions know, and those of a reassignment, are left out: thirty-one stay.
_NOT = ("format", "throttled", "downconversion", "difference")
CONFIGS = {
    name: _SPECIAL.get(name) or _OF_TYPE[kind]
    for name, kind in TOPIC_CONFIGS.items()
    if not any(part in name for part in _NOT)
}
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  principal: User:reconciler
  superUsers: [User:reconciler]
  allowEveryoneIfNoAclFound: false
"""


def manifests(directory: Path, names: list[str], configs: dict[str, str]) -> Path:
    directory.mkdir()
    (directory / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    head = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: many}\nspec:\n"
    defaults = f"  defaults: {json.dumps({'partitions': 1, 'replicationFactor': 1, 'configs': configs})}\n"
    topics = "  topics:\n" + "".join(f"    - {{name: {name}}}\n" for name in names)
    (directory / "topics.yaml").write_text(head + defaults + topics, encoding="utf-8")
    return directory


def plan(directory: Path, cluster: str, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    capsys.readouterr()
    assert run(["plan", str(directory), "--cluster", cluster, *options]) == 0
    return capsys.readouterr().out.splitlines()


def of_many(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"team-{number % 50}.topic-{number}" for number in range(count)]
    assert len(CONFIGS) >= 30
    configs = CONFIGS | {"flush.ms": "5"}
    different = set(names[:: count // 100])
    topics = {
        name: Topic(name, 1, 1, configs | {"flush.ms": "6"} if name in different else configs, f"id-{name}")
        for name in names
    }
    live = tmp_path / "live.json"
    live.write_text(snapshot_text(ClusterState("many", topics=topics), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    directory = manifests(tmp_path / "manifests", names, configs)
    lines = plan(directory, f"snapshot:{live}", capsys)
    assert lines[1] == f"  {len(different)} topics to alter."
    assert f"  ~ {len(different)} topics" in "\n".join(lines)
    assert len(lines) < 40
    assert len(plan(directory, f"snapshot:{live}", capsys, "--expand")) > 2 * len(different)

    empty = tmp_path / "empty.json"
    empty.write_text(snapshot_text(ClusterState("many"), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    lines = plan(directory, f"snapshot:{empty}", capsys)
    assert f"  + {count:,} topics: 1 partition, 1 replica" in "\n".join(lines)
    assert len(lines) < 60, "\n".join(lines)


def test_two_thousand_topics_with_thirty_settings_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_many(2_000, tmp_path, capsys)


@pytest.mark.long
def test_twenty_thousand_topics_with_thirty_settings_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_many(20_000, tmp_path, capsys)


@pytest.mark.long
@pytest.mark.broker
def test_five_thousand_topics_on_a_broker(
    tmp_path: Path, sandbox_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"team-{number % 50}.topic-{number}" for number in range(5_000)]
    configs = {"retention.ms": "86400000", "segment.bytes": "1048576", "flush.ms": "5"}
    directory = manifests(tmp_path / "manifests", names, configs)
    spec = SandboxSpec(name="c", users=generated_users("admin", "reconciler"), heap="1500m")
    with running(spec, root=sandbox_root) as sandbox:
        fill(sandbox, names, configs)
        connections = connections_file(tmp_path / "connections.yaml", sandbox, "reconciler", name="c")
        lines = plan(directory, "c", capsys, "--connections", str(connections))
    assert "c: Nothing to do." in lines


def fill(sandbox: Sandbox, names: list[str], configs: dict[str, str]) -> None:
    with connect(settings_of(sandbox.settings("admin"))) as cluster:
        for start in range(0, len(names), 200):
            topics = [Topic(name, 1, 1, configs) for name in names[start : start + 200]]
            assert {answer.status for answer in cluster.send(creations(topics))} == {AnswerStatus.DONE}
        until = time.monotonic() + 600
        while len(cluster.read(ReadRequest(acls=False)).topics) < len(names):
            assert time.monotonic() < until, "the broker does not show all topics"
            time.sleep(1)
