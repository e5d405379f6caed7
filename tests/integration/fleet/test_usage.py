"""Logs of a fleet by the command line: used, refused, replayed; and everything that must not be said."""

import bz2
import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.cli.main import run
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.parts.evidence.usage.message import Event, LoggedReason
from reconciler.snapshot.document import snapshot_text
from tests.property.usage_formats import LAYOUTS, acl_authorizer, audit_event, standard, standard_record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READ, WRITE = AclOperation.READ, AclOperation.WRITE
MANIFESTS: Final = "".join(
    f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}}}\n"
    "spec:\n  allowEveryoneIfNoAclFound: false\n  superUsers: [User:root]\n"
    "  scope: {include: [{principals: [User:a]}]}\n---\n"
    for name in ("full", "quiet", "silent")
)
#: What the manifests say too: else it would be a claim, on which no result relies.
OPERATOR: Final = "".join(
    f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}}}\n"
    "spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:root]}\n---\n"
    for name in ("full", "quiet", "silent")
)
ACLS: Final = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [orders.one, orders.unused]}
    - {allow: WRITE, topics: [orders.late]}
"""


def grant(name: str, operation: AclOperation = READ, *, who: str = "User:a", prefixed: bool = False) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    return AclBinding(pattern, AccessControlEntry(who, "*", operation, AclPermissionType.ALLOW))


ONE, PREFIX, UNUSED = grant("orders.one"), grant("orders.", prefixed=True), grant("orders.unused")
STRANGE = grant("pay", who="User:CN=x y,OU=(z)")
LIVE: Final = frozenset({ONE, PREFIX, UNUSED, STRANGE})


def event(
    name: str,
    operation: AclOperation = READ,
    *,
    who: str = "User:a",
    acl: AclBinding | None = None,
    allowed: bool = True,
) -> Event:
    ground = LoggedReason.ACL if acl else LoggedReason.SUPER_USER if allowed else LoggedReason.DEFAULT_DENY
    return Event(AccessRequest(who, "10.0.0.1", operation, ResourceType.TOPIC, name), allowed, ground, acl, "Fetch")


def log(*events: Event, day: str = "2026-11-02", write: Callable[[Event], str] = standard) -> bytes:
    return "".join(f"{LAYOUTS['kafka'](write(item), f'{day} 10:00:00')}\n" for item in events).encode()


class Logs:
    """Three clusters in a store, a directory of logs, and the command on them."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.capsys = directory, capsys
        for name in ("manifests", "live", "logs"):
            (directory / name).mkdir()
        (directory / "manifests" / "all.yaml").write_text(MANIFESTS + ACLS, encoding="utf-8")
        (directory / "operator.yaml").write_text(OPERATOR, encoding="utf-8")
        for name in ("full", "quiet", "silent"):
            text = snapshot_text(ClusterState(f"id-{name}", LIVE))
            (directory / "live" / f"{name}.json").write_text(text, encoding="utf-8")
        live = str(directory / "live")
        assert run(["fleet", "snapshot", *self.where, "--snapshots", live, "--output", "json"]) == 0

    @property
    def where(self) -> list[str]:
        return [str(self.directory / "manifests"), "--store", str(self.directory / "store")]

    def put(self, name: str, data: bytes) -> None:
        file = self.directory / "logs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)

    def text(self, *arguments: str) -> tuple[int, str]:
        self.capsys.readouterr()
        facts = ["--connections", str(self.directory / "operator.yaml")]
        status = run(["fleet", "usage", *self.where, *facts, "--logs", str(self.directory / "logs"), *arguments])
        return status, self.capsys.readouterr().out

    def ask(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        status, text = self.text(*arguments, "--output", "json")
        document = json.loads(text)
        assert document["kind"] == "FleetUsage"
        return status, {item["cluster"]: item for item in document["clusters"]} | {"all": document}


@pytest.fixture
def logs(tmp_path: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]) -> Logs:
    return Logs(tmp_path, capsys)


def names(rows: Iterable[dict[str, Any]], field: str = "name") -> list[str]:
    return [row[field] for row in rows]


def test_what_was_used_refused_and_cannot_be_said(logs: Logs) -> None:
    used = event("orders.one", acl=ONE), event("pay", who=STRANGE.entry.principal, acl=STRANGE)
    logs.put("full/kafka-authorizer.log", log(*used, *used) + b"Initialized with 3 acl(s).\n")
    logs.put("full/kafka-authorizer.log.1", gzip.compress(log(event("orders.two", acl=PREFIX), write=standard_record)))
    logs.put(
        "full/kafka-authorizer.log.2026-10-01", bz2.compress(log(event("orders.unused", acl=UNUSED), day="2026-10-01"))
    )
    zstd = pa.compress(log(event("gone", WRITE, allowed=False), write=acl_authorizer) * 2, "zstd", asbytes=True)
    logs.put("full/kafka-authorizer.log.zst", zstd)
    logs.put("quiet/kafka-authorizer.log", log(event("t", allowed=False)))
    status, found = logs.ask("--since", "2026-11-01", "--until", "2026-11-03")
    assert status == 0
    full = found["full"]
    assert full["bindings"] == {"alone": 2, "decided": 1, "also": 0, "unused": 1, "cannot say": 0}
    assert names(full["unused"]) == ["orders.unused"]
    assert full["unused"][0]["origin"].startswith("all.yaml:")
    assert full["covered"]["firstDaysWithoutPermitted"] == ["2026-11-01", "2026-11-03"]
    assert (full["reading"]["files"], full["reading"]["linesOutsideWindow"], full["reading"]["otherLines"]) == (4, 1, 1)
    assert full["reading"]["unread"] == {}
    assert full["decisions"] == {"permitted": 5, "refused": 2, "lookedUp": 0}
    (refused,) = full["refused"]
    assert (refused["times"], refused["grants"][0]["host"], refused["grants"][0]["patternType"]) == (
        2,
        "10.0.0.1",
        "LITERAL",
    )
    for name, words in (("quiet", "DEBUG"), ("silent", "no decision")):
        assert words in found[name]["cannotSay"]
        assert found[name]["unused"] == []
        assert found[name]["bindings"]["cannot say"] == 4
    _, text = logs.text("--since", "2026-10-01")
    assert "- User:a" not in text
    assert "cannot decide which bindings are unused: the logs contain no permitted access" in text


