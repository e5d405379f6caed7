"""A broker that answers every request with success and does nothing: no step is called verified, each is named."""

import pytest

from reconciler.apply.environment import Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import plain
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.kinds import describe, kind_of
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, AnswerStatus
from reconciler.show.result import result_lines
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Fault, FaultyCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY, declared

YES = Answer(AnswerStatus.DONE)
ACTIONS = ("CreateAcl", "DeleteAcl", "CreateTopic")


def binding(name: str, permission: AclPermissionType = AclPermissionType.ALLOW) -> AclBinding:
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, permission)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry)


#: ALLOWs, a DENY, which is a phase of its own, a topic; and with the last one what is deleted.
WANTED = [binding("one"), binding("two"), binding("three", AclPermissionType.DENY)]
LIVE = binding("old")


def applied(*, only: str | None = None) -> Result:
    """An apply on a cluster that does nothing, or nothing of what ``only`` names."""
    live = ClusterState("c", frozenset({LIVE}))
    terms = Terms("c", default_allow=False)
    topic = DesiredTopic(Topic("four", 1, 1), Origin("topics.yaml", 1, 1))
    wanted = declared(frozenset(WANTED), {"four": topic})
    plan = propose(wanted, live, terms, Request(DAY, Options(allow_deletes=True)))
    assert len(plan.steps) == 5, plan.skipped
    cluster = FaultyCluster(
        MemoryCluster(live), [Fault(action, answer=YES, times=1_000) for action in ACTIONS if only in (None, action)]
    )
    return perform(plan, live, check(plan, live, terms), ApplyEnvironment(cluster, StillClock(), Progress()))


def named(result: Result) -> set[str]:
    """The steps that the report names as not shown, or as not done at all."""
    text = "\n".join(result_lines(result, plain))
    return {describe(step.change) for step in result.plan.steps if describe(step.change) in text}


@pytest.mark.parametrize("only", [None, *ACTIONS])
def test_no_step_that_does_not_show_counts_as_done(only: str | None) -> None:
    result = applied(only=only)
    assert not result.succeeded
    silent = {
        describe(step.change) for step in result.plan.steps if only in (None, kind_of(step.change).action(step.change))
    }
    assert silent
    assert silent <= named(result)
