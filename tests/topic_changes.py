"""Changes of live topics, for tests, in one line each."""

from collections.abc import Mapping

from reconciler.model.listing import Update
from reconciler.model.topic import TopicConfigs, TopicPartitions


def partitions(
    name: str, before: int, after: int, assignments: tuple[tuple[int, ...], ...] | None = None
) -> Update[TopicPartitions]:
    """From ``before`` partitions to ``after``."""
    return Update(TopicPartitions(name, before), TopicPartitions(name, after, assignments=assignments))


def configs(name: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Update[TopicConfigs]:
    """From some configs to others."""
    return Update(TopicConfigs(name, before), TopicConfigs(name, after))
