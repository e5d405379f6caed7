"""Topics: created and deleted as a whole; a live one gets partitions, other configs, or its replicas elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec
from reconciler.codec.values import created, deleted, updated
from reconciler.model.characters import as_name
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic
from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.scope import Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    INTERNAL_TOPICS,
    Assignments,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
    collision_key,
)
from reconciler.model.topic_configs import THROTTLE_CONFIGS, data_loss, effective, normal_form, refusal_of
from reconciler.plan import observed
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.plan.kinds.interface import FirstStep, Kind, PhaseContext
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.plan.replicas import replica_changes, unfinished, unplaceable
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
    topics: dict[str, Topic | None] = {}
    for change in changes:
        match change:
            case Create(Topic() as topic):
                topics[topic.name] = topic
            case Delete(Topic() as topic):
                topics[topic.name] = None
            case Update(_, TopicConfigs() as after):
                before = topics.get(after.name, live.get(after.name))
                if before is not None:
                    kept = {**before.configs, **after.configs}
                    configs = {key: value for key, value in kept.items() if value is not None}
                    topics[after.name] = before.with_configs(configs)
            case Update(_, TopicReplicas() as after):
                before = topics.get(after.name, live.get(after.name))
                if before is not None:
                    topics[after.name] = replace(before, replica_assignments=after.assignments)
    return topics


def grown_topics(changes: Iterable[Change]) -> list[str]:
    """The names of the topics to which changes add partitions, in order."""
    return [change.after.name for change in changes if isinstance(change.after, TopicPartitions)]


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
            reasons = (data_loss(key, before.holds(key), after.holds(key)) for key in configs)
            return tuple(reason for reason in reasons if reason)
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


def with_reason(change: Change, reason: str) -> Change:
    """An impossible change with the reason that JSON keeps beside it; every other change as it is."""
    return replace(change, reason=reason) if isinstance(change, Impossible) else change


_FEWER: Final = "Kafka cannot remove partitions; create a new topic, copy the records, and move the clients to it"
_FIRST_MOVE: Final = "new partitions get as many replicas as the topic has: move the replicas first"
#: ``QuorumController.MAX_RECORDS_PER_USER_OP`` and ``ReplicationControlManager``.
_MOST_RECORDS: Final = 10_000
_TOO_MANY: Final = "Kafka creates at most 10,000 partitions and configs in one request: start with fewer, then add more"
_UNDECLARED_TOPIC: Final = (
    "no manifest declares it: declare it, ignore it, or write prune: [topics] to plan its deletion"
)
_INTERNAL: Final = "Kafka keeps this topic for itself; it is never deleted"


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
        if isinstance(change.after, TopicReplicas) and change.after.copied > observed.MOST_COPIED:
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

    def first_step(self, change: Change, flavor: Flavor) -> FirstStep | None:
        """A config that gets another value first, because the service refuses the change in one step."""
        match change:
            case Update(TopicConfigs() as before, TopicConfigs() as after):
                step = flavor.intermediate(before.configs, after.configs)
                if step is not None:
                    was, between = {step.config: before.configs.get(step.config)}, {step.config: step.via}
                    return FirstStep(Update(replace(before, configs=was), replace(after, configs=between)), step)
        return None

    def observe(self, change: Change, live: ClusterState) -> observed.Observed:
        """Whether the topic still is as the change expects it, or already as it leaves it."""
        name = name_of(change)
        # First of all: a topic that could not be read is not among the topics, and would look deleted.
        if reason := live.unreadable_topics.get(name):
            return observed.Observed(observed.StepState.UNREADABLE, f"topic {name}", "readable", reason)
        topic = live.topics.get(name)
        match change:
            case Create(Topic() as wanted):
                return observed.PENDING if topic is None else observed.observed_creation(wanted, topic)
            case Delete(Topic() as expected):
                return observed.DONE if topic is None else observed.observed_id(expected.topic_id, topic)
            case Update(TopicPartitions(_, before, topic_id), TopicPartitions(_, after)):
                return observed.observed_partitions(before, after, topic_id, topic, name)
            case Update(TopicConfigs() as old, TopicConfigs() as new):
                return observed.observed_configs(old, new, topic, live.broker_defaults)
            case Update(TopicReplicas() as old, TopicReplicas() as new):
                return observed.observed_replicas(old, new, topic, live)
        raise TypeError(f"{change!r} is not a step on a topic")

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Declared topics by name, then those to be pruned; topics that could not be read are skipped."""
        changes: list[DeclaredChange] = []
        skipped: list[Skipped] = []
        # Those that could not be read exist all the same: a new topic must not collide with them either.
        taken = {collision_key(name): name for name in (*live.topics, *live.unreadable_topics)}
        for name, wanted in sorted(desired.topics.items()):
            if reason := live.unreadable_topics.get(name):
                skipped.append(Skipped(SkipReason.UNREADABLE, f"topic {name}", reason, origin=wanted.origin))
                continue
            if (moving := unfinished(wanted, live)) is not None:
                skipped.append(moving)
            candidates = _changes(wanted, live, rules)
            for change in _accepted(candidates, live.kafka_version, rules.flavor):
                possible = _without_collision(change, taken, desired)
                if isinstance(possible, Impossible):
                    skipped.append(_impossible(possible, wanted))
                else:
                    changes.append(DeclaredChange(possible, Declaration(wanted.origin)))
                    if isinstance(possible, Create):
                        # Kafka itself does not look for collisions among the topics of one request.
                        taken[collision_key(name)] = name
        if Topic.KIND in rules.prune:
            # What cannot be removed are Kafka's own topics: nobody declared that they should go.
            pruned = (change for change in _pruned(desired, live, scope) if not isinstance(change, Impossible))
            changes.extend(map(DeclaredChange, pruned))
        elif rules.report_topics:
            skipped.extend(_undeclared(desired, live, scope))
        return Comparison(tuple(changes), tuple(skipped))

    def has_ended(self, change: Change, desired: DesiredState) -> bool:
        """Never: topics have no ends."""
        return False

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """A topic to create or alter has to be declared so; one to delete has to be declared absent, or pruned."""
        match change:
            case Create(Topic() as topic):
                return None if _declared(topic.name, desired) == topic else "to be declared so"
            case Update(_, TopicPartitions(name, count)):
                wanted = _declared(name, desired)
                return None if wanted is not None and wanted.num_partitions == count else "to be declared so"
            case Update(_, TopicConfigs(name, configs)):
                wanted = _declared(name, desired)
                return None if wanted is not None and _wants(wanted, configs) else "to be declared so"
            case Update(_, TopicReplicas(name, assignments)):
                wanted = _declared(name, desired)
                return None if wanted is not None and _wants_replicas(wanted, assignments) else "to be declared so"
            case Delete(Topic() as topic):
                declared = desired.topics.get(topic.name)
                # A topic that is declared absent goes by that word; any other only where undeclared ones are pruned.
                gone = Topic.KIND in rules.prune if declared is None else declared.absent
                return None if gone else "to be declared absent"
        return None


