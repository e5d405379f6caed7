"""What ends later: every gain on any later day is told in the plan; the judge looks at each day and request."""

import datetime
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest

from reconciler.access import difference as comparing
from reconciler.access import index as indexes
from reconciler.access import names
from reconciler.access.authorizer import Authorizer
from reconciler.access.group import BindingGroup
from reconciler.access.hosts import ANY_HOST
from reconciler.access.index import Index
from reconciler.access.names import NameSet
from reconciler.app import access_checks
from reconciler.app.access_checks import decide_tests
from reconciler.manifest.manifests import load as load_sources
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.frozen import Layers
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review import ends as ending
from reconciler.plan.review.access_change import Transition
from reconciler.plan.review.access_review import AccessTrend
from reconciler.plan.review.callouts import Charge, meaning_charges
from reconciler.results.findings import ClaimResult, ClaimStatus
from tests.property.naive import Ask, permitted
from tests.worlds import bindings

CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
ORIGIN: Final = Origin("a.yaml", 1, 1)
TODAY: Final = datetime.date(2026, 11, 26)
DAYS: Final = [TODAY + datetime.timedelta(days=days) for days in range(8)]
PATTERNS: Final = [
    ResourcePattern(ResourceType.TOPIC, "*"),
    ResourcePattern(ResourceType.TOPIC, "x", PatternType.PREFIXED),
    ResourcePattern(ResourceType.TOPIC, "xa"),
]
EVERY: Final = [
    AclBinding(pattern, AccessControlEntry(who, host, operation, permission))
    for pattern, who, host, operation, permission in product(
        PATTERNS,
        ("User:a", "User:b", "User:*"),
        ("*", "*", "10.0.0.1"),
        (AclOperation.ALL, AclOperation.READ, AclOperation.WRITE),
        (AclPermissionType.ALLOW, AclPermissionType.DENY),
    )
]
ASKS: Final = [
    Ask(who, host, operation, ResourceType.TOPIC, name)
    for who, host, operation, name in product(
        ("User:a", "User:b", "User:z"),
        ("10.0.0.1", "10.0.0.2"),
        (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
        ("xa", "xb", "y"),
    )
]


def drawn(random: Random) -> tuple[DesiredState, ClusterState]:
    """A declared state with ends and a live one that share some bindings."""
    both = set(random.sample(EVERY, random.randint(0, 4)))
    wanted = both | set(random.sample(EVERY, random.randint(0, 3)))
    declared = {
        one: Declaration(
            Origin("a.yaml", 1, 1), expires=Expiry(random.choice(DAYS[:6])) if random.random() < 0.6 else None
        )
        for one in sorted(wanted)
    }
    live = frozenset(both | set(random.sample(EVERY, random.randint(0, 2))))
    return DesiredState(declared), ClusterState("c", live)


def states(desired: DesiredState, plan: Plan, live: ClusterState) -> Iterator[tuple[datetime.date, set[AclBinding]]]:
    """What is there on each day, if each plan of that day is carried out."""
    created = {step.change.after for step in plan.steps if step.change.before is None}
    deleted = {step.change.before for step in plan.steps if step.change.after is None}
    after = {one for one in live.bindings | created if one not in deleted and isinstance(one, AclBinding)}
    for day in DAYS:
        over = {one for one, said in desired.bindings.items() if said.expires and said.expires.until < day}
        yield day, after - over


def told(plan: Plan, ask: Ask, day: datetime.date) -> bool:
    """Whether a row says that this request is permitted on that day and was not before."""
    own = [row for row in plan.access.access_changes if row.principal == ask.principal]
    exempt = any(one.principal == ask.principal and one.resources.contains(ask.name) for one in plan.access.exceptions)
    others = [] if exempt else [row for row in plan.access.access_changes if row.principal is None]
    return any(
        ask.operation in row.gained
        and row.resources.contains(ask.name)
        and (row.hosts == str(ANY_HOST) or ask.host in row.hosts or row.hosts.startswith("any"))
        and (row.since is None or row.since.instant.date() <= day)
        for row in (*own, *others)
    )


@pytest.mark.parametrize("default_allow", [False, True])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_nobody_gains_on_a_later_day_without_being_told(seed: int, *, default_allow: bool) -> None:
    random = Random(seed * 2 + default_allow)
    later = 0
    for _ in range(100):
        desired, live = drawn(random)
        terms = Terms("c", default_allow=default_allow)
        plan = propose(desired, live, terms, Request(TODAY, Options(allow_deletes=random.random() < 0.7)))
        assert parse_plan(plan_text(plan)).access == plan.access
        gained = False
        refused = [ask for ask in ASKS if not permitted(live.bindings, ask, default_allow=default_allow)]
        for day, there in states(desired, plan, live):
            for ask in refused:
                if permitted(there, ask, default_allow=default_allow):
                    gained = True
                    assert told(plan, ask, day), (desired, live, ask, day, plan.access.access_changes)
        assert gained <= (plan.access.trend in (AccessTrend.WIDENING, AccessTrend.MIXED))
        for row in plan.access.access_changes:
            later += row.since is not None
            if row.since is not None and row.resources.resource_type is ResourceType.TOPIC:
                witness = Ask(
                    row.principal or row.witness.principal,
                    row.witness.host,
                    row.gained[0],
                    ResourceType.TOPIC,
                    row.witness.resource_name,
                )
                then = next(found for day, found in states(desired, plan, live) if day == row.since.instant.date())
                assert not permitted(live.bindings, witness, default_allow=default_allow)
                assert permitted(then, witness, default_allow=default_allow)
    assert later > 10


def test_ids_of_steps_do_not_depend_on_the_day() -> None:
    random = Random(1)
    for _ in range(50):
        desired, live = drawn(random)
        ids = {
            tuple(step.id for step in propose(desired, live, Terms("c", default_allow=False), Request(day)).steps)
            for day in DAYS[:3]
        }
        assert len(ids) == 1


CLAIMS: Final = """
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: %s}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec:
  tests:
    - {name: 1, principals: ["User:*"], except: [User:a], mustNot: READ, topics: {prefix: x}}
    - {name: 2, principals: [User:a], must: READ, topics: xa}
    - {name: 3, principals: ["User:?"], must: WRITE, topics: {prefix: x}}
    - {name: 4, onlyReaders: User:b, topics: {any: true}}
    - {name: 5, principals: [User:b], mustNot: [READ, WRITE], topics: y}
    - {name: 6, onlyAdmins: [User:a, User:b], topics: xa}
"""


@pytest.mark.parametrize("default_allow", [False, True])
def test_a_claim_passes_only_if_it_passes_on_every_day_and_its_first_failure_is_named(
    monkeypatch: pytest.MonkeyPatch, *, default_allow: bool
) -> None:
    """Few ends are looked at; looking at every day gives the same."""
    monkeypatch.setattr(access_checks, "_MENDED", 0)  # what would mend a claim is no part of it, and most of the time
    random, later = Random(int(default_allow)), 0
    manifests = load_sources([Source("c.yaml", CLAIMS % str(default_allow).lower())])
    for _ in range(150):
        desired, live = drawn(random)
        there = frozenset(desired.bindings) | live.bindings

        def decided(day: datetime.date, wanted: DesiredState, there: frozenset[AclBinding]) -> tuple[ClaimResult, ...]:
            return decide_tests(
                manifests, "c", lambda: Authorizer(there, (), default_allow), day, live=True, wanted=wanted
            )

        over = {
            day: {one for one, said in desired.bindings.items() if said.expires and said.expires.until < day}
            for day in DAYS
        }
        found = decided(TODAY, desired, there - over[TODAY])
        # Of days on which the same is there each claim says the same: no claim has an end.
        each = {left: decided(TODAY, DesiredState(), left) for left in {there - over[day] for day in DAYS}}
        for number, result in enumerate(found):
            failing = [day for day in DAYS if each[there - over[day]][number].standing is not ClaimStatus.PASSED]
            assert (result.standing is ClaimStatus.PASSED) is not bool(failing)
            if failing:
                later += failing[0] != TODAY
                assert failing[0] == (TODAY if result.since is None else result.since.instant.date())
    assert later > 5


def test_who_is_still_denied_when_others_gain_is_named_on_its_own_day() -> None:
    of_all, denied, longer = bindings(
        "TOPIC:L:xa User:*@* ALLOW READ", "TOPIC:L:xa User:*@* DENY READ", "TOPIC:L:xa User:a@* DENY READ"
    )
    origin = Origin("a.yaml", 1, 1)
    ends = {of_all: None, denied: DAYS[0], longer: DAYS[2]}
    declared = {one: Declaration(origin, expires=None if day is None else Expiry(day)) for one, day in ends.items()}
    live = ClusterState("c", frozenset(ends))
    plan = propose(DesiredState(declared), live, Terms("c", default_allow=False), Request(TODAY))
    gained = [(row.principal, row.since.instant.date()) for row in plan.access.access_changes if row.since]
    assert gained == [(None, DAYS[1]), ("User:a", DAYS[3])]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("default_allow", [None, True])
def test_what_ends_gives_is_what_indexes_made_anew_say(
    monkeypatch: pytest.MonkeyPatch, *, default_allow: bool | None, large: bool
) -> None:
    """An index that comes from another one by a change answers as one that is made of the same bindings.

    Large groups are copied where little of them changes, and small ones compiled: both ways are asked of small ones.
    """
    if large:
        monkeypatch.setattr(indexes, "_LARGE", 0)
        monkeypatch.setattr(indexes, "_ONE_IN", 0)
        monkeypatch.setattr(names, "_FEWER", 0)
        monkeypatch.setattr(comparing, "_MANY_ENTRIES", 0)

    def made_anew(index: Index, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> Index:
        return Index((set(index) - set(removed)) | set(added), index.version)

    random, later = Random(7), 0
    for _ in range(60):
        desired, live = drawn(random)
        more = {AclBinding(CLUSTER, one.entry) for one in desired.bindings if random.random() < 0.2}
        desired = DesiredState(
            {**desired.bindings, **{one: Declaration(ORIGIN, expires=Expiry(random.choice(DAYS[:6]))) for one in more}}
        )
        live = ClusterState("c", live.bindings | {one for one in more if random.random() < 0.8})
        request = Request(TODAY, Options(allow_deletes=random.random() < 0.7))
        terms = Terms("c", default_allow=default_allow)
        plan = propose(desired, live, terms, request)
        with monkeypatch.context() as patched:
            patched.setattr(Index, "with_changes", made_anew)
            patched.setattr(names, "_FEWER", 1_000)
            patched.setattr(comparing, "_MANY_ENTRIES", 1_000)
            assert propose(desired, live, terms, request).access == plan.access
        later += any(row.since for row in plan.access.access_changes)
    assert later > 10


class Whole:
    """Judges all steps at each end, by states that are made of all that has ended."""

    asked = 0

    def __init__(self, found: Transition, facts: Facts) -> None:
        self.found, self.facts = found, facts
        self.ended: set[AclBinding] = set()

    def charges(self, ended: Iterable[AclBinding], facts: Facts) -> tuple[Charge, ...]:
        Whole.asked += 1
        found = self.found
        self.ended.update(ended)
        gone = self.ended.difference(found.created)
        created = tuple(one for one in found.created if one not in self.ended)
        before, stated = (one.with_changes((), gone) for one in (found.before, found.stated))
        after = before.with_changes(created, found.deleted)
        return meaning_charges(Transition(before, after, created, found.deleted, stated), facts)


def at_each_end(charges: Any, ended: Iterable[AclBinding]) -> None:
    """Whatever ends, guards are asked."""
    charges._since += ended
    charges._asked = True


#: What a platform may protect.
PROTECTED: Final = (
    Selector(resource_type=ResourceType.TOPIC, names=NameSelector(("xa",))),
    Selector(
        resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=("x",)), principals=NameSelector(("User:b",))
    ),
    Selector(resource_type=ResourceType.CLUSTER, names=NameSelector(any_name=True)),
    Selector(principals=NameSelector(("User:b",))),
    Selector(principals=NameSelector(prefixes=("User:a",))),
)


@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("default_allow", [None, True, False])
def test_guards_say_at_each_end_what_they_would_say_of_the_whole_plan(seed: int, *, default_allow: bool | None) -> None:
    """They look at the steps alone that what ends may matter to."""
    random, asked, refused, Whole.asked = Random(seed), 0, 0, 0
    for _ in range(120):
        desired, live = drawn(random)
        if random.random() < 0.5:
            more = [AclBinding(CLUSTER, one.entry) for one in desired.bindings if random.random() < 0.2]
            ends = {one: Declaration(ORIGIN, expires=Expiry(random.choice(DAYS[:6]))) for one in more}
            desired = DesiredState({**desired.bindings, **ends})
        live = ClusterState("c", live.bindings | {one for one in desired.bindings if random.random() < 0.5})
        chosen = tuple(one for one in PROTECTED if random.random() < 0.6)
        facts = Facts(protect=chosen, principal=random.choice((None, "User:b")))
        terms = Terms("c", default_allow=default_allow, facts=facts)
        request = Request(TODAY, Options(allow_deletes=True))
        with patch.object(ending, "meaning_charges", side_effect=meaning_charges) as some:
            plan = propose(desired, live, terms, request)
        with patch.object(ending, "_Steps", Whole), patch.object(ending._Charges, "end", at_each_end):
            assert propose(desired, live, terms, request).refusals == plan.refusals
        asked += some.call_count
        refused += any("ends" in one.message for one in plan.refusals)
    assert asked < Whole.asked
    assert refused > 3


def test_an_end_takes_no_work_for_what_does_not_end_then() -> None:
    """Where nobody states the default, each name may become everybody's: no end looks at the names of the others."""
    counts = []
    for size in (20, 80):
        declared = {}
        for n in range(size):
            (allow,) = bindings(f"TOPIC:{'LP'[n % 2]}:t{n}. User:s{n}@* ALLOW READ")
            declared[allow] = Declaration(ORIGIN, expires=Expiry(TODAY + datetime.timedelta(days=n + 1)))
        live, visited = ClusterState("c", frozenset(declared)), 0

        def bindings_of(index: Index, kind: ResourceType, who: str, asked: Any = Index.bindings) -> Any:
            nonlocal visited
            visited += 1
            return asked(index, kind, who)

        def of_kind(index: Index, kind: ResourceType, asked: Any = Index._of_kind) -> Any:
            nonlocal visited
            for item in asked(index, kind):
                visited += 1
                yield item

        with (
            patch.object(Index, "bindings", bindings_of),
            patch.object(Index, "_of_kind", of_kind),
            patch.object(NameSet, "meets", autospec=True, side_effect=NameSet.meets) as met,
        ):
            plan = propose(DesiredState(declared), live, Terms("c", default_allow=None), Request(TODAY))
        assert len({row.since for row in plan.access.access_changes}) == size
        counts.append(visited + met.call_count)
    assert counts[1] < 4.4 * counts[0]


def test_each_end_is_judged_by_the_names_that_it_is_about() -> None:
    counts = []
    for size in (5, 20):
        declared = {}
        for n in range(size):
            allow, deny = bindings(f"TOPIC:P:t{n}. User:s{n}@* ALLOW READ", f"TOPIC:L:t{n}.x User:s{n}@* DENY READ")
            declared[allow] = Declaration(Origin("a.yaml", 1, 1))
            declared[deny] = Declaration(Origin("a.yaml", 1, 1), expires=Expiry(TODAY + datetime.timedelta(days=n + 1)))
        live = ClusterState("c", frozenset(declared))
        with patch.object(comparing, "_own_rows", side_effect=comparing._own_rows) as counted:
            plan = propose(DesiredState(declared), live, Terms("c", default_allow=False), Request(TODAY))
        assert len({row.since for row in plan.access.access_changes}) == size
        counts.append(counted.call_count)
    assert counts[1] <= 4 * counts[0]


def _one_principal(size: int) -> list[AclBinding]:
    texts = (f"TOPIC:P:t{n}. User:s@* ALLOW READ\nTOPIC:L:t{n}.x User:s@* DENY READ" for n in range(size))
    return bindings(*"\n".join(texts).split("\n"))


def _everybody(size: int) -> list[AclBinding]:
    texts = (f"TOPIC:L:t{n} User:s{n}@* ALLOW WRITE\nTOPIC:L:t{n} User:*@* DENY WRITE" for n in range(size))
    return bindings(*"\n".join(texts).split("\n"))


@pytest.mark.parametrize("default_allow", [None, False])
@pytest.mark.parametrize("held", [_one_principal, _everybody])
def test_ends_on_many_days_compile_no_group_again_and_ask_nobody_twice(
    held: Callable[[int], list[AclBinding]], *, default_allow: bool | None
) -> None:
    counts = []
    for size in (80, 320):
        declared = {}
        for n, one in enumerate(held(size)):
            denied = one.entry.permission_type is AclPermissionType.DENY
            end = Expiry(TODAY + datetime.timedelta(days=n + 1)) if denied else None
            declared[one] = Declaration(ORIGIN, expires=end)
        live, terms = ClusterState("c", frozenset(declared)), Terms("c", default_allow=default_allow)
        with (
            patch.object(BindingGroup, "__init__", autospec=True, side_effect=BindingGroup.__init__) as compiled,
            patch.object(comparing, "_own_rows", side_effect=comparing._own_rows) as asked,
        ):
            plan = propose(DesiredState(declared), live, terms, Request(TODAY))
        assert len({row.since for row in plan.access.access_changes if row.since}) == size
        bindings_compiled = sum(len(call.args[1]) for call in compiled.call_args_list)
        counts.append((bindings_compiled, asked.call_count))
    assert counts[1][0] <= 4.4 * counts[0][0]
    assert counts[1][1] <= 4.4 * counts[0][1]


@pytest.mark.parametrize("default_allow", [None, False])
def test_guards_look_at_each_end_at_the_steps_that_it_matters_to(*, default_allow: bool | None) -> None:
    """A plan creates everything, with an end to each DENY: no end asks about the steps of the others."""
    protect = (Selector(resource_type=ResourceType.TOPIC, names=NameSelector(("elsewhere",))),)
    counts = []
    for size in (20, 80):
        declared, moved = {}, 0
        texts = (f"TOPIC:P:t{n}. User:s{n}@* ALLOW READ\nTOPIC:L:t{n}.x User:s{n}@* DENY READ" for n in range(size))
        for n, one in enumerate(bindings(*"\n".join(texts).split("\n"))):
            denied = one.entry.permission_type is AclPermissionType.DENY
            end = Expiry(TODAY + datetime.timedelta(days=n + 1)) if denied else None
            declared[one] = Declaration(ORIGIN, expires=end)

        def with_changes(index: Index, added: Any, removed: Any, changed: Any = Index.with_changes) -> Index:
            nonlocal moved
            moved += len(added) + len(removed)
            result: Index = changed(index, added, removed)
            return result

        terms = Terms("c", default_allow=default_allow, facts=Facts(protect=protect))
        with (
            patch.object(Index, "with_changes", with_changes),
            patch.object(comparing, "_own_rows", side_effect=comparing._own_rows) as asked,
        ):
            plan = propose(DesiredState(declared), ClusterState("c"), terms, Request(TODAY))
        assert len({row.since for row in plan.access.access_changes if row.since}) >= size
        counts.append(moved + asked.call_count)
    assert counts[1] < 4.4 * counts[0]


@pytest.mark.parametrize("default_allow", [None, False])
@pytest.mark.parametrize("held", [_one_principal, _everybody])
def test_an_end_copies_and_walks_no_rules_that_stay(
    held: Callable[[int], list[AclBinding]], *, default_allow: bool | None
) -> None:
    """Of a principal with many, or of User:*: what is put together and looked through of them grows with what ends."""
    counts = []
    for size in (80, 320):
        declared, copied = {}, 0
        for n, one in enumerate(held(size)):
            denied = one.entry.permission_type is AclPermissionType.DENY
            end = Expiry(TODAY + datetime.timedelta(days=n + 1)) if denied else None
            declared[one] = Declaration(ORIGIN, expires=end)

        def with_items(layers: Any, changed: Any, made: Any = Layers.with_items) -> Any:
            nonlocal copied
            result = made(layers, changed)
            copied += len(result._layers[0])
            return result

        def each(layers: Any, asked: Any = Layers.__iter__) -> Any:
            nonlocal copied
            for item in asked(layers):
                copied += 1
                yield item

        def of_index(index: Index, kind: ResourceType, who: str, asked: Any = Index.bindings) -> Any:
            nonlocal copied
            found = asked(index, kind, who)
            copied += 0 if isinstance(found, Layers) else len(found)
            return found

        live, terms = ClusterState("c", frozenset(declared)), Terms("c", default_allow=default_allow)
        with (
            patch.object(Layers, "with_items", with_items),
            patch.object(Layers, "__iter__", each),
            patch.object(Index, "bindings", of_index),
        ):
            plan = propose(DesiredState(declared), live, terms, Request(TODAY))
        assert len({row.since for row in plan.access.access_changes if row.since}) == size
        counts.append(copied)
    # A layer more for each doubling.
    assert counts[1] < 6 * counts[0]
