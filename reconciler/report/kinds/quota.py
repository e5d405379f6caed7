"""Client quotas in reports: limits with their units."""

from typing import Final

from reconciler.model.kinds.quota import QUOTA_KEYS
from reconciler.plan.kinds import quota
from reconciler.report.kinds.interface import Kind
from reconciler.report.kinds.listed import ListedKind

_SIZES: Final = (("TiB/s", 2**40), ("GiB/s", 2**30), ("MiB/s", 2**20), ("KiB/s", 2**10))


def limit(key: str, value: float) -> str:
    """``10485760 (10MiB/s)``: as Kafka has it, and as a person writes it."""
    unit = QUOTA_KEYS[key].unit if key in QUOTA_KEYS else ""
    if unit == "bytes/s":
        size = next(((name, number) for name, number in _SIZES if value >= number and value % number == 0), None)
        return f"{value:.0f} ({value / size[1]:.0f}{size[0]})" if size else f"{value:.0f} bytes/s"
    return f"{value:g}{unit if unit in ('', '%') else f' {unit}'}"


KIND: Final[Kind] = ListedKind(quota.KIND, "quota", limit, "its limits go")
