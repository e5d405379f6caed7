"""The kinds of resources that a cluster in memory holds: one module each."""

from typing import Final

from reconciler.adapters.snapshot.kinds import acl, quota, topic
from reconciler.adapters.snapshot.kinds.interface import Kind
from reconciler.model import kind_finder

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, quota)
kind_of: Final = kind_finder(KINDS)
