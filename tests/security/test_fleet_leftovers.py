"""Names under ``__kr.`` against whoever may write ACLs on one cluster of many: a fleet's drift sees what drift sees."""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.apply.lease import marker
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.locks import LockMark, lock_denials
from reconciler.model.markers import break_glass_mark, bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.worlds import acl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}}}
spec: {{superUsers: [User:admin], allowEveryoneIfNoAclFound: {open}, scope: {{include: [{{topics: {{any: true}}}}]}}}}
---
"""
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: payroll}
spec: {principal: User:svc-payroll, rules: [{allow: READ, topics: [payroll]}]}
"""
_PAYROLL = ResourcePattern(ResourceType.TOPIC, "payroll")
_GRANT = acl("payroll", "User:svc-payroll")
_BRIDGE = bridge_on(_PAYROLL)
_OLD = "20260101T000000Z-aaaa"
_OPS = acl("payroll", "User:ops")
_LOCK = LockMark("User:eve", datetime.datetime(2026, 11, 26, tzinfo=datetime.UTC), reason="key leaked").binding


def _live() -> dict[str, tuple[str, frozenset[Any]]]:
    now = datetime.datetime.now(datetime.UTC)
    young, until = f"{now:%Y%m%dT%H%M%SZ}-aaaa", now + datetime.timedelta(seconds=60)
    given = {_GRANT, _OPS}
    return {
        "given": ("false", frozenset({*given, break_glass_mark(_OPS, now + datetime.timedelta(hours=1))})),
        "over": ("false", frozenset({*given, break_glass_mark(_OPS, now - datetime.timedelta(hours=1))})),
        "forgotten": ("false", frozenset({_GRANT, break_glass_mark(_OPS, now - datetime.timedelta(hours=25))})),
        "forever": ("false", frozenset({*given, break_glass_mark(_OPS, now + datetime.timedelta(days=9))})),
        "clean": ("true", frozenset({_GRANT})),
        "alive": ("true", frozenset({_GRANT, _BRIDGE, marker_of(young, _PAYROLL)})),
        "leased": ("true", frozenset({_GRANT, _BRIDGE, marker_of(_OLD, _PAYROLL), marker("ops@ci", _OLD, until)})),
        "left": ("true", frozenset({_GRANT, _BRIDGE, marker_of(_OLD, _PAYROLL)})),
        "forged": ("false", frozenset({_GRANT, _BRIDGE, marker_of(young, _PAYROLL)})),
        "locked": ("false", frozenset({_GRANT, *lock_denials("User:eve"), _LOCK})),
        "in-part": ("false", frozenset({_GRANT, *lock_denials("User:eve")[1:], _LOCK})),
        "foreign": ("true", frozenset({_GRANT, acl("__kr.mine", "User:mallory")})),
    }


def test_what_is_on_reserved_names_is_drift_of_a_fleet_as_of_a_cluster(
    tmp_path: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    """A bridge that nobody takes away, a grant on a reserved name, a forged marker: drift. A run's bridge is none."""
    manifests, live = tmp_path / "manifests", tmp_path / "live"
    manifests.mkdir()
    live.mkdir()
    clusters = _live()
    text = "".join(_CLUSTER.format(name=name, open=opened) for name, (opened, _) in clusters.items())
    (manifests / "all.yaml").write_text(text + _ACLS, encoding="utf-8")
    for name, (_, bindings) in clusters.items():
        (live / f"{name}.json").write_text(snapshot_text(ClusterState(name, bindings)), encoding="utf-8")
    store = ["--store", str(tmp_path / "store")]
    assert run(["fleet", "snapshot", str(manifests), *store, "--snapshots", str(live)]) == Exit.OK
    capsys.readouterr()
    assert run(["fleet", "drift", str(manifests), *store, "--output", "json"]) == Exit.DIFFERENT
    found = {one["cluster"]: one["counts"] for one in json.loads(capsys.readouterr().out)["clusters"]}
    assert {name: (counts["creates"], counts["deletes"], counts["left"]) for name, counts in found.items()} == {
        "given": (0, 0, 1),
        "over": (0, 1, 0),
        "forgotten": (0, 0, 1),
        "forever": (0, 1, 1),
        "clean": (0, 0, 0),
        "alive": (0, 0, 0),
        "leased": (0, 0, 0),
        "left": (0, 0, 2),
        "forged": (0, 1, 0),
        "locked": (0, 0, 0),
        "in-part": (0, 0, 1),
        "foreign": (0, 0, 1),
    }
    for name in clusters:
        status = run(["drift", str(manifests), "--cluster", f"{name}=snapshot:{live / name}.json"])
        assert (name, status == Exit.DIFFERENT) == (name, any(found[name][what] for what in ("deletes", "left")))
    capsys.readouterr()
    assert run(["fleet", "drift", str(manifests), *store]) == Exit.DIFFERENT
    said = capsys.readouterr().out
    assert "reconciler cleanup" in said
    assert "break-glass access until" in said


def test_what_only_manifests_say_is_not_certain_on_a_fleet(
    tmp_path: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    """A super user that the proposal made up is no fact in the answer; the operator's word makes it one."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(_CLUSTER.format(name="prod", open="false"), encoding="utf-8")
    operator = tmp_path / "operator.yaml"
    operator.write_text(_CLUSTER.format(name="prod", open="false").split(", scope")[0] + "}\n", encoding="utf-8")
    (tmp_path / "prod.json").write_text(snapshot_text(ClusterState("prod", frozenset({_GRANT}))), encoding="utf-8")
    store = ["-f", str(tmp_path / "manifests"), "--store", str(tmp_path / "store")]
    assert run(["fleet", "snapshot", *store, "--snapshots", str(tmp_path)]) == Exit.OK

    def ask(*options: str) -> dict[str, bool]:
        capsys.readouterr()
        question = ["who-can", "READ", "topic/other", "--output", "json", *options]
        assert run(["fleet", "query", *question, *store]) == Exit.OK
        return {row[1]: row[-1] for row in json.loads(capsys.readouterr().out)["rows"]}

    claimed = ask()
    assert claimed["User:admin"] is False
    assert claimed["everybody else"] is False
    assert ask("--connections", str(operator)) == {"User:admin": True}
    operator.write_text(operator.read_text(encoding="utf-8").replace("false", "true"), encoding="utf-8")
    assert run(["fleet", "drift", *store, "--connections", str(operator)]) == Exit.ERROR
