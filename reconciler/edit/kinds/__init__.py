"""The kinds of resources that the editor writes. A new kind is one file here and one line in ``KINDS``."""

from typing import Final

from reconciler.edit.kinds import acl, quota, topic
from reconciler.edit.kinds.interface import Changes, Kind, Wanted

#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (topic, acl, quota)

__all__ = ["KINDS", "Changes", "Kind", "Wanted"]
