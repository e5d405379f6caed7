"""Topics in reports: what is sent, what the broker chooses, what goes with a topic that is deleted."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from reconciler.model.characters import counted, first_of
from reconciler.model.listing import Change, Create, Delete, Impossible, Update, resource_of
from reconciler.model.topic import MoveLimits, Topic, TopicConfigs, TopicPartitions, TopicReplicas, TopicUse
from reconciler.model.topic_configs import readable
from reconciler.plan.kinds.topic import PARTITIONS, REPLICAS, losses
from reconciler.plan.review.topics import TopicReview
from reconciler.show.document import Alike, Detail, Words

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
        return str(resource_of(changes[0]).name)

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
    old, new = (sorted({len(replicas) for replicas in side.assignments}) for side in (before, after))
    counts = "" if old == new else f", {' and '.join(map(str, old))} → {' and '.join(map(str, new))} replicas"
    copied = f", at most {_amount(after.copied)} copied" if after.copied else ", nothing copied"
    more = Counter(broker for earlier, later in pairs for broker in {*later} - {*earlier})
    fewer = Counter(broker for earlier, later in pairs for broker in {*earlier} - {*later})
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
    shown = readable(key, value)
    return value if shown == value else f"{value} ({shown})"


def use_lines(use: TopicUse) -> Iterator[str]:
    """What goes with a topic, as far as it is known."""
    if use.records is not None:
        written = f"; last write {use.last_write}" if use.last_write else ""
        held = "no records" if use.records == 0 else f"up to {counted(use.records, 'record')}"
        yield f"holds {held}{_bytes(use.size_bytes)}{written}"
    elif use.size_bytes is not None:
        yield f"holds {_amount(use.size_bytes)} on disk"
    if use.groups:
        yield f"{counted(len(use.groups), 'group')} with offsets in it: {first_of(use.groups, _GROUPS_NAMED)}"
    elif use.groups is not None:
        yield "no group has offsets in it"
    yield from (f"not known: {gap}" for gap in use.gaps)


def _in_all(answers: Sequence[TopicUse | None]) -> Iterator[str]:
    """What goes with many topics; nothing where none of them was asked about. What is not known is counted."""
    uses = [use for use in answers if use is not None]
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
    counts = (("records", len(records)), ("size", len(sizes)), ("groups", sum(use.groups is not None for use in uses)))
    for what, number in counts:
        if number < len(answers):
            yield f"{what} not known for {len(answers) - number:,} of them"


def _bytes(size: int | None) -> str:
    if size is None:
        return ""
    return f", {_amount(size)} on disk"


def _amount(size: int) -> str:
    unit, divisor = next(((unit, number) for unit, number in _SIZES if size >= number), ("bytes", 1))
    return f"{size / divisor:.1f} {unit}" if divisor > 1 else f"{size} {unit}"
