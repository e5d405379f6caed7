"""The kinds of resources that a cluster in memory holds, by the rules of a Kafka 4.x controller."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from reconciler.codec.kinds import KINDS as LISTED
from reconciler.model.acl import CLUSTER_NAME, AclBinding, ResourceType
from reconciler.model.addresses import RANGES_LEVEL, RANGES_SINCE, ip_range
from reconciler.model.kinds import kind_finder
from reconciler.model.listing import NOT_READ, Change, ListedItem, altered, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    Layout,
    PartitionLayout,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
    collision_key,
    topic_name_problem,
)
from reconciler.model.topic_configs import RAISED_MINIMA, RETIRED_CONFIGS, THROTTLE_CONFIGS, TOPIC_CONFIGS, ConfigType
from reconciler.ports import DONE, Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.document import MAX_RECORDS, BrokerFacts, Snapshot, failed, topic_id


class Kind(ABC):
    """A kind of resource. It takes changes of this kind only, all of one verb and one type.

    ``TYPES`` are the types that the sides of its changes have.
    """

    TYPES: tuple[type, ...]

    @abstractmethod
    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """``state``, less what was not asked for of this kind. A gap is said of what was asked for only."""

    def can_validate(self, change: Change) -> bool:
        """Whether Kafka's protocol can validate such a change without performing it."""
        return False

    @abstractmethod
    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """The snapshot after the changes, by Kafka's rules, and an answer for each."""


class ListedKind(Kind):
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource
        self.TYPES = (resource,)

    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """All of them or none."""
        return state if self._resource.KIND in request.listings else state.with_listing(self._resource, NOT_READ)

    def can_validate(self, change: Change) -> bool:
        """As the kind says."""
        return self._resource.CAN_VALIDATE

    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """A change sets and removes its own values only; a snapshot without a listing of them takes none."""
        state = before.state
        listing = state.listing(self._resource)
        if listing.items is None:
            reason = listing.gap or f"the snapshot holds no {self._resource.WORDS}"
            return before, [failed("CLUSTER_AUTHORIZATION_FAILED", reason)] * len(changes)
        if state.metadata_version is not None and state.metadata_version < self._resource.LEVEL.number:
            return before, [failed("UNSUPPORTED_VERSION", self._resource.LEVEL.refusal)] * len(changes)
        items: dict[Any, ListedItem] = dict(listing.by_key)
        answers = []
        for change in changes:
            item: ListedItem = resource_of(change)
            refused = None if change.after is None else item.refusal(state.kafka_version)
            answers.append(DONE if refused is None else failed(*refused))
            if refused is None:
                there = items.get(item.key, item.with_values({}))
                items[item.key] = there.with_values(altered(there.values, change.before, change.after))
        remaining = frozenset(item for item in items.values() if item.values)
        return replace(before, state=state.with_listing(self._resource, replace(listing, items=remaining))), answers


class Acls(Kind):
    """ACL bindings: what a controller answers to CreateAcls and DeleteAcls (``AclApis``, ``AclControlManager``).

    Neither can be validated.
    """

    TYPES = (AclBinding,)

    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """All bindings or none."""
        return state if request.acls else replace(state, bindings=frozenset(), opaque=(), acl_gap=None)

    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """The snapshot afterwards, and an answer for each change."""
        bindings = [resource_of(change) for change in changes]
        if changes[0].before is None:
            after, answers = _with_bindings(before.state, bindings)
        else:
            after, answers = _without_bindings(before.state.bindings, bindings)
        return replace(before, state=replace(before.state, bindings=after)), answers


def _with_bindings(state: ClusterState, wanted: Sequence[AclBinding]) -> tuple[frozenset[AclBinding], list[Answer]]:
    """The bindings afterwards, and an answer for each wanted one.

    A bad one does not stop the others; an existing one is done without a record. More than 10,000 new ones are
    refused as a whole.
    """
    live = state.bindings
    answers = [_binding_refusal(binding, state) or DONE for binding in wanted]
    valid = {binding for binding, answer in zip(wanted, answers, strict=True) if answer.status is AnswerStatus.DONE}
    if len(valid - live) > MAX_RECORDS:
        refusal = failed("POLICY_VIOLATION", "Unable to perform excessively large batch operation.")
        return live, [refusal] * len(wanted)
    return live | valid, answers


