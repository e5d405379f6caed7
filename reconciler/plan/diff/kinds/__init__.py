"""The kinds of resources that are compared. All listed kinds are compared in one way."""

from typing import Final

from reconciler.codec.kinds import KINDS as LISTED
from reconciler.plan.diff.kinds import acl, topic
from reconciler.plan.diff.kinds.interface import Kind, ListedKind

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *(ListedKind(kind.TYPE) for kind in LISTED))
