"""Asking a cluster about a plan's topics: batches, refusals, what is no answer, rights that the plan grants first."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.apply.preflight import check
from reconciler.apply.sending import validate
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Listing, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.observed import Facts, StepState
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.topics import BrokerValidation, Ruling
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY

_OURS = "User:us"
_BROKER = BrokerFacts(broker_ids=(1,))


def planned(live: ClusterState, *topics: Topic, grants: Sequence[AclBinding] = ()) -> Plan:
    wishes = {topic.name: DesiredTopic(topic, Origin("t.yaml", line, 1)) for line, topic in enumerate(topics, start=1)}
    wish = DesiredState({grant: Declaration(Origin("a.yaml", 1, 1)) for grant in grants}, wishes)
    return propose(wish, live, Terms("c", default_allow=False, facts=Facts(_OURS)), Request(DAY))


def rulings(validation: BrokerValidation) -> dict[str, tuple[Ruling, str]]:
    return {answer.subject.split()[-1]: (answer.ruling, answer.code) for answer in validation.answers}


class Scripted(MemoryCluster):
    """Answers validations from a script by name, and counts what it was asked."""

    def __init__(self, state: ClusterState, script: dict[str, Answer]) -> None:
        super().__init__(state, _BROKER)
        self.script = script
        self.batches: list[int] = []

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        self.batches.append(len(changes))
        return [self.script.get(resource_of(change).name, Answer(AnswerStatus.DONE)) for change in changes]


def test_each_kind_of_step_is_asked_and_nothing_is_done() -> None:
    live = ClusterState("c", topics={"grows": Topic("grows", 1, 1), "set": Topic("set", 1, 1)})
    cluster = MemoryCluster(live, _BROKER)
    wishes = (Topic("new", 1, 2), Topic("grows", 3), Topic("set", configs={"flush.ms": "often"}), Topic("fine", 1, 1))
    plan = planned(live, *wishes)
    found = validate(plan, live, cluster, StillClock())
    assert rulings(found) == {
        "new": (Ruling.REFUSED, "INVALID_REPLICATION_FACTOR"),
        "fine": (Ruling.ACCEPTED, ""),
        "grows": (Ruling.ACCEPTED, ""),
        "set": (Ruling.REFUSED, "INVALID_CONFIG"),
    }
    assert {str(answer.origin) for answer in found.answers} == {f"t.yaml:{line}:1" for line in range(1, 5)}
    assert found.asked == StillClock().now()
    assert cluster.state == live


def test_a_plan_with_answers_reads_back_equal() -> None:
    live = ClusterState("c")
    plan = planned(live, Topic("new", 1, 2), Topic("fine", 1, 1))
    found = validate(plan, live, MemoryCluster(live, _BROKER), StillClock())
    noted = replace(plan, topics=replace(plan.topics, validation=found))
    assert parse_plan(plan_text(noted)) == noted


def test_requests_are_bounded_by_the_records_they_would_make() -> None:
    live = ClusterState("c")
    cluster = Scripted(live, {})
    validate(planned(live, *(Topic(f"t{number}", 1, 1) for number in range(250))), live, cluster, StillClock())
    assert cluster.batches == [100, 100, 50]
    cluster = Scripted(live, {})
    validate(planned(live, *(Topic(f"t{number}", 2_000, 1) for number in range(5))), live, cluster, StillClock())
    assert cluster.batches == [2, 2, 1]


def test_where_a_whole_request_has_no_answer_nothing_more_is_asked() -> None:
    live = ClusterState("c", topics={"set": Topic("set", 1, 1)})
    broken = Answer(AnswerStatus.UNKNOWN, "UNKNOWN_SERVER_ERROR", "oops")
    cluster = Scripted(live, {"a": broken, "b": broken})
    plan = planned(live, Topic("a", 1, 1), Topic("b", 1, 1), Topic("set", configs={"flush.ms": "5"}))
    assert rulings(validate(plan, live, cluster, StillClock())) == {
        "a": (Ruling.UNKNOWN, "UNKNOWN_SERVER_ERROR"),
        "b": (Ruling.UNKNOWN, "UNKNOWN_SERVER_ERROR"),
        "set": (Ruling.UNKNOWN, "not_asked"),
    }
    assert cluster.batches == [2]


def test_one_topic_without_an_answer_does_not_take_the_others_theirs() -> None:
    live = ClusterState("c", topics={"set": Topic("set", 1, 1)})
    cluster = Scripted(live, {"a": Answer(AnswerStatus.UNKNOWN, "UNKNOWN_SERVER_ERROR", "oops")})
    plan = planned(live, Topic("a", 1, 1), Topic("b", 1, 1), Topic("set", configs={"flush.ms": "5"}))
    found = rulings(validate(plan, live, cluster, StillClock()))
    assert [found[name][0] for name in ("a", "b", "set")] == [Ruling.UNKNOWN, Ruling.ACCEPTED, Ruling.ACCEPTED]


def test_trouble_of_client_and_controller_is_no_refusal() -> None:
    live = ClusterState("c")
    script = {
        "a": Answer(AnswerStatus.FAILED, "NOT_CONTROLLER", "elsewhere", retriable=True),
        "b": Answer(AnswerStatus.FAILED, "_UNSUPPORTED_FEATURE", "too old"),
        "c": Answer(AnswerStatus.FAILED, "UNSUPPORTED_VERSION", "too old"),
        "d": Answer(AnswerStatus.UNKNOWN, "REQUEST_TIMED_OUT", "late"),
        "e": Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no"),
    }
    plan = planned(live, *(Topic(name, 1, 1) for name in script))
    found = rulings(validate(plan, live, Scripted(live, script), StillClock()))
    assert {name: ruling for name, (ruling, _) in found.items()} == {
        **dict.fromkeys("abcd", Ruling.UNKNOWN),
        "e": Ruling.REFUSED,
    }


def create(name: str, resource_type: ResourceType = ResourceType.TOPIC) -> AclBinding:
    entry = AccessControlEntry(_OURS, "*", AclOperation.CREATE, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(resource_type, name), entry)


def test_a_right_that_the_plan_grants_first_cannot_be_asked_about_yet() -> None:
    live = ClusterState("c")
    no = Answer(AnswerStatus.FAILED, "TOPIC_AUTHORIZATION_FAILED", "no")
    cluster = Scripted(live, {"a": no, "b": no})
    plan = planned(live, Topic("a", 1, 1), Topic("b", 1, 1), grants=[create("a")])
    found = rulings(validate(plan, live, cluster, StillClock()))
    assert (found["a"][0], found["b"][0]) == (Ruling.AFTER_GRANT, Ruling.REFUSED)
    everywhere = planned(
        live, Topic("a", 1, 1), Topic("b", 1, 1), grants=[create("kafka-cluster", ResourceType.CLUSTER)]
    )
    found = rulings(validate(everywhere, live, cluster, StillClock()))
    assert {ruling for ruling, _ in found.values()} == {Ruling.AFTER_GRANT}


def test_nothing_is_sent_where_a_quota_would_be_refused() -> None:
    quota = ClientQuota(QuotaEntity.of("alice"), {"request_percentage": 1})
    declared = DesiredItem(quota, Declaration(Origin("q.yaml", 1, 1)))
    live = ClusterState("c", listings={"quotas": Listing(frozenset(), may_alter=False)})
    terms = Terms("c", default_allow=False)
    plan = propose(DesiredState(listed={"quotas": {quota.entity: declared}}), live, terms, Request(DAY))
    with pytest.raises(ClusterError, match="nothing was sent") as refused:
        check(plan, live, terms)
    assert "ALTER_CONFIGS on CLUSTER" in refused.value.advice
    there = live.with_listing(ClientQuota, Listing(frozenset({quota}), may_alter=False))
    assert check(plan, there, terms).findings[0].state is StepState.DONE


def test_a_right_that_nobody_gives_is_missing_whoever_we_are() -> None:
    """Without a principal, or with nothing that moves access, the plan can give us nothing."""
    live = ClusterState("c")
    cluster = Scripted(live, {"a": Answer(AnswerStatus.FAILED, "TOPIC_AUTHORIZATION_FAILED", "no")})
    plan = planned(live, Topic("a", 1, 1), grants=[create("a")])
    nobody = replace(plan, terms=replace(plan.terms, facts=Facts()))
    for one in (nobody, planned(live, Topic("a", 1, 1))):
        assert rulings(validate(one, live, cluster, StillClock()))["a"][0] is Ruling.REFUSED
