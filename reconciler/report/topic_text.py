"""Steps on topics as text: what is sent, what the broker chooses, what goes, and what the broker said when asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from reconciler.model import Create, Delete, Topic, TopicConfigs, TopicPartitions, TopicUse, Update, readable
from reconciler.plan import BrokerAnswer, Plan, Ruling, Step, TopicReview, Validation, losses
from reconciler.plan.review.topic_review import PARTITIONS, REPLICAS
from reconciler.report.paint import Paint, counted, plain, safe

_SIZES: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_GROUPS_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class TopicWords:
    """What a plan's review says of topics, at hand for each step."""

    review: TopicReview
    answers: Mapping[str, BrokerAnswer]

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The words for a plan's steps."""
        validation = plan.topics.validation
        return cls(plan.topics, {answer.step: answer for answer in validation.answers} if validation else {})

    def lines(self, step: Step, paint: Paint = plain, place: str = "") -> Iterator[str]:
        """Yield the lines of one step on a topic; ``place`` is put behind the first."""
        yield from _step_lines(step, self.review, paint, place)
        answer = self.answers.get(step.id) if self.answers else None
        if answer is not None and answer.ruling is not Ruling.ACCEPTED:
            yield paint("error" if answer.ruling is Ruling.REFUSED else "warn", f"      {_verdict(answer)}")


def _step_lines(step: Step, review: TopicReview, paint: Paint, place: str) -> Iterator[str]:
    match step.change:
        case Create(Topic() as topic):
            yield paint("add", f"  + topic {safe(topic.name)}: {_size(topic, review)}") + place
            for key, value in topic.configs.items():
                yield paint("add", f"      {safe(key)} = {both_ways(key, value)}")
        case Delete(Topic() as topic):
            yield paint("remove", f"  - topic {safe(topic.name)} and all its records") + place
            if (use := review.uses.get(topic.name)) is not None:
                yield from (paint("warn", f"      {safe(line)}") for line in use_lines(use))
        case Update(TopicPartitions(name, before), TopicPartitions(_, after, _, assignments)):
            on = "" if assignments is None else f" on brokers {_brokers(assignments)}"
            yield paint("change", f"  ~ topic {safe(name)}: partitions {before} → {after}{on}") + place
            yield paint("dim", "      records with the same key may go to another partition than before:")
            yield paint("dim", "      across the change, readers may see records of one key out of order")
        case Update(TopicConfigs(name)) as change:
            yield paint("change", f"  ~ topic {safe(name)}") + place
            yield from _configs(change, review, paint)


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


def _configs(change: Update[TopicConfigs], review: TopicReview, paint: Paint) -> Iterator[str]:
    for key, after in change.after.configs.items():
        sides = (_value(key, value, review) for value in (change.before.configs[key], after))
        yield paint("change", f"      {safe(key)}: {' → '.join(sides)}")
    for reason in losses(change):
        yield paint("warn", f"      {reason}")


def _value(key: str, value: str | None, review: TopicReview) -> str:
    if value is not None:
        return both_ways(key, value)
    default = review.defaults.get(key)
    return "broker default" if default is None else f"broker default, now {both_ways(key, default)}"


def both_ways(key: str, value: str) -> str:
    """``604800000 (7d)``: as Kafka has it, and as a person would say it where that is shorter."""
    said = readable(key, value)
    return safe(value) if said == value else f"{value} ({said})"


def use_lines(use: TopicUse) -> Iterator[str]:
    """What goes with a topic, as far as it is known."""
    if use.records is not None:
        written = f"; last write {use.last_write}" if use.last_write else ""
        held = "no records" if use.records == 0 else f"up to {counted(use.records, 'record')}"
        yield f"holds {held}{_bytes(use.size_bytes)}{written}"
    elif use.size_bytes is not None:
        yield f"holds{_bytes(use.size_bytes)}"
    if use.groups:
        named = ", ".join(use.groups[:_GROUPS_NAMED])
        more = f" and {len(use.groups) - _GROUPS_NAMED:,} more" if len(use.groups) > _GROUPS_NAMED else ""
        yield f"{counted(len(use.groups), 'group')} with offsets in it: {named}{more}"
    elif use.groups is not None:
        yield "no group has offsets in it"
    yield from (f"not known: {gap}" for gap in use.gaps)


def _bytes(size: int | None) -> str:
    if size is None:
        return ""
    unit, divisor = next(((unit, number) for unit, number in _SIZES if size >= number), ("bytes", 1))
    return f", {size / divisor:.1f} {unit} on disk" if divisor > 1 else f", {size} {unit} on disk"


def _verdict(answer: BrokerAnswer) -> str:
    told = f"{answer.code}: {safe(answer.message)}"
    match answer.ruling:
        case Ruling.REFUSED if answer.code == "POLICY_VIOLATION":
            return f"the cluster's policy refuses this: {told}"
        case Ruling.REFUSED:
            return f"the broker refuses this: {told}"
        case Ruling.AFTER_GRANT:
            return f"the broker could not be asked, because this plan grants the right first: {told}"
        case _:
            return f"the broker gave no answer about this: {told}"


def validation_lines(validation: Validation | None, paint: Paint = plain) -> Iterator[str]:
    """What was asked of the broker, when, and what came of it, in a few lines."""
    if validation is None:
        return
    asked = len(validation.answers)
    yield ""
    if not asked:
        yield paint("dim", f"Asked of the broker at {validation.asked}: nothing, no step can be asked about.")
        return
    words = ((Ruling.ACCEPTED, "accepted"), (Ruling.REFUSED, "refused"), (Ruling.AFTER_GRANT, "not asked yet"))
    parts = [f"{validation.count(ruling):,} {word}" for ruling, word in words if validation.count(ruling)]
    if unknown := validation.count(Ruling.UNKNOWN):
        parts.append(f"{unknown:,} without an answer")
    role = "add" if validation.count(Ruling.ACCEPTED) == asked else "warn"
    yield paint(role, f"Asked of the broker at {validation.asked}: {counted(asked, 'step')}, {', '.join(parts)}.")
    if unknown:
        yield from (paint("warn", f"  {line}") for line in _NO_ANSWER)


_NO_ANSWER: Final = (
    "What is without an answer is not refused: nothing is known of it. UNKNOWN_SERVER_ERROR is what a policy plug-in",
    "causes that throws something else than PolicyViolationException; the controller's log says what. Mend that first:",
    "some versions' controllers resign each time that they are asked.",
)
