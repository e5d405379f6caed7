"""Random topics converge in one apply: in memory as often as Hypothesis likes, on a broker a sample at once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.environment import Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.acl import ResourceType
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Impossible
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.difference import SkipReason
from reconciler.plan.kinds.topic import created_topics
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.ports import AnswerStatus, Clock, Cluster, ReadRequest
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster
from reconciler.system.process import SystemClock
from tests.contract.subject import Subject
from tests.property.clock import StillClock
from tests.property.transitions import DAY
from tests.verbs import creations

_NAMES = ("a.one", "a_one", "b", "c", "d")
_SETTINGS = {
    "cleanup.policy": ("compact", "delete", "compact,delete", "delete,compact"),
    "retention.ms": ("-1", "1000", "604800000"),
    "flush.messages": ("1", "5"),
    "min.cleanable.dirty.ratio": ("0.5", "0.25"),
    "compression.type": ("zstd", "producer"),
}
configs = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in _SETTINGS.items()})
assignments = st.integers(1, 3).map(lambda count: tuple((1,) for _ in range(count)))


def topics(*, live: bool) -> st.SearchStrategy[dict[str, Topic]]:
    counted = st.builds(Topic, st.just("n"), st.integers(1, 4), st.just(1), configs)
    left = st.builds(Topic, st.just("n"), st.none(), st.none() | st.just(1), configs)
    placed = st.builds(
        lambda found, config: Topic("n", len(found), 1, config, replica_assignments=found), assignments, configs
    )
    return st.dictionaries(st.sampled_from(_NAMES), counted if live else counted | left | placed, max_size=4)


@st.composite
def wishes(draw: st.DrawFn) -> tuple[dict[str, Topic], dict[str, Topic], frozenset[str]]:
    """What is there, what is wanted, and what shall not be there."""
    live, wanted = draw(topics(live=True)), draw(topics(live=False))
    absent = draw(st.frozensets(st.sampled_from(_NAMES), max_size=2))
    return live, wanted, absent - wanted.keys()


def named(prefix: str, found: dict[str, Topic]) -> list[Topic]:
    return [
        Topic(prefix + name, one.num_partitions, one.replication_factor, one.configs, None, one.replica_assignments)
        for name, one in found.items()
    ]


def desired(prefix: str, wanted: dict[str, Topic], absent: frozenset[str]) -> DesiredState:
    place = Origin("topics.yaml", 1, 1)
    found = {topic.name: DesiredTopic(topic, place) for topic in named(prefix, wanted)}
    gone = {prefix + name: DesiredTopic(Topic(prefix + name), place, absent=True) for name in absent}
    return DesiredState({}, found | gone)


def converge(cluster: Cluster, prefix: str, wish: DesiredState, clock: Clock) -> None:
    """One apply reaches what the plan expects; planning again gives exactly what was left, and nothing to do."""
    scope = Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=(prefix,))),))
    names = tuple(prefix + name for name in _NAMES)

    def planned() -> tuple[Plan, ClusterState]:
        live = cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=names, broker_defaults=True))
        guards = (Guard.TOPIC_DELETE, Guard.DATA_LOSS)
        acks = tuple(AcceptedGuard(guard, name) for guard in guards for name in names)
        request = Request(DAY, Options(allow_deletes=True), acks)
        return propose(wish, live, Terms("c", scope, default_allow=False), request), live

    plan, live = planned()
    assert not plan.refusals
    assert {left.reason for left in plan.skipped} <= {SkipReason.IMPOSSIBLE, SkipReason.UNDECLARED}
    result = perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, clock, Progress()))
    assert result.succeeded, result
    again, _ = planned()
    left = {item.change.name for item in plan.skipped if isinstance(item.change, Impossible)}
    # A name that collided with a topic which the plan deletes is free now; nothing else may be left to do.
    assert {topic.name for topic in created_topics(step.change for step in again.steps)} <= left
    assert all(isinstance(step.change.after, Topic) for step in again.steps)
    assert {item.subject for item in again.skipped} <= {item.subject for item in plan.skipped}


def put(cluster: Cluster, found: list[Topic]) -> list[str]:
    """Makes topics one by one, but for those that collide; the names of the others."""
    answers = {topic.name: cluster.send(creations([topic]))[0] for topic in found}
    made = [name for name, answer in answers.items() if answer.status is AnswerStatus.DONE]
    assert {answer.code for name, answer in answers.items() if name not in made} <= {"INVALID_TOPIC_EXCEPTION"}
    return made


@given(wishes())
def test_in_memory(wish: tuple[dict[str, Topic], dict[str, Topic], frozenset[str]]) -> None:
    live, wanted, absent = wish
    cluster = MemoryCluster(ClusterState("c"), BrokerFacts(broker_ids=(1,)))
    put(cluster, named("p.", live))
    converge(cluster, "p.", desired("p.", wanted, absent), StillClock())


@pytest.mark.broker
def test_a_sample_on_a_broker(broker: Sandbox) -> None:
    settings = broker.settings("admin")
    drawn = random.Random(7)
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as cluster:
        subject = Subject(cluster, (4, 3))
        for number in range(8):
            live, wanted, absent = _drawn(drawn)
            prefix = f"cv{number}."
            made = put(cluster, named(prefix, live))
            subject.topics(*made)  # a broker may lag behind its answer
            converge(cluster, prefix, desired(prefix, wanted, absent), SystemClock())


def _drawn(drawn: random.Random) -> tuple[dict[str, Topic], dict[str, Topic], frozenset[str]]:
    def some() -> dict[str, Topic]:
        return {name: _one(drawn) for name in drawn.sample(_NAMES, 3)}

    wanted = some()
    return some(), wanted, frozenset(drawn.sample(_NAMES, 2)) - wanted.keys()


def _one(drawn: random.Random) -> Topic:
    chosen = drawn.sample(sorted(_SETTINGS), 3)
    return Topic("n", drawn.randint(1, 4), 1, {name: drawn.choice(_SETTINGS[name]) for name in chosen})
