"""Verification waits as long as more of what was done appears, and ends where nothing does."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.apply.environment import Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import LONGEST_SECONDS, VISIBLE_SECONDS, ApplyEnvironment
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY, declared

#: The longest pause between two readings, by which an end may be late.
PAUSE = 5.0
SOON = st.floats(0, VISIBLE_SECONDS - PAUSE)


class SlowCluster(MemoryCluster):
    """Shows each new binding some seconds after the one before it."""

    def __init__(self, clock: StillClock, gaps: Sequence[float]) -> None:
        super().__init__(ClusterState("c"))
        self.clock, self.gaps = clock, gaps
        self.shows: dict[AclBinding, float] = {}

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        at = self.clock.monotonic()
        for change, gap in zip(changes, self.gaps, strict=True):
            at += gap
            if isinstance(change.after, AclBinding):
                self.shows[change.after] = at
        return super().send(changes)

    def read(self, request: ReadRequest) -> ClusterState:
        found = super().read(request)
        now = self.clock.monotonic()
        return ClusterState("c", frozenset(b for b in found.bindings if self.shows[b] <= now))


def ended(gaps: Sequence[float]) -> tuple[Result, float]:
    """How an apply of one binding for each gap ends, and after how many seconds."""
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    wanted = [AclBinding(ResourcePattern(ResourceType.TOPIC, f"t{number:03}"), entry) for number in range(len(gaps))]
    live, clock = ClusterState("c"), StillClock()
    terms = Terms("c", default_allow=False)
    plan = propose(declared(frozenset(wanted), {}), live, terms, Request(DAY, Options()))
    cluster = SlowCluster(clock, gaps)
    result = perform(plan, live, check(plan, live, terms), ApplyEnvironment(cluster, clock, Progress()))
    return result, clock.seconds


@settings(max_examples=25)
@given(st.lists(SOON, min_size=1, max_size=int(LONGEST_SECONDS / VISIBLE_SECONDS)))
def test_what_appears_bit_by_bit_is_waited_for(gaps: list[float]) -> None:
    result, seconds = ended(gaps)
    assert result.succeeded, result.differences
    assert seconds <= sum(gaps) + PAUSE


@settings(max_examples=25)
@given(st.lists(SOON, max_size=8), st.floats(VISIBLE_SECONDS + PAUSE, 10_000), st.lists(SOON, max_size=8))
def test_what_stays_away_for_too_long_is_named(before: list[float], pause: float, after: list[float]) -> None:
    result, seconds = ended([*before, pause, *after])
    assert not result.succeeded
    assert sum("the cluster does not show it" in text for text in result.differences) == 1 + len(after)
    assert VISIBLE_SECONDS <= seconds <= sum(before) + VISIBLE_SECONDS + 2 * PAUSE


def test_the_wait_is_bounded_whatever_appears() -> None:
    result, seconds = ended([VISIBLE_SECONDS - PAUSE] * 100)
    assert not result.succeeded
    assert LONGEST_SECONDS <= seconds <= LONGEST_SECONDS + PAUSE


def test_many_topics_on_a_slow_broker_are_all_there_a_minute_later() -> None:
    result, seconds = ended([0.3] * 286)
    assert result.succeeded
    assert seconds > VISIBLE_SECONDS
