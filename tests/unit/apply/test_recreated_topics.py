"""A topic that is deleted and made again by a broker, because a client asks for it."""

from collections.abc import Sequence

from reconciler.adapters.snapshot import MemoryCluster
from reconciler.apply import ApplyEnvironment, Result, Silent, check, perform
from reconciler.model import Change, ClusterState, DesiredState, DesiredTopic, Origin, Topic
from reconciler.plan import Guard, GuardAcknowledgement, Options, Request, Terms, deleted_topics, propose
from reconciler.ports import Answer
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
    request = Request(DAY, Options(allow_deletes=True), (GuardAcknowledgement(Guard.TOPIC_DELETE, "a"),))
    asked = ClusterState(
        live.cluster_id, topics=live.topics, broker_defaults={"auto.create.topics.enable": auto_create}
    )
    plan = propose(wish, asked, Terms("c", default_allow=False), request)
    return perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Silent()))


def live() -> ClusterState:
    return ClusterState("c", topics={"a": Topic("a", 1, 1, topic_id="before")})


def test_it_is_named_and_the_run_is_no_success() -> None:
    result = deleted(OnDemand(live()), "true")
    assert not result.succeeded
    assert [text for text in result.differences if "topic a is there again" in text]


def test_a_topic_that_stays_away_is_a_success() -> None:
    assert deleted(MemoryCluster(live()), "true").succeeded
    assert deleted(MemoryCluster(live()), "false").succeeded
