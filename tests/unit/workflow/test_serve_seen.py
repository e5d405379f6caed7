"""What a server remembers of marks, against its definition on every small sequence; and what it may end by itself."""

import datetime
from itertools import product
from typing import Final

import pytest

from reconciler.app.planning import Planned
from reconciler.apply.audit import LockAction
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.locks import LockMark, UnlockMark, lock_denials
from reconciler.model.state import ClusterState
from reconciler.parts.serve.narrowing import expired_access
from reconciler.parts.serve.rounds import SeenLocks
from reconciler.plan.proposal import Options, Plan, Terms
from tests.worlds import binding

NOW: Final = datetime.datetime(2027, 1, 31, 18, tzinfo=datetime.UTC)
HOUR: Final = datetime.timedelta(hours=1)
NAME: Final = "User:svc"


def _lock(hour: int) -> LockMark:
    return LockMark(NAME, NOW + hour * HOUR, None, "me", "", "why")


def _reading(locked: int | None, unlocked: int | None) -> ClusterState:
    found: set[AclBinding] = set()
    if locked is not None:
        found |= {*lock_denials(NAME), _lock(locked).binding}
    if unlocked is not None:
        found.add(UnlockMark(NAME, NOW + unlocked * HOUR).binding)
    return ClusterState("c", frozenset(found))


_READINGS: Final = list(product((None, 0, 2), (None, 0, 1, 2)))


@pytest.mark.parametrize("first", _READINGS)
def test_a_lock_is_known_until_it_is_ended_at_its_time_or_later(first: tuple[int | None, int | None]) -> None:
    for second in _READINGS:
        seen, known, at = SeenLocks(), set[int](), NOW + 3 * HOUR
        for locked, unlocked in (first, second):
            live = _reading(locked, unlocked)
            news = seen.look(live, at, None)
            ended = {one for one in known if unlocked is not None and one <= unlocked}
            come = {locked} - known if locked is not None and (unlocked is None or unlocked < locked) else set[int]()
            known = (known - ended) | come
            assert sorted(action for action, _ in news) == sorted(
                [LockAction.UNLOCK] * len(ended) + [LockAction.SEEN] * len(come)
            )
            gone = set() if locked is not None and known <= {locked} else known
            assert ({*seen.missing(live)} == {NAME}) is bool(gone), (first, second)


@pytest.mark.parametrize("gone", range(3))
def test_a_mark_is_known_of_a_whole_lock_alone_and_of_no_time_to_come(gone: int) -> None:
    """A mark without all DENYs locks nobody; put back, it would lock somebody whom nobody locked."""
    mark = _lock(0)
    denials = [*lock_denials(NAME)][gone:]
    for ahead, known in ((0, gone == 0), (-1, False)):
        seen = SeenLocks()
        live = ClusterState("c", frozenset({mark.binding, *denials}))
        news = seen.look(live, NOW + ahead * HOUR, None)
        assert [action for action, _ in news] == [LockAction.SEEN] * known
        assert seen.missing(live) == {}
        nothing = ClusterState("c", frozenset())
        assert set(seen.missing(nothing).get(NAME, ())) == ({*lock_denials(NAME), mark.binding} if known else set())


def test_what_has_ended_is_ended_in_scope_alone_and_never_a_deny() -> None:
    inside, outside = binding("User:a ALLOW READ on TOPIC x"), binding("User:a ALLOW READ on TOPIC y")
    denied, absent = binding("User:a DENY READ on TOPIC x"), binding("User:b ALLOW READ on TOPIC x")
    over = dict.fromkeys((inside, outside, denied, absent), Declaration(Origin("a.yaml", 1, 1)))
    cluster = (
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {scope: {include: [{topics: [x]}]}}\n"
    )
    manifests = load([Source("c.yaml", cluster)])
    live = ClusterState("c", frozenset({inside, outside, denied}))
    plan = Plan("c", Terms("c"), Options(), NOW.date(), ())
    planned = Planned(plan, live, manifests.clusters["c"], DesiredState(expired=over), manifests)
    assert expired_access(planned) == {inside}
