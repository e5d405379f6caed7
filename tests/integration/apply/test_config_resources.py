"""Group configs and client metrics on a real broker, by the command line: plan, apply, drift, prune, export, undo."""

import shutil
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, job
from tests.plan_files import plan_id_of

pytestmark = pytest.mark.broker

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: it}
spec:
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 100ms}
  scope: {include: [{groups: {prefix: "@"}}]}
  prune: [groupConfigs]
"""
HEAD = "apiVersion: reconciler/v1\nkind: GroupConfigs\nmetadata: {name: team}\nspec:\n  groups:\n"
BEFORE = f"""\
{HEAD}\
    - name: ["@a", "@gone"]
      configs: {{consumer.session.timeout.ms: 50s, share.isolation.level: read_committed}}
    - {{name: "@b", configs: {{streams.num.standby.replicas: 1}}}}
"""
AFTER = f"""\
{HEAD}\
    - {{name: "@a", configs: {{consumer.session.timeout.ms: 55s}}, reason: long pauses}}
    - {{name: "@b", absent: true}}
    - {{name: "@c", configs: {{share.auto.offset.reset: "by_duration:PT1H"}}}}
"""


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]) -> Job:
    found = job(tmp_path, broker, "group-team-", capsys)
    found.write("cluster.yaml", CLUSTER)
    return found


def test_group_configs_are_planned_applied_compared_exported_and_undone(team: Job, tmp_path: Path) -> None:
    team.write("groups.yaml", BEFORE)
    applied = team.run("apply", "--yes")
    assert applied.status == 0, applied.err
    assert team.run("drift").status == 0

    team.write("groups.yaml", AFTER)
    assert team.run("drift").status == 2
    saved = str(tmp_path / "plan.json")
    planned = team.run("plan", "--allow-deletes", "--out", saved)
    assert planned.status == 0, planned.err
    assert "consumer.session.timeout.ms: 50000 (50s) → 55000 (55s)" in planned.out
    assert "share.isolation.level: read_committed → not set" in planned.out
    assert "1 group config to create, 1 group config to alter, 2 group configs to delete" in planned.out
    applied = team.run("apply", saved, str(team.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err
    assert team.run("plan", "--detailed-exitcode").status == 0

    exported = tmp_path / "exported"
    assert team.run("export", "--out", str(exported)).status == 0
    text = (exported / "group-configs.yaml").read_text(encoding="utf-8")
    assert "name: group-team-a" in text
    assert "group-team-b" not in text
    shutil.copy(team.directory / "cluster.yaml", exported)
    again = Job(exported, team.connections, team.prefix, team.capsys)
    assert again.run("plan", "--detailed-exitcode").status == 0

    undo = str(tmp_path / "undo.json")
    undone = team.run("undo", saved, str(team.directory), "--allow-deletes", "--out", undo, cluster=False)
    assert undone.status == 0, undone.err
    assert team.run("apply", undo, str(team.directory), "--require-id", plan_id_of(undo), cluster=False).status == 0
    team.write("groups.yaml", BEFORE)
    assert team.run("drift").status == 0

    team.write("groups.yaml", f"{HEAD}    - {{name: '@a', absent: true}}\n")
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"


def test_what_the_broker_refuses_fails_and_the_rest_is_applied(team: Job) -> None:
    """Each broker has bounds of its own (``group.consumer.max.session.timeout.ms``), which no API tells."""
    items = "    - {name: '@long', configs: {consumer.session.timeout.ms: 1h}}\n"
    good = "    - {name: '@short', configs: {consumer.session.timeout.ms: 50s}}\n"
    team.write("groups.yaml", HEAD + items + good)
    applied = team.run("apply", "--yes")
    assert applied.status != 0
    assert "INVALID_CONFIG" in applied.out + applied.err
    team.write("groups.yaml", HEAD + good)
    assert team.run("drift").status == 0
    team.write("groups.yaml", f"{HEAD}    - {{name: '@short', absent: true}}\n")
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"


METRICS = """\
apiVersion: reconciler/v1
kind: ClientMetrics
metadata: {name: platform}
spec:
  subscriptions:
