"""Every topic setting that a broker has comes and goes without a difference that stays: set, exported, unset."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.kafka.cluster import connect
from reconciler.model.kinds.group_config import DLQ_AUTO_CREATE, DLQ_PREFIX
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import TOPIC_CONFIGS, ConfigType
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import connections_file
from tests.verbs import creations

pytestmark = pytest.mark.broker

#: Values unlike the defaults; where a setting is not here, its type's is taken.
_VALUES = {
    "cleanup.policy": ["delete", "compact"],
    "compression.gzip.level": "3",
    "compression.lz4.level": "3",
    "compression.type": "zstd",
    "compression.zstd.level": "4",
    "follower.replication.throttled.replicas": ["0:1"],
    "leader.replication.throttled.replicas": ["0:1"],
    "max.message.bytes": "2MiB",
    "message.timestamp.type": "LogAppendTime",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "segment.bytes": "1MiB",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
}
_BY_TYPE = {
    ConfigType.BOOLEAN: "true",
    ConfigType.INTEGER: "2",
    ConfigType.MILLIS: "36h",
    ConfigType.BYTES: "3MiB",
    ConfigType.DOUBLE: "0.25",
}
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: current}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  scope: {include: [{topics: {prefix: rt.}}]}
"""


def settings_of_the_broker(broker: Sandbox) -> set[str]:
    """The names of all topic settings, as the broker tells of any topic."""
    with connect(settings_of(broker.settings("admin"))) as cluster:
        cluster.send(creations([Topic("rt.any", 1, 1)]))
        request = ReadRequest(acls=False, topic_names=["rt.any"], all_topics=False, broker_defaults=True)
        defaults = cluster.read(request).broker_defaults
    of_brokers = {"auto.create.topics.enable", "default.replication.factor", "num.partitions"}
    return set(defaults) - of_brokers - {DLQ_AUTO_CREATE, DLQ_PREFIX}


def manifest(settings: dict[str, Any]) -> str:
    topics: list[dict[str, Any]] = [
        {"name": "rt.any"},
        *({"name": f"rt.{name}", "configs": {name: value}} for name, value in settings.items()),
    ]
    return document(topics)


def document(topics: list[dict[str, Any]]) -> str:
    head = {"apiVersion": "reconciler/v1", "kind": "Topics", "metadata": {"name": "rt"}}
    return yaml.safe_dump({**head, "spec": {"topics": topics}})


def test_every_setting_is_set_exported_and_unset_without_a_difference(
    broker: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = settings_of_the_broker(broker)
    assert known <= set(TOPIC_CONFIGS)
    assert len(known) > 30
    values = {name: _VALUES.get(name) or _BY_TYPE[TOPIC_CONFIGS[name]] for name in known}
    reach = ["--cluster", "current", "--connections", _connections(broker, tmp_path)]

    def on(text: str, command: str, *options: str) -> int:
        (tmp_path / "manifests").mkdir(exist_ok=True)
        (tmp_path / "manifests" / "cluster.yaml").write_text(_CLUSTER)
        (tmp_path / "manifests" / "topics.yaml").write_text(text)
        return run([command, str(tmp_path / "manifests"), *reach, *options])

    wished = manifest(values)
    assert on(wished, "apply", "--yes") == 0, capsys.readouterr()
    assert on(wished, "drift") == 0, capsys.readouterr()

    exported = tmp_path / "exported"
    assert on(wished, "export", "--out", str(exported)) == 0
    (exported / "cluster.yaml").write_text(_CLUSTER)
    assert run(["drift", str(exported), *reach]) == 0, capsys.readouterr()
    text = "".join(file.read_text() for file in exported.rglob("*.yaml"))
    assert {name for name in known if f"{name}:" in text} == known

    bare = document([{"name": "rt.any"}, *({"name": f"rt.{name}"} for name in known)])
    losses = [f"--accept=data-loss=rt.{name}" for name in known]
    assert on(bare, "apply", "--yes", *losses) == 0, capsys.readouterr()
    # The throttles of a reassignment are not ours to reset.
    left = {name for name in known if name.endswith(".throttled.replicas")}
    assert on(bare, "drift") == 0, capsys.readouterr()
    assert on(bare, "export", "--out", str(tmp_path / "after")) == 0
    text = "".join(file.read_text() for file in (tmp_path / "after").rglob("*.yaml"))
    assert {name for name in known if f"{name}: " in text} == left


def _connections(broker: Sandbox, root: Path) -> str:
    return str(connections_file(root / "connections.yaml", broker, "reconciler", name="current"))
