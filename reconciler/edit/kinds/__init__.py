"""The kinds of resources that the editor writes: one module or package each."""

from typing import Final

from reconciler.edit.kinds import acl, scram_user, topic
from reconciler.edit.kinds.interface import Changes, Kind, Wanted
from reconciler.edit.kinds.listed import ListedKind
from reconciler.model import listed_kind, listed_types
from reconciler.report.export.written import EditedKind

#: Topics before ACLs: a topic that goes takes its owner and grants with it, and those that stay become rules.
KINDS: Final[tuple[Kind, ...]] = (
    topic,
    acl,
    scram_user,
    *(ListedKind(one) for one in listed_types() if isinstance(listed_kind(one), EditedKind)),
)

__all__ = ["KINDS", "Changes", "Kind", "Wanted"]
