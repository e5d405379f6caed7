"""What reports say of each kind of resource, found by the type of a change's sides."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reconciler.model.characters import as_name, counted
from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import Change, Create, Delete, Impossible, ListedItem, Update, resource_of, values_of
from reconciler.model.topic import (
    INTERNAL_TOPICS,
    MoveLimits,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
    TopicUse,
)
from reconciler.model.topic_configs import readable
from reconciler.plan.kinds.acl import CREATE_ACL, DELETE_ACL, touched_binding, touched_bindings
from reconciler.plan.kinds.topic import PARTITIONS, REPLICAS, losses
from reconciler.plan.review.topics import TopicReview
from reconciler.results.words import binding_words, pattern_words


class Detail(NamedTuple):
    """A line below a step; ``role`` is the style in which a terminal shows it."""

    role: str
    text: str


class Words(NamedTuple):
    """Changes in words. ``about`` is a principal or the name of a resource, ``text`` does not begin with a sign.

    ``notes`` hold for every change of this sort, whatever its name.
    """

    about: str
    text: str
    details: tuple[Detail, ...] = ()
    notes: tuple[str, ...] = ()


class Alike(NamedTuple):
    """``gravity`` is 0 for what a reviewer must see first; ``shape`` is equal where changes differ in names only."""

    gravity: int
    shape: Hashable


class Kind(Protocol):
    """A kind of resource. Every function takes changes of this kind only; nothing that it returns is escaped."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""
        ...

    @property
    def NOUN(self) -> str:
        """What one of it is called; an ``s`` makes the plural."""
        ...

    @property
    def METRIC(self) -> str:
        """The label ``kind`` of metrics."""
        ...

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """The label ``action`` of metrics, by the action of plan files: ``CreateAcl`` is ``create``."""
        ...

    def shared(self, change: Change) -> Hashable:
        """Changes next to each other that have this in common share a line; ``None``: this one has its own."""
        ...

    def alike(self, changes: Sequence[Change]) -> Alike:
        """How grave changes that share a line are, and what very many such lines have in common that share another."""
        ...

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """The words for changes of one shape, how many they are first; ``text`` is what the first ones are called.

        With what a person has to know of all of them together: ``review`` is as in :meth:`words`.
        """
        ...

    def name(self, changes: Sequence[Change]) -> str:
        """How changes that share a line are told from others of their shape."""
        ...

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """The details of :meth:`words`, which are all that is asked of most of very many lines."""
        ...

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """The words for changes that share a line; ``review`` has the brokers' defaults and what goes with a topic."""
        ...


