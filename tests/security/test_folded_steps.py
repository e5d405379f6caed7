"""Floods of steps and of items that stay: they share lines, with exact numbers, and hide nothing that is grave."""

import datetime
import re
from dataclasses import replace
from html import unescape
from random import Random

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicUse
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.kinds import describe
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard, refusal
from reconciler.plan.step import Step
from reconciler.show.formats.markdown import step_sections
from reconciler.show.kinds.topic import use_lines
from reconciler.show.plan import plan_document, plan_lines
from reconciler.show.steps import skipped_groups, step_lines, steps_shown
from tests.worlds import step_words

_CROWD = 10_500
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def _binding(
    principal: str,
    name: str,
    *,
    kind: ResourceType = ResourceType.TOPIC,
    operation: AclOperation = AclOperation.READ,
    permission: AclPermissionType = _ALLOW,
    pattern: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(ResourcePattern(kind, name, pattern), AccessControlEntry(principal, "*", operation, permission))


def _crowd() -> list[AclBinding]:
    return [_binding(f"User:a{number:05}", f"topic-{number:05}") for number in range(_CROWD)]


#: What one line has to show, whatever else a plan creates.
_GRAVE = {
    "the cluster": _binding("User:mallory", "kafka-cluster", kind=ResourceType.CLUSTER, operation=AclOperation.ALTER),
    "everybody": _binding("User:*", "payroll.salaries"),
    "all names": _binding("User:mallory", "*"),
    "an internal topic": _binding("User:mallory", "__consumer_offsets"),
    "a prefix": _binding("User:mallory", "p", pattern=PatternType.PREFIXED),
}


def _plan(phase: Phase, changes: list[Change], skipped: tuple[Skipped, ...] = ()) -> Plan:
    steps = tuple(Step(phase, change) for change in changes)
    return Plan("id", Terms("c"), Options(), datetime.date(2026, 11, 21), steps, skipped)


@pytest.mark.parametrize("grave", sorted(_GRAVE))
def test_a_grave_grant_among_very_many_others(grave: str) -> None:
    """10,500 grants on single topics and one that is worse: the plan fits a screen, and that one comes first."""
    bindings = [*_crowd(), _GRAVE[grave]]
    Random(7).shuffle(bindings)
    text = list(plan_lines(_plan(Phase.CREATE_ALLOW, [Create(one) for one in bindings])))
    assert len(text) < 40
    assert re.match(r"[\d,]+ of 10,501 steps shown, the gravest first; --expand shows the others", text[2])
    first = text[text.index("1. create ALLOW ACLs (10,501)") + 1]
    assert _GRAVE[grave].entry.principal in first
    assert any("10,500 ACLs: 10,500 principals ALLOW READ on 10,500 TOPIC names" in line for line in text)


def test_as_many_shapes_as_somebody_likes() -> None:
    """A crowd in which no two rows have one shape: lines end, what is gravest is there, the rest is counted."""
    operations = sorted(set(AclOperation) - {AclOperation.ANY, AclOperation.UNKNOWN})
    bindings = [
        _binding(f"User:a{number}", f"t{number}", operation=operation)
        for number in range(512)
        for bit, operation in enumerate(operations)
        if number >> bit & 1
    ]
    grave = _GRAVE["the cluster"]
    plan = _plan(Phase.CREATE_ALLOW, [Create(one) for one in [*bindings, grave]])
    lines = list(step_lines(plan))
    assert len(lines) < 40
    assert lines[0].words == step_words(grave)
    assert sum(line.steps for line in lines) == len(plan.steps)
    shown, total = steps_shown(lines)
    assert 0 < shown < total == len(plan.steps)


def test_topics_that_go_are_named() -> None:
    """A hundred deletions share a line with their number, and their names are on it: each goes with its records."""
    topics = [Delete(Topic(f"orders.{number:03}", 1, 1)) for number in range(100)]
    (line,) = step_lines(_plan(Phase.DELETE_TOPIC, list(topics)))
    assert line.words == "100 topics and all their records"
    assert line.names == tuple(f"orders.{number:03}" for number in range(100))
    assert line.unnamed == 0


USES = {
    "all known": (
        [TopicUse(1000 * number, number, f"2026-01-0{1 + number % 3}", ("g",) * (number < 2)) for number in range(100)],
        "up to 4,950 records, 4.7 MiB on disk in all; last write 2026-01-03; groups have offsets in 2 of them",
    ),
    "empty": ([TopicUse(0, 0, "", ())] * 100, "no records, 0 bytes on disk in all"),
    "one unknown": (
        [TopicUse(gaps=("not permitted",)), *[TopicUse(0, 0, "", ())] * 99],
        "no records, 0 bytes on disk in all; records not known for 1 of them; size not known for 1 of them; "
        "groups not known for 1 of them",
    ),
    "one not asked": (
        [TopicUse(0, 0, "", ())] * 99,
        "no records, 0 bytes on disk in all; records not known for 1 of them; size not known for 1 of them; "
        "groups not known for 1 of them",
    ),
    "sizes alone": (
        [TopicUse(1024)] * 100,
        "100.0 KiB on disk in all; records not known for 100 of them; groups not known for 100 of them",
    ),
}


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("accepted", [False, True])
def test_topics_that_share_a_line_show_what_goes_with_all_of_them(name: str, accepted: bool) -> None:
    """Of deletions that a safety check refuses too: whoever would accept them has to know."""
    uses, held = USES[name]
    topics = [f"orders.{number:03}" for number in range(100)]
    origin = Origin("t.yaml", 1, 1)
    wish = DesiredState({}, {topic: DesiredTopic(Topic(topic), origin, absent=True) for topic in topics})
    live = ClusterState("c", topics={topic: Topic(topic, 1, 1, topic_id=topic) for topic in topics})
    consents = tuple(AcceptedGuard(Guard.TOPIC_DELETE, topic) for topic in topics) if accepted else ()
    request = Request(datetime.date(2026, 11, 21), Options(allow_deletes=True), consents)
    plan = propose(wish, live, Terms("c", default_allow=False), request)
    assert len(plan.steps) == 100 * accepted
    plan = replace(plan, topics=replace(plan.topics, uses=dict(zip(topics, uses, strict=False))))
    line = f"100 topics and all their records: {held}"
    found = [one.text for group in skipped_groups(plan) for one in group.lines]
    assert [one.words for one in step_lines(plan)] + found == [line if accepted else f"delete {line}"]
    assert any(line in text for text in plan_lines(plan))
    assert any(
        line in unescape(row)
        for section in step_sections(plan, plan_document(plan), many=False)
        for row in section.rows
    )
    # A page has a line for each.
    each = [one.text for group in skipped_groups(plan, fold=False) for one in group.lines]
    each += ["; ".join(detail.text for detail in one.details) for one in step_lines(plan, fold=False)]
    assert len(each) == 100
    assert all("; ".join(use_lines(use)) in text for use, text in zip(uses, each, strict=False))


def test_what_stays_on_a_large_cluster() -> None:
    """10,500 bindings that nobody declares, and one DENY whose deletion would open something: it is named, first."""
    deny = _binding("User:b", "payroll.salaries", permission=_DENY, operation=AclOperation.WRITE)
    changes = [Delete(one) for one in [*_crowd(), deny]]
    skipped = tuple(
        Skipped(SkipReason.HELD_BACK, describe(change), "deletions need --allow-deletes", change) for change in changes
    )
    plan = _plan(Phase.CREATE_ALLOW, [Create(_binding("User:new", "t"))], skipped)
    text = list(plan_lines(plan))
    assert len(text) < 40
    assert "of 10,501 skipped items shown, the gravest first" in text[2]
    below = text[text.index("Skipped (10,501)") :]
    assert below[2] == "    delete User:b DENY WRITE on TOPIC payroll.salaries"
    (group,) = skipped_groups(plan)
    assert group.total == 10_501
    (whole,) = skipped_groups(plan, fold=False)
    assert len(whole.lines) == 10_501
    assert whole.unnamed == 0


def test_expanded_nothing_is_left_out() -> None:
    """``--expand`` shows each step and each item that stays, and says nothing of missing ones."""
    changes = [Create(one) for one in _crowd()[:300]]
    skipped = tuple(Skipped(SkipReason.EXCLUDED, describe(one), "not selected", one) for one in changes)
    text = list(plan_lines(_plan(Phase.CREATE_ALLOW, list(changes), skipped), expand=True))
    assert not re.search("shown", text[2])
    for change in changes:
        assert sum(f"+ {step_words(change.after)}  " in f"{line}  " for line in text) == 1
        assert sum(line.strip() == describe(change) for line in text) == 1


def test_as_many_refusals_as_somebody_likes() -> None:
    """500 topics to delete do not push the refusal of another guard out of sight, and all are counted first."""
    refusals = [refusal(Guard.TOPIC_DELETE, f"t{number}", f"t{number} goes") for number in range(500)]
    refusals.append(refusal(Guard.CLUSTER_ALTER, "User:mallory", "User:mallory gains ALTER"))
    changes: list[Change] = [Create(_binding("User:mallory", "t"))]
    plan = replace(_plan(Phase.CREATE_ALLOW, changes), refusals=tuple(refusals))
    text = list(plan_lines(plan))
    assert len(text) < 70
    assert "21 of 501 refusals shown" in text[2]
    assert "  cluster-alter: User:mallory gains ALTER" in text
    assert "  and 480 more; --expand shows each" in text
    assert len(list(plan_lines(plan, expand=True))) > 1_000
