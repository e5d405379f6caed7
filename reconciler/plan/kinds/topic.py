"""Topics: created and deleted as a whole; a live one gets partitions, other configs, or its replicas elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec
from reconciler.codec.values import created, deleted, updated
from reconciler.model.characters import as_name
from reconciler.model.flavor import Flavor, IntermediateValue
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.scope import Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.model.topic_configs import data_loss
from reconciler.plan.kinds.interface import Kind, PhaseContext
from reconciler.plan.observed import (
    DONE,
    MOST_COPIED,
    PENDING,
    Observed,
    StepState,
    observed_configs,
    observed_creation,
    observed_id,
    observed_partitions,
    observed_replicas,
)
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.policy.laws import MOVE, TOPIC, Law

#: Whether brokers create a topic when a client asks for it.
AUTO_CREATE: Final = "auto.create.topics.enable"
PARTITIONS: Final = "num.partitions"
REPLICAS: Final = "default.replication.factor"
MIN_INSYNC: Final = "min.insync.replicas"
_PARTS: Final = (TopicPartitions, TopicConfigs, TopicReplicas)
_Side: TypeAlias = TopicPartitions | TopicConfigs | TopicReplicas


def _topics(before: _Side, after: _Side) -> str | None:
    if (before.name, before.topic_id) != (after.name, after.topic_id):
        return "before and after are not the same topic"
    return None


def _configs(before: TopicConfigs, after: TopicConfigs) -> str | None:
    if [*before.configs] != [*after.configs]:
        return f"before and after do not have the same configs of topic {before.name}"
    if any(side.configs.get(key) not in (None, "-2") for side in (before, after) for key in side.effective):
        return f"a config of topic {before.name} has a value, and another one in force"
    return _topics(before, after)


def _replicas(before: TopicReplicas, after: TopicReplicas) -> str | None:
    if len(before.assignments) != len(after.assignments):
        return f"before and after do not have the same partitions of topic {before.name}"
    if not all(replicas and len(set(replicas)) == len(replicas) for replicas in after.assignments):
        return f"a partition of topic {before.name} has no replica, or a broker twice"
    return _topics(before, after)


#: How a change of topics looks in JSON.
CODECS: Final[Mapping[str, Codec[Any]]] = {
    "CreateTopic": created(record_of(Topic)),
    "DeleteTopic": deleted(record_of(Topic)),
    "CreatePartitions": updated(record_of(TopicPartitions), _topics),
    "AlterConfigs": updated(record_of(TopicConfigs), _configs),
    "MoveReplicas": updated(record_of(TopicReplicas), _replicas),
}

_UPDATES: Final = {
    TopicPartitions: "CreatePartitions",
    TopicConfigs: "AlterConfigs",
    TopicReplicas: "MoveReplicas",
}


def name_of(change: Change) -> str:
    """The topic's name."""
    if isinstance(change, Impossible):
        return change.name
    side: Any = change.before or change.after
    return str(side.name)


def created_topics(changes: Iterable[Change]) -> list[Topic]:
    """The topics that changes create, in order."""
    return [c.after for c in changes if isinstance(c, Create) and isinstance(c.after, Topic)]


def deleted_topics(changes: Iterable[Change]) -> list[Topic]:
    """The topics that changes delete, in order."""
    return [c.before for c in changes if isinstance(c, Delete) and isinstance(c.before, Topic)]


def topics_after(live: Mapping[str, Topic], changes: Iterable[Change]) -> dict[str, Topic | None]:
    """The topics that changes create, delete, configure or place, as they are then; ``None`` where there is none."""
    found: dict[str, Topic | None] = {}
    for change in changes:
        match change:
            case Create(Topic() as topic):
                found[topic.name] = topic
            case Delete(Topic() as topic):
                found[topic.name] = None
            case Update(_, TopicConfigs() as after):
                before = found.get(after.name, live.get(after.name))
                if before is not None:
                    kept = {**before.configs, **after.configs}
                    configs = {key: value for key, value in kept.items() if value is not None}
                    found[after.name] = before.with_configs(configs)
            case Update(_, TopicReplicas() as after):
                before = found.get(after.name, live.get(after.name))
                if before is not None:
                    found[after.name] = replace(before, replica_assignments=after.assignments)
    return found


