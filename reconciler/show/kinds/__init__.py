"""The kinds of resources that a report can speak of: one module each, found by the type of a change's sides."""

from typing import Final

from reconciler.model.kinds import listed_types
from reconciler.model.listing import Change, Create, Delete, Impossible
from reconciler.show.kinds import acl, topic
from reconciler.show.kinds.interface import Kind, ListedKind

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *map(ListedKind, listed_types()))
#: What a sign in front of a step means.
VERBS: Final = {"+": "create", "~": "alter", "-": "delete"}

_BY_TYPE: Final = {side: kind for kind in KINDS for side in kind.TYPES}


def kind_of(change: Change) -> Kind:
    """The kind of resource that ``change`` is about."""
    if isinstance(change, Impossible):
        return _BY_TYPE[Impossible]
    return _BY_TYPE[type(change.before if change.after is None else change.after)]


def sign_of(change: Change) -> str:
    """``+`` where something is created, ``-`` where it is deleted, ``~`` where it changes."""
    if isinstance(change, Create):
        return "+"
    return "-" if isinstance(change, Delete) else "~"
