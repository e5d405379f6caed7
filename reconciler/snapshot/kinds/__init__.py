"""The kinds of resources that a cluster in memory holds. All listed kinds are held in one way."""

from typing import Final

from reconciler.codec.kinds import KINDS as LISTED
from reconciler.model.kinds import kind_finder
from reconciler.snapshot.kinds import acl, topic
from reconciler.snapshot.kinds.interface import Kind, ListedKind

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *(ListedKind(kind.TYPE) for kind in LISTED))
kind_of: Final = kind_finder(KINDS)
