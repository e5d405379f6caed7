"""The kinds of resources that a cluster in memory holds. All listed kinds are held in one way."""

from typing import Final

from reconciler.adapters.snapshot.kinds import acl, topic
from reconciler.adapters.snapshot.kinds.interface import Kind
from reconciler.adapters.snapshot.kinds.listed import ListedKind
from reconciler.codec.kinds import KINDS as LISTED
from reconciler.model import kind_finder

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *(ListedKind(kind.TYPE) for kind in LISTED))
kind_of: Final = kind_finder(KINDS)
