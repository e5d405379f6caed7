"""The kinds of resources that an export writes: one module each."""

from typing import Final

from reconciler.model import listed_types
from reconciler.report.export.kinds import acl, topic
from reconciler.report.export.kinds.interface import Inexpressible, Kind, Part
from reconciler.report.export.kinds.listed import ListedKind

__all__ = ["KINDS", "Inexpressible", "Kind", "Part"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *map(ListedKind, listed_types()))
