"""Group configs in reports: times with their units."""

from typing import Final

from reconciler.model.kinds.group_config import GROUP_KEYS
from reconciler.model.topic_configs import ConfigType, with_unit
from reconciler.plan.kinds import group_config
from reconciler.report.kinds.interface import Kind
from reconciler.report.kinds.listed import ListedKind


def config(name: str, value: str) -> str:
    """``50000 (50s)``: as Kafka has it, and as a person writes it."""
    if name not in GROUP_KEYS or GROUP_KEYS[name].type is not ConfigType.MILLIS:
        return value
    said = with_unit(ConfigType.MILLIS, value)
    return value if said == value else f"{value} ({said})"


KIND: Final[Kind] = ListedKind(group_config.KIND, "group config", config, "its configs go: defaults hold")
