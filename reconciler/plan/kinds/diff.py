"""Two states to changes: the one definition of difference, whatever engine performs it.

Scope and ignore are applied to both sides *before* anything is compared: what is outside is never a difference.
What could not be read is never a difference either: it is listed as skipped, and nothing is planned against it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from reconciler.codec.kinds import KINDS as LISTED
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic
from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change, Create, Delete, Impossible, ListedItem, Update, resource_of
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


class Kind(Protocol):
    """A kind of resource."""

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """What differs between the two states of this kind; what ``scope`` does not own never does."""
        ...

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """What the manifests say against a change that was planned earlier, in words for a person.

        ``None``: nothing, or the change is of another kind. What is declared and over is to be neither created nor
        altered: the plan may be from before anybody declared its end.
        """
        ...


_UNDECLARED = "no manifest declares it: declare it, ignore it, or let the cluster's document prune it"
_UNRESOLVED = (
    "only the brokers' resolver knows its address, and what is declared for that address, perhaps the {}, would no "
    "longer be enforced: delete both by hand, and apply again"
)
_UNKNOWN = "this version does not know the key, which stays as it is"


class ListedKind:
    """A declared resource of a listed kind against the live one, all of its values together.

    Values that this version does not know stay as they are, unless they are declared: they are listed, and nothing is
    planned against them.
    """

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Declared resources in order, then those to be pruned; all are skipped where they could not be read."""
        declared, listing = desired.of(self._resource), live.listing(self._resource)
        prune = self._resource.KIND in rules.prune
        if listing.items is None:
            gap = listing.gap or f"the {self._resource.WORDS} of this cluster were not read"
            return Comparison(skipped=tuple(self._unread(declared, gap, prune=prune)))
        changes: list[DeclaredChange] = []
        skipped: list[Skipped] = []
        there = listing.by_key
        for key in sorted(declared):
            wanted = declared[key]
            known, unknown = _understood(wanted.item, there.get(key))
            found = _change(wanted.item, known, goes=wanted.goes)
            place = wanted.declaration.origin
            refused = None if wanted.goes else wanted.item.refusal(live.kafka_version)
            if refused is None:
                changes += [DeclaredChange(change, wanted.declaration) for change in found]
            else:
                skipped += [
                    Skipped(SkipReason.IMPOSSIBLE, wanted.item.subject, refused.message, change, place)
                    for change in found
                ]
            skipped += [
                Skipped(SkipReason.UNSUPPORTED, f"{wanted.item.subject}: {name}", _UNKNOWN, None, place)
                for name in unknown
            ]
        for key in sorted(there.keys() - declared.keys()) if prune else ():
            # Only where include names it: without include a directory answers for what it declares only.
            if scope.owns_listed(there[key], declared=False):
                nothing = there[key].with_values({})
                changes += map(DeclaredChange, _change(nothing, _understood(nothing, there[key])[0], goes=True))
        sharing = _Sharing(declared, there, changes)
        doubts = list(sharing.doubts())
        if rules.report_topics and not prune:
            doubtful = {resource_of(doubt.change).key for doubt in doubts if doubt.change is not None}
            skipped += self._undeclared(
                declared, {key: item for key, item in there.items() if key not in doubtful}, scope
            )
        return Comparison(tuple(sharing.changes()), (*skipped, *doubts))

    def _undeclared(self, declared: Mapping[Any, Any], there: Mapping[Any, Any], scope: Scope) -> Iterator[Skipped]:
        """As of topics: whoever declares none of a kind does not answer for it."""
        for key in sorted(there.keys() - declared.keys()) if declared else ():
            if scope.owns_listed(there[key], declared=False):
                yield Skipped(SkipReason.UNDECLARED, there[key].subject, _UNDECLARED, Delete(there[key]))

    def _unread(self, declared: Mapping[Any, DesiredItem[Any]], gap: str, *, prune: bool) -> Iterator[Skipped]:
        for _, wanted in sorted(declared.items()):
            yield Skipped(SkipReason.UNREADABLE, wanted.item.subject, gap, origin=wanted.declaration.origin)
        if prune:
            yield Skipped(SkipReason.UNREADABLE, f"{self._resource.WORDS} that no manifest declares", gap)

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """Values to set have to be those declared; what is to be deleted has to be unwanted."""
        item = resource_of(change)
        if not isinstance(item, self._resource):
            return None
        wanted = desired.of(self._resource).get(item.key)
        if isinstance(change, Delete):
            if wanted is not None and not wanted.goes:
                return "not to be declared"
            again = None if item.again is None else desired.of(self._resource).get(item.again.key)
            if item.again is not None and (again is None or again.goes):
                return f"{item.again.subject} to be declared, which is set again"
            gone = wanted is not None or self._resource.KIND in rules.prune
            return None if gone else "to be declared absent"
        if wanted is None or wanted.absent or wanted.item != item:
            return "to be declared so"
        return "to be declared, and not over" if wanted.expired else None


