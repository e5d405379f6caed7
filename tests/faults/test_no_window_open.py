"""An open cluster closed and opened again while principals ask every broker: no window, thanks to bridges.

The same plans without bridges, and a careless order, do show one.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.cleanup import clean_up, leftovers
from reconciler.apply.environment import Identity, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.handshake import KafkaProbe
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.markers import standing_bridges
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard
from reconciler.ports import ReadRequest
from reconciler.system.process import SystemClock
from tests.faults.asking import Seen, asking, settled, watches_between
from tests.faults.kill_points import WatchedCluster
from tests.integration.kafka.conftest import settings_of
from tests.property.transitions import DAY, declared
from tests.verbs import creations, deletions

# In every run each moment in memory (tests/property/test_bridge_laws.py), and bridges on one broker
# (tests/integration/apply/test_bridges.py).
pytestmark = [pytest.mark.broker, pytest.mark.long]
BROKERS = (1, 2, 3)
USERS = ("alice", "bob")
#: Seconds that a careless tool takes from one request to the next.
_DELAY = 0.3
NAMES = 40
#: Requests after which a run is killed: while its sentinels, bridges and steps are sent.
KILLS = (10, 5)


@pytest.fixture(scope="module")
def open_three(sandbox_root: Path) -> Iterator[Sandbox]:
    """Three brokers with allow.everyone.if.no.acl.found=true."""
    users = generated_users("admin", "reconciler", "acl-probe", *USERS)
    spec = SandboxSpec("open-three", nodes=3, users=users, allow_everyone_if_no_acl_found=True, heap="256m")
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


def _acl(name: str, principal: str, permission: str = "ALLOW", *, prefix: bool = False) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)
    operation = AclOperation.ALL if permission == "DENY" else AclOperation.DESCRIBE_CONFIGS
    return AclBinding(pattern, AccessControlEntry(principal, "*", operation, AclPermissionType[permission]))


@dataclass(frozen=True)
class Change:
    """Two states of ACLs under a mark, the names that are asked for, and those of them that are topics."""

    before: frozenset[AclBinding]
    after: frozenset[AclBinding]
    names: list[str]
    topics: tuple[str, ...] = ()


def _around(mark: str) -> tuple[set[AclBinding], set[AclBinding], list[str]]:
    """Beside what opens or closes: names covered in both states, where a prefix with a carve-out replaces literals."""
    old = {_acl(f"{mark}team-{number}", "User:alice") for number in range(NAMES)}
    secret = {_acl(f"{mark}team-secret{number}", "User:alice", "DENY") for number in range(NAMES)}
    keeps = {_acl(f"{mark}team-secret{number}", "User:carol") for number in range(NAMES)}
    names = [f"{mark}team-{kind}{number}" for kind in ("", "secret") for number in range(0, NAMES, 10)]
    return old | keeps, {_acl(f"{mark}team-", "User:alice", prefix=True)} | secret | keeps, names


def an_open_set_is_closed(mark: str) -> Change:
    old, new, names = _around(mark)
    closed = {_acl(f"{mark}n{number}", f"User:{user}") for number in range(NAMES) for user in ("alice", "bob")}
    closed |= {_acl(f"{mark}n{number}", "User:bob", "DENY") for number in range(0, NAMES, 2)}
    asked = [f"{mark}n{number}" for number in range(0, NAMES, 8)]
    return Change(frozenset(old), frozenset(new | closed), names + asked)


def a_closed_set_is_opened(mark: str) -> Change:
    there = an_open_set_is_closed(mark)
    return Change(there.after, there.before, there.names)


def a_prefix_closes_over_existing_topics(mark: str) -> Change:
    """Some names under the new prefix have bindings already, so only existing ones can be kept open."""
    covered = {_acl(f"{mark}t{number}", "User:carol") for number in range(10)}
    prefix = {_acl(mark, f"User:{user}", prefix=True) for user in ("alice", "bob")}
    more = {_acl(mark, "User:dave", "DENY", prefix=True)}
    topics = tuple(f"{mark}t{number}" for number in range(20))
    return Change(frozenset(covered), frozenset(covered | prefix | more), list(topics), topics)


Make: TypeAlias = Callable[[str], Change]
CHANGES: list[Make] = [an_open_set_is_closed, a_closed_set_is_opened, a_prefix_closes_over_existing_topics]


def _terms(mark: str, *, bridges: bool) -> Terms:
    scope = Scope((Selector(None, ResourceType.TOPIC, NameSelector(prefixes=(mark,))),))
    facts = Facts("User:admin", super_users=("User:admin", "User:reconciler"))
    probe = "User:acl-probe" if bridges else None
    return Terms("c", scope, default_allow=True, probe=probe, barrier_wait=0.2, brokers=BROKERS, facts=facts)


def _read(admin: KafkaCluster) -> ClusterState:
    return admin.read(ReadRequest(principal="User:admin", super_users=["User:admin"]))


def _plan(admin: KafkaCluster, wanted: frozenset[AclBinding], terms: Terms) -> Plan:
    """The plan, with everything acknowledged that a guard asks about."""
    live, request = _read(admin), Request(DAY, Options(allow_deletes=True))
    while (made := propose(declared(wanted, {}), live, terms, request)).refusals:
        words = tuple(AcceptedGuard(refusal.guard, refusal.object) for refusal in made.refusals)
        request = replace(request, accepted=(*request.accepted, *words))
    return made


class Killed(BaseException):
    """What no handler of the product catches, as no handler sees a process killed."""


class Dying(WatchedCluster):
    """A cluster that ends its user behind so many requests that change it."""

    def __init__(self, inner: KafkaCluster, requests: int) -> None:
        super().__init__(inner, self._passed)
        self._left = requests

    def _passed(self, _: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise Killed


def _perform(cluster: Sandbox, admin: KafkaCluster, plan: Plan, through: Dying | None = None) -> Result:
    live = _read(admin)
    with (
        closing(KafkaProbe(settings_of(cluster.settings("acl-probe")))) as probe,
        closing(KafkaProbe(settings_of(cluster.settings("admin")))) as own,
    ):
        probing = ProbeSetup(probe, "User:acl-probe", own, "User:admin", True, frozenset(BROKERS))
        world = ApplyEnvironment(
            through or admin,
            SystemClock(),
            Progress(),
            identity=Identity(f"window{secrets.token_hex(4)}"),
            barrier=partial(ProbeBarrier, probing) if plan.terms.probe else None,
            max_batch=40,
        )
        result = perform(plan, live, check(plan, live, plan.terms), world, lambda now: check(plan, now, plan.terms))
    assert result.succeeded, (result.stopped, result.differences)
    return result


def _watched(cluster: Sandbox, change: Change, mark: str, how: str) -> tuple[Seen, Result | None]:
    bridged, plain = _terms(mark, bridges=True), _terms(mark, bridges=False)
    result = None
    with connect(settings_of(cluster.settings("admin"))) as admin:
        admin.send(creations([Topic(name, 1, 1) for name in change.topics]))
        admin.send(creations(sorted(change.before)))
        watches = watches_between(change.before, change.after, USERS, change.names, default_allow=True)
        settled(cluster, watches, BROKERS)
        plan = _plan(admin, change.after, plain if how == "without bridges" else bridged)
        with asking(cluster, watches, BROKERS) as seen:
            if how == "careless":
                _grants_first(admin, change)
            else:
                for requests in KILLS if how == "killed" else ():
                    with pytest.raises(Killed):
                        _perform(cluster, admin, plan, Dying(admin, requests))
                result = _perform(cluster, admin, plan)
        live = _read(admin)
        assert not standing_bridges(live.bindings)
        left = leftovers(live)
        assert len(left) == (len(KILLS) if how == "killed" else 0)
        assert clean_up(admin, left, SystemClock()) == ()
        admin.send(deletions(sorted(change.after)))
    print(f"{how}, {change.names[0]}: {seen}")
    return seen, result


def _grants_first(admin: KafkaCluster, change: Change) -> None:
    """Grants before restrictions and restrictions lifted before grants go, in requests of a few."""
    create = sorted(change.after - change.before, key=lambda binding: -binding.entry.permission_type)
    delete = sorted(change.before - change.after, key=lambda binding: binding.entry.permission_type)
    for start in range(0, len(create), 40):
        admin.send(creations(create[start : start + 40]))
        time.sleep(_DELAY)
    for start in range(0, len(delete), 40):
        admin.send(deletions(delete[start : start + 40]))
        time.sleep(_DELAY)


@pytest.mark.parametrize("change", CHANGES)
def test_with_bridges_nobody_is_refused_whom_both_states_permit(open_three: Sandbox, change: Make) -> None:
    mark = f"b{CHANGES.index(change)}-"
    seen, result = _watched(open_three, change(mark), mark, "with bridges")
    assert seen.answers > 1_000
    assert seen.leaks == []
    assert seen.cuts == []
    assert result is not None
    assert result.notes, "under the prefix, names that do not exist yet are told"
    assert all("names that do not exist yet" in note for note in result.notes)


def test_killed_twice_and_applied_again_nobody_is_refused_meanwhile(open_three: Sandbox) -> None:
    """The second run takes the bridges of the first over, and the third those of both."""
    seen, result = _watched(open_three, an_open_set_is_closed("k0-"), "k0-", "killed")
    assert seen.leaks == []
    assert seen.cuts == []
    assert result is not None


@pytest.mark.parametrize("change", CHANGES[:2])
def test_without_bridges_the_same_watchers_see_interruptions_and_the_result_says_so(
    open_three: Sandbox, change: Make
) -> None:
    mark = f"p{CHANGES.index(change)}-"
    seen, result = _watched(open_three, change(mark), mark, "without bridges")
    assert seen.leaks == []
    assert seen.cuts
    assert result is not None
    assert any("User:alice" in note and "may have been refused" in note for note in result.notes)


def test_the_same_watchers_see_a_careless_order(open_three: Sandbox) -> None:
    seen, _ = _watched(open_three, an_open_set_is_closed("c0-"), "c0-", "careless")
    assert seen.leaks
