"""ACLs in reports: bindings that differ in their operation only share a line."""

from collections.abc import Hashable, Sequence
from typing import Final

from reconciler.model import AclBinding, Change
from reconciler.plan import TopicReview, touched_binding, touched_bindings
from reconciler.report.kinds.interface import Words
from reconciler.report.words import binding_words

TYPES: Final = (AclBinding,)
NOUN: Final = "binding"
METRIC: Final = "acl"
ACTIONS: Final = {"CreateAcl": "create", "DeleteAcl": "delete"}


def shared(change: Change) -> Hashable:
    """All of a binding but its operation."""
    binding = touched_binding(change)
    return None if binding is None else (binding.pattern, binding.entry[:2], binding.entry.permission_type)


def alike(change: Change) -> Hashable:
    """Never: each binding is somebody's access."""
    return None


def words(changes: Sequence[Change], review: TopicReview) -> Words:
    """``User:a ALLOW READ, WRITE on TOPIC payments``."""
    bindings = touched_bindings(changes)
    operations = ", ".join(binding.entry.operation.name for binding in bindings)
    return Words(bindings[0].entry.principal, binding_words(bindings[0], operations))
