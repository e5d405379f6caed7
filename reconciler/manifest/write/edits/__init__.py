"""The kinds of resources that the editor writes: one module or package each."""

from typing import Final

from reconciler.manifest.write.edits import acl, topic
from reconciler.manifest.write.edits.interface import Kind, ListedKind
from reconciler.manifest.write.kinds.interface import EditedKind
from reconciler.model.kinds import listed_kind, listed_types

#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (
    topic,
    acl,
    *(ListedKind(one) for one in listed_types() if isinstance(listed_kind(one), EditedKind)),
)