def grown_topics(changes: Iterable[Change]) -> list[str]:
    """The names of the topics to which changes add partitions, in order."""
    return [change.after.name for change in changes if isinstance(change.after, TopicPartitions)]


def set_between(changes: Iterable[Change], flavor: Flavor) -> Iterator[tuple[str, IntermediateValue]]:
    """Topics of which a config gets another value first, because a service refuses the change in one step."""
    for change in changes:
        match change:
            case Update(TopicConfigs(configs=before), TopicConfigs(name, after)):
                step = flavor.intermediate(before, after)
                if step is not None:
                    yield name, step


def configs_set(changes: Iterable[Change]) -> Iterator[tuple[str, str, str]]:
    """Topic, config and value, for each that is set when a topic is created or altered."""
    for after in (change.after for change in changes):
        if isinstance(after, Topic | TopicConfigs):
            yield from ((after.name, key, value) for key, value in after.configs.items() if value is not None)


def touched_names(changes: Iterable[Change]) -> tuple[str, ...]:
    """The names of the topics that changes touch, each once, in order of first mention."""
    names = (name_of(change) for change in changes if isinstance(change.after or change.before, Topics.types))
    return tuple(dict.fromkeys(names))


def losses(change: Change) -> tuple[str, ...]:
    """Why a change of configs may lose records, one reason a config; empty for every other change."""
    match change:
        case Update(TopicConfigs() as before, TopicConfigs(configs=configs) as after):
            found = (data_loss(key, before.holds(key), after.holds(key)) for key in configs)
            return tuple(reason for reason in found if reason)
    return ()


def loss_by_default(change: Change) -> Iterator[tuple[str, str]]:
    """Each config that goes back to a broker's default with which nothing is lost, as long as that stays; the default.

    Where what goes depends on the config alone (:func:`losses`), a default is another's to lower.
    """
    match change:
        case Update(TopicConfigs() as before, TopicConfigs(configs=configs) as after):
            for key, value in configs.items():
                held = after.holds(key)
                if value is not None or held is None or data_loss(key, before.holds(key), held) is not None:
                    continue
                if data_loss(key, held, None) is not None:
                    yield key, held


def _places(change: Change) -> bool:
    """Whether a controller places replicas for it."""
    return isinstance(change.after, Topic | TopicPartitions | TopicReplicas)


