"""What a step expects to find, against what is there now: still to do, done by somebody already, or stale."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec.values import KAFKA_VERSION, SELECTORS
from reconciler.dataclass import dataclass
from reconciler.model.flavor import between, may_be_added
from reconciler.model.says import REQUIRED, Says
from reconciler.model.scope import Selector
from reconciler.model.state import NO_SOURCES, ClusterState, FactSource, FactSources
from reconciler.model.topic import TOPIC_ATTRIBUTES, PartitionLayout, Topic, TopicConfigs, TopicReplicas
from reconciler.model.topic_configs import effective, normal_form


class StepState(StrEnum):
    """What a live state means for a step."""

    PENDING = "pending"
    DONE = "done"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Observed:
    """A step against a live state; ``expected`` and ``found`` are for people, and empty where all is well."""

    state: StepState
    subject: str = ""
    expected: str = ""
    found: str = ""


PENDING: Final = Observed(StepState.PENDING)
DONE: Final = Observed(StepState.DONE)


# A live topic against what a step on it expects to find.


def observed_creation(wanted: Topic, topic: Topic) -> Observed:
    """A topic that appeared meanwhile is the one wanted if it is as declared in every respect.

    What brokers of some make add to a new topic by themselves is declared by nobody.
    """
    alike = all(getattr(wanted, name) in (None, getattr(topic, name)) for name in TOPIC_ATTRIBUTES.values())
    mine = {key: normal_form(key, value) for key, value in wanted.configs.items()}
    theirs = {
        key: normal_form(key, value)
        for key, value in topic.configs.items()
        if key in mine or not may_be_added(key, value)
    }
    assigned = wanted.replica_assignments is None or topic.replica_assignments in (None, wanted.replica_assignments)
    if alike and assigned and mine == theirs:
        return DONE
    return Observed(StepState.STALE, f"topic {topic.name}", "absent", f"exists with {_shape(topic)}")


def observed_id(topic_id: str | None, topic: Topic) -> Observed:
    """A topic that was deleted and created again has another id; ``None``: not known, and no reason to stop."""
    if topic_id and topic.topic_id and topic_id != topic.topic_id:
        actual = f"another topic of that name, id {topic.topic_id}"
        return Observed(StepState.STALE, f"topic {topic.name}", f"id {topic_id}", actual)
    return PENDING


def observed_partitions(before: int, after: int, topic_id: str | None, topic: Topic | None, name: str) -> Observed:
    """The number of partitions, expected to be ``before`` and wanted to be ``after``."""
    if topic is None:
        return Observed(StepState.STALE, f"topic {name}", f"{before} partitions", "no such topic")
    if (other := observed_id(topic_id, topic)) is not PENDING:
        return other
    if topic.num_partitions == after:
        return DONE
    if topic.num_partitions == before:
        return PENDING
    return Observed(StepState.STALE, f"topic {name}", f"{before} partitions", f"{topic.num_partitions} partitions")


def observed_configs(
    before: TopicConfigs, after: TopicConfigs, topic: Topic | None, defaults: Mapping[str, str]
) -> Observed:
    """The configs that the step sets: each as before, already as wanted, or at a value that a flavor needs between.

    What it loses was judged by the brokers' defaults of then: others, or none that can be read, are not expected.
    """
    if topic is None:
        return Observed(StepState.STALE, f"topic {before.name}", "exists", "no such topic")
    if (other := observed_id(before.topic_id, topic)) is not PENDING:
        return other
    wanted = after.configs
    halfway = {key: normal_form(key, value) for key, value in between(before.configs, wanted).items()}
    stale = [key for key in wanted if _value(topic, key) not in (_old(before, key), wanted[key], halfway.get(key, ""))]
    if stale:
        expected = ", ".join(f"{key}={_old(before, key) or 'unset'}" for key in stale)
        actual = ", ".join(f"{key}={_value(topic, key) or 'unset'}" for key in stale)
        return Observed(StepState.STALE, f"topic {before.name}", expected, actual)
    if all(_value(topic, key) == wanted[key] for key in wanted):
        return DONE
    for side in (before, after):
        now = effective({**topic.configs, **side.configs}, side.configs, defaults)
        for key, value in side.effective.items():
            if (actual := now.get(key, "not known")) != value:
                return Observed(StepState.STALE, f"default of {key} for topic {before.name}", value, actual)
    return PENDING


def _value(topic: Topic, key: str) -> str | None:
    value = topic.configs.get(key)
    return None if value is None else normal_form(key, value)


def _old(before: TopicConfigs, key: str) -> str | None:
    value = before.configs[key]
    return None if value is None else normal_form(key, value)


def _shape(topic: Topic) -> str:
    configs = "".join(f", {key}={value}" for key, value in topic.configs.items())
    return f"{topic.num_partitions} partitions, replication factor {topic.replication_factor}{configs}"


# The replicas of a live topic against what a step on them expects to find.

#: Bytes that a topic may copy between brokers without a person's word.
MOST_COPIED: Final = 16 * 2**30


#: What a step expects of replicas that it is about to move.
_IN_SYNC: Final = "every replica in sync"


def lacks_replicas(observed: Observed) -> bool:
    """Whether a step cannot begin only because a replica is out of sync, which may end by itself."""
    return observed.state is StepState.STALE and observed.expected == _IN_SYNC


def observed_replicas(before: TopicReplicas, after: TopicReplicas, topic: Topic | None, live: ClusterState) -> Observed:
    """Done once every partition is where it should be and nothing moves; pending while our own reassignment goes on.

    A partition that moves to other brokers, or is on brokers that nobody expected, makes the step stale: a second
    reassignment would silently replace the first.
    """
    subject = f"topic {after.name}"
    if topic is None:
        return Observed(StepState.STALE, subject, "exists", "no such topic")
    if (other := observed_id(after.topic_id, topic)) is not PENDING:
        return other
    if live.layout is None or after.name not in live.layout.topics:
        return Observed(StepState.UNREADABLE, subject, "readable", "its replicas were not read")
    partitions = live.layout.topics[after.name]
    if len(partitions) != len(after.assignments):
        there = f"{len(partitions)} partitions"
        return Observed(StepState.STALE, subject, f"{len(after.assignments)} partitions", there)
    for number, item in enumerate(partitions):
        old, new = before.assignments[number], after.assignments[number]
        # In another order they are the same to copy from: a move that was cancelled leaves the new one's order.
        if item.target != new and (item.is_moving or {*item.replicas} != {*old}):
            where = f"{'moving to' if item.is_moving else 'on'} brokers {_listed(item.target)}"
            actual = f"partition {number} {where}"
            return Observed(StepState.STALE, subject, f"partition {number} on brokers {_listed(old)}", actual)
    if all(not item.is_moving and item.replicas == after.assignments[number] for number, item in enumerate(partitions)):
        return DONE
    return _startable(after, partitions, subject)


def _startable(after: TopicReplicas, partitions: Sequence[PartitionLayout], subject: str) -> Observed:
    """Pending, unless replicas are missing already, or much more would be copied than was reviewed."""
    if any(partition.is_moving for partition in partitions):
        return PENDING
    for number, item in enumerate(partitions):
        if item.behind:
            actual = f"the replica of partition {number} on broker {item.behind[0]} is not"
            return Observed(StepState.STALE, subject, _IN_SYNC, actual)
    copied = sum(
        item.size * len({*new} - {*item.replicas}) for item, new in zip(partitions, after.assignments, strict=True)
    )
    if copied > max(2 * after.copied, MOST_COPIED):
        return Observed(StepState.STALE, subject, f"at most {after.copied:,} bytes to copy", f"{copied:,} bytes")
    return PENDING


def _listed(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers))


# What somebody states about a cluster and no API tells, and how far a plan may rely on it.


@dataclass(frozen=True, slots=True)
class Facts:
    """Principals with a part in Kafka's own rules, what must not change, and who states each fact.

    A fact that only manifests state is a claim of whoever proposes the change, so no change may look smaller for it:
    access is computed both with and without it. A plan made in Python without ``sources`` takes its facts as known.
    ``kafka_version`` is as stated; a plan goes by what the cluster tells, if it does (:class:`ClusterState`).
    """

    principal: Annotated[
        str | None,
        Says("The principal that plans and applies; null: not stated.", "User:reconciler", default=REQUIRED),
    ] = None
    inter_broker_principals: Annotated[
        tuple[str, ...], Says("The principals that the brokers connect to each other as.", default=REQUIRED)
    ] = ()
    super_users: Annotated[tuple[str, ...], Says("The brokers' super.users, as stated.", default=REQUIRED)] = ()
    protect: Annotated[
        tuple[Selector, ...],
        SELECTORS,
        Says("Names and principals whose access no plan may change.", default=REQUIRED),
    ] = ()
    sources: Annotated[
        FactSources,
        Says("Who states each: the operator's file, the manifests alone, or nobody.", default=REQUIRED),
    ] = NO_SOURCES
    kafka_version: Annotated[
        tuple[int, int] | None,
        KAFKA_VERSION,
        Says(
            "The Kafka release as stated; absent where nobody states it. What the cluster tells counts first.",
            "4.4",
            omit=True,
            before="sources",
        ),
    ] = None

    @property
    def established_super_users(self) -> tuple[str, ...]:
        """The super users on which a guard may rely."""
        return () if self.sources.super_users is FactSource.MANIFESTS else self.super_users

    def established_default_allow(self, default_allow: bool | None) -> bool | None:
        """The stated ``allow.everyone.if.no.acl.found``, ``None`` (unknown) where it is a claim."""
        return None if self.sources.default_allow.is_claim else default_allow


NO_FACTS: Final = Facts()
