"""Group configs, by kafka-python's messages: confluent-kafka cannot list the groups that have some."""

from typing import Any, Final

from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.adapters.kafka.kinds.listed import MessageKind
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model import Change, resource_of, values_of
from reconciler.model.kinds.group_config import GroupConfig


def _config(entry: Any) -> GroupConfig:
    group, values = entry
    return GroupConfig(group, dict(values))


def _alteration(change: Change, _: ClientSettings) -> tuple[str, list[tuple[str, str | None]]]:
    """The group, and its configs; those without a value are reset. Other configs of the group stay."""
    values = {**dict.fromkeys(values_of(change.before)), **values_of(change.after)}
    return resource_of(change).group, list(values.items())


KIND: Final[Kind] = MessageKind(
    GroupConfig,
    "group_config",
    _config,
    str,
    _alteration,
    "DESCRIBE_CONFIGS on the cluster and on every group that has configs",
    lambda _: None,  # the right is on each group, of which the handshake tells nothing
)