def _binding_refusal(binding: AclBinding, state: ClusterState) -> Answer | None:
    pattern, principal, host = binding.pattern, binding.entry.principal, binding.entry.host
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return failed("INVALID_REQUEST", f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if ":" not in principal:
        # KAFKA-18051, from 4.0; up to 3.9 such an entry is accepted and breaks every request that meets it.
        return failed("INVALID_REQUEST", f"Could not parse principal from `{principal}` (no colon is present)")
    # KIP-1276: up to 4.3 any host is accepted, and one that is no address never matches.
    if state.kafka_version is not None and state.kafka_version >= RANGES_SINCE:
        if not host:
            return failed("INVALID_REQUEST", "Host pattern cannot be null or empty")
        if "/" in host and ip_range(host) is None:
            return failed("INVALID_REQUEST", f"Invalid CIDR notation '{host}'")
        if "/" in host and state.metadata_version is not None and state.metadata_version < RANGES_LEVEL:
            return failed("UNSUPPORTED_VERSION", "CIDR notation in ACLs requires metadata version 4.4-IV1 or higher")
    return None


def _without_bindings(
    live: frozenset[AclBinding], unwanted: Sequence[AclBinding]
) -> tuple[frozenset[AclBinding], list[Answer]]:
    """The bindings afterwards, and an answer for each filter; one that matches nothing is done."""
    gone = live.intersection(unwanted)
    if len(gone) > MAX_RECORDS:
        refusal = failed("INVALID_REQUEST", f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation.")
        return live, [refusal] * len(unwanted)
    return live - gone, [DONE] * len(unwanted)


# Replicas of a cluster in memory: every move is finished at once (``ReplicationControlManager``).


def layout(snapshot: Snapshot, names: Collection[str]) -> Layout:
    """The brokers, and the partitions of those of the topics whose replicas are known.

    Raises :class:`ClusterError` where the racks are not known, as in a file.
    """
    racks = snapshot.racks
    brokers = snapshot.broker.broker_ids
    if racks is None and brokers is not None and snapshot.state.topics.keys().isdisjoint(names):
        # Where replicas of new topics belong is not asked, only which brokers there are.
        racks = dict.fromkeys(brokers)
    if racks is None:
        message = "a snapshot does not say which racks brokers are in"
        raise ClusterError("layout_unread", message, "plan on the cluster itself")
    topics = snapshot.state.topics
    return Layout(
        racks,
        {
            name: tuple(PartitionLayout(item, frozenset(item)) for item in assigned)
            for name in names
            if name in topics and (assigned := topics[name].replica_assignments) is not None
        },
    )


def moved(before: Snapshot, changes: Sequence[Change]) -> tuple[ClusterState, list[Answer]]:
    """The state afterwards, and an answer for each topic; each partition moves or is refused by itself."""
    topics, answers = dict(before.state.topics), []
    for change in changes:
        old, new = change.before.assignments, change.after.assignments  # type: ignore[union-attr]
        topic = topics.get(change.after.name)  # type: ignore[union-attr]
        if topic is None or topic.replica_assignments is None:
            answers.append(failed("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."))
            continue
        wanted = {number: new[number] for number in range(len(new)) if new[number] != old[number]}
        refused = {number: why for number, item in wanted.items() if (why := _refused(before, item)) is not None}
        there = enumerate(topic.replica_assignments)
        assigned = tuple(item if number in refused else wanted.get(number, item) for number, item in there)
        factor = max(map(len, assigned), default=None)
        topics[topic.name] = replace(topic, replica_assignments=assigned, replication_factor=factor)
        answers.append(_answer(len(wanted), [*refused.values()]))
    return replace(before.state, topics=topics), answers


def _answer(wanted: int, refused: Sequence[Answer]) -> Answer:
    if not refused:
        return DONE
    if len(refused) == wanted:
        return refused[0]
    message = f"{len(refused)} of {wanted} partitions were refused: {refused[0].message}"
    return Answer(AnswerStatus.UNKNOWN, refused[0].code, message)


def _refused(before: Snapshot, replicas: tuple[int, ...]) -> Answer | None:
    brokers = before.racks if before.racks is not None else before.broker.broker_ids
    if not replicas or len(set(replicas)) < len(replicas):
        return failed("INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment is empty or names a broker twice.")
    if brokers is not None and not {*replicas} <= {*brokers}:
        message = "The manual partition assignment includes a broker, but no such broker is registered."
        return failed("INVALID_REPLICA_ASSIGNMENT", message)
    return None


def placed(broker: BrokerFacts, topic: Topic) -> Topic | Answer:
    """The topic with the broker's defaults filled in, or why Kafka refuses its numbers or its assignment."""
    if topic.replica_assignments is not None:
        return _assigned(broker, topic, topic.replica_assignments)
    partitions = broker.default_partitions if topic.num_partitions is None else topic.num_partitions
    replicas = broker.default_replication_factor if topic.replication_factor is None else topic.replication_factor
    if replicas < 1:
        return failed("INVALID_REPLICATION_FACTOR", "Replication factor was set to an invalid non-positive value.")
    if partitions < 1:
        return failed("INVALID_PARTITIONS", "Number of partitions was set to an invalid non-positive value.")
    if broker.broker_ids is not None and replicas > len(broker.broker_ids):
        return failed(
            "INVALID_REPLICATION_FACTOR",
            f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} "
            f"cannot be reached because only {len(broker.broker_ids)} broker(s) are registered.",
        )
    return replace(topic, num_partitions=partitions, replication_factor=replicas)


def _assigned(broker: BrokerFacts, topic: Topic, assignments: tuple[tuple[int, ...], ...]) -> Topic | Answer:
    lengths = {len(set(replicas)) for replicas in assignments}
    if len(lengths) != 1 or 0 in lengths or any(len(set(ids)) != len(ids) for ids in assignments):
        message = "Each partition of a manual assignment has the same number of different replicas, at least one."
        return failed("INVALID_REPLICA_ASSIGNMENT", message)
    if broker.broker_ids is not None and not frozenset(broker.broker_ids).issuperset(chain(*assignments)):
        return failed("INVALID_REPLICA_ASSIGNMENT", "The manual assignment names a broker that is not registered.")
    replicas = lengths.pop()
    if topic.num_partitions not in (None, len(assignments)) or topic.replication_factor not in (None, replicas):
        return failed("INVALID_REQUEST", "The counts do not agree with the manual assignment.")
    return replace(topic, num_partitions=len(assignments), replication_factor=replicas)


class Topics(Kind):
    """What a controller answers to the five topic requests (``ReplicationControlManager``, ``ControllerApis``).

    Two rules are stricter than Kafka's: internal topics are not deleted, and topics whose state could not be read are
    not touched (a broker that hides a topic refuses to change it too). Replicas of existing partitions are placed by
    nobody, those of a new topic as ``ReplicationControlManager.createTopic`` does. Every move is finished at once.
    """

    TYPES = (Topic, TopicPartitions, TopicConfigs, TopicReplicas)

    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """All topics or those that are named, which have no gap: a partial list does not show that one is missing."""
        if request.broker_defaults:
            defaults = {
                "auto.create.topics.enable": "false",
                "default.replication.factor": str(snapshot.broker.default_replication_factor),
                "num.partitions": str(snapshot.broker.default_partitions),
            }
            state = replace(state, broker_defaults=defaults)
        if request.layout:
            state = replace(state, layout=layout(snapshot, request.layout))
        if state.topic_gap is not None:
            hidden = {name: state.topic_gap for name in request.topic_names if name not in state.topics}
            state = replace(state, unreadable_topics={**hidden, **state.unreadable_topics})
        if request.all_topics:
            return state
        names = frozenset(request.topic_names)
        listed = frozenset({*state.topics, *state.unreadable_topics}) if request.topic_listing else frozenset()
        return replace(
            state,
            topics={name: topic for name, topic in state.topics.items() if name in names},
            unreadable_topics={name: why for name, why in state.unreadable_topics.items() if name in names},
            topic_gap=None,
            topic_names=listed,
        )

    def can_validate(self, change: Change) -> bool:
        """All but deletions and moves (KIP-108)."""
        after: Any = change.after
        return after is not None and after.CAN_VALIDATE

    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """The snapshot afterwards, and an answer for each change."""
        after = changes[0].after
        if changes[0].before is None:
            return _create(before, [resource_of(change) for change in changes])
        state, answers = (_delete if after is None else _UPDATES[type(after)])(before, changes)
        return replace(before, state=state), answers


def _create(before: Snapshot, wanted: Sequence[Topic]) -> tuple[Snapshot, list[Answer]]:
    """The snapshot afterwards, and an answer for each topic, in Kafka's order of checks.

    Collisions of ``.`` and ``_`` are looked for among existing topics only, as Kafka does.
    """
    # Kafka refuses every occurrence of a repeated name, not only the second one.
    twice = _repeated(topic.name for topic in wanted)
    existing = {collision_key(name): name for name in before.state.topics}
    results = [_duplicate() if topic.name in twice else _new_topic(before, existing, topic) for topic in wanted]
    created = [result for result in results if not isinstance(result, Answer)]
    if sum(1 + (topic.num_partitions or 0) + len(topic.configs) for topic in created) > MAX_RECORDS:
        refusal = failed("POLICY_VIOLATION", "Unable to perform excessively large batch operation.")
        return before, [refusal] * len(wanted)
    return _with_new(before, created), [result if isinstance(result, Answer) else DONE for result in results]


def _new_topic(before: Snapshot, existing: dict[str, str], topic: Topic) -> Topic | Answer:
    refusal = _name_refusal(before.state, existing, topic.name)
    if refusal is not None:
        return refusal
    try:
        configs = {name: normal_value(name, value) for name, value in topic.configs.items()}
    except ConfigError as problem:
        return failed("INVALID_CONFIG", str(problem))
    return placed(before.broker, replace(topic, configs=configs))


def _name_refusal(state: ClusterState, existing: dict[str, str], name: str) -> Answer | None:
    if name == METADATA_TOPIC:
        return failed("INVALID_REQUEST", f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    problem = topic_name_problem(name)
    if problem is not None:
        return failed("INVALID_TOPIC_EXCEPTION", problem)
    if name in state.topics:
        return failed("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
    if name in state.unreadable_topics:
        return _hidden(name)
    other = existing.get(collision_key(name))
    if other is not None:
        return failed("INVALID_TOPIC_EXCEPTION", f"Topic '{name}' collides with existing topic: {other}")
    return None


def _with_new(before: Snapshot, created: Sequence[Topic]) -> Snapshot:
    count = before.broker.topics_created
    named = {
        topic.name: replace(topic, topic_id=topic_id(before.state.cluster_id, number))
        for number, topic in enumerate(created, start=count + 1)
    }
    state = replace(before.state, topics={**before.state.topics, **named})
    return replace(before, state=state, broker=replace(before.broker, topics_created=count + len(created)))


def _delete(before: Snapshot, changes: Sequence[Change]) -> tuple[ClusterState, list[Answer]]:
    """The state afterwards, and an answer for each topic."""
    state, names = before.state, [resource_of(change).name for change in changes]
    twice = _repeated(names)
    answers = [_duplicate() if name in twice else _deletion(state, name) for name in names]
    gone = {name for name, answer in zip(names, answers, strict=True) if answer.status is AnswerStatus.DONE}
    kept = {name: topic for name, topic in state.topics.items() if name not in gone}
    return replace(state, topics=kept), answers


def _deletion(state: ClusterState, name: str) -> Answer:
    if name in INTERNAL_TOPICS:
        return failed("INVALID_REQUEST", f"{name} is an internal topic.")
    return _missing(state, name) or DONE


def _add_partitions(before: Snapshot, changes: Sequence[Change]) -> tuple[ClusterState, list[Answer]]:
    """The state afterwards, and an answer for each change; the same count is no success (``INVALID_PARTITIONS``)."""
    state = before.state
    wanted: list[TopicPartitions] = [resource_of(change) for change in changes]
    twice = _repeated(side.name for side in wanted)
    answers = [_duplicate() if side.name in twice else _increase(before, side) for side in wanted]
    raised = {
        side.name: _raised(state.topics[side.name], side)
        for side, answer in zip(wanted, answers, strict=True)
        if answer.status is AnswerStatus.DONE
    }
    return replace(state, topics={**state.topics, **raised}), answers


def _raised(topic: Topic, wanted: TopicPartitions) -> Topic:
    """Where the new replicas are is known only if they were assigned and those before them are known."""
    assigned = topic.replica_assignments is not None and wanted.assignments is not None
    assignments = (*(topic.replica_assignments or ()), *(wanted.assignments or ())) if assigned else None
    return replace(topic, num_partitions=wanted.count, replica_assignments=assignments)


def _increase(before: Snapshot, wanted: TopicPartitions) -> Answer:
    state = before.state
    refusal = _missing(state, wanted.name)
    if refusal is not None:
        return refusal
    current = state.topics[wanted.name].num_partitions
    if current is None:
        return failed("INVALID_PARTITIONS", "The snapshot does not say how many partitions the topic has.")
    if wanted.count == current:
        return failed("INVALID_PARTITIONS", f"Topic already has {current} partition(s).")
    if wanted.count < current:
        message = (
            f"The topic {wanted.name} currently has {current} partition(s); {wanted.count} would not be an increase."
        )
        return failed("INVALID_PARTITIONS", message)
    if wanted.assignments is None:
        return DONE
    added = Topic(wanted.name, wanted.count - current, state.topics[wanted.name].replication_factor)
    result = placed(before.broker, replace(added, replica_assignments=wanted.assignments))
    return failed("INVALID_REPLICA_ASSIGNMENT", result.message) if isinstance(result, Answer) else DONE


def _alter_configs(before: Snapshot, changes: Sequence[Change]) -> tuple[ClusterState, list[Answer]]:
    """The state afterwards, and an answer for each topic: all of its settings or none (IncrementalAlterConfigs)."""
    state, wanted = before.state, [resource_of(change) for change in changes]
    twice = _repeated(side.name for side in wanted)
    topics, answers = dict(state.topics), []
    for side in wanted:
        result = _duplicate() if side.name in twice else _altered(state, side)
        answers.append(result if isinstance(result, Answer) else DONE)
        if not isinstance(result, Answer):
            topics[side.name] = result
    return replace(state, topics=topics), answers


def _altered(state: ClusterState, wanted: TopicConfigs) -> Topic | Answer:
    if wanted.name in state.unreadable_topics:
        return _hidden(wanted.name)
    try:
        values = {name: normal_value(name, value) for name, value in wanted.configs.items() if value is not None}
    except ConfigError as problem:  # Kafka looks at the settings first, then for the topic
        return failed("INVALID_CONFIG", str(problem))
    topic = state.topics.get(wanted.name)
    if topic is None:
        return _unknown()
    configs = {name: value for name, value in topic.configs.items() if name not in wanted.configs}
    return replace(topic, configs={**configs, **values})


#: What is done to a live topic, by the side of it that changes.
_UPDATES: Final[Mapping[type, Callable[[Snapshot, Sequence[Change]], tuple[ClusterState, list[Answer]]]]] = {
    TopicPartitions: _add_partitions,
    TopicConfigs: _alter_configs,
    TopicReplicas: moved,
}


def _missing(state: ClusterState, name: str) -> Answer | None:
    if name in state.unreadable_topics:
        return _hidden(name)
    if name not in state.topics:
        return _unknown()
    return None


def _unknown() -> Answer:
    return failed("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.")


def _hidden(name: str) -> Answer:
    return failed("TOPIC_AUTHORIZATION_FAILED", f"The snapshot could not read {name}, so it cannot be changed.")


def _repeated(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name, count in Counter(names).items() if count > 1)


def _duplicate() -> Answer:
    return failed("INVALID_REQUEST", "Duplicate topic name.")


KINDS: Final[tuple[Kind, ...]] = (Acls(), Topics(), *(ListedKind(kind.TYPE) for kind in LISTED))
kind_of: Final = kind_finder(KINDS)


# Topic settings as a Kafka 4.4 controller checks them (``LogConfig``, ``ConfigDef.parseType``).
#
# Modest on purpose: names, types, and the bounds that people meet. Rules among several settings, and what a broker's
# own configuration forbids, are left to brokers.

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LONG_MAX: Final = 2**63 - 1
_INT_MAX: Final = 2**31 - 1

#: Least and greatest value, where they are not 0 and the greatest long.
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "compression.gzip.level": (-1, 9),
        "compression.lz4.level": (1, 17),
        "compression.zstd.level": (-131_072, 22),
        "flush.messages": (1, _LONG_MAX),
        "index.interval.bytes": (0, _INT_MAX),
        "local.retention.bytes": (-2, _LONG_MAX),
        "local.retention.ms": (-2, _LONG_MAX),
        "max.compaction.lag.ms": (1, _LONG_MAX),
        "max.decompressed.message.bytes": (1, 2_147_483_639),
        "max.message.bytes": (0, _INT_MAX),
        "min.insync.replicas": (1, _INT_MAX),
        "remote.copy.lag.bytes": (-1, _LONG_MAX),
        "remote.copy.lag.ms": (-1, _LONG_MAX),
        "retention.bytes": (-_LONG_MAX - 1, _LONG_MAX),
        "retention.ms": (-1, _LONG_MAX),
        "segment.bytes": (RAISED_MINIMA["segment.bytes"][0], _INT_MAX),
        "segment.index.bytes": (4, _INT_MAX),
        "segment.ms": (1, _LONG_MAX),
    }
)
#: ``ThrottledReplicaListValidator``.
_THROTTLED = re.compile(r"([0-9]+:[0-9]+)?")
_CHOICES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "cleanup.policy": frozenset({"compact", "delete"}),
        "compression.type": frozenset({"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}),
        "message.timestamp.type": frozenset({"CreateTime", "LogAppendTime"}),
    }
)


class ConfigError(ValueError):
    """A name or value that Kafka refuses with INVALID_CONFIG."""


def normal_value(name: str, value: str) -> str:
    """``value`` as a broker shows it afterwards; raises :class:`ConfigError`."""
    config_type = TOPIC_CONFIGS.get(name)
    if config_type is None or name in RETIRED_CONFIGS:
        raise ConfigError(f"Unknown topic config name: {name}")
    try:
        return _parsed(name, config_type, value.strip())
    except ValueError as error:
        raise ConfigError(f"Invalid value {value} for configuration {name}: {error}") from None


def _parsed(name: str, config_type: ConfigType, text: str) -> str:
    match config_type:
        case ConfigType.BOOLEAN:
            return _choice(text.lower(), frozenset({"true", "false"}))
        case ConfigType.INTEGER | ConfigType.MILLIS | ConfigType.BYTES:
            number = _integer(text, *_BOUNDS.get(name, (0, _LONG_MAX)))
            if name == "compression.gzip.level" and number == 0:
                raise ValueError("Value must be between 1 and 9 or equal to -1")
            return str(number)
        case ConfigType.DOUBLE:
            return str(_ratio(text))
        case ConfigType.LIST:
            items = [item.strip() for item in text.split(",")] if text else []
            if name in THROTTLE_CONFIGS and items != ["*"] and not all(map(_THROTTLED.fullmatch, items)):
                raise ValueError(f"{name} must be the literal '*' or a list of replicas [partitionId]:[brokerId]")
            chosen = [_choice(item, _CHOICES.get(name)) for item in items]
            return ",".join(chosen if name in THROTTLE_CONFIGS else dict.fromkeys(chosen))
        case ConfigType.STRING:
            return _choice(text, _CHOICES.get(name))


def _integer(text: str, least: int, greatest: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("Not a number")
    if not least <= int(text) <= greatest:
        raise ValueError(f"Value must be between {least} and {greatest}")
    return int(text)


def _ratio(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise ValueError("Not a number of type DOUBLE")
    if not 0 <= float(text) <= 1:
        raise ValueError("Value must be between 0 and 1")
    return float(text)


def _choice(text: str, allowed: frozenset[str] | None) -> str:
    if allowed is not None and text not in allowed:
        raise ValueError(f"String must be one of: {', '.join(sorted(allowed))}")
    return text
