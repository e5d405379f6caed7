"""A fleet of real brokers: two that work, one that gives us no rights, one that is gone; read, plan, apply in waves."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.cli.main import run
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Create, Delete
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.file import ONE_CLUSTER, bound
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.main_job import password_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PREFIX = "fleet-of-brokers."
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{ring: {ring}}}}}
spec:
  principal: User:{user}
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  barrier: {{wait: 100ms}}
  scope: {{include: [{{topics: {{prefix: {prefix}}}}}, {{principals: {{prefix: "User:{prefix}"}}}}]}}
---
"""
FLEET = """\
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: world}
spec:
  waves:
    - {name: canary, clusters: {matchLabels: {ring: canary}}, gate: {soak: 3s}}
    - {name: rest, clusters: {matchLabels: {}}}
"""
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: team, labels: {{team: orders}}}}
spec:
  principal: User:svc-orders
  rules:
    - {{allow: {operations}, topics: [{prefix}orders]}}
"""
TOPIC = """\
---
apiVersion: reconciler/v1
kind: Topics
metadata: {{name: team}}
spec: {{topics: [{{name: {prefix}orders, partitions: 1, configs: {{no.such.config: x}}}}]}}
"""
QUOTA = f"""\
apiVersion: reconciler/v1
kind: Quotas
metadata: {{name: team}}
spec: {{quotas: [{{user: {PREFIX}orders, limits: {{producer_byte_rate: 2MiB/s}}}}]}}
"""
TEAM_ENTITY = QuotaEntity.of(f"{PREFIX}orders")
LIVE_LIMITS = {"producer_byte_rate": 2**20, "request_percentage": 50}
DECLARED_LIMITS = {"producer_byte_rate": 2 * 2**20}


class World:
    """Manifests, connections and a store in one directory, and the command line run on them."""

    def __init__(self, directory: Path, brokers: dict[str, tuple[Sandbox | None, str]]) -> None:
        self.directory, self.engine = directory, "local"
        (directory / "manifests").mkdir()
        rings = {"canary": "canary"}
        self.write(
            "fleet.yaml",
            "".join(
                CLUSTER.format(name=name, ring=rings.get(name, "rest"), user=user, prefix=PREFIX)
                for name, (_, user) in brokers.items()
            )
            + FLEET,
        )
        self.connections = directory / "connections.yaml"
        self.connections.write_text(
            "---\n".join(_connection(directory, name, *found) for name, found in brokers.items())
        )

    def write(self, name: str, text: str) -> None:
        (self.directory / "manifests" / name).write_text(text, encoding="utf-8")

    def declare(self, operations: str, *, refused: bool = False) -> None:
        """``refused``: with a topic that no broker creates."""
        topic = TOPIC.format(prefix=PREFIX) if refused else ""
        self.write("team.yaml", TEAM.format(prefix=PREFIX, operations=operations) + topic)

    @property
    def how(self) -> list[str]:
        return ["--engine", self.engine, "--output", "json"]

    def fleet(self, command: str, *arguments: str) -> int:
        places = ["--store", str(self.directory / "store")] if command in ("snapshot", "drift") else []
        reach = [] if command == "drift" else ["--connections", str(self.connections)]
        manifests = str(self.directory / "manifests")
        where = [arguments[0], manifests] if command == "apply" else [manifests]
        return run(["fleet", command, *where, *arguments[command == "apply" :], *places, *reach, *self.how])


def _connection(directory: Path, name: str, sandbox: Sandbox | None, user: str) -> str:
    settings = sandbox.settings(user) if sandbox else {"bootstrap.servers": f"127.0.0.1:{_closed_port()}"}
    servers = settings.pop("bootstrap.servers")
    settings["request.timeout.ms"] = "5000" if sandbox is None else "60000"
    if "sasl.password" in settings:
        settings["sasl.password"] = password_file(directory, f"{name}-{user}", settings["sasl.password"])
    client = "".join(f"    {key}: {value!r}\n" for key, value in settings.items())
    head = f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}}}\nspec:\n"
    return f"{head}  bootstrapServers: ['{servers}']\n  client:\n{client}"


def _closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def world(tmp_path: Path, broker: Sandbox, broker_3_9: Sandbox, forked_readers_of_members: None) -> World:
    return World(
        tmp_path,
        {
            "canary": (broker, "admin"),
            "gone": (None, "admin"),
            "no-rights": (broker, "nobody"),
            "second": (broker_3_9, "admin"),
        },
    )


def test_a_fleet_from_snapshot_to_apply(
    world: World, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On Spark, whose tasks start each reader anew; the local engine does for what is asked of waves and gates."""
    world.engine = "spark"

    def document() -> Any:
        return json.loads(capsys.readouterr().out)

    world.declare("[READ, DESCRIBE]")
    assert world.fleet("snapshot", "--attempts", "1", "--timeout", "60") == 1
    read = document()
    assert [item["cluster"] for item in read["clusters"]] == ["canary", "second"]
    assert [item["cluster"] for item in read["failures"]] == ["gone", "no-rights"]
    assert read["failures"][1]["code"] == "CLUSTER_AUTHORIZATION_FAILED"

    assert world.fleet("drift") == 1
    drift = {item["cluster"]: item for item in document()["clusters"]}
    assert drift["canary"]["counts"]["creates"] == drift["second"]["counts"]["creates"] == 2
    assert drift["gone"]["counts"] is drift["no-rights"]["counts"] is None

    out = str(tmp_path / "plans")
    assert world.fleet("plan", "--out", out) == 1
    planned = document()
    assert planned["kind"] == "FleetPlan"
    waves = planned["waves"]
    members = [member for wave in waves for member in wave["members"]]
    assert [member["cluster"] for member in members] == ["canary", "second"]
    # Both stand in the same state and get the same change: one approval covers them.
    canary, second = (json.loads(Path(out, member["file"]).read_text()) for member in members)
    assert _but_for_the_cluster(canary) == _but_for_the_cluster(second)
    [change] = {member["change_id"] for member in members}

    assert world.fleet("apply", out, "--require-id", change) == 2
    first, rest = document()["waves"]
    assert [(item["cluster"], item["status"], item["done"]) for item in first["clusters"]] == [("canary", 0, 2)]
    assert [item["status"] for item in rest["clusters"]] == [None]

    # All is done, but of the clusters that could not be planned.
    assert world.fleet("apply", out, "--require-id", change, "--wait") == 1
    assert [item["status"] for wave in document()["waves"] for item in wave["clusters"]] == [0, 0]

    # Without its record the fleet starts again, and recognises what is done: on any engine.
    world.engine = "local"
    (tmp_path / "plans" / "record.jsonl").unlink()
    assert world.fleet("apply", out, "--yes", "--wait") == 1
    again = [item for wave in document()["waves"] for item in wave["clusters"]]
    assert [(item["done"], item["already"]) for item in again] == [(0, 2), (0, 2)]

    # A part of the fleet read again: the rest is taken over, and nothing differs any more where we can see.
    assert world.fleet("snapshot", "--cluster", "canary", "--cluster", "second") == 0
    capsys.readouterr()
    assert world.fleet("drift") == 1
    after = {item["cluster"]: item for item in document()["clusters"]}
    assert after["canary"]["counts"]["creates"] == after["second"]["counts"]["creates"] == 0
    carried = [after[name]["failure"]["code"] for name in ("gone", "no-rights")]
    assert carried == [item["code"] for item in read["failures"]]  # as the run before saw it


