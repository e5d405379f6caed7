"""The kinds of resources that an export writes: one module each."""

from typing import Final

from reconciler.model import listed_kinds
from reconciler.report.export.kinds import acl, topic
from reconciler.report.export.kinds.interface import Inexpressible, Kind, Part

__all__ = ["KINDS", "Inexpressible", "Kind", "Part"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *listed_kinds(__name__))
