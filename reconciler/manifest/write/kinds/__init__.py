"""The kinds of resources that an export writes: one module each."""

from typing import Final

from reconciler.manifest.write.kinds import acl, topic
from reconciler.manifest.write.kinds.interface import Kind, ListedKind
from reconciler.model.kinds import listed_types

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *map(ListedKind, listed_types()))
