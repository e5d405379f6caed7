"""Turns of something that is tried again: how many, how far apart, and for how long."""

from reconciler.retry import ATTEMPTS, attempts, pause, polls
from tests.property.clock import StillClock


def test_attempts_are_bounded_and_pause_only_between_turns() -> None:
    clock = StillClock()
    assert list(attempts(clock)) == list(range(ATTEMPTS))
    assert len(clock.slept) == ATTEMPTS - 1
    assert clock.slept == sorted(clock.slept)


def test_a_loop_that_is_left_does_not_pause() -> None:
    clock = StillClock()
    for _ in attempts(clock):
        break
    assert clock.slept == []


def test_polls_take_a_last_turn_after_the_time_is_over_and_say_how_long_they_took() -> None:
    clock = StillClock()
    waited = list(polls(clock, 30.0))
    assert waited[0] == 0.0
    assert waited == sorted(waited)
    assert waited[-2] < 30.0 <= waited[-1]


def test_a_pause_is_bounded_however_often_it_is_taken() -> None:
    assert pause(10_000, StillClock()) <= 5.0
