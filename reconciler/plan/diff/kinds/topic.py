"""Topics: one declared topic against the live one, and pruning of those that nobody declares.

Only what is set on the topic itself is compared, in Kafka's normal form, so that no difference is eternal.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.model.desired import Declaration, DesiredState, DesiredTopic
from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.scope import Scope
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
from reconciler.model.topic_configs import THROTTLE_CONFIGS, effective, normal_form, refusal_of
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.plan.replicas import replica_changes, unfinished, unplaceable

_FEWER: Final = "Kafka cannot remove partitions; create a new topic, copy the records, and move the clients to it"
_FIRST_MOVE: Final = "new partitions get as many replicas as the topic has: move the replicas first"
#: ``QuorumController.MAX_RECORDS_PER_USER_OP`` and ``ReplicationControlManager``.
_MOST_RECORDS: Final = 10_000
_TOO_MANY: Final = "Kafka creates at most 10,000 partitions and configs in one request: start with fewer, then add more"
_UNDECLARED: Final = "no manifest declares it: declare it, ignore it, or write prune: [topics] to plan its deletion"
_INTERNAL: Final = "Kafka keeps this topic for itself; it is never deleted"


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
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
        found = _changes(wanted, live, rules)
        for change in _accepted(found, live.kafka_version, rules.flavor):
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
                found = (_why(name, value, version, flavor) for name, value in topic.configs.items())
                refused = [why for why in found if why]
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
            yield Skipped(SkipReason.UNDECLARED, f"topic {name}", _UNDECLARED)


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
        yield from _partitions(wanted.topic, live)
        yield from replica_changes(wanted.topic, live, state)
        yield from _configs(wanted.topic, live, rules, state.broker_defaults)


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


def _partitions(wanted: Topic, live: Topic) -> Iterator[Change]:
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


def _configs(wanted: Topic, live: Topic, rules: DiffRules, defaults: Mapping[str, str]) -> Iterator[Change]:
    """Yield the configs that differ; where manifests are silent, ignored ones stay, and those that only brokers set."""
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for key in sorted({*wanted.configs, *live.configs}):
        new, old = wanted.configs.get(key), live.configs.get(key)
        # Tools that move replicas set throttles on topics and remove them: that manifests are silent is no wish.
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


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
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
            # A topic that manifests declare absent goes by that word; any other only where undeclared ones are pruned.
            gone = Topic.KIND in rules.prune if declared is None else declared.absent
            return None if gone else "to be declared absent"
    return None


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
