"""The kinds of resources that are compared. All listed kinds are compared in one way."""

from typing import Final

from reconciler.codec.kinds import KINDS as LISTED
from reconciler.diff.kinds import acl, topic
from reconciler.diff.kinds.interface import Kind
from reconciler.diff.kinds.listed import ListedKind

__all__ = ["KINDS", "Kind"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *(ListedKind(kind.TYPE) for kind in LISTED))
