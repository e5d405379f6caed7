"""What a declaration says of why and until when reaches the plan and its file."""

import datetime

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.state import ClusterState
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose

DAY = datetime.date(2026, 11, 21)
PLACE = Origin("acls.yaml", 7, 5)


def acl(topic: str) -> AclBinding:
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, topic), entry)


def test_steps_carry_reason_ticket_and_last_day() -> None:
    wanted = Declaration(PLACE, "nightly loads", "OPS-42", Expiry(DAY))
    over = Declaration(PLACE, "the move is done", "OPS-7", Expiry(DAY - datetime.timedelta(1)))
    desired = DesiredState(bindings={acl("new"): wanted}, expired={acl("old"): over})
    live = ClusterState("id", frozenset({acl("old"), acl("undeclared")}))
    plan = propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))
    assert [(step.origin, step.reason, step.ticket, step.expires) for step in plan.steps] == [
        (PLACE, "nightly loads", "OPS-42", Expiry(DAY)),
        (PLACE, "the move is done", "OPS-7", over.expires),
        (None, None, None, None),
    ]
    assert parse_plan(plan_text(plan)).steps == plan.steps
