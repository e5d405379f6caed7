"""A wait looks after bridges once a second, however long it is, and lasts as long as it was asked to."""

from itertools import pairwise

import pytest

from reconciler.apply.run import PERIOD, PollingClock
from tests.property.clock import StillClock


@pytest.mark.parametrize("seconds", [0.0, 0.01, 1.0, 3.5, 30.0])
def test_nobody_waits_for_more_than_a_second_without_a_look(seconds: float) -> None:
    inner, looked = StillClock(), list[float]()
    clock = PollingClock(inner, lambda: looked.append(inner.monotonic()))
    clock.sleep(seconds)
    assert inner.seconds == pytest.approx(seconds)
    assert looked[0] == 0.0
    assert looked[-1] == pytest.approx(seconds)
    assert all(later - earlier <= PERIOD for earlier, later in pairwise(looked))


def test_a_look_that_takes_long_is_part_of_the_wait() -> None:
    inner = StillClock()
    clock = PollingClock(inner, lambda: inner.sleep(2.0) if inner.seconds == 0.0 else None)
    clock.sleep(1.5)
    assert inner.slept == [2.0]
