"""The kinds of resources that an export writes: one module each."""

from typing import Final

from reconciler.report.export.kinds import acl, quota, topic
from reconciler.report.export.kinds.interface import Inexpressible, Kind, Part

__all__ = ["KINDS", "Inexpressible", "Kind", "Part"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, quota)
