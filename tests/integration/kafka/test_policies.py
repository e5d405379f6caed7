"""Topic policies on a real broker: its brokers are counted, its defaults decide, and init proposes what it keeps."""

from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from tests.verbs import creations, deletions

HEAD = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: {}}}\nspec:\n"
TOPICS = HEAD.format("Topics", "tp") + "  topics: [{name: tp.new}]\n"


def policy(*rules: str) -> str:
    return HEAD.format("TopicPolicy", "tp") + "  rules:\n" + "".join(f"    - {rule}\n" for rule in rules)


@pytest.mark.broker
def test_a_plan_asks_the_broker_what_rules_depend_on(
    broker: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = f"{HEAD.format('Cluster', broker.name)}  scope: {{include: [{{topics: {{prefix: tp.}}}}]}}\n"
    (tmp_path / "cluster.yaml").write_text(cluster, encoding="utf-8")
    (tmp_path / "topics.yaml").write_text(TOPICS, encoding="utf-8")
    reach = ["--cluster", broker.name, "--connections", str(broker.connections)]

    def plan(*rules: str) -> tuple[int, str]:
        (tmp_path / "policy.yaml").write_text(policy(*rules), encoding="utf-8")
        status = run(["plan", str(tmp_path), *reach])
        return status, capsys.readouterr().out

    kept = "{topics: {any: true}, partitions: {max: 1}, replicationFactor: {maxPerBroker: 1}}"
    status, out = plan(kept, "{topics: {any: true}, expression: brokers == 1 && partitions == 1}")
    assert status == Exit.OK, out
    assert "2 rules of topic policies: all kept" in out
    status, out = plan("{topics: {any: true}, replicationFactor: {minPerBroker: 2}}")
    assert status == Exit.FAILED_CHECK
    assert "replicationFactor is 1, which the broker chooses; wanted: at least 2 for the only broker" in out


@pytest.mark.broker
def test_init_on_a_live_cluster(
    broker: Sandbox, admin: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    cluster = f"{HEAD.format('Cluster', broker.name)}  scope: {{include: [{{topics: {{prefix: tpi.}}}}]}}\n"
    (manifests / "cluster.yaml").write_text(cluster, encoding="utf-8")
    settings = {"retention.ms": "86400000"}
    reach = ["--cluster", broker.name, "--connections", str(broker.connections)]
    names = [f"tpi.t{number}" for number in (1, 2, 3)]
    admin.send(creations([Topic(name, number, 1, settings) for number, name in enumerate(names, 1)]))
    try:
        assert run(["policy", "init", str(manifests), *reach]) == Exit.OK
    finally:
        admin.send(deletions(map(Topic, names)))
    out = capsys.readouterr().out
    assert "partitions: {max: 3}" in out
    assert "retention.ms: {required: true, allowed: [1d]}" in out