def _without_collision(change: Change, taken: dict[str, str], desired: DesiredState) -> Change:
    """Kafka refuses a new topic whose name differs from a live one only in ``.`` against ``_``.

    Deletions come last, so it has to wait also for one that goes.
    """
    if isinstance(change, Create):
        other = taken.get(collision_key(change.after.name))
        if other is not None:
            reason = f"the name collides with the topic {other}: Kafka takes '.' and '_' for the same in metrics"
            if (going := desired.topics.get(other)) is not None and going.absent:
                reason += "; once that one is deleted, plan again"
            return Impossible("topic", change.after.name, "absent", "exists", reason)
    return change


def _accepted(changes: Iterable[Change], version: tuple[int, int] | None, flavor: Flavor) -> Iterator[Change]:
    """The changes without configs that brokers of this release or make refuse, each of which is impossible.

    A release that is not known refuses nothing here: the plan says so (``plan.review.topic_warnings``).
    """
    for change in changes:
        match change:
            case Create(Topic() as topic):
                reasons = (_why(name, value, version, flavor) for name, value in topic.configs.items())
                refused = [why for why in reasons if why]
                # A topic is created with all of its configs or not at all: with fewer it is not what was reviewed.
                yield Impossible("topic", topic.name, "absent", "exists", ". ".join(refused)) if refused else change
            case Update(TopicConfigs() as before, TopicConfigs() as after):
                # Configs of an existing topic are altered one by one: the others need not wait for a refused one.
                kept = dict(after.configs)
                for name, value in after.configs.items():
                    if value is not None and (why := _why(name, value, version, flavor)):
                        old = before.configs[name]
                        yield Impossible(f"config {name}", after.name, "not set" if old is None else old, value, why)
                        del kept[name]
                if kept:
                    yield Update(before.only(kept), after.only(kept))
            case _:
                yield change


def _why(name: str, value: str, version: tuple[int, int] | None, flavor: Flavor) -> str | None:
    """Why brokers of a release or make refuse a config; ``None`` where they do not, or the release is not known."""
    if not flavor.may_set(name):
        return f"{flavor.title} does not let a user set {name}: remove it, or declare it for other clusters only"
    refusal = refusal_of(name, normal_form(name, value))
    if refusal is None or version is None or version < refusal.since:
        return None
    return f"Kafka since {refusal.release} refuses {name}: {refusal.reason}; {refusal.advice}"


def _impossible(change: Impossible, wanted: DesiredTopic) -> Skipped:
    subject = f"topic {change.name}: {change.what} {change.before} → {change.after}"
    return Skipped(SkipReason.IMPOSSIBLE, subject, change.reason, change, wanted.origin)


