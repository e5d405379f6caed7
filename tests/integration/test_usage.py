"""Unused ACLs of one cluster from its log files: used, refused, replayed; without Spark."""

import bz2
import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.integration.fleet.test_usage import ACLS, LIVE, MANIFESTS, ONE, PREFIX, event, log, names
from tests.property.usage_formats import audit_event


class _One:
    """A snapshot, manifests and logs in one directory, and the command on them."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.capsys = directory, capsys
        (directory / "manifests").mkdir()
        (directory / "logs").mkdir()
        (directory / "manifests" / "all.yaml").write_text(MANIFESTS + ACLS, encoding="utf-8")
        (directory / "live.json").write_text(snapshot_text(ClusterState("id-full", LIVE)), encoding="utf-8")
        (directory / "operator.yaml").write_text(
            "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: full}\n"
            "spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:root]}\n",
            encoding="utf-8",
        )

    def put(self, name: str, data: bytes) -> None:
        (self.directory / "logs" / name).write_bytes(data)

    def text(self, *arguments: str, logs: str = "logs") -> tuple[int, str]:
        self.capsys.readouterr()
        place = logs if logs == "-" else str(self.directory / logs)
        where = ["--path", str(self.directory / "manifests"), "--connections", str(self.directory / "operator.yaml")]
        cluster = f"full=snapshot:{self.directory / 'live.json'}"
        status = run(["usage", "--logs", place, *where, "--cluster", cluster, *arguments])
        return status, self.capsys.readouterr().out

    def ask(self, *arguments: str, logs: str = "logs") -> tuple[int, dict[str, Any]]:
        status, text = self.text(*arguments, "--output", "json", logs=logs)
        return status, json.loads(text)["usage"]


@pytest.fixture
def one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _One:
    return _One(tmp_path, capsys)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_what_no_log_shows_is_unused_with_its_place(one: _One, pack: Any) -> None:
    one.put("server.log", pack(log(event("orders.one", acl=ONE))))
    status, told = one.ask()
    assert status == Exit.OK
    assert names(told["unused"]) == ["orders.unused", "pay"]
    assert told["unused"][0]["origin"] == "all.yaml:31:42"
    assert one.text()[1].startswith("Snapshot of cluster full.")


def test_no_permitted_access_shows_nothing_of_use(one: _One) -> None:
    one.put("server.log", log(event("orders.one", allowed=False)))
    _, told = one.ask()
    assert told["unused"] == []
    assert told["cannotSay"]


def test_a_log_that_breaks_off_ends_with_1_and_contributes_what_it_has(one: _One) -> None:
    one.put("a.log.gz", gzip.compress(log(event("orders.one", acl=ONE)) * 5000)[:-20])
    one.put("b.log", log(event("orders.unused")))
    status, told = one.ask()
    assert status == Exit.ERROR
    assert len(told["reading"]["notReadToTheEnd"]) == 1
    assert "orders.unused" not in names(told["unused"])


def test_audit_events_of_another_cluster_are_not_ours(one: _One) -> None:
    read = event("orders.unused")
    own, other = (audit_event(read._replace(cluster_id=name)) for name in ("id-full", "id-quiet"))
    one.put("audit.log", f"{other}\n".encode())
    _, told = one.ask()
    assert told["decisions"]["permitted"] == 0
    assert told["reading"]["decisionsOfOtherClusters"] == 1
    one.put("audit.log", f"{own}\n".encode())
    assert one.ask()[1]["decisions"]["permitted"] == 1


def test_audit_events_of_another_cluster_are_not_tried_on_a_plan(one: _One) -> None:
    plan = str(one.directory / "plan.json")
    snapshot = f"full=snapshot:{one.directory / 'live.json'}"
    where = [str(one.directory / "manifests"), "--connections", str(one.directory / "operator.yaml")]
    assert run(["plan", *where, "--cluster", snapshot, "--out", plan]) == Exit.OK
    one.put("audit.log", f"{audit_event(event('orders.unused')._replace(cluster_id='id-quiet'))}\n".encode())
    _, told = one.ask("--plan", plan)
    assert told["reading"]["decisionsOfOtherClusters"] == 1


def test_a_change_that_would_break_a_seen_access_fails(one: _One) -> None:
    """``orders.`` as a prefix is not declared: the manifests would take it away."""
    one.put("server.log", log(event("orders.seen", acl=PREFIX)))
    status, told = one.ask("--replay")
    assert status == Exit.FAILED_CHECK
    assert told["replay"]["counts"]["fail"] == 1


def test_standard_input(one: _One, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = log(event("orders.one", acl=ONE))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    assert one.ask(logs="-")[1]["decisions"]["permitted"] == 1


def test_no_logs_are_an_error(one: _One) -> None:
    assert one.text(logs="none.log")[0] == Exit.ERROR
    assert one.text()[0] == Exit.ERROR
    assert one.text("--since", "2026-11-02", "--until", "2026-11-01")[0] == Exit.USAGE
    one.put("server.log", b"")
    assert one.text("--replay", "--offline")[0] == Exit.USAGE
