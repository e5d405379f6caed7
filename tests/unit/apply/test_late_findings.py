"""What is found only when a plan is applied: its end is over, somebody else defeats what it gives, a log is cut."""

import datetime
from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.apply.audit import GENESIS, LogIdentity, TopicCopy, chained, line_digest, verify
from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import StalePlanError, check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.desired import Expiry
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings
from reconciler.ports import Answer, AnswerStatus
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.unit.apply.test_perform import planned
from tests.verbs import creations
from tests.worlds import acl

DAY = datetime.date(2026, 1, 31)
GRANT = acl("x", "User:a")


@pytest.mark.parametrize("late", [-1, 0, 1, 400])
@pytest.mark.parametrize("there", [False, True])
def test_what_has_ended_since_the_plan_was_made_is_not_created_and_what_is_there_already_does_no_harm(
    late: int, there: bool
) -> None:
    plan = planned(ClusterState("it"), GRANT, acl("y", "User:a"))
    steps = (replace(plan.steps[0], expires=Expiry(DAY)), *plan.steps[1:])
    live = ClusterState("it", frozenset({GRANT} if there else ()))
    as_of = DAY + datetime.timedelta(days=late)
    over = late > 0 and not there
    if over:
        with pytest.raises(StalePlanError, match="expired since it was made") as caught:
            check(replace(plan, steps=steps), live, plan.terms, as_of=as_of)
        assert [one.found for one in caught.value.findings] == [f"one that ended {steps[0].expires.past}"]  # type: ignore[union-attr]
    else:
        assert len(check(replace(plan, steps=steps), live, plan.terms, as_of=as_of).findings) == 2
    assert check(replace(plan, steps=steps), live, plan.terms), "without a day nothing is over"


class Defeating(MemoryCluster):
    """Somebody else denies what the first request grants; a principal of ``refused`` is granted nothing."""

    def __init__(self, deny: AclBinding | None, refused: str = "") -> None:
        super().__init__(ClusterState("it"))
        self.deny, self.refused = deny, refused

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        no = Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no")
        if self.deny is not None:
            super().send(creations([self.deny]))
        return [
            no if binding.entry.principal == self.refused else super(Defeating, self).send(creations([binding]))[0]
            for binding in created_bindings(changes)
        ]


def applied(cluster: Defeating) -> Result:
    plan = planned(ClusterState("it"), GRANT, acl("y", "User:b"))
    live = ClusterState("it")
    return perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))


def test_access_that_was_reviewed_and_that_somebody_else_denies_meanwhile_is_named() -> None:
    deny = acl("x", "User:a", permission=AclPermissionType.DENY)

    def unmet(result: Result) -> list[str]:
        return [one for one in result.differences if one.startswith("reviewed, and not in force: ")]

    result = applied(Defeating(deny))
    assert {item.outcome for item in result.outcomes} == {Outcome.DONE}
    (said,) = unmet(result)
    assert "User:a" in said
    assert "x" in said
    assert "User:b" not in said
    assert unmet(applied(Defeating(None))) == []
    assert unmet(applied(Defeating(acl("z", "User:a", permission=AclPermissionType.DENY)))) == []
    # What was not done is named already.
    assert unmet(applied(Defeating(deny, refused="User:b"))) == []


def test_access_that_somebody_else_denied_before_the_first_step_is_named_though_nothing_else_moves() -> None:
    """The plan was reviewed without that DENY: what it gives is not in force, before and after."""
    plan = planned(ClusterState("it"), GRANT, acl("y", "User:b"))
    for deny, told in ((acl("x", "User:a", permission=AclPermissionType.DENY), True), (acl("z", "User:a"), False)):
        live = ClusterState("it", frozenset({deny}))
        found = check(plan, live, plan.terms)
        assert bool(found.defeated) is told
        result = perform(plan, live, found, ApplyEnvironment(MemoryCluster(live), StillClock(), Progress()))
        assert {item.outcome for item in result.outcomes} == {Outcome.DONE}
        assert [one.startswith("reviewed, and not in force: User:a") for one in result.differences] == [True] * told