def _but_for_the_cluster(plan: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in bound(plan).items() if name not in (*ONE_CLUSTER, "digest")}


@contextmanager
def admin(sandbox: Sandbox) -> Iterator[KafkaCluster]:
    settings = sandbox.settings("admin")
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as cluster:
        yield cluster


@pytest.fixture
def throttled(broker: Sandbox, broker_3_9: Sandbox) -> Iterator[list[KafkaCluster]]:
    """Brokers that limit the team otherwise than it declares; afterwards they do not limit it."""
    with admin(broker) as first, admin(broker_3_9) as second:
        for cluster in (first, second):
            assert cluster.send([Create(ClientQuota(TEAM_ENTITY, LIVE_LIMITS))])[0].status is AnswerStatus.DONE
        yield [first, second]
        for cluster in (first, second):
            cluster.send([Delete(ClientQuota(TEAM_ENTITY, {**LIVE_LIMITS, **DECLARED_LIMITS}))])


def limits_of_team(cluster: KafkaCluster) -> dict[str, float]:
    request = ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND])
    quotas = cluster.read(request).listing(ClientQuota).items or ()
    return {key: value for quota in quotas if quota.entity == TEAM_ENTITY for key, value in quota.values.items()}


# In every run without brokers: tests/property/test_fleet_law.py.
@pytest.mark.long
def test_a_quota_that_differs_is_found_in_the_store_and_set_in_waves(
    world: World, throttled: list[KafkaCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def differences() -> list[int]:
        """Of topics and quotas, as the store knows the two clusters that can be read."""
        assert world.fleet("snapshot", "--cluster", "canary", "--cluster", "second") == 0
        capsys.readouterr()
        world.fleet("drift")
        counts = {row["cluster"]: row["counts"] for row in json.loads(capsys.readouterr().out)["clusters"]}
        return [counts["canary"]["others"], counts["second"]["others"]]

    world.write("quota.yaml", QUOTA)
    assert differences() == [1, 1]
    out = str(tmp_path / "plans")
    assert world.fleet("plan", "--out", out) == 1
    assert world.fleet("apply", out, "--yes", "--wait") == 1
    assert [limits_of_team(cluster) for cluster in throttled] == [DECLARED_LIMITS] * 2
    assert differences() == [0, 0]


# In every run without brokers: tests/unit/workflow/test_fleet_killed.py.
@pytest.mark.long
def test_a_wave_that_failed_keeps_the_next_from_beginning(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.declare("[WRITE]", refused=True)
    out = str(tmp_path / "plans")
    assert world.fleet("plan", "--out", out) == 1
    capsys.readouterr()
    assert world.fleet("apply", out, "--yes") == 1
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document["kind"] == "FleetApply"
    first, rest = document["waves"]
    assert [item["status"] for item in first["clusters"]] == [1]
    assert [item["status"] for item in rest["clusters"]] == [None]
    assert "the gate after wave canary stays closed" in shown.err


def test_nobody_agreed_and_altered_plans_are_refused(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.declare("[ALTER]")
    out = tmp_path / "plans"
    assert world.fleet("plan", "--out", str(out)) == 1
    assert world.fleet("apply", str(out), "--require-id", "change-" + "0" * 64) == 4
    assert world.fleet("apply", str(out)) == 64
    file = out / "fleet.json"
    file.write_text(file.read_text().replace("rest", "best"))
    assert world.fleet("apply", str(out), "--yes") == 4
    assert "was altered" in capsys.readouterr().err
