"""The kinds of resources that the editor writes: one module or package each."""

from importlib import import_module
from typing import Final

from reconciler.edit.kinds import acl, scram_user, topic
from reconciler.edit.kinds.interface import Changes, Kind, Wanted

#: The listed kinds whose items have a list and a mapping; those of others have modules of their own.
_LISTED: Final = ("quota", "group_config")
#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (
    topic,
    acl,
    scram_user,
    *(import_module(f"{__name__}.{name}").KIND for name in _LISTED),
)

__all__ = ["KINDS", "Changes", "Kind", "Wanted"]
