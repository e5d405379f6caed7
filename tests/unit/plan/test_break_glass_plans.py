"""Access that an operator gave at once: a plan leaves it until its end, and its mark as long as that is needed."""

import datetime
from itertools import product

import pytest

from reconciler.model.markers import break_glass_mark
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from tests.property.transitions import declared
from tests.worlds import acl

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
GIVEN, OTHER = acl("x", "User:a"), acl("y", "User:b")


@pytest.mark.parametrize("hours", [-25, -24, -23, -1, 0, 1, 23, 25])
def test_what_was_given_at_once_stays_until_its_end_and_only_an_end_within_a_day_counts(hours: int) -> None:
    mark = break_glass_mark(GIVEN, NOW + datetime.timedelta(hours=hours))
    for there, going_on in product((True, False), repeat=2):
        live = ClusterState("c", frozenset({OTHER, mark, *([GIVEN] if there else [])}))
        request = Request(NOW, Options(allow_deletes=True), going_on=frozenset({mark} if going_on else ()))
        plan = propose(declared(frozenset({OTHER}), {}), live, Terms("c", default_allow=False), request)
        running = 0 < hours <= 24
        gone = deleted_bindings(step.change for step in plan.steps)
        assert gone == ([GIVEN] if there and not running else [])
        reasons = [SkipReason.BREAK_GLASS] if there and running else []
        # A mark that is over and marks nothing stays until no request of its run can arrive any more.
        needed = going_on or (hours <= 24 and (there or hours > -24))
        reasons += [] if needed else [SkipReason.LEFTOVER]
        assert [one.reason for one in plan.skipped] == reasons, (there, going_on)
