"""Topics that go: one that a client has made again, and one that was empty when the plan was made and is no more."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicUse
from reconciler.plan.kinds.topic import deleted_topics
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.ports import Answer, ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY
from tests.verbs import creations


class OnDemand(MemoryCluster):
    """Makes a deleted topic again at once, as a broker does for a client that still asks for it."""

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        answers = super().send(changes)
        if gone := deleted_topics(changes):
            super().send(creations([Topic(topic.name, 1, 1) for topic in gone]))
        return answers


def deleted(cluster: MemoryCluster, auto_create: str) -> Result:
    live = cluster.state
    wish = DesiredState({}, {"a": DesiredTopic(Topic("a"), Origin("t.yaml", 1, 1), absent=True)})
    request = Request(DAY, Options(allow_deletes=True), (AcceptedGuard(Guard.TOPIC_DELETE, "a"),))
    asked = ClusterState(
        live.cluster_id, topics=live.topics, broker_defaults={"auto.create.topics.enable": auto_create}
    )
    plan = propose(wish, asked, Terms("c", default_allow=False), request)
    return perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))


def live() -> ClusterState:
    return ClusterState("c", topics={"a": Topic("a", 1, 1, topic_id="before")})


def test_it_is_named_and_the_run_is_no_success() -> None:
    result = deleted(OnDemand(live()), "true")
    assert not result.succeeded
    assert [text for text in result.differences if "topic a is there again" in text]


def test_a_topic_that_stays_away_is_a_success() -> None:
    assert deleted(MemoryCluster(live()), "true").succeeded
    assert deleted(MemoryCluster(live()), "false").succeeded


EMPTY = TopicUse(records=0, groups=(), written=0)


class Held(MemoryCluster):
    """A cluster whose topic has another use, or is another one, by the time it goes."""

    def __init__(self, use: TopicUse | None, now: Topic) -> None:
        super().__init__(ClusterState("c", topics={"a": now}))
        self.use, self.sent = use, list[Change]()

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        if self.use is None:
            raise ClusterError("silent", "nobody answers")
        return dict.fromkeys(names, self.use)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent += changes
        return super().send(changes)


def reviewed(cluster: Held, use: TopicUse) -> Result:
    """The deletion of a topic that was reviewed with ``use``, after a preflight that found nothing stale."""
    before = live()
    wish = DesiredState({}, {"a": DesiredTopic(Topic("a"), Origin("t.yaml", 1, 1), absent=True)})
    request = Request(DAY, Options(allow_deletes=True), (AcceptedGuard(Guard.TOPIC_DELETE, "a"),))
    plan = propose(wish, before, Terms("c", default_allow=False), request)
    plan = replace(plan, topics=replace(plan.topics, uses={"a": use}))
    found = check(plan, before, plan.terms)
    return perform(plan, before, found, ApplyEnvironment(cluster, StillClock(), Progress(), uses=cluster))


@pytest.mark.parametrize(
    ("use", "now", "why"),
    [
        (replace(EMPTY, records=3, written=3), Topic("a", 1, 1, topic_id="before"), "3 records were written since"),
        (replace(EMPTY, records=0, written=3), Topic("a", 1, 1, topic_id="before"), "3 records were written since"),
        (TopicUse(), Topic("a", 1, 1, topic_id="before"), "whether it still is could not be read"),
        (None, Topic("a", 1, 1, topic_id="before"), "whether it still is could not be read"),
        (EMPTY, Topic("a", 5, 1, topic_id="before"), "somebody has changed it"),
        (EMPTY, Topic("a", 1, 1, {"retention.ms": "1"}, "before"), "somebody has changed it"),
        (EMPTY, Topic("a", 1, 1, topic_id="other"), "another topic of that name"),
    ],
)
def test_a_topic_that_was_empty_stays_where_it_is_not_what_was_reviewed(
    use: TopicUse | None, now: Topic, why: str
) -> None:
    cluster = Held(use, now)
    result = reviewed(cluster, EMPTY)
    (item,) = result.outcomes
    assert (item.outcome, item.code) == (Outcome.FAILED, "changed_meanwhile")
    assert why in item.message
    assert not cluster.sent
    assert not result.succeeded


class Replaced(Held):
    """Another topic is in the place of the empty one, as empty, from the reading of this number on."""

    def __init__(self, first: int) -> None:
        super().__init__(EMPTY, Topic("a", 1, 1, topic_id="before"))
        self.first, self.readings, self.before_it_went = first, 0, 0

    def read(self, request: ReadRequest) -> ClusterState:
        self.readings += 1
        state = super().read(request)
        if self.sent or self.readings < self.first:
            return state
        return replace(state, topics={"a": Topic("a", 1, 1, topic_id="other")})

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.before_it_went = self.readings
        return super().send(changes)


def test_a_topic_that_another_one_replaces_before_any_of_the_readings_stays_though_both_are_empty() -> None:
    never = Replaced(99)
    assert reviewed(never, EMPTY).succeeded
    assert never.before_it_went >= 2
    for first in range(1, never.before_it_went + 1):
        cluster = Replaced(first)
        result = reviewed(cluster, EMPTY)
        assert (cluster.sent, result.succeeded) == ([], False)
        assert "another topic of that name" in str(result)


def test_a_topic_that_is_still_empty_or_was_reviewed_with_records_goes() -> None:
    for use, then in ((EMPTY, EMPTY), (replace(EMPTY, records=9, written=12), replace(EMPTY, records=5, written=5))):
        cluster = Held(use, Topic("a", 1, 1, topic_id="before"))
        assert reviewed(cluster, then).succeeded
        assert "a" not in cluster.state.topics
