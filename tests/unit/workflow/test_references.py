"""What stops an approved plan at the login that is about to perform it."""

import datetime
from dataclasses import replace

import pytest

from reconciler.app.apply import refuse_obstacles
from reconciler.app.reasons import PlanRefusedError
from reconciler.app.session import Target
from reconciler.app.terms import terms
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Plan
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.snapshot.file import MemoryCluster

CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
LIVE = ClusterState("c", listings={"quotas": Listing(frozenset())})


def made(login: str | None, *accepted: AcceptedGuard) -> tuple[Plan, Target]:
    """A plan that limits ``User:ours``, made with a login."""
    declaration = load([Source("c.yaml", CLUSTER)]).clusters["c"]
    quota = ClientQuota(QuotaEntity.of("ours"), {"request_percentage": 0.01})
    wanted = DesiredItem(quota, Declaration(Origin("q.yaml", 1, 1)))
    request = Request(datetime.date(2027, 1, 1), accepted=accepted, login=login)
    plan = propose(DesiredState(listed={"quotas": {quota.key: wanted}}), LIVE, terms(declaration), request)
    return plan, Target("c", MemoryCluster(LIVE), declaration)


def test_a_limit_of_the_login_that_applies_is_refused_whoever_planned() -> None:
    plan, target = made("User:planner")
    assert target.declaration is not None
    assert plan.refusals == ()
    refuse_obstacles(plan, terms(target.declaration), target, LIVE)
    present = replace(terms(target.declaration), facts=Facts("User:ours"))
    with pytest.raises(PlanRefusedError) as refused:
        refuse_obstacles(plan, present, target, LIVE)
    assert [(one.guard, one.object) for one in refused.value.refusals] == [(Guard.LOGIN_LIMIT, "User:ours")]
    accepted, _ = made("User:ours", AcceptedGuard(Guard.LOGIN_LIMIT, "User:ours"))
    refuse_obstacles(accepted, present, target, LIVE)
