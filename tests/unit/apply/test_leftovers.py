"""What runs left, told apart by run, against the slow reading of every binding; and what of it keeps a name open."""

import datetime
from itertools import combinations, product
from random import Random
from typing import Final

import pytest

from reconciler.apply.barrier import FLAG_PREFIX, barrier_name, deny_probe_acls, start_probe_acls
from reconciler.apply.cleanup import YOUNG, Leftover, going_on, leftovers, marked_bridges, without_live_bridges
from reconciler.apply.lease import GRACE, LONGEST, marker
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.listing import Create
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.leftovers import bridge_callouts, bridges_taken_over, leftover_bridges, leftovers_skipped
from tests.worlds import acl

NOW: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RUNS: Final = ("20260101T000000Z-a", "20251231T000000Z-b")
PATTERNS: Final = (acl("x", "").pattern, acl("x-", "").pattern, acl("y", "").pattern)
MARKS: Final = {marker_of(run, pattern): (run, bridge_on(pattern)) for run, pattern in product(RUNS, PATTERNS)}
BRIDGES: Final = tuple(map(bridge_on, PATTERNS))
#: On reserved names, each with the run that its name says, or the name where it says none.
OWN: Final[dict[AclBinding, str]] = {
    **{mark: run for mark, (run, _) in MARKS.items()},
    **{
        one: run
        for run in RUNS
        for one in (start_probe_acls(run, "User:p")[0], deny_probe_acls(barrier_name(run, 1), "User:p")[0])
    },
    marker("dana", RUNS[0], NOW): RUNS[0],
    acl(f"{FLAG_PREFIX}{RUNS[1]}", "User:p"): RUNS[1],
    acl("__kr.lease.odd", "User:p"): "__kr.lease.odd",
    acl("__kr.odd", "User:p"): "odd",
    acl("__kr..odd", "User:p"): "__kr..odd",
}
OTHERS: Final = (acl("x", "User:a"), acl("__kr", "User:a"), acl("__krx", "User:a"))


def drawn(random: Random) -> frozenset[AclBinding]:
    """Some of all."""
    every = [*OWN, *BRIDGES, *OTHERS]
    return frozenset(one for one in every if random.random() < 0.4)


def test_each_binding_belongs_to_the_run_that_its_name_says_and_a_bridge_to_the_only_one_that_marks_it() -> None:
    random = Random(1)
    for _ in range(200):
        bindings = drawn(random)
        found = leftovers(ClusterState("c", bindings))
        runs = sorted({OWN[one] for one in bindings if one in OWN})
        assert [one.run for one in found] == runs
        for one in found:
            assert [*one.bindings] == sorted(b for b in bindings if OWN.get(b) == one.run)
            marking = {
                bridge: {run for mark, (run, marked) in MARKS.items() if mark in bindings and marked == bridge}
                for bridge in BRIDGES
                if bridge in bindings
            }
            assert [*one.bridges] == sorted(bridge for bridge, by in marking.items() if by == {one.run})


def test_marks_that_go_free_the_bridges_that_no_other_mark_holds() -> None:
    random = Random(2)
    for _ in range(200):
        bindings = drawn(random)
        going = {mark for mark in MARKS if random.random() < 0.5}
        standing = [bridge for bridge in BRIDGES if bridge in bindings]
        expected = {
            bridge
            for bridge in standing
            if (marks := {mark for mark, (_, marked) in MARKS.items() if marked == bridge and mark in bindings})
            and marks <= going
        }
        assert marked_bridges(going, bindings) == expected


def test_bridges_of_runs_that_go_on_are_hidden_where_default_allow_is_declared_on() -> None:
    random = Random(3)
    for _ in range(100):
        live = ClusterState("c", drawn(random))
        found = leftovers(live)
        chosen = [one for one in found if random.random() < 0.5]
        theirs = {MARKS[mark][1] for one in chosen for mark in one.bindings if mark in MARKS}
        for default_allow in (True, False, None):
            shown = without_live_bridges(live, chosen, default_allow=default_allow)
            assert shown.bindings == (live.bindings - theirs if default_allow else live.bindings)


SECONDS: Final = (-GRACE - 1, -GRACE, 0, YOUNG, YOUNG + 1)


def test_a_run_goes_on_while_it_is_young_or_holds_a_lease_that_counts() -> None:
    until = (None, -GRACE - 1, -GRACE, 1, LONGEST + GRACE, LONGEST + GRACE + 1)
    for age, left in product((None, *SECONDS), until):
        run = "by-hand" if age is None else f"{NOW - datetime.timedelta(seconds=age):%Y%m%dT%H%M%SZ}-a"
        bindings = {start_probe_acls(run, "User:p")[0]}
        if left is not None:
            bindings.add(marker("dana", run, NOW + datetime.timedelta(seconds=left)))
        live = ClusterState("c", frozenset(bindings))
        young = age is not None and -GRACE <= age <= YOUNG
        leased = left is not None and -GRACE <= left <= LONGEST + GRACE
        assert [one.run for one in going_on(live, NOW)] == [run] * (young or leased), (age, left)
    assert Leftover("odd", ()).began() is None
    assert Leftover(RUNS[0], ()).began() == NOW


@pytest.mark.parametrize("default_allow", [True, False, None])
def test_a_plan_names_each_bridge_and_each_binding_of_ours_that_no_run_needs(default_allow: bool | None) -> None:
    random = Random(4)
    for _ in range(60):
        live = ClusterState("c", drawn(random))
        needed = {one for one in OWN if random.random() < 0.3}
        marked = {MARKS[mark] for mark in live.bindings if mark in MARKS}
        bridges = [
            bridge for bridge in sorted(BRIDGES) if bridge in live.bindings and bridge in {one for _, one in marked}
        ]
        bridges = bridges if default_allow else []
        assert [*leftover_bridges(live, default_allow)] == bridges
        found = [*leftovers_skipped(live, default_allow, needed)]
        assert {one.reason for one in found} <= {SkipReason.LEFTOVER}
        said = [one.subject.partition(" (run ")[0] for one in found]
        mine = sorted(one for one in live.bindings if one in OWN and one not in needed)
        assert said == [str(one) for one in (*bridges, *mine)]
        for one in found[: len(bridges)]:
            bridge, _, run = one.subject.removesuffix(")").partition(" (run ")
            assert (run, bridge) in {(who, str(what)) for who, what in marked}
        for binding, one in zip(mine, found[len(bridges) :], strict=True):
            odd = binding.pattern.name in (f"{FLAG_PREFIX}{RUNS[1]}", "__kr.lease.odd", "__kr.odd", "__kr..odd")
            assert one.detail.startswith("no run of this tool writes this" if odd else "left by a run that is over")
        texts = [one.text for one in bridge_callouts(live, default_allow)]
        assert texts == [f"everybody may do everything on {one.pattern}: a leftover bridge" for one in bridges]


def test_a_plan_takes_over_the_bridges_whose_names_it_touches_with_all_their_marks() -> None:
    touched = [acl(name, "User:a", permission=AclPermissionType.DENY) for name in ("x", "x-1", "y", "z", "y-")]
    random = Random(5)
    for few in (few for count in range(3) for few in combinations(touched, count)):
        live = ClusterState("c", drawn(random))
        expected = {
            bridge: {mark for mark, (_, marked) in MARKS.items() if marked == bridge and mark in live.bindings}
            for bridge in BRIDGES
            if bridge in live.bindings and any(one.pattern.overlaps(bridge.pattern) for one in few)
        }
        found = bridges_taken_over(live, map(Create, few))
        assert found == {bridge: marks for bridge, marks in expected.items() if marks}