class ReportedKind(ABC):
    """What reports ask of a listed kind: its ``noun``, and ``at_end``, what the end of one does."""

    noun: ClassVar[str]
    at_end: ClassVar[str]

    @abstractmethod
    def shown(self, name: str, value: Any) -> str:
        """A value of a name as a person writes it."""

    def dim_lines(self, change: Change) -> tuple[str, ...]:
        """Lines below the values; none."""
        return ()

    def notes(self, change: Change) -> tuple[str, ...]:
        """What holds for every change of this sort; nothing."""
        return ()


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @cached_property
    def special(self) -> ReportedKind:
        """What is special about it."""
        found: ReportedKind = listed_kind(self._resource)
        return found

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self._resource,)

    @property
    def NOUN(self) -> str:
        """What one of it is called."""
        return self.special.noun

    @property
    def METRIC(self) -> str:
        """The same, in one word."""
        return self.NOUN.replace(" ", "-").lower()

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """``CreateQuota`` is ``create``."""
        return {f"{verb.capitalize()}{self._resource.NOUN}": verb for verb in ("create", "alter", "delete")}

    def shared(self, change: Change) -> Hashable:
        """Never: each resource has a line of its own."""
        return None

    def alike(self, changes: Sequence[Change]) -> Alike:
        """The values before and after."""
        before, after = values_of(changes[0].before), values_of(changes[0].after)
        gravity = 4 if isinstance(changes[0], Delete) else 6
        return Alike(gravity, (tuple(before.items()), tuple(after.items())))

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """``300 quotas``."""
        return f"{len(changes):,} {self.NOUN}s"

    def name(self, changes: Sequence[Change]) -> str:
        """``user alice``."""
        return str(resource_of(changes[0]).key)

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """A line for each value."""
        return self.words(changes, review).details

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``quota of user alice``, a line for each value that is set, altered or removed, and what the kind adds."""
        change = changes[0]
        item = resource_of(change)
        before, after = values_of(change.before), values_of(change.after)
        role = "add" if isinstance(change, Create) else "remove" if isinstance(change, Delete) else "change"
        moved = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        lines = tuple(Detail(role, f"{name}{self._sides(name, before.get(name), after.get(name))}") for name in moved)
        more = (Detail("dim", line) for line in self.special.dim_lines(change))
        return Words(item.principal or str(item.key), item.subject, (*lines, *more), self.special.notes(change))

    def _sides(self, name: str, before: Any, after: Any) -> str:
        if before is None and after is not None:
            return f" = {self.special.shown(name, after)}"
        return f": {self._side(name, before)} → {self._side(name, after)}"

    def _side(self, name: str, value: Any) -> str:
        return "not set" if value is None else self.special.shown(name, value)


_HARMLESS_ON_CLUSTER: Final = frozenset(
    {AclOperation.IDEMPOTENT_WRITE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS}
)


class Acls:
    """ACLs: bindings that differ in their operation only share a line."""

    TYPES = (AclBinding,)
    NOUN = "ACL"
    METRIC = "acl"
    ACTIONS: ClassVar[Mapping[str, str]] = {CREATE_ACL: "create", DELETE_ACL: "delete"}

    def shared(self, change: Change) -> Hashable:
        """All of a binding but its operation."""
        binding = touched_binding(change)
        return None if binding is None else (binding.pattern, binding.entry[:2], binding.entry.permission_type)

    def alike(self, changes: Sequence[Change]) -> Alike:
        """Operations, permission and sort of pattern: names, principals and hosts may differ."""
        bindings = touched_bindings(changes)
        kind, _, pattern_type = bindings[0].pattern
        principal, host, _, permission = bindings[0].entry
        sort = ("every",) if bindings[0].pattern.is_wildcard else (pattern_type,)
        everybody, anywhere = principal == WILDCARD_PRINCIPAL, host == WILDCARD
        operations = tuple(binding.entry.operation for binding in bindings)
        gravity = min(_gravity(change, binding) for change, binding in zip(changes, bindings, strict=True))
        return Alike(gravity, (kind, *sort, permission, operations, everybody, anywhere))

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """``10,500 ACLs: 80 principals ALLOW READ on 700 TOPIC names``."""
        bindings = touched_bindings(changes)
        entry = bindings[0].entry
        operations = ", ".join(dict.fromkeys(binding.entry.operation.name for binding in bindings))
        who = {binding.entry.principal for binding in bindings}
        patterns = {binding.pattern for binding in bindings}
        hosts = {binding.entry.host for binding in bindings} - {WILDCARD}
        kind, _, pattern_type = bindings[0].pattern
        names = "names" if pattern_type is PatternType.LITERAL else "prefixes"
        on = pattern_words(bindings[0].pattern) if len(patterns) == 1 else f"{len(patterns):,} {kind.name} {names}"
        subject = as_name(entry.principal) if len(who) == 1 else f"{len(who):,} principals"
        where = f" from {entry.host if len(hosts) == 1 else f'{len(hosts):,} hosts'}" if hosts else ""
        said = f"{subject} {entry.permission_type.name} {operations} on {on}{where}"
        return f"{len(bindings):,} ACLs: {said}"

    def name(self, changes: Sequence[Change]) -> str:
        """``User:a on TOPIC payments``."""
        (pattern, entry), *_ = touched_bindings(changes)
        host = "" if entry.host == WILDCARD else f" from {entry.host}"
        return f"{as_name(entry.principal)} on {pattern_words(pattern)}{host}"

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """None: a binding is said on its line."""
        return ()

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``User:a ALLOW READ, WRITE on TOPIC payments``."""
        bindings = touched_bindings(changes)
        operations = ", ".join(binding.entry.operation.name for binding in bindings)
        return Words(bindings[0].entry.principal, binding_words(bindings[0], operations))


