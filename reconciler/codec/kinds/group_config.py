"""Group configs in JSON."""

from typing import Final

from reconciler.codec.containers import mapping
from reconciler.codec.kinds.interface import Kind
from reconciler.codec.objects import field, record
from reconciler.codec.scalars import ANY_TEXT
from reconciler.codec.values import NAME
from reconciler.model.kinds.group_config import GroupConfig

KIND: Final = Kind(
    GroupConfig,
    record(
        GroupConfig,
        field("group", NAME, "The group's id.", "payments"),
        field(
            "values",
            mapping(ANY_TEXT),
            "Its dynamic configs by Kafka's names.",
            {"share.isolation.level": "read_committed"},
        ),
    ),
)
