"""Client quotas, by kafka-python's messages."""

from collections.abc import Sequence
from typing import Any, Final

from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.adapters.kafka.kinds.listed import MessageKind
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model import Change, resource_of, values_of
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity


def _quota(entry: Any) -> ClientQuota:
    parts, values = entry
    return ClientQuota(_entity(parts), dict(values))


def _entity(parts: Sequence[tuple[str, str | None]]) -> QuotaEntity:
    return QuotaEntity(tuple(sorted((kind, name or "") for kind, name in parts)))


def _alteration(
    change: Change, _: ClientSettings
) -> tuple[list[tuple[str, str | None]], list[tuple[str, float | None]]]:
    """The entity's parts, and its keys; keys without a value are removed. Other keys of the entity stay."""
    after = {key: float(value) for key, value in values_of(change.after).items()}
    values = {**dict.fromkeys(values_of(change.before)), **after}
    return [(kind, name or None) for kind, name in resource_of(change).entity.parts], list(values.items())


KIND: Final[Kind] = MessageKind(
    ClientQuota,
    "quota",
    _quota,
    _entity,
    _alteration,
    "DESCRIBE_CONFIGS on the cluster",
    lambda handshake: handshake.may_alter_configs,
)