def test_damage_is_counted_shown_and_hides_nothing_else(logs: Logs) -> None:
    good = log(event("orders.one", acl=ONE), event("orders.two", acl=PREFIX))
    bad = (
        good[:90],
        good[:60].replace(b"User", b"Us\xffr") + good[60:],
        b"Principal = \x1b[2Jpassword=hunter2\n",
        b"\0" * 70_000 + b"\n",
        b"x" * 3_000_000 + b"\n",
    )
    logs.put("full/a.log", good + b"\n".join(bad) + b"\n" + good)
    logs.put("full/b.log.gz", gzip.compress(good * 20_000, 0)[:-5_000_000])
    status, found = logs.ask()
    full = found["full"]
    assert status == 1
    assert {reason: item["lines"] for reason, item in full["reading"]["unread"].items()} == {
        "CUT": 2,
        "NOT_TEXT": 1,
        "TOO_LONG": 1,
    }
    assert full["bindings"]["alone"] == 1
    assert full["decisions"]["permitted"] > 10_000
    (broken,) = full["reading"]["notReadToTheEnd"]
    assert "b.log.gz" in broken
    assert "Truncated" in broken
    _, text = logs.text()
    assert "4 lines could not be read: they may show a use of a binding that is listed here" in text
    assert "not read to its end" in text
    assert "hunter2" not in text
    assert "\x1b" not in text


def test_audit_events_of_many_clusters_find_their_own(logs: Logs) -> None:
    lines = [
        audit_event(event(name)._replace(cluster_id=f"id-{cluster}"))
        for name, cluster in (("orders.one", "full"), ("orders.two", "quiet"), ("orders.one", "other"))
    ]
    logs.put("confluent-audit-log-events.json", "\n".join(lines).encode())
    logs.put("silent/named.json", "\n".join(lines).encode())
    status, found = logs.ask()
    assert status == 0
    assert [found[name]["decisions"]["permitted"] for name in ("full", "quiet", "silent")] == [1, 1, 0]
    assert found["all"]["unassigned"]["decisionsOfOtherClusters"] == 1
    assert found["silent"]["reading"]["decisionsOfOtherClusters"] == 3
    assert found["full"]["covered"]["first"] == "2026-11-02"


def test_a_change_is_tried_on_the_accesses_that_were_seen(logs: Logs) -> None:
    seen = [
        event("orders.one", acl=ONE),
        event("orders.two", acl=PREFIX),
        event("orders.late", WRITE, allowed=False),
        event("orders.three", WRITE, who="User:root"),
    ]
    logs.put("full/kafka-authorizer.log", log(*seen))
    status, found = logs.ask("--replay")
    replay = found["full"]["replay"]
    assert status == 3
    assert replay["counts"] == {"fail": 1, "newlySucceed": 1, "undecided": 0, "same": 1}
    assert names(replay["fail"], "resourceName") == ["orders.two"]
    assert replay["fail"][0]["binding"]["name"] == "orders."
    assert names(replay["newlySucceed"], "resourceName") == ["orders.late"]
    plan = logs.directory / "plan.json"
    live = f"full=snapshot:{logs.directory / 'live' / 'full.json'}"
    manifests = str(logs.directory / "manifests")
    assert run(["plan", manifests, "--cluster", live, "--allow-deletes", "--out", str(plan)]) == 0
    status, planned = logs.ask("--plan", str(plan))
    assert (status, planned["full"]["replay"]) == (3, replay)
    assert planned["quiet"]["replay"] is None
    _, text = logs.text("--plan", str(plan))
    assert "would fail: 1× User:a READ TOPIC orders.two from 10.0.0.1 for Fetch (permitted so far by User:a" in text
    assert run(["plan", manifests, "--cluster", live, "--out", str(plan)]) == 0
    assert logs.ask("--plan", str(plan))[0] == 0


def test_what_is_declared_can_be_judged_without_a_snapshot(logs: Logs) -> None:
    logs.put("full/kafka-authorizer.log", log(event("orders.one", acl=ONE)))
    shutil.rmtree(logs.directory / "store")
    status, found = logs.ask("--offline")
    assert status == 0
    assert names(found["full"]["unused"]) == ["orders.late", "orders.unused"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--plan", "manifests", "--replay"),
        ("--offline", "--replay"),
        ("--since", "2026-11-02", "--until", "2026-11-01"),
        ("--plan", "manifests"),
        ("--logs", "unknown=logs"),
    ],
)
def test_what_makes_no_sense_is_refused(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    logs.put("full/kafka-authorizer.log", b"x\n")
    monkeypatch.chdir(logs.directory)
    assert logs.text(*arguments) == (64, "")


def test_logs_that_are_not_there_are_an_error(logs: Logs) -> None:
    assert logs.text()[0] == 64
    logs.put("full/kafka-authorizer.log", b"x\n")
    assert logs.text("--logs", "full=/nowhere")[0] == 1