def log(length: int, mark: str = "") -> list[bytes]:
    records = ({"record": "step", "number": number, "mark": mark} for number in range(length))
    return chained(records, GENESIS, LogIdentity(f"log {mark}", "host", None))[0]


def test_every_line_that_is_changed_dropped_added_or_moved_shows_at_the_next_one() -> None:
    lines = log(6)
    whole = verify("f", lines, [line_digest(lines[-1])])
    assert (whole.intact, whole.lines, whole.head, whole.notes) == (True, 6, line_digest(lines[-1]), ())
    assert verify("f", [], []).head == GENESIS
    assert verify("f", [], []).intact
    # An empty file is whole, and none at all is not: it may have been taken away.
    assert verify("f", None, []).problems == ("there is no such file",)
    for at in range(6):
        changed = [*lines[:at], lines[at].replace(b'"mark":""', b'"mark":"x"'), *lines[at + 1 :]]
        dropped = [*lines[:at], *lines[at + 1 :]]
        added = [*lines[:at], log(1, "other")[0], *lines[at:]]
        moved = [*lines[:at], *lines[at : at + 2][::-1], *lines[at + 2 :]]
        for spoilt in (changed, dropped, added, moved):
            if spoilt == lines:
                continue
            assert not verify("f", spoilt, [whole.head]).intact, (at, spoilt)
        if at < 5:
            first = verify("f", changed, [whole.head]).problems[0]
            assert first.startswith(f"line {at + 2} does not follow line {at + 1}: ")
    cut = verify("f", lines[:4], [whole.head])
    assert cut.problems == (f"no line has the digest {whole.head}: lines were cut off at the end, or changed",)
    assert verify("f", lines, [line_digest(lines[1])]).notes == (f"4 lines follow the head {line_digest(lines[1])}",)
    assert "nothing vouches for the last line" in verify("f", lines, [GENESIS]).notes[0]


@pytest.mark.parametrize("lost", [0, 1, 2, 19, 20, 21, 25])
def test_of_many_findings_twenty_are_named_and_the_rest_counted(lost: int) -> None:
    lines = log(60)
    copy = TopicCopy((tuple(line for number, line in enumerate(lines) if not (10 <= number < 10 + lost)),))
    found = verify("f", lines, [], copy)
    named = [f"line {number + 11} is not in the topic" for number in range(min(lost, 20))]
    rest = [f"and {lost - 20} more lines are not"] if lost > 20 else []
    assert [*found.problems] == named + rest
    assert found.copied == 60 - lost
    # Only what is missing at the front can be what retention took.
    front = TopicCopy((tuple(lines[lost:]),), trimmed=True)
    trimmed = verify("f", lines, [], front)
    assert trimmed.intact
    assert trimmed.notes == ((f"the topic no longer has the first {lost} lines",) if lost else ())
    assert verify("f", lines, [], replace(front, trimmed=False)).intact is (lost == 0)
    assert verify("f", lines, [], replace(copy, trimmed=True)).intact is (lost == 0)


def test_lines_of_other_hosts_are_counted_and_lines_of_this_log_that_the_file_lost_are_a_problem() -> None:
    lines, others = log(6), log(3, "other")
    mixed = TopicCopy(((lines[0], others[0], lines[1], *lines[2:4]), (*others[1:], *lines[4:])))
    found = verify("f", lines, [], mixed)
    assert (found.intact, found.notes, found.copied) == (True, ("the topic has 3 lines of other logs",), 6)
    lost = verify("f", lines[:4], [], mixed)
    assert lost.problems == ("the topic has 2 lines of this log that the file has not",)
    turned = verify("f", lines, [], TopicCopy(((lines[1], lines[0], *lines[2:]),)))
    assert turned.problems == ("line 1 comes after line 2 in the topic",)
