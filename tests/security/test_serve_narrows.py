"""What a server does by itself never gives anybody anything, whatever stands on the cluster and in the manifests."""

import itertools
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.app.options import PlanOptions
from reconciler.app.planning import Planned
from reconciler.app.session import Target
from reconciler.app.terms import terms
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.listing import Delete
from reconciler.model.state import ClusterState, FactSource
from reconciler.parts.serve.narrowing import expired_access, revocation, why_not_narrowing
from reconciler.plan.proposal import Options
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from reconciler.plan.review.access_change import DataOwners
from reconciler.snapshot.file import MemoryCluster
from tests.property.naive import Ask, permitted
from tests.property.strategies import OPERATIONS, topic_bindings

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {bootstrapServers: ["b:9092"], deleteLimits: {maxDeletePercent: 100}}
"""
MANIFESTS = load([Source("c.yaml", CLUSTER)])
DAY = date(2026, 11, 23)
_ALLOW_READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
SAID = Declaration(Origin("a.yaml", 1, 1), expires=Expiry(date(2026, 11, 1)))
ASKS = [
    Ask(principal, host, operation, ResourceType.TOPIC, name)
    for principal, host, operation, name in itertools.product(
        ["User:a", "User:ab", "User:nobody"], ["10.0.0.1", "10.0.0.9"], OPERATIONS, ["a", "ab", "b", "z"]
    )
]


def _compared(live: frozenset[AclBinding], wanted: DesiredState, default: bool | None, who: FactSource) -> Planned:
    declaration = MANIFESTS.clusters["c"]
    sources = replace(declaration.sources, default_allow=who)
    declaration = replace(declaration, allow_everyone_if_no_acl_found=default, sources=sources)
    state = ClusterState("id", live, {})
    plan = propose(wanted, state, terms(declaration), Request(DAY))
    return Planned(plan, state, declaration, wanted, MANIFESTS)


def test_the_only_grant_of_a_cluster_ends_too() -> None:
    """No binding that still holds is declared, but this end is."""
    only = AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), _ALLOW_READ)
    planned = _compared(frozenset({only}), DesiredState(expired={only: SAID}), default=False, who=FactSource.OPERATOR)
    plan, staying = revocation(
        planned, Target("c", MemoryCluster(planned.live), planned.declaration), PlanOptions(as_of=DAY), None
    )
    assert plan is not None
    assert [step.change for step in plan.steps] == [Delete(only)]
    assert not staying
    other = AclBinding(ResourcePattern(ResourceType.TOPIC, "u"), _ALLOW_READ)
    live = ClusterState("id", frozenset({only, other}), {})
    request = Request(DAY, Options(allow_deletes=True))
    found = propose(DesiredState(expired={only: SAID}), live, terms(planned.declaration), request)
    assert Guard.EMPTY_DESIRED in [refusal.guard for refusal in found.refusals], "nobody declared an end of the other"


_OWNERS = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: ledger, files: ledger.yaml, principals: [User:a], topics: [t]}
    - {team: pay, files: pay.yaml, topics: [p]}
"""


@pytest.mark.parametrize(("file", "goes"), [("ledger.yaml", True), ("pay.yaml", False), ("x.yaml", False)])
def test_a_file_ends_nothing_that_it_may_not_declare(file: str, *, goes: bool) -> None:
    """Team pay merges ledger's grant with an end in the past: no person would be asked."""
    one = AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), _ALLOW_READ)
    said = SAID._replace(origin=Origin(file, 1, 1))
    wanted = DesiredState(expired={one: said})
    planned = _compared(frozenset({one}), wanted, default=False, who=FactSource.OPERATOR)
    sources = [Source("c.yaml", CLUSTER), Source("o.yaml", _OWNERS), Source("pay.yaml", ""), Source("ledger.yaml", "")]
    planned = replace(planned, manifests=load(sources))
    target = Target("c", MemoryCluster(planned.live), planned.declaration)
    plan, staying = revocation(planned, target, PlanOptions(as_of=DAY), None)
    assert (plan is not None) is goes
    assert staying == ({} if goes else {"the file that ends it may not declare it (Ownership)": 1})
    assert plan is None or {row.owners for row in plan.access.access_changes} == {DataOwners(("ledger",))}


@given(data=st.data(), default=st.sampled_from([True, False, None]))
def test_it_only_takes_away_and_only_what_is_over(data: st.DataObject, default: bool | None) -> None:
    live = frozenset(data.draw(st.lists(topic_bindings, max_size=8)))
    expired = frozenset(one for one in live if data.draw(st.booleans()))
    declared = frozenset(one for one in live - expired if data.draw(st.booleans()))
    wanted = DesiredState(
        bindings=dict.fromkeys((*declared, *data.draw(st.lists(topic_bindings, max_size=2))), SAID),
        expired=dict.fromkeys((*expired, *data.draw(st.lists(topic_bindings, max_size=2))), SAID),
    )
    wanted = replace(wanted, bindings={one: said for one, said in wanted.bindings.items() if one not in wanted.expired})
    who = (
        FactSource.NOBODY
        if default is None
        else data.draw(st.sampled_from([FactSource.OPERATOR, FactSource.MANIFESTS]))
    )
    # Only the operator is believed: the manifests may say anything.
    truth = default if who is FactSource.OPERATOR and default is not None else data.draw(st.booleans())
    planned = _compared(live, wanted, default, who)
    target = Target("c", MemoryCluster(planned.live), planned.declaration)
    plan, staying = revocation(planned, target, PlanOptions(as_of=DAY), None)
    over = expired_access(planned)
    assert all(one.entry.permission_type is AclPermissionType.ALLOW for one in over)
    assert over == {one for one in live & wanted.expired.keys() if one.entry.permission_type is AclPermissionType.ALLOW}
    gone = frozenset[AclBinding]() if plan is None else frozenset(step.change.before for step in plan.steps)
    assert gone <= over
    assert sum(staying.values()) == len(over - gone)
    if default is False and who is FactSource.OPERATOR:
        assert gone == over, "nothing can open, so nothing stays"
    event("all" if gone == over else "some" if gone else "none")
    if plan is None:
        return
    assert {step.change for step in plan.steps} == {Delete(one) for one in gone}
    assert why_not_narrowing(plan) is None
    for ask in ASKS:
        before, after = (permitted(state, ask, default_allow=truth) for state in (live, live - gone))
        assert before or not after, f"{ask} is permitted afterwards"