class _Sharing:
    """Resources that Kafka keeps apart and enforces as one: see ``ListedItem.enforced``."""

    def __init__(
        self, declared: Mapping[Any, DesiredItem[Any]], there: Mapping[Any, ListedItem], changes: list[DeclaredChange]
    ) -> None:
        """``changes`` are those of each resource by itself."""
        stay = {key: wanted.item for key, wanted in declared.items() if not wanted.goes}
        self._changes = changes
        moved = {resource_of(change.change).key for change in changes}
        # What is altered is set by that, after what goes.
        self._kept = {item.enforced: there[key] for key, item in stay.items() if key in there and key not in moved}
        #: What the manifests or the plan decide, by what it is enforced on.
        self._ours: dict[Any, ListedItem] = {
            item.enforced: item for item in (*stay.values(), *(resource_of(change.change) for change in changes))
        }
        unnamed = there.keys() - declared.keys() - moved
        self._left = [there[key] for key in sorted(unnamed)]

    def changes(self) -> Iterator[DeclaredChange]:
        """The changes, those that delete one with the declared one that is set again after it."""
        for found in self._changes:
            item = resource_of(found.change)
            kept = None if item.enforced is None or found.change.after is not None else self._kept.get(item.enforced)
            if kept is not None:
                yield found._replace(change=Delete(item.with_again(kept)))
            elif item.enforced is not None or _spelled(self._kept) is None:
                yield found

    def doubts(self) -> Iterator[Skipped]:
        """What stays beside one of ours, and what cannot go."""
        for item in self._left:
            other = _spelled(self._ours) if item.enforced is None else self._ours.get(item.enforced)
            if other is not None:
                yield Skipped(SkipReason.UNDECLARED, item.subject, _same(item, other), Delete(item))
        for found in self._changes:
            item = resource_of(found.change)
            if item.enforced is None and (other := _spelled(self._kept)) is not None:
                yield Skipped(SkipReason.IMPOSSIBLE, item.subject, _UNRESOLVED.format(other.subject), found.change)


def _spelled(items: Mapping[Any, ListedItem]) -> ListedItem | None:
    """One of the items of which there may be another spelling."""
    return next((item for item in items.values() if item.enforced not in (None, item.key)), None)


def _same(item: ListedItem, other: ListedItem) -> str:
    may = "may be" if item.enforced is None else "is"
    return (
        f"it {may} of the same address as the {other.subject}: brokers enforce only the one that was set last, and "
        "which that is cannot be read; delete this one with absent: true, or let the cluster's document prune it"
    )


def _understood(wanted: ListedItem, live: ListedItem | None) -> tuple[ListedItem, list[str]]:
    """The live resource without values that nobody here understands, and the names of those."""
    values = {} if live is None else live.values
    # A change that named one would remove what nobody here understands.
    unknown = sorted(name for name in values if name not in wanted.values and not wanted.understands(name))
    return wanted.with_values({name: value for name, value in values.items() if name not in unknown}), unknown


def _change(wanted: ListedItem, live: ListedItem, *, goes: bool) -> Iterator[Change]:
    if not live.values:
        if not goes:
            yield Create(wanted)
    elif goes:
        yield Delete(live)
    elif live.values != wanted.values:
        yield Update(live, wanted)


class Acls:
    """A set of declared bindings against the set of live ones. A binding is its own identity: it never changes."""

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Creates and deletes, each sorted; whoever is silent about an owned binding wants it gone."""
        # By scope before anything is compared: what is not owned is in neither difference, so it cannot look deletable.
        others = [binding for binding in live.bindings if not scope.owns(binding)]
        ignored = sum(1 for binding in others if scope.ignores(binding))
        # No set is copied that differs in nothing: of a large cluster each takes 100 MB.
        owned = live.bindings.difference(others) if others else live.bindings
        wanted = desired.bindings
        # Nor is a difference made of a set and a mapping: that begins as a copy of the set.
        missing = sorted(item for item in wanted if item not in owned)
        # Mostly all that is owned is wanted. Numbers show it, and asking each takes as long again.
        all_wanted = len(wanted) - len(missing) == len(owned)
        unwanted = [] if all_wanted else sorted(item for item in owned if item not in wanted)
        return Comparison(
            changes=(
                *(DeclaredChange(Create(binding), wanted[binding]) for binding in missing),
                *(DeclaredChange(Delete(binding), desired.expired.get(binding)) for binding in unwanted),
            ),
            owned=len(owned),
            ignored=ignored,
            outside=len(live.bindings) - len(owned) - ignored,
        )

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """A binding to create has to be declared, one to delete must not be."""
        match change:
            case Create(AclBinding() as binding) if binding not in desired.bindings:
                return "to be declared, and not over" if binding in desired.expired else "to be declared"
            case Delete(AclBinding() as binding) if binding in desired.bindings:
                return "not to be declared"
        return None


_FEWER: Final = "Kafka cannot remove partitions; create a new topic, copy the records, and move the clients to it"
_FIRST_MOVE: Final = "new partitions get as many replicas as the topic has: move the replicas first"
#: ``QuorumController.MAX_RECORDS_PER_USER_OP`` and ``ReplicationControlManager``.
_MOST_RECORDS: Final = 10_000
_TOO_MANY: Final = "Kafka creates at most 10,000 partitions and configs in one request: start with fewer, then add more"
_UNDECLARED_TOPIC: Final = (
    "no manifest declares it: declare it, ignore it, or write prune: [topics] to plan its deletion"
)
_INTERNAL: Final = "Kafka keeps this topic for itself; it is never deleted"


class Topics:
    """One declared topic against the live one, and pruning of those that nobody declares.

    Only what is set on the topic itself is compared, in Kafka's normal form, so that no difference is eternal.
    """

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


KINDS: Final[tuple[Kind, ...]] = (Acls(), Topics(), *(ListedKind(kind.TYPE) for kind in LISTED))


def compare(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Compare every kind of resource; the answer does not depend on the order of either input."""
    return sum((kind.differences(desired, live, scope, rules) for kind in KINDS), Comparison())


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """What the manifests say, by now, against a change that was planned earlier; ``None``: nothing."""
    return next(filter(None, (kind.objection(change, desired, rules) for kind in KINDS)), None)
