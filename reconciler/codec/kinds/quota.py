"""Client quotas in JSON."""

import math
from collections.abc import Mapping
from typing import Any, Final

from reconciler.codec.containers import mapping, nullable
from reconciler.codec.kinds.interface import Kind
from reconciler.codec.objects import field, record
from reconciler.codec.scalars import converted, number
from reconciler.codec.values import NAME
from reconciler.model.kinds.quota import DEFAULT_NAME, ClientQuota, QuotaEntity


def _entity(value: Any) -> QuotaEntity:
    return QuotaEntity(tuple(sorted((kind, name or DEFAULT_NAME) for kind, name in value.items())))


def _plain(entity: QuotaEntity, values: Mapping[str, float]) -> ClientQuota:
    return ClientQuota(entity, values)


_PARTS: Final = converted(
    mapping(nullable(NAME)), _entity, lambda entity: {kind: name or None for kind, name in entity.parts}
)
_FIELDS: Final = (
    field("entity", _PARTS, "Whom it is for: user, client-id, both, or ip; null: the default.", {"user": "svc-orders"}),
    field("values", mapping(number(math.inf)), "The limits by Kafka's keys.", {"producer_byte_rate": 1048576}),
)
KIND: Final = Kind(
    ClientQuota,
    record(
        ClientQuota,
        *_FIELDS,
        field(
            "again",
            record(_plain, *_FIELDS),
            "The live quota of the same address in another spelling, which stays and is set again once this is gone.",
            default=None,
            omit=True,
        ),
    ),
)
