"""The kinds of resources that a plan can change: one module each, found by the type of a change's sides."""

from typing import Final

from reconciler.model import Change, Impossible
from reconciler.plan.kinds import acl, quota, topic
from reconciler.plan.kinds.interface import Kind, Side

__all__ = ["KINDS", "Kind", "Side", "describe", "kind_of", "sides"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, quota)

_BY_TYPE: Final = {side: kind for kind in KINDS for side in kind.TYPES}


def kind_of(change: Change) -> Kind:
    """The kind of resource that ``change`` is about."""
    if isinstance(change, Impossible):
        return _BY_TYPE[Impossible]
    return _BY_TYPE[type(change.before if change.after is None else change.after)]


def describe(change: Change) -> str:
    """A change in a few words, as reports and refusals name it."""
    return kind_of(change).describe(change)


def sides(change: Change) -> tuple[str, Side, Side]:
    """Action, before, after, as the plan file spells them."""
    kind = kind_of(change)
    return kind.action(change), *kind.to_json(change)
