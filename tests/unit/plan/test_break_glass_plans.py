"""Access that an operator gave at once: a plan leaves it until its end, and its mark as long as that is needed."""

import datetime
from itertools import product

import pytest

from reconciler.model.acl import AclBinding
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
TERMS = Terms("c", default_allow=False)


@pytest.mark.parametrize("hours", [-25, -24, -23, -1, 0, 1, 23, 25])
def test_what_was_given_at_once_stays_until_its_end_and_only_an_end_within_a_day_counts(hours: int) -> None:
    mark = break_glass_mark(GIVEN, NOW + datetime.timedelta(hours=hours))
    for there, going_on in product((True, False), repeat=2):
        live = ClusterState("c", frozenset({OTHER, mark, *([GIVEN] if there else [])}))
        request = Request(NOW, Options(allow_deletes=True), going_on=frozenset({mark} if going_on else ()))
        plan = propose(declared(frozenset({OTHER}), {}), live, TERMS, request)
        running = 0 < hours <= 24
        gone = deleted_bindings(step.change for step in plan.steps)
        assert gone == ([GIVEN] if there and not running else [])
        reasons = [SkipReason.BREAK_GLASS] if there and running else []
        # A mark that is over and marks nothing stays until no request of its run can arrive any more.
        needed = going_on or (hours <= 24 and (there or hours > -24))
        reasons += [] if needed else [SkipReason.LEFTOVER]
        assert [one.reason for one in plan.skipped] == reasons, (there, going_on)


def _at(hours: int) -> datetime.datetime:
    return NOW + datetime.timedelta(hours=hours)


_MARKS = (
    break_glass_mark(GIVEN, _at(1)),
    break_glass_mark(GIVEN, _at(2), _at(-3)),
    break_glass_mark(GIVEN, _at(3), _at(-3), ["b"]),
    break_glass_mark(GIVEN, _at(4), _at(-4), ["b", "a"]),
)


@pytest.mark.parametrize("marks", [_MARKS[:n] for n in range(5)] + [_MARKS[1:], _MARKS[:1] + _MARKS[3:]])
def test_each_plan_asks_to_review_what_was_given_at_once_and_is_not_declared(marks: tuple[AclBinding, ...]) -> None:
    """Each time of need counts once: by when it was asked for, or by its end where the mark does not say that."""
    for there, wanted in product((True, False), repeat=2):
        live = ClusterState("c", frozenset({OTHER, *marks, *([GIVEN] if there else [])}))
        request = Request(NOW, Options(allow_deletes=True))
        plan = propose(declared(frozenset({OTHER, *([GIVEN] if wanted else [])}), {}), live, TERMS, request)
        reviews = [line for line in plan.warnings if "used break-glass access" in line]
        if wanted or not marks:
            assert reviews == []
            continue
        times = dict(zip(_MARKS, ("a", "b", "b", "c"), strict=True))
        count = len({times[mark] for mark in marks})
        since = {_MARKS[3]: "08", _MARKS[2]: "09", _MARKS[1]: "09"}
        first = min((since[mark] for mark in marks if mark in since), default="")
        names = "a, b" if _MARKS[3] in marks else "b" if _MARKS[2] in marks else ""
        text = f"User:a used break-glass access {count} time{'s' if count > 1 else ''}"
        text += f" since 2026-01-01T{first}:00:00Z" if first else ""
        text += f" over {names}" if names else ""
        end = "still has it: close it with" if there else "it has ended: merge the grant"
        assert len(reviews) == 1
        assert reviews[0].startswith(f"{text}, and {end}")
