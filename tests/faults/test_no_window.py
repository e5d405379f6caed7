"""While plans run, nobody is granted what both states refuse, and nobody refused what both permit, on any broker.

The same watchers do see a naive order: so they can.
"""

import datetime
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TypeAlias

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, AclPermissionType, ResourceType
from reconciler.model.desired import DesiredState, DesiredTopic
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.ports import ReadRequest
from reconciler.system.process import SystemClock
from tests.faults.asking import Seen, asking
from tests.faults.changes import CHANGES, Change, Make
from tests.faults.cluster import BROKERS, Cluster
from tests.property.transitions import declared
from tests.topic_changes import touched_topics
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker
#: Seconds that a careless tool takes from one request to the next.
_DELAY = 0.3
Careless: TypeAlias = Callable[[Cluster, Change], None]


def _plan(three: Cluster, mark: str, wanted: DesiredState) -> Plan:
    scope = Scope((Selector(None, ResourceType.TOPIC, NameSelector(prefixes=(mark,))),))
    with three.connect() as admin:
        live = admin.read(ReadRequest(all_topics=False, topic_names=tuple(wanted.topics)))
    accepted = [AcceptedGuard(guard, name) for guard in (Guard.TOPIC_DELETE, Guard.DATA_LOSS) for name in wanted.topics]
    accepted.append(AcceptedGuard(Guard.EMPTY_DESIRED, "c"))
    request = Request(datetime.date(2026, 1, 1), Options(allow_deletes=True), accepted=tuple(accepted))
    return propose(wanted, live, Terms("c", scope, default_allow=False), request)


def _perform(three: Cluster, plan: Plan) -> None:
    with three.connect() as admin, closing(three.probe()) as probe, closing(three.probe("admin")) as own:
        live = admin.read(ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps)))
        probing = ProbeSetup(probe, "User:acl-probe", own, "User:admin", True, frozenset(BROKERS))
        world = ApplyEnvironment(
            admin,
            SystemClock(),
            Progress(),
            identity=Identity("window"),
            barrier=partial(ProbeBarrier, probing),
            max_batch=50,
        )
        result = perform(plan, live, check(plan, live, plan.terms), world, lambda exact: check(plan, exact, plan.terms))
    assert result.succeeded, (result.stopped, result.differences)


def _watched(three: Cluster, change: Change, mark: str, *, careless: Careless | None = None) -> Seen:
    """Bring the first state about, go to the second one while everybody asks, and leave nothing."""
    _perform(three, _plan(three, mark, declared(change.before, {})))
    if change.topics:
        with three.connect() as admin:
            admin.send(creations(change.topics))
    plan = _plan(three, mark, declared(change.after, change.wanted_topics))
    with asking(three, change.watches, BROKERS) as seen:
        if careless is None:
            _perform(three, plan)
        else:
            careless(three, change)
    gone = {
        name: DesiredTopic(wanted.topic, wanted.origin, absent=True) for name, wanted in change.wanted_topics.items()
    }
    _perform(three, _plan(three, mark, declared(frozenset(), gone)))
    return seen


def _grants_first(three: Cluster, change: Change) -> None:
    """Topics before who may see them, grants before restrictions, restrictions lifted first: a careless tool."""
    with three.connect() as admin:
        there = {topic.name for topic in change.topics}
        admin.send(creations([it.topic for name, it in change.wanted_topics.items() if name not in there]))
        for permission in (AclPermissionType.ALLOW, AclPermissionType.DENY):
            admin.send(creations(_of(change.after - change.before, permission)))
            time.sleep(_DELAY)
        for permission in (AclPermissionType.DENY, AclPermissionType.ALLOW):
            admin.send(deletions(_of(change.before - change.after, permission)))
            time.sleep(_DELAY)


def _revokes_first(three: Cluster, change: Change) -> None:
    """Clears up before it grants: nobody sees too much, and everybody is interrupted."""
    with three.connect() as admin:
        for permission in (AclPermissionType.ALLOW, AclPermissionType.DENY):
            admin.send(deletions(_of(change.before - change.after, permission)))
        time.sleep(_DELAY)
        for permission in (AclPermissionType.DENY, AclPermissionType.ALLOW):
            admin.send(creations(_of(change.after - change.before, permission)))


def _of(bindings: frozenset[AclBinding], permission: AclPermissionType) -> list[AclBinding]:
    return sorted(binding for binding in bindings if binding.entry.permission_type is permission)


#: In every run; the others too in the long tests, and each in memory (tests/property/test_plan_laws.py).
_QUICK = (CHANGES[0], CHANGES[-1])


@pytest.mark.parametrize(
    "change", [one if one in _QUICK else pytest.param(one, marks=pytest.mark.long) for one in CHANGES]
)
def test_nobody_sees_a_state_that_neither_side_has(three: Cluster, change: Make) -> None:
    mark = f"w{CHANGES.index(change)}-"
    seen = _watched(three, change(mark), mark)
    print(f"{change.__name__}: {seen}")
    assert seen.answers > 1_000
    assert seen.leaks == []
    assert seen.cuts == []


@pytest.mark.parametrize("change", [CHANGES[0], *(pytest.param(one, marks=pytest.mark.long) for one in CHANGES[3:])])
def test_the_same_watchers_see_a_careless_order(three: Cluster, change: Make) -> None:
    mark = f"n{CHANGES.index(change)}-"
    seen = _watched(three, change(mark), mark, careless=_grants_first)
    print(f"grants first, {change.__name__}: {seen}")
    assert seen.leaks


def test_the_same_watchers_see_an_interruption(three: Cluster) -> None:
    change = CHANGES[1]("c-")
    seen = _watched(three, change, "c-", careless=_revokes_first)
    print(f"revocations first, {CHANGES[1].__name__}: {seen}")
    assert seen.cuts
