"""A range of hosts is created where brokers take it for one, and never where they would store it as a dead text."""

import pytest

from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.flavor import CONFLUENT_CLOUD
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.kinds.acl import created_bindings, touched_binding
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from tests.property.transitions import DAY, declared
from tests.unit.apply.test_perform import acl, planned


def _on(host: str, *, permission: str = "ALLOW") -> AclBinding:
    binding = acl("orders", permission)
    return binding._replace(entry=binding.entry._replace(host=host))


@pytest.mark.parametrize(("version", "why"), [((4, 3), "the cluster runs 4.3"), (None, "does not say that it runs it")])
def test_an_older_or_unknown_cluster_gets_no_range_and_nothing_that_waits_for_one(
    version: tuple[int, int] | None, why: str
) -> None:
    """An ALLOW for every host waits for the DENY of a range: alone it would permit what was not meant."""
    deny, allow = _on("10.0.0.0/8", permission="DENY"), _on("*")
    plan = planned(ClusterState("it", kafka_version=version), deny, allow)
    assert plan.steps == ()
    assert {item.reason for item in plan.skipped} == {SkipReason.UNSUPPORTED}
    assert any(why in item.detail for item in plan.skipped)


def test_the_one_address_is_not_taken_away_while_its_range_cannot_come() -> None:
    plan = planned(ClusterState("it", frozenset({_on("10.0.0.1")}), kafka_version=(4, 3)), _on("10.0.0.0/8"))
    assert plan.steps == ()


def test_a_range_within_one_that_stays_grants_nothing() -> None:
    live = ClusterState("it", frozenset({_on("10.0.0.0/8")}), kafka_version=(4, 4))
    write = _on("fe80::/10")
    write = write._replace(entry=write.entry._replace(operation=AclOperation.WRITE))
    plan = planned(live, _on("10.0.0.0/8"), _on("10.2.0.0/16"), write)
    hosts = [binding.entry.host for binding in created_bindings(step.change for step in plan.steps)]
    kinds = [effect and effect.kind for effect in plan.access.effects]
    assert dict(zip(hosts, kinds, strict=True)) == {"10.2.0.0/16": "no-effect", "fe80::/10": "grant"}


def test_4_4_takes_a_range_and_the_review_says_what_it_reaches() -> None:
    live = ClusterState("it", frozenset({_on("10.0.0.1")}), kafka_version=(4, 4))
    plan = planned(live, _on("10.0.0.0/8"), _on("10.1.0.0/16", permission="DENY"))
    assert len(plan.steps) == 3
    gained = {row.hosts: {operation.name for operation in row.gained} for row in plan.access.access_changes}
    # A DENY of READ does not deny the DESCRIBE that READ implies.
    assert gained == {"10.0.0.0/8 but 10.0.0.1, 10.1.0.0/16": {"READ", "DESCRIBE"}, "10.1.0.0/16": {"DESCRIBE"}}


@pytest.mark.parametrize("gap", [None, "not carried"])
def test_an_account_is_neither_given_nor_denied_anything_under_its_second_name(gap: str | None) -> None:
    """Whether or not the client can carry such a binding, and whatever it can carry besides."""
    alias, other = (acl(name, principal=who) for name, who in (("x", "User:123"), ("y", "User:sa-1")))
    terms = Terms("c", default_allow=False, flavor=CONFLUENT_CLOUD)
    for live in (frozenset[AclBinding](), frozenset({alias, other})):
        wanted = declared(frozenset() if live else frozenset({alias, other}), {})
        request = Request(DAY, Options(allow_deletes=True), unsupported=lambda _: gap)
        plan = propose(wanted, ClusterState("c", live), terms, request)
        assert [touched_binding(step.change) for step in plan.steps] == [other] * (gap is None)
        why = {item.detail for item in plan.skipped}
        assert any("second name of an account" in one for one in why)
        assert ("not carried" in why) is (gap is not None)
