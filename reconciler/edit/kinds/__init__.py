"""The kinds of resources that the editor writes: one module each."""

from importlib import import_module
from typing import Final

from reconciler.edit.kinds import acl, topic
from reconciler.edit.kinds.interface import Changes, Kind, Wanted

#: The listed kinds whose documents the editor writes; those of others it leaves as they are.
_LISTED: Final = ("quota",)
#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (topic, acl, *(import_module(f"{__name__}.{name}") for name in _LISTED))

__all__ = ["KINDS", "Changes", "Kind", "Wanted"]
