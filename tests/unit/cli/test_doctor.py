"""What ``doctor`` says of reading a cluster: an error or a missing right never looks well."""

from dataclasses import replace

from reconciler.adapters.kafka.handshake import AuthorizerPresence
from reconciler.adapters.kafka.inspection import Inspection
from reconciler.adapters.snapshot import MemoryCluster
from reconciler.cli.doctor import DoctorCheck, all_checks, reading_check
from reconciler.manifest import ClusterDeclaration
from reconciler.model import ClusterState, Origin
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow import Target

FOUND = Inspection(
    cluster_id="c",
    brokers=(),
    controller=None,
    operations=frozenset({"DESCRIBE"}),
    authorizer=AuthorizerPresence.PRESENT,
    can_list_acls=True,
    can_alter_acls=False,
    metadata_version=None,
    visible_topics=3,
)


class Unreadable(MemoryCluster):
    """One whose listing fails, as where no reader can read the ACLs."""

    def read(self, request: ReadRequest) -> ClusterState:
        raise ClusterError("acl_listing_failed", "no reader could read the ACLs")


def target(gap: str | None = None) -> Target:
    return Target("c", MemoryCluster(ClusterState("c", topic_gap=gap)), None)


def test_a_cluster_that_cannot_be_read_cannot_be_planned_for() -> None:
    check = reading_check(Target("c", Unreadable(ClusterState("c")), None), FOUND)
    assert (check.ok, check.needed) == (False, True)
    assert "acl_listing_failed" in check.text


def test_a_partial_listing_is_no_whole_one_whatever_else_may_be_read() -> None:
    partial = DoctorCheck(False, "topics may be hidden", False)
    assert reading_check(target("topics may be hidden"), FOUND) == partial
    assert reading_check(target("topics may be hidden"), replace(FOUND, can_list_acls=False)) == partial


def test_without_an_authorizer_nothing_is_hidden() -> None:
    unsecured = replace(FOUND, authorizer=AuthorizerPresence.ABSENT, can_list_acls=None)
    assert reading_check(target("the ACLs were not read"), unsecured) == DoctorCheck(True, "sees every topic: 3", False)
    assert reading_check(target(), FOUND) == DoctorCheck(True, "sees every topic: 3", False)


def test_what_is_missing_is_said_to_be_missing() -> None:
    declared = Target("c", MemoryCluster(ClusterState("c")), ClusterDeclaration("c", Origin("c.yaml", 1, 1)))
    well = DoctorCheck(True, "sees every topic: 3", False)
    rightless = replace(FOUND, can_list_acls=False)
    assert [check.text for check in all_checks(rightless, declared, well) if not check.ok] == [
        "may not list ACLs (DESCRIBE on CLUSTER): needed to plan",
        "may not change ACLs (ALTER on CLUSTER): needed to apply",
        "principal is not declared in Cluster",
        "allowEveryoneIfNoAclFound is not declared in Cluster",
    ]
    allowed = replace(FOUND, can_alter_acls=True)
    said = replace(
        ClusterDeclaration("c", Origin("c.yaml", 1, 1)), principal="User:r", allow_everyone_if_no_acl_found=False
    )
    known = replace(declared, declaration=said)
    texts = [check.text for check in all_checks(allowed, known, well)]
    assert all(check.ok for check in all_checks(allowed, known, well))
    assert "may change ACLs (ALTER on CLUSTER): needed to apply" in texts
    assert "principal is declared in Cluster" in texts
