"""Changes of live topics, for tests, in one line each."""

from collections.abc import Iterable, Mapping

from reconciler.model.listing import Update
from reconciler.model.topic import TopicConfigs, TopicPartitions
from reconciler.plan.kinds.topic import touched_names
from reconciler.plan.step import Step


def partitions(
    name: str, before: int, after: int, assignments: tuple[tuple[int, ...], ...] | None = None
) -> Update[TopicPartitions]:
    """From ``before`` partitions to ``after``."""
    return Update(TopicPartitions(name, before), TopicPartitions(name, after, assignments=assignments))


def configs(name: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Update[TopicConfigs]:
    """From some configs to others."""
    return Update(TopicConfigs(name, before), TopicConfigs(name, after))


def touched_topics(steps: Iterable[Step]) -> tuple[str, ...]:
    """Names of the topics that steps touch, each once, in order of first mention."""
    return touched_names(step.change for step in steps)