"""


def test_client_metrics_are_planned_applied_compared_pruned_exported_and_undone(team: Job, tmp_path: Path) -> None:
    """The broker has no receiver of metrics: it takes subscriptions all the same."""
    anybody = CLUSTER.replace('{groups: {prefix: "@"}}', "{principals: {any: true}}")
    team.write("cluster.yaml", anybody.replace("[groupConfigs]", "[clientMetrics]"))
    first = "    - {name: '@a', configs: {metrics: 'b, a ,b', interval.ms: 30s, match: 'client_id=pay-.*'}}\n"
    second = "    - {name: '@b', configs: {metrics: '*'}}\n"
    team.write("metrics.yaml", METRICS + first + second)
    planned = team.run("plan", "--validate-with-broker")
    assert planned.status == 0, planned.err
    assert "every client that can push metrics pushes all metrics every 5m" in planned.out
    assert team.run("apply", "--yes").status == 0
    assert team.run("drift").status == 0

    team.write("metrics.yaml", METRICS + first.replace("30s", "1m"))
    saved = str(tmp_path / "plan.json")
    planned = team.run("plan", "--allow-deletes", "--out", saved)
    assert "interval.ms: 30000 (30s) → 60000 (1m)" in planned.out
    assert "1 client metrics subscription to alter, 1 client metrics subscription to delete" in planned.out
    applied = team.run("apply", saved, str(team.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err
    assert team.run("plan", "--detailed-exitcode").status == 0

    exported = tmp_path / "exported"
    assert team.run("export", "--out", str(exported)).status == 0
    text = (exported / "client-metrics.yaml").read_text(encoding="utf-8")
    assert "metrics: b,a\n" in text
    shutil.copy(team.directory / "cluster.yaml", exported)
    again = Job(exported, team.connections, team.prefix, team.capsys)
    assert again.run("plan", "--detailed-exitcode").status == 0

    undo = str(tmp_path / "undo.json")
    assert team.run("undo", saved, str(team.directory), "--allow-deletes", "--out", undo, cluster=False).status == 0
    assert team.run("apply", undo, str(team.directory), "--require-id", plan_id_of(undo), cluster=False).status == 0
    team.write("metrics.yaml", METRICS + first + second)
    assert team.run("drift").status == 0
    team.write("metrics.yaml", f"{METRICS}    - {{name: ['@a', '@b'], absent: true}}\n")
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"


def test_a_dead_letter_queue_is_looked_at_on_the_broker(team: Job) -> None:
    """The level, the topic, its flag and the brokers' prefix are read, also where no manifest declares a topic."""
    queue = "{errors.deadletterqueue.topic.name: NAME, errors.deadletterqueue.copy.record.enable: true}"
    item = f"    - {{name: '@q', configs: {queue}}}\n"
    team.write("groups.yaml", HEAD + item.replace("NAME", "elsewhere"))
    planned = team.run("plan")
    assert planned.status == 0, planned.err
    assert "who may READ elsewhere reads them" in planned.out
    assert "its name does not begin with dlq., the brokers' errors.deadletterqueue.topic.name.prefix" in planned.out
    assert "there is no such topic, and errors.deadletterqueue.auto.create.topics.enable is not on" in planned.out
    topic = (
        "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: q}\nspec:\n  topics:\n"
        "    - {name: dlq.@q, partitions: 1, configs: {errors.deadletterqueue.group.enable: true}}\n"
    )
    team.write("cluster.yaml", CLUSTER.replace("{include: [", "{include: [{topics: {prefix: dlq.}}, "))
    team.write("groups.yaml", HEAD + item.replace("NAME", "dlq.@q"))
    team.write("topics.yaml", topic)
    planned = team.run("plan")
    assert "there is no such topic" not in planned.out
    assert "does not begin with" not in planned.out
    applied = team.run("apply", "--yes")
    assert applied.status == 0, applied.err
    assert team.run("drift").status == 0
    team.write("groups.yaml", f"{HEAD}    - {{name: '@q', absent: true}}\n")
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"
