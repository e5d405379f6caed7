"""What lint tells of, and what it only counts."""

from pathlib import Path

from reconciler import workflow
from reconciler.adapters.snapshot import snapshot_text
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    ResourcePattern,
    ResourceType,
    Topic,
)
from reconciler.workflow.options import StateRequest

MANIFEST = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin], ignore: [{principals: [User:b]}]}
"""


def test_a_describe_beside_what_implies_it_is_counted_once_and_not_where_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(MANIFEST, encoding="utf-8")
    bindings = {
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, "t"), AccessControlEntry(who, "*", operation, AclPermissionType.ALLOW)
        )
        for who in ("User:a", "User:b")
        for operation in (AclOperation.DESCRIBE, AclOperation.WRITE)
    }
    snapshot = tmp_path / "s.json"
    snapshot.write_text(
        snapshot_text(ClusterState("id", frozenset(bindings), {"t": Topic("t", 1, 1)})), encoding="utf-8"
    )
    (found,) = workflow.lint(StateRequest(str(tmp_path), f"snapshot:{snapshot}"))
    assert (found.findings, found.ignored, found.implied) == ((), 1, 1)