def _gravity(change: Change, binding: AclBinding) -> int:
    """The cluster, everybody, all names, what opens, internal topics, what narrows, prefixes, single names."""
    pattern, entry = binding.pattern, binding.entry
    if pattern.resource_type is ResourceType.CLUSTER:
        return 6 if entry.operation in _HARMLESS_ON_CLUSTER else 0
    if entry.principal == WILDCARD_PRINCIPAL:
        return 1
    if pattern.is_wildcard:
        return 2
    if isinstance(change, Delete) and entry.permission_type is AclPermissionType.DENY:
        return 3
    if pattern.resource_type is ResourceType.TOPIC and any(map(pattern.matches, INTERNAL_TOPICS)):
        return 3
    if isinstance(change, Delete) or entry.permission_type is AclPermissionType.DENY:
        return 4
    return 7 if pattern.pattern_type is PatternType.LITERAL else 6


_SIZES: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_GROUPS_NAMED: Final = 5
_KEYS_MOVE: Final = "records with the same key may go to another partition, and across the change be read out of order"


class Topics:
    """Topics: what is sent, what the broker chooses, what goes with a topic that is deleted."""

    TYPES = (Topic, TopicPartitions, TopicConfigs, TopicReplicas, Impossible)
    NOUN = "topic"
    METRIC = "topic"
    ACTIONS: ClassVar[Mapping[str, str]] = {
        "CreateTopic": "create",
        "DeleteTopic": "delete",
        "CreatePartitions": "add-partitions",
        "AlterConfigs": "alter-configs",
        "MoveReplicas": "move-replicas",
    }

    def shared(self, change: Change) -> Hashable:
        """Never: each topic has a line of its own."""
        return None

    def alike(self, changes: Sequence[Change]) -> Alike:
        """What is set on the topic; where it or its records are lost, that."""
        match changes[0]:
            case Create(Topic() as topic):
                assigned = topic.num_partitions, topic.replication_factor, topic.replica_assignments
                return Alike(7, ("create", assigned, *topic.configs.items()))
            case Delete():
                return Alike(0, "delete")
            case Update(TopicPartitions(_, before), TopicPartitions(_, after, _, assignments)):
                return Alike(5, ("partitions", before, after, assignments))
            case Update(TopicConfigs(_, old), TopicConfigs(_, new)) as change:
                lost = losses(change)
                return Alike(1 if lost else 6, ("configs", tuple(old.items()), tuple(new.items()), tuple(lost)))
            case Update(TopicReplicas() as before, TopicReplicas() as after):
                return Alike(5, ("replicas", before.assignments, after.assignments, after.copied))
            case Impossible(what, _, before, after):
                return Alike(2, (what, before, after))
        raise TypeError(f"{changes[0]!r} is not a change of a topic")

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """``2,000 topics: 3 partitions, 1 replica``: what the first one is called, with their number for its name.

        Of topics that are deleted, with all that goes with them.
        """
        counts = text.replace(f"topic {self.name(changes)}", f"{len(changes):,} topics", 1)
        if not isinstance(changes[0], Delete):
            return counts
        held = "; ".join(_in_all([review.uses.get(self.name([change])) for change in changes]))
        return counts.replace("its records", "their records") + (f": {held}" if held else "")

    def name(self, changes: Sequence[Change]) -> str:
        """Its name."""
        change = changes[0]
        return change.name if isinstance(change, Impossible) else str(resource_of(change).name)

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """A line for each config, or for what a deletion takes along."""
        return self.words(changes, review).details

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``topic payments: 3 partitions, 1 replica``, and a line for each config."""
        match changes[0]:
            case Create(Topic() as topic):
                configs = (Detail("add", f"{key} = {both_ways(key, value)}") for key, value in topic.configs.items())
                return Words(topic.name, f"topic {topic.name}: {_size(topic, review)}", tuple(configs))
            case Delete(Topic() as topic):
                use = review.uses.get(topic.name)
                lines = () if use is None else tuple(Detail("warn", line) for line in use_lines(use))
                return Words(topic.name, f"topic {topic.name} and all its records", lines)
            case Update(TopicPartitions(name, before), TopicPartitions(_, after, _, assignments)):
                on = "" if assignments is None else f" on brokers {_brokers(assignments)}"
                return Words(name, f"topic {name}: partitions {before} → {after}{on}", notes=(_KEYS_MOVE,))
            case Update(TopicConfigs(name, old), TopicConfigs(_, new)) as change:
                sides = ((key, _value(key, old[key], review), _value(key, value, review)) for key, value in new.items())
                configs = (Detail("change", f"{key}: {before} → {after}") for key, before, after in sides)
                return Words(name, f"topic {name}", (*configs, *(Detail("warn", reason) for reason in losses(change))))
            case Update(TopicReplicas() as before, TopicReplicas() as after):
                return _moves(before, after)
            case Impossible(what, name):
                return Words(name, f"topic {name}: {what}")
        raise TypeError(f"{changes[0]!r} is not a change of a topic")


def _moves(before: TopicReplicas, after: TopicReplicas) -> Words:
    """``topic a: replicas of 2 partitions, 1 → 2 replicas, at most 4.0 GiB copied``, and what each broker gets."""
    pairs = [(old, new) for old, new in zip(before.assignments, after.assignments, strict=True) if old != new]
    old, new = (sorted({len(one) for one in side.assignments}) for side in (before, after))
    counts = "" if old == new else f", {' and '.join(map(str, old))} → {' and '.join(map(str, new))} replicas"
    copied = f", at most {_amount(after.copied)} copied" if after.copied else ", nothing copied"
    more = Counter(broker for one, other in pairs for broker in {*other} - {*one})
    fewer = Counter(broker for one, other in pairs for broker in {*one} - {*other})
    lines = [
        Detail("change", f"broker {broker}:{_signed('+', more[broker])}{_signed('-', fewer[broker])}")
        for broker in sorted(more.keys() | fewer.keys())
    ]
    usual = MoveLimits()
    if len(pairs) > usual.partitions or after.copied > usual.size:
        text = f"{counted(usual.partitions, 'partition')} and {_amount(usual.size)} at a time at most"
        lines.append(Detail("dim", f"{text}, unless apply gets --batch"))
    return Words(
        after.name, f"topic {after.name}: replicas of {counted(len(pairs), 'partition')}{counts}{copied}", tuple(lines)
    )


def _signed(sign: str, count: int) -> str:
    return f" {sign}{counted(count, 'replica')}" if count else ""


def _size(topic: Topic, review: TopicReview) -> str:
    if topic.replica_assignments is not None:
        partitions = counted(len(topic.replica_assignments), "partition")
        return f"{partitions} on brokers {_brokers(topic.replica_assignments)}"
    counts = (
        (topic.num_partitions, PARTITIONS, "partition"),
        (topic.replication_factor, REPLICAS, "replica"),
    )
    return ", ".join(_count(number, review.defaults.get(name), noun) for number, name, noun in counts)


def _count(number: int | None, default: str | None, noun: str) -> str:
    if number is not None:
        return counted(number, noun)
    if default is None or not default.isdecimal():
        return f"broker default {noun}s"
    return f"{counted(int(default), noun)} (the broker's default)"


def _brokers(assignments: tuple[tuple[int, ...], ...]) -> str:
    return "; ".join(", ".join(map(str, replicas)) for replicas in assignments)


def _value(key: str, value: str | None, review: TopicReview) -> str:
    if value is not None:
        return both_ways(key, value)
    default = review.defaults.get(key)
    return "broker default" if default is None else f"broker default, now {both_ways(key, default)}"


def both_ways(key: str, value: str) -> str:
    """``604800000 (7d)``: as Kafka has it, and as a person writes it where that is shorter."""
    said = readable(key, value)
    return value if said == value else f"{value} ({said})"


def use_lines(use: TopicUse) -> Iterator[str]:
    """What goes with a topic, as far as it is known."""
    if use.records is not None:
        written = f"; last write {use.last_write}" if use.last_write else ""
        held = "no records" if use.records == 0 else f"up to {counted(use.records, 'record')}"
        yield f"holds {held}{_bytes(use.size_bytes)}{written}"
    elif use.size_bytes is not None:
        yield f"holds {_amount(use.size_bytes)} on disk"
    if use.groups:
        named = ", ".join(use.groups[:_GROUPS_NAMED])
        more = f" and {len(use.groups) - _GROUPS_NAMED:,} more" if len(use.groups) > _GROUPS_NAMED else ""
        yield f"{counted(len(use.groups), 'group')} with offsets in it: {named}{more}"
    elif use.groups is not None:
        yield "no group has offsets in it"
    yield from (f"not known: {gap}" for gap in use.gaps)


def _in_all(found: Sequence[TopicUse | None]) -> Iterator[str]:
    """What goes with many topics; nothing where none of them was asked about. What is not known is counted."""
    uses = [use for use in found if use is not None]
    if not uses:
        return
    records = [use.records for use in uses if use.records is not None]
    sizes = [use.size_bytes for use in uses if use.size_bytes is not None]
    writes = [use.last_write for use in uses if use.last_write]
    grouped = sum(bool(use.groups) for use in uses)
    if records:
        held = f"up to {counted(sum(records), 'record')}" if sum(records) else "no records"
        yield f"{held}{_bytes(sum(sizes) if sizes else None)} in all"
    elif sizes:
        yield f"{_amount(sum(sizes))} on disk in all"
    if writes:
        yield f"last write {max(writes)}"
    if grouped:
        yield f"groups have offsets in {grouped:,} of them"
    known = (("records", len(records)), ("size", len(sizes)), ("groups", sum(use.groups is not None for use in uses)))
    for what, number in known:
        if number < len(found):
            yield f"{what} not known for {len(found) - number:,} of them"


def _bytes(size: int | None) -> str:
    if size is None:
        return ""
    return f", {_amount(size)} on disk"


def _amount(size: int) -> str:
    unit, divisor = next(((unit, number) for unit, number in _SIZES if size >= number), ("bytes", 1))
    return f"{size / divisor:.1f} {unit}" if divisor > 1 else f"{size} {unit}"


KINDS: Final[tuple[Kind, ...]] = (Acls(), Topics(), *map(ListedKind, listed_types()))
#: What a sign in front of a step means.
VERBS: Final = {"+": "create", "~": "alter", "-": "delete"}

_BY_TYPE: Final = {side: kind for kind in KINDS for side in kind.TYPES}


def kind_of(change: Change) -> Kind:
    """The kind of resource that ``change`` is about."""
    if isinstance(change, Impossible):
        return _BY_TYPE[Impossible]
    return _BY_TYPE[type(change.before if change.after is None else change.after)]


def sign_of(change: Change) -> str:
    """``+`` where something is created, ``-`` where it is deleted, ``~`` where it changes."""
    if isinstance(change, Create):
        return "+"
    return "-" if isinstance(change, Delete) else "~"
