"""What lint tells of, and what it only counts."""

from pathlib import Path

from reconciler.app.lint import lint
from reconciler.app.options import StateRequest
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.lint import lint_document, lint_lines
from reconciler.snapshot.document import snapshot_text

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
    (found,) = lint(StateRequest(str(tmp_path), f"snapshot:{snapshot}"))
    assert (found.findings, found.ignored, found.implied) == ((), 1, 1)


USERS = """---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{clientId: " x", limits: {producer_byte_rate: 1000}}, {clientId: " y", absent: true}]}
"""


def test_users_and_quotas_are_told_of_a_cluster_and_of_manifests_and_can_be_excepted(tmp_path: Path) -> None:
    """What nobody can log in as, and what no client on librdkafka has; without an answer about them, that is said."""
    excepted = "allowEveryoneIfNoAclFound: false, exceptions: [{check: KA024, reason: java, expires: 2099-01-01}]"
    (tmp_path / "c.yaml").write_text(
        MANIFEST.replace("allowEveryoneIfNoAclFound: false", excepted) + USERS, encoding="utf-8"
    )
    users = [ScramUser(name, {"SCRAM-SHA-512": 4096}) for name in ("a", "b\u00f6", "b", "\u00e4")]
    listings = {
        "users": Listing(frozenset(users), may_alter=True),
        "quotas": Listing(None, gap="the broker refused"),
    }
    snapshot = tmp_path / "s.json"
    snapshot.write_text(snapshot_text(ClusterState("id", listings=listings)), encoding="utf-8")
    (found,) = lint(StateRequest(str(tmp_path), f"c=snapshot:{snapshot}"))
    assert [(one.rule.code, one.subject) for one in found.findings] == [
        ("KA023", "SCRAM user b\u00f6"),
        ("KA023", "SCRAM user \u00e4"),
    ]
    assert found.has_errors
    assert found.view.unseen == ("client quotas, which cannot be listed: the broker refused",)
    (declared,) = lint(StateRequest(str(tmp_path)))
    assert declared.findings == ()
    ((one, _),) = declared.excepted
    assert (one.rule.code, one.subject, one.origin and one.origin.line) == ("KA024", "quota of client-id  x", 9)
    (document,) = lint_document([found])["states"]
    assert [(one["binding"], one["subject"]) for one in document["findings"]] == [
        (None, "SCRAM user b\u00f6"),
        (None, "SCRAM user \u00e4"),
    ]
    assert "SCRAM user b\u00f6" in "\n".join(lint_lines([found]))
