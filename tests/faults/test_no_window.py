"""While plans run, nobody is granted what both states refuse, and nobody refused what both permit, on any broker.

The same watchers do see a naive order: so they can.
"""

import datetime
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from reconciler.adapters.clock import SystemClock
from reconciler.apply import Identity, Probing, Silent, World, check, perform
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    NameSelector,
    PatternType,
    ResourcePattern,
    ResourceType,
    Scope,
    Selector,
)
from reconciler.plan import Acknowledgement, Guard, Options, Plan, Request, Terms, propose
from reconciler.ports import ReadRequest
from tests.faults.asking import Seen, Watch, asking
from tests.faults.cluster import BROKERS, Cluster
from tests.property.transitions import declared

pytestmark = pytest.mark.broker
NAMES = 150


def _acl(name: str, principal: str, permission: str = "ALLOW", *, prefix: bool = False) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)
    entry = AccessControlEntry(principal, "*", AclOperation.DESCRIBE_CONFIGS, AclPermissionType[permission])
    return AclBinding(pattern, entry)


@dataclass(frozen=True)
class Change:
    """Two states of ACLs under a mark, and who must never and always be permitted what."""

    before: frozenset[AclBinding]
    after: frozenset[AclBinding]
    watches: list[Watch]


def literals_become_a_prefix_with_a_carve_out(mark: str) -> Change:
    old = {_acl(f"{mark}{number}", "User:alice") for number in range(NAMES)}
    secret = {_acl(f"{mark}secret{number}", "User:*", "DENY") for number in range(NAMES)}
    new = {_acl(mark, "User:alice", prefix=True), *secret}
    refused = tuple(f"{mark}secret{number}" for number in range(0, NAMES, 15))
    permitted = tuple(f"{mark}{number}" for number in range(0, NAMES, 15))
    return Change(frozenset(old), frozenset(new), [Watch("alice", refused, permitted), Watch("bob", permitted, ())])


def everyone_becomes_named_principals(mark: str) -> Change:
    denied = {_acl(f"{mark}secret{number}", "User:*", "DENY") for number in range(NAMES)}
    old = {_acl(mark, "User:*", prefix=True), *denied}
    new = {_acl(f"{mark}{number}", "User:alice") for number in range(NAMES)}
    refused = tuple(f"{mark}secret{number}" for number in range(0, NAMES, 15))
    permitted = tuple(f"{mark}{number}" for number in range(0, NAMES, 15))
    return Change(frozenset(old), frozenset(new), [Watch("alice", refused, permitted), Watch("bob", refused, ())])


def a_prefix_becomes_literals(mark: str) -> Change:
    there = literals_become_a_prefix_with_a_carve_out(mark)
    return Change(there.after, there.before, there.watches)


Make: TypeAlias = Callable[[str], Change]
CHANGES: list[Make] = [
    literals_become_a_prefix_with_a_carve_out,
    everyone_becomes_named_principals,
    a_prefix_becomes_literals,
]


def _plan(three: Cluster, mark: str, wanted: frozenset[AclBinding]) -> Plan:
    names = NameSelector(prefix=mark)
    terms = Terms("c", Scope((Selector(None, ResourceType.TOPIC, names),)), default_allow=False)
    with three.connect() as admin:
        live = admin.read(ReadRequest(all_topics=False))
    nothing = (Acknowledgement(Guard.EMPTY_DESIRED, "c"),)
    request = Request(datetime.date(2026, 1, 1), Options(allow_deletes=True), acknowledgements=nothing)
    return propose(declared(wanted, {}), live, terms, request)


def _perform(three: Cluster, plan: Plan) -> None:
    with three.connect() as admin, closing(three.probe()) as probe, closing(three.probe("admin")) as own:
        live = admin.read(ReadRequest(all_topics=False))
        probing = Probing(probe, "User:acl-probe", own, "User:admin", True, frozenset(BROKERS))
        world = World(admin, SystemClock(), Silent(), identity=Identity("window"), probing=probing, max_batch=50)
        result = perform(plan, live, check(plan, live, plan.terms), world, lambda exact: check(plan, exact, plan.terms))
    assert result.succeeded, (result.stopped, result.differences)


def _watched(three: Cluster, change: Change, mark: str, *, naive: bool) -> Seen:
    _perform(three, _plan(three, mark, change.before))
    plan = _plan(three, mark, change.after)
    with asking(three, change.watches, BROKERS) as seen:
        if naive:
            _grants_first(three, change)
        else:
            _perform(three, plan)
    _perform(three, _plan(three, mark, frozenset()))
    return seen


def _grants_first(three: Cluster, change: Change) -> None:
    """Grants before restrictions and restrictions lifted before grants go: what a careless tool does."""
    with three.connect() as admin:
        for wanted in sorted(change.after - change.before, key=lambda binding: -binding.entry.permission_type):
            admin.create_acls([wanted])
        for unwanted in sorted(change.before - change.after, key=lambda binding: binding.entry.permission_type):
            admin.delete_acls([unwanted])


@pytest.mark.parametrize("change", CHANGES)
def test_nobody_sees_a_state_that_neither_side_has(three: Cluster, change: Make) -> None:
    mark = f"w{CHANGES.index(change)}-"
    seen = _watched(three, change(mark), mark, naive=False)
    print(f"{change.__name__}: {seen}")
    assert seen.answers > 1_000
    assert seen.leaks == []
    assert seen.cuts == []


@pytest.mark.parametrize("change", [CHANGES[0], pytest.param(CHANGES[1], marks=pytest.mark.long)])
def test_the_same_watchers_see_a_careless_order(three: Cluster, change: Make) -> None:
    mark = f"n{CHANGES.index(change)}-"
    seen = _watched(three, change(mark), mark, naive=True)
    print(f"naive {change.__name__}: {seen}")
    assert seen.leaks
