"""A plan's steps and its access review in the words that reports share; nothing here is escaped."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reconciler.access.hosts import ANY_HOST
from reconciler.model import (
    AclBinding,
    Create,
    Delete,
    Impossible,
    Origin,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
)
from reconciler.plan import EVERYBODY_ELSE, Consequence, Effect, Phase, Plan, Step, operations_words, touched_bindings
from reconciler.report.paint import counted
from reconciler.report.review_text import effect_words
from reconciler.report.topic_text import TopicWords
from reconciler.report.words import binding_words

_TOPICS_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class StepLine:
    """One or several steps that share a line. ``sign`` is ``+``, ``-`` or ``~``; ``about`` the principal or topic."""

    phase: Phase
    sign: str
    about: str
    words: str
    details: tuple[str, ...] = ()
    effect: str = ""
    origin: Origin | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AccessLine:
    """A row of gained and lost access in words; an empty text where nothing is gained or lost."""

    who: str
    kind: str
    names: str
    hosts: str
    gained: str
    lost: str
    topics: str
    certain: bool


def step_lines(plan: Plan) -> Iterator[StepLine]:
    """Every step, in order; operations on one pattern share a line."""
    topics = TopicWords.of(plan)
    tagged = zip(plan.steps, plan.access.effects or (None,) * len(plan.steps), strict=True)
    for _, group in groupby(tagged, key=lambda item: _key(*item)):
        same = list(group)
        yield _step_line([step for step, _ in same], same[0][1], topics)


def access_lines(rows: Iterable[Consequence]) -> Iterator[AccessLine]:
    """One for each row, in the review's order."""
    for row in rows:
        kind = row.region.resource_type
        yield AccessLine(
            row.principal or EVERYBODY_ELSE,
            kind.name,
            row.region.describe(),
            "" if row.hosts == str(ANY_HOST) else row.hosts,
            operations_words(row.gained, kind),
            operations_words(row.lost, kind),
            _topics(row),
            row.reading is None,
        )


def _topics(row: Consequence) -> str:
    if row.region.names.literal or not row.topic_count:
        return ""
    named = ", ".join(row.topics[:_TOPICS_NAMED])
    more = row.topic_count - min(len(row.topics), _TOPICS_NAMED)
    return f"{counted(row.topic_count, 'topic')} known: {named}" + (f" and {more:,} more" if more else "")


def _key(step: Step, effect: Effect | None) -> object:
    match step.change:
        case Create(AclBinding() as binding) | Delete(AclBinding() as binding):
            entry = binding.entry
            return type(step.change), binding.pattern, entry[:2], entry.permission_type, effect, step.origin
        case _:
            return step.id


def _step_line(steps: list[Step], effect: Effect | None, topics: TopicWords) -> StepLine:
    sign, about, words, details = _said(steps, topics)
    first = steps[0]
    ids = tuple(step.id for step in steps)
    return StepLine(first.phase, sign, about, words, details, effect_words(effect), first.origin, ids)


def _said(steps: list[Step], topics: TopicWords) -> tuple[str, str, str, tuple[str, ...]]:
    match steps[0].change:
        case Create(AclBinding() as binding):
            return "+", binding.entry.principal, _bindings(steps), ()
        case Delete(AclBinding() as binding):
            return "-", binding.entry.principal, _bindings(steps), ()
        case Create(Topic() as topic) | Delete(Topic() as topic):
            name = topic.name
        case Update(TopicPartitions(name) | TopicConfigs(name)) | Impossible(_, name):
            pass
    first, *details = topics.lines(steps[0])
    sign, _, words = first.strip().partition(" ")
    return sign, name, words, tuple(line.strip() for line in details)


def _bindings(steps: list[Step]) -> str:
    bindings = touched_bindings(step.change for step in steps)
    return binding_words(bindings[0], ", ".join(binding.entry.operation.name for binding in bindings))