def _undeclared(desired: DesiredState, live: ClusterState, scope: Scope) -> Iterator[Skipped]:
    """Topics that a scope holds and nobody declares.

    An item with ``topics`` limits ACLs too. So it speaks of the topics themselves only where manifests declare some:
    whoever manages nothing but ACLs does not answer for topics.
    """
    if not scope.holds_topics or not desired.topics:
        return
    for name in sorted({*live.topics, *live.unreadable_topics} - desired.topics.keys() - INTERNAL_TOPICS):
        if scope.owns_topic(name, declared=False):
            yield Skipped(SkipReason.UNDECLARED, f"topic {name}", _UNDECLARED_TOPIC)


def _pruned(desired: DesiredState, live: ClusterState, scope: Scope) -> Iterator[Change]:
    for name, topic in live.topics.items():
        if name not in desired.topics and scope.owns_topic(name, declared=False):
            yield _removal(topic)


def _changes(wanted: DesiredTopic, state: ClusterState, rules: DiffRules) -> Iterator[Change]:
    """Yield what turns the live topic into ``wanted``."""
    live = state.topics.get(wanted.topic.name)
    if wanted.absent:
        if live is not None:
            yield _removal(live)
    elif live is None:
        why = _uncreatable(wanted.topic, state)
        new = wanted.topic
        yield Create(new) if why is None else Impossible("topic", new.name, "absent", "exists", why)
    else:
        yield from _partition_changes(wanted.topic, live)
        yield from replica_changes(wanted.topic, live, state)
        yield from _config_changes(wanted.topic, live, rules, state.broker_defaults)


def _uncreatable(new: Topic, state: ClusterState) -> str | None:
    """Why no controller of this cluster creates a topic; ``None`` also where its brokers are not known."""
    # One record for the topic, for each partition and for each config, in one batch that Kafka does not split.
    if 1 + (new.num_partitions or 0) + len(new.configs) > _MOST_RECORDS:
        return _TOO_MANY
    return None if state.layout is None else unplaceable(new, state.layout)


def _removal(live: Topic) -> Change:
    """The deletion of a live topic, impossible for Kafka's own."""
    if live.name in INTERNAL_TOPICS:
        return Impossible("topic", live.name, "exists", "absent", _INTERNAL)
    # Where its replicas are is of no concern to a plan that equals that of another cluster.
    return Delete(replace(live, replica_assignments=None))


def _partition_changes(wanted: Topic, live: Topic) -> Iterator[Change]:
    # None is the broker's default, which counts only when a topic is made, or a count that could not be read.
    if wanted.num_partitions is None or live.num_partitions is None or wanted.num_partitions == live.num_partitions:
        return
    before, after = live.num_partitions, wanted.num_partitions
    added = None if wanted.replica_assignments is None else wanted.replica_assignments[before:]
    if after < before:
        yield Impossible("partitions", live.name, str(before), str(after), _FEWER)
    elif after - before > _MOST_RECORDS:
        yield Impossible("partitions", live.name, str(before), str(after), _TOO_MANY)
    elif added and len(added[0]) != live.replication_factor:
        yield Impossible("partitions", live.name, str(before), str(after), _FIRST_MOVE)
    else:
        yield Update(
            TopicPartitions(live.name, before, live.topic_id), TopicPartitions(live.name, after, live.topic_id, added)
        )


def _config_changes(wanted: Topic, live: Topic, rules: DiffRules, defaults: Mapping[str, str]) -> Iterator[Change]:
    """Yield the configs that differ; where manifests are silent, ignored ones stay, and those that only brokers set."""
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for key in sorted({*wanted.configs, *live.configs}):
        new, old = wanted.configs.get(key), live.configs.get(key)
        # Tools that move replicas set throttles on topics and remove them: that manifests are silent asks for nothing.
        stays = key in THROTTLE_CONFIGS or key in rules.ignore_configs or not rules.flavor.may_set(key)
        silent = new is None and (stays or rules.flavor.added_configs.get(key) == old)
        if (
            silent
            or new == old
            or (new is not None and old is not None and normal_form(key, new) == normal_form(key, old))
        ):
            continue
        before[key], after[key] = old, None if new is None else normal_form(key, new)
    if after:
        was, then = (
            TopicConfigs(live.name, side, live.topic_id, effective({**live.configs, **side}, side, defaults))
            for side in (before, after)
        )
        yield Update(was, then)


def _declared(name: str, desired: DesiredState) -> Topic | None:
    wanted = desired.topics.get(name)
    return None if wanted is None or wanted.absent else wanted.topic


def _wants(wanted: Topic, configs: Mapping[str, str | None]) -> bool:
    """Whether every config is declared with this value, or, for ``None``, not declared."""
    declared = {key: normal_form(key, value) for key, value in wanted.configs.items()}
    return all(declared.get(key) == (value and normal_form(key, value)) for key, value in configs.items())


def _wants_replicas(wanted: Topic, assignments: Assignments) -> bool:
    """Whether these brokers are declared, or without any, as many replicas for every partition."""
    if wanted.replica_assignments is not None:
        return all(new == old for new, old in zip(wanted.replica_assignments, assignments, strict=False))
    return all(len(replicas) == wanted.replication_factor for replicas in assignments)


KIND: Final = Topics()
