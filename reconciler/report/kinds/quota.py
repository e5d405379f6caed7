"""Client quotas in reports: whose limit it is, and what it is before and after."""

from collections.abc import Hashable, Sequence
from typing import Final

from reconciler.model import (
    Change,
    Create,
    Delete,
    resource_of,
)
from reconciler.model.kinds.quota import QUOTA_KEYS, ClientQuota, values_of
from reconciler.plan import TopicReview
from reconciler.report.kinds.interface import Alike, Detail, Words

TYPES: Final = (ClientQuota,)
NOUN: Final = "quota"
METRIC: Final = "quota"
ACTIONS: Final = {"CreateQuota": "create", "AlterQuota": "alter", "DeleteQuota": "delete"}

_SIZES: Final = (("TiB/s", 2**40), ("GiB/s", 2**30), ("MiB/s", 2**20), ("KiB/s", 2**10))


def shared(change: Change) -> Hashable:
    """Never: each entity has a line of its own."""
    return None


def alike(changes: Sequence[Change]) -> Alike:
    """The limits before and after."""
    before, after = values_of(changes[0].before), values_of(changes[0].after)
    gravity = 4 if isinstance(changes[0], Delete) else 6
    return Alike(gravity, (tuple(before.items()), tuple(after.items())))


def many(changes: Sequence[Change], text: str) -> str:
    """``300 quotas``."""
    return f"{len(changes):,} quotas"


def name(changes: Sequence[Change]) -> str:
    """``user alice``."""
    return str(resource_of(changes[0]).entity)


def words(changes: Sequence[Change], review: TopicReview) -> Words:
    """``quota of user alice``, and a line for each limit that is set, altered or removed."""
    change = changes[0]
    entity = resource_of(change).entity
    before, after = values_of(change.before), values_of(change.after)
    role = "add" if isinstance(change, Create) else "remove" if isinstance(change, Delete) else "change"
    moved = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    lines = tuple(Detail(role, f"{key}{_sides(key, before.get(key), after.get(key))}") for key in moved)
    return Words(entity.principal or str(entity), f"quota of {entity}", lines)


def _sides(key: str, before: float | None, after: float | None) -> str:
    if before is None and after is not None:
        return f" = {limit(key, after)}"
    return f": {_limit(key, before)} → {_limit(key, after)}"


def _limit(key: str, value: float | None) -> str:
    return "not set" if value is None else limit(key, value)


def limit(key: str, value: float) -> str:
    """``10485760 (10MiB/s)``: as Kafka has it, and as a person writes it."""
    unit = QUOTA_KEYS[key].unit if key in QUOTA_KEYS else ""
    if unit == "bytes/s":
        size = next(((name, number) for name, number in _SIZES if value >= number and value % number == 0), None)
        return f"{value:.0f} ({value / size[1]:.0f}{size[0]})" if size else f"{value:.0f} bytes/s"
    return f"{value:g}{unit if unit in ('', '%') else f' {unit}'}"
