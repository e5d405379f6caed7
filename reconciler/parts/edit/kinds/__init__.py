"""The kinds of resources that the editor writes: one module each."""

from typing import Final

from reconciler.model.kinds import kind_finder, listed_types
from reconciler.parts.edit.kinds import acl, topic
from reconciler.parts.edit.kinds.interface import Kind, ListedKind

#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (
    topic,
    acl,
    *map(ListedKind, listed_types()),
)
kind_of: Final = kind_finder(KINDS)
