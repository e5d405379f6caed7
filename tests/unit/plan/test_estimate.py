"""The estimated time of a plan follows what apply sends: requests that get larger as the cluster gets smaller."""

import datetime

import pytest

from reconciler.apply.kinds.acl import SECONDS_PER_SCAN, delete_batch
from reconciler.model.listing import Delete
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Counts, Options, Plan, Terms
from reconciler.plan.step import Step
from tests.worlds import acl

DAY = datetime.date(2026, 1, 1)


@pytest.mark.parametrize(("live", "deletes"), [(30_000, 30_000), (30_000, 300), (130_000, 20_000)])
def test_deletions_take_as_long_as_the_controller_scans_and_rests(live: int, deletes: int) -> None:
    steps = tuple(Step(Phase.DELETE_ALLOW, Delete(acl(f"t{number:05d}", "User:a"))) for number in range(deletes))
    plan = Plan("id", Terms("c", barrier_wait=0.0), Options(), DAY, steps, counts=Counts(live_bindings=live))
    scanned, sent = 0.0, 0
    while sent < deletes:
        size = min(delete_batch(live - sent), deletes - sent)
        scanned += size * (live - sent) * SECONDS_PER_SCAN
        sent += size
    assert plan.estimated_seconds == pytest.approx(1 + 2 * scanned, rel=0.1)
