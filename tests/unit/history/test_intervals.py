"""What is known of a fact between sightings is exactly what all courses of events that explain them have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.acl import OpaqueBinding
from reconciler.model.kinds import listed_types
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.history.app import HeldFact, Turn
from reconciler.parts.history.cli import held_lines, since_lines
from reconciler.parts.history.evidence import ACLS, facts_of, state_of
from reconciler.parts.history.intervals import Cause, FactSighting, Interval, intervals, spans, tightened

LAST = 7


def courses(sightings: Sequence[FactSighting]) -> Iterator[tuple[int, ...]]:
    """Every unit of time in which each sighting may have been, in the order that runs give them."""
    for cells in product(*(range(one.lo, one.hi) for one in sightings)):
        pairs = list(zip(sightings, cells, strict=True))
        if all(
            here <= there
            for one, here in pairs
            for other, there in pairs
            if one.run and one.run == other.run and one.number < other.number
        ):
            yield cells


def possible(sightings: Sequence[FactSighting], time: int) -> set[bool]:
    """The values that the fact may have at a time, if it changes at most once between two sightings."""
    found = set()
    for cells in courses(sightings):
        pairs = list(zip(sightings, cells, strict=True))
        before = [(cell, one) for one, cell in pairs if cell < time]
        after = [(cell, one) for one, cell in pairs if cell >= time]
        last = [one for cell, one in before if cell == max(before, key=lambda it: it[0])[0]]
        first = [one for cell, one in after if cell == min(after, key=lambda it: it[0])[0]]
        for group, later in ((last, True), (first, False)):
            for one in group:
                others = [two.number for two in group if two.run == one.run and one.run]
                # Of one run's sightings in one unit of time the last number is the last, and the first the first.
                if not others or one.number == (max if later else min)(others):
                    found.add(bool(one.there))
    return found


@st.composite
def worlds(draw: st.DrawFn) -> list[FactSighting]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        lo = draw(st.integers(0, LAST - 1))
        run = draw(st.sampled_from(("", "", "r")))
        found.append(FactSighting(lo, draw(st.integers(lo + 1, min(LAST, lo + 3))), draw(st.booleans()), run, number))
    return found


@settings(max_examples=6 * settings().max_examples, deadline=None, derandomize=True)
@given(worlds())
def test_known_is_what_every_course_of_events_has_in_common(sightings: list[FactSighting]) -> None:
    begin, end = min(one.lo for one in tightened(sightings)), max(one.hi for one in tightened(sightings))
    if not any(True for _ in courses(sightings)):
        return  # the order of a run contradicts its times
    known = list(spans(sightings))
    for time in range(begin, end + 1):
        told = {span.there for span in known if span.lo <= time <= span.hi}
        expected = possible(sightings, time)
        assert told == (expected if len(expected) == 1 else set()), (time, known)


@settings(max_examples=4 * settings().max_examples, deadline=None, derandomize=True)
@given(worlds())
def test_intervals_say_of_every_time_what_spans_say(sightings: list[FactSighting]) -> None:
    begin, end = min(one.lo for one in tightened(sightings)), max(one.hi for one in tightened(sightings))
    known, found = list(spans(sightings)), intervals(sightings)
    for time in range(begin, end + 1):
        told = {span.there for span in known if span.lo <= time <= span.hi}
        answers = {one.at(time) for one in found}
        answer = True if True in answers else None if None in answers else False
        assert answer == (told.pop() if told else None), (time, found, known)


def test_a_step_of_a_run_is_known_to_the_width_of_clocks_and_has_its_run_as_cause() -> None:
    before = FactSighting(100, 220, False, "r", 0)
    after = FactSighting(105, 220, True, "r", 1, left=True)
    (found,) = intervals([FactSighting(0, 10, False), before, after, FactSighting(400, 410, True)])
    assert found == Interval(100, 220, None, None, Cause("r", sure=True, at=159))
    assert [found.at(time) for time in (0, 100, 101, 219, 220, 9999)] == [False, False, None, None, True, True]


def test_what_no_run_did_is_between_two_readings_and_has_no_cause() -> None:
    (found,) = intervals(
        [
            FactSighting(0, 10, False),
            FactSighting(20, 30, True),
            FactSighting(40, 50, True),
            FactSighting(60, 70, False),
        ]
    )
    assert found == Interval(0, 30, 40, 70)
    assert found.began.run == found.ended.run == ""


def test_a_step_without_an_answer_is_the_perhaps_cause() -> None:
    sent = [FactSighting(100, 220, False, "r", 0), FactSighting(105, 220, None, "r", 1, left=True)]
    (found,) = intervals([FactSighting(0, 10, False), *sent, FactSighting(400, 410, True)])
    assert (found.from_lo, found.from_hi, found.began) == (100, 410, Cause("r", at=159))


def test_a_reading_that_contradicts_a_run_at_the_same_time_leaves_it_open_until_the_next_one() -> None:
    step = [FactSighting(100, 220, False, "r", 0), FactSighting(100, 220, True, "r", 1, left=True)]
    (found,) = intervals([FactSighting(0, 10, False), *step, FactSighting(150, 280, False)])
    assert found.is_open
    assert found.at(300) is None
    assert [
        one.at(350)
        for one in intervals(
            [*step, FactSighting(0, 10, False), FactSighting(150, 280, False), FactSighting(300, 310, True)]
        )
    ] == [True]


@pytest.mark.parametrize(
    ("held", "unknown"),
    [
        (Interval(1, 2, None, None), (1, 2)),
        (Interval(None, 2, 5, 6), (5, 6)),
        (Interval(None, 2, 5, None), (5, None)),
        # Never certain: all of it is unknown, and it did not begin with the epoch.
        (Interval(3, None, None, None), (3, None)),
        (Interval(3, None, None, 4), (3, 4)),
    ],
)
def test_where_it_is_not_known(held: Interval, unknown: tuple[int | None, int | None]) -> None:
    assert held.unknown == unknown


_LATE, _EARLY = "2026-11-27T04:20:03Z", "2026-11-27T04:10:00Z"


def _turn(after: str | None, before: str | None) -> Turn:
    return Turn(None, after, before, None, sure=False)


@pytest.mark.parametrize(
    ("began", "ended", "there", "words"),
    [
        (_turn(_EARLY, _LATE), None, True, f"there since between {_EARLY} and {_LATE}"),
        (None, None, True, "there since before the first reading"),
        # Two readings within the minute by which clocks may differ: the history leaves it open, the cluster does not.
        (_turn(_EARLY, None), _turn(None, None), True, f"there since after {_EARLY}, or not yet"),
        (None, _turn(_EARLY, _LATE), True, "there again since the last reading"),
        (None, _turn(_EARLY, _LATE), False, f"gone since between {_EARLY} and {_LATE}"),
        (None, None, False, "gone since the last reading"),
        (_turn(_EARLY, None), _turn(None, None), False, "gone since the last reading"),
    ],
)
def test_what_is_on_the_cluster_is_never_said_to_be_gone(
    began: Turn | None, ended: Turn | None, there: bool, words: str
) -> None:
    fact = HeldFact("User:b ALLOW READ on TOPIC x", began, ended, None)
    _, line = since_lines([fact], {fact.what} if there else set())
    assert line.startswith(f"  {fact.what}: {words}")
    assert "None" not in "".join([line, *held_lines([fact])])


def test_a_reading_that_is_not_whole_says_nothing_of_that_kind() -> None:
    """Neither that something is there no more, nor, asked again, that nothing was there."""
    whole = ClusterState("c", listings={kind.KIND: Listing(frozenset()) for kind in listed_types()})
    opaque = OpaqueBinding("x", "User:a", "*", 2, 3, 99, 3)
    every = facts_of(whole).keys()
    cases = {
        ACLS: [replace(whole, acl_gap="in parts"), replace(whole, opaque=(opaque,))],
        Topic.KIND: [replace(whole, topic_gap="some"), replace(whole, unreadable_topics={"t": "refused"})],
        **{kind.KIND: [whole.with_listing(kind, Listing(gap="refused"))] for kind in listed_types()},
    }
    assert every == cases.keys()
    for kind, states in cases.items():
        for state in states:
            kinds = facts_of(state).keys()
            assert kinds == every - {kind}
            again = state_of("c", (), kinds)
            unread = {name for name in every - {ACLS, Topic.KIND} if again.listings.get(name, Listing()).items is None}
            unread |= {ACLS} if again.acl_gap else set()
            assert unread | ({Topic.KIND} if again.topic_gap else set()) == {kind}
