"""Client quotas in JSON."""

import math
from typing import Any, Final

from reconciler.codec.containers import mapping, nullable
from reconciler.codec.kinds.interface import Kind
from reconciler.codec.objects import field, record
from reconciler.codec.scalars import converted, number
from reconciler.codec.values import NAME
from reconciler.model.kinds.quota import DEFAULT_NAME, ClientQuota, QuotaEntity


def _entity(value: Any) -> QuotaEntity:
    return QuotaEntity(tuple(sorted((kind, name or DEFAULT_NAME) for kind, name in value.items())))


_PARTS: Final = converted(
    mapping(nullable(NAME)), _entity, lambda entity: {kind: name or None for kind, name in entity.parts}
)
KIND: Final = Kind(
    ClientQuota,
    record(
        ClientQuota,
        field(
            "entity", _PARTS, "Whom it is for: user, client-id, both, or ip; null: the default.", {"user": "svc-orders"}
        ),
        field("values", mapping(number(math.inf)), "The limits by Kafka's keys.", {"producer_byte_rate": 1048576}),
    ),
)