class Topics(Kind):
    """Topics: of all kinds only they have declared states that Kafka cannot reach."""

    types = (Topic, TopicPartitions, TopicConfigs, TopicReplicas, Impossible)
    codecs = CODECS

    def law(self, change: Change) -> Law:
        """The one of topics, or of moves of replicas."""
        return MOVE if isinstance(change.after, TopicReplicas) else TOPIC

    def action(self, change: Change) -> str:
        """What is done to a live or a new topic; ``Impossible`` is never performed."""
        match change:
            case Create():
                return "CreateTopic"
            case Delete():
                return "DeleteTopic"
            case Update():
                return _UPDATES[type(change.after)]
            case Impossible():
                return "Impossible"

    def describe(self, change: Change) -> str:
        """``add partitions to topic payments.orders``."""
        match change:
            case Create():
                return f"create topic {change.after.name}"
            case Delete():
                return f"delete topic {change.before.name}"
            case Update(_, TopicPartitions(name)):
                return f"add partitions to topic {name}"
            case Update(_, TopicReplicas(name)):
                return f"move replicas of topic {name}"
            case Update(_, after):
                return f"alter configs of topic {after.name}"
            case Impossible(what, name):
                return f"change {what} of {name}"

    def key(self, change: Change) -> tuple[str, Any]:
        """By what is done, then by name."""
        return self.action(change), name_of(change)

    def is_reversible(self, change: Change) -> bool:
        """Not a deleted topic, not added partitions, not records that a change of configs loses."""
        match change:
            case Delete() | Update(_, TopicPartitions()):
                return False
        return not losses(change)

    def touches(self, change: Change) -> frozenset[object]:
        """Partitions and configs of a live topic apart; one that is created or deleted has no other step."""
        sides = _PARTS if isinstance(change.after or change.before, Topic) else (type(change.after),)
        return frozenset((name_of(change), side) for side in sides)

    def is_destructive(self, change: Change) -> bool:
        """Whether it takes a topic or records away."""
        return isinstance(change, Delete) or bool(losses(change))

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """New topics after their grants, what is lost after the revocations of those who could write it again."""
        match change:
            case Create(Topic(name)):
                reached = context.vanishing.reaches(name)
                return Phase.CREATE_WAITING_TOPIC if reached else Phase.CREATE_TOPIC
            case Delete():
                return Phase.DELETE_TOPIC
            case Update(_, TopicPartitions()):
                return Phase.CREATE_PARTITIONS
            case Update(_, TopicConfigs()):
                return Phase.DELETE_TOPIC if losses(change) else Phase.ALTER_CONFIGS
            case Update(_, TopicReplicas()):
                return Phase.MOVE_REPLICAS
        raise TypeError(f"{change!r} is not a step on a topic")

    def warnings(self, changes: Sequence[Change], live: ClusterState) -> Iterator[str]:
        """The brokers on which no replica is placed because all their log directories are cordoned (KIP-1066)."""
        cordoned = () if live.layout is None else sorted(live.layout.cordoned)
        placed = [name_of(change) for change in changes if _places(change)]
        if cordoned and placed:
            brokers = ", ".join(map(str, cordoned))
            yield (
                f"all log directories of broker {brokers} are cordoned: no replica is placed there, and none of a "
                f"partition that moves stays: {', '.join(map(as_name, placed))}"
            )

    def refusals(self, change: Change) -> Iterator[Refusal]:
        """Records that go are lost for good, and large copies slow brokers down: each topic needs a person's word."""
        name = name_of(change)
        if isinstance(change, Delete):
            yield refusal(Guard.TOPIC_DELETE, name, f"deletes topic {name} and all its records")
        if isinstance(change.after, TopicReplicas) and change.after.copied > MOST_COPIED:
            size = f"{change.after.copied // 2**30:,} GiB"
            yield refusal(
                Guard.REPLICA_MOVE, name, f"copies up to {size} between brokers to move replicas of topic {name}"
            )
        for reason in losses(change):
            yield refusal(Guard.DATA_LOSS, name, f"may lose records of topic {name}: {reason}")

    def is_selected(self, change: Change, selector: Selector) -> bool:
        """By the topic's name."""
        return selector.selects_topic(name_of(change))

    def irreversible(self, change: Change) -> str | None:
        """What no undo brings back."""
        match change:
            case Delete(Topic(name)):
                return f"the records of topic {name} are gone: it can only be created again empty"
            case Update(TopicPartitions(name, before), TopicPartitions(_, after)):
                return f"topic {name} keeps {after} partitions: they cannot be reduced to {before} again"
            case Update(_, TopicConfigs(name)) if losses(change):
                return f"what topic {name} then no longer keeps is gone, even if the configs are put back"
        return None

    def broker_defaults(self, change: Change) -> Iterator[str]:
        """The names of the broker's settings that decide what the change leaves open."""
        match change:
            case Create(Topic(_, partitions, replicas)):
                if partitions is None:
                    yield PARTITIONS
                if replicas is None:
                    yield REPLICAS
            case Update(TopicConfigs(_, before), TopicConfigs(_, after)):
                yield from (name for name in after if after[name] is None or before[name] is None)
            case Delete():
                # A client that still uses the topic would bring it back, empty and with the broker's defaults.
                yield AUTO_CREATE

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Whether the topic still is as the change expects it, or already as it leaves it."""
        name = name_of(change)
        # First of all: a topic that could not be read is not among the topics, and would look deleted.
        if reason := live.unreadable_topics.get(name):
            return Observed(StepState.UNREADABLE, f"topic {name}", "readable", reason)
        topic = live.topics.get(name)
        match change:
            case Create(Topic() as wanted):
                return PENDING if topic is None else observed_creation(wanted, topic)
            case Delete(Topic() as expected):
                return DONE if topic is None else observed_id(expected.topic_id, topic)
            case Update(TopicPartitions(_, before, topic_id), TopicPartitions(_, after)):
                return observed_partitions(before, after, topic_id, topic, name)
            case Update(TopicConfigs() as old, TopicConfigs() as new):
                return observed_configs(old, new, topic, live.broker_defaults)
            case Update(TopicReplicas() as old, TopicReplicas() as new):
                return observed_replicas(old, new, topic, live)
        raise TypeError(f"{change!r} is not a step on a topic")


KIND: Final = Topics()
