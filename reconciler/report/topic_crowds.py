"""Many topics that get the same: shown once, with how many they are and the first of their names."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from reconciler.model import Create, Topic, TopicConfigs, TopicPartitions, Update
from reconciler.plan import Ruling, Step, losses
from reconciler.report.paint import Paint, plain, safe
from reconciler.report.topic_text import TopicWords

#: So many steps of a phase are always shown one by one,
_FEW: Final = 50
#: and so many that are alike.
_ALIKE: Final = 5
_NAMED: Final = 20


def crowds(steps: Sequence[Step], words: TopicWords) -> list[list[Step]]:
    """Steps of one phase that are shown together, in the order of their first; none where there are few steps.

    What loses data, and what the broker did not simply accept, is never among them.
    """
    if len(steps) <= _FEW:
        return []
    found: dict[Hashable, list[Step]] = {}
    for step in steps:
        answer = words.answers.get(step.id) if words.answers else None
        if answer is None or answer.ruling is Ruling.ACCEPTED:
            shape = _shape(step)
            if shape is not None:
                found.setdefault(shape, []).append(step)
    return [alike for alike in found.values() if len(alike) > _ALIKE]


def _shape(step: Step) -> Hashable | None:
    match step.change:
        case Create(Topic() as topic):
            assignments = topic.replica_assignments
            return topic.num_partitions, topic.replication_factor, assignments, tuple(topic.configs.items())
        case Update(TopicPartitions(_, before), TopicPartitions(_, after, _, assignments)):
            return before, after, assignments
        case Update(TopicConfigs(_, old), TopicConfigs(_, new)) if not losses(step.change):
            return tuple(old.items()), tuple(new.items())
        case _:
            return None


def crowd_lines(alike: Sequence[Step], words: TopicWords, paint: Paint = plain) -> Iterator[str]:
    """Yield what steps that are alike have in common, then their names."""
    first, *rest = words.lines(alike[0])
    names = [_name(step) for step in alike]
    style = "add" if isinstance(alike[0].change, Create) else "change"
    yield paint(style, first.replace(f"topic {safe(names[0])}", f"{len(alike):,} topics", 1))
    yield from (paint(style, line) for line in rest)
    more = f" and {len(names) - _NAMED:,} more; --expand shows each" if len(names) > _NAMED else ""
    yield paint("dim", f"      {', '.join(map(safe, names[:_NAMED]))}{more}")


def _name(step: Step) -> str:
    match step.change:
        case Create(Topic() as topic):
            return topic.name
        case Update(TopicPartitions(name) | TopicConfigs(name)):
            return name
    raise TypeError(f"{type(step.change).__name__} is shown alone")
