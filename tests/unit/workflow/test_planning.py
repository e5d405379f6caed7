"""A plan of a snapshot: what is compared, and what is held in memory only once."""

import datetime
import subprocess
from pathlib import Path
from typing import Any, TextIO

import pytest

from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.plan import plan
from reconciler.app.planning import plan_on
from reconciler.app.session import open_declared
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.snapshot import file
from reconciler.snapshot.document import Snapshot, read_document, snapshot_text

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com")
MANIFEST = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: "User:a", rules: [{allow: READ, topics: [both, missing]}]}
"""


def _binding(name: str) -> AclBinding:
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry)


def test_a_pattern_that_is_declared_and_there_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(MANIFEST, encoding="utf-8")
    snapshot, live = tmp_path / "s.json", frozenset(map(_binding, ("both", "unwanted")))
    snapshot.write_text(snapshot_text(ClusterState("id", live)), encoding="utf-8")
    options = PlanOptions(as_of=datetime.date(2027, 1, 1), allow_deletes=True)
    found = plan(str(tmp_path / "manifests"), f"snapshot:{snapshot}", options)
    assert found.live.bindings == live
    declared = {binding: binding.pattern for binding in found.desired.bindings}
    (both,) = (binding for binding in found.live.bindings if binding.pattern.name == "both")
    assert both.pattern is declared[both]
    assert [step.change.before or step.change.after for step in found.plan.steps] == [
        _binding("missing"),
        _binding("unwanted"),
    ]


def test_an_earlier_snapshot_is_counted(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(MANIFEST, encoding="utf-8")
    earlier, empty = tmp_path / "earlier.json", tmp_path / "empty.json"
    earlier.write_text(snapshot_text(ClusterState("id", frozenset({_binding("both")}))), encoding="utf-8")
    empty.write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    options = PlanOptions(as_of=datetime.date(2027, 1, 1), baseline=str(earlier))
    refused = plan(str(tmp_path / "manifests"), f"snapshot:{empty}", options).plan.refusals
    assert any("1" in str(one) for one in refused)


def test_where_manifests_have_no_directory_no_commit_is_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-qm", "x"]):
        (tmp_path / "all.yaml").write_text(MANIFEST, encoding="utf-8")
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)  # noqa: S607 - the git of whoever runs the tests
    snapshot = tmp_path / "s.json"
    snapshot.write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = PlanOptions(as_of=datetime.date(2027, 1, 1))
    with open_declared(".", f"snapshot:{snapshot}", ConnectionOptions()) as (manifests, target):
        assert plan_on(target, manifests, ".", options).plan.source_commit is not None
        assert plan_on(target, manifests, "", options).plan.source_commit is None


def test_a_snapshot_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody gains access, whose quotas it may hold: a large one takes as long to read as to plan for."""
    (tmp_path / "all.yaml").write_text(MANIFEST, encoding="utf-8")
    snapshot, reads = tmp_path / "s.json", list[object]()
    snapshot.write_text(snapshot_text(ClusterState("id")), encoding="utf-8")

    def counted(opened: TextIO, *known: Any) -> Snapshot:
        reads.append(opened)
        return read_document(opened, *known)

    monkeypatch.setattr(file, "read_document", counted)
    found = plan(str(tmp_path), f"snapshot:{snapshot}", PlanOptions(as_of=datetime.date(2027, 1, 1)))
    assert any(row.gained for row in found.plan.access.access_changes)
    assert len(reads) == 1
