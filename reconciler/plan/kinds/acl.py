"""ACLs: bindings are created and deleted, never updated.

The order, its proof, bridges and the access review are about bindings only; they take them from the functions below.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

from reconciler.codec import Codec
from reconciler.codec.changes import created, deleted
from reconciler.codec.values import BINDING
from reconciler.model import AclBinding, AclChange, Change, Create, Delete

TYPES: Final = (AclBinding,)
CODECS: Final[Mapping[str, Codec[Any]]] = {"CreateAcl": created(BINDING), "DeleteAcl": deleted(BINDING)}


def action(change: Change) -> str:
    """``CreateAcl`` or ``DeleteAcl``."""
    return "CreateAcl" if isinstance(change, Create) else "DeleteAcl"


def describe(change: Change) -> str:
    """``create User:alice ALLOW READ on TOPIC payments.orders``."""
    return f"{'create' if isinstance(change, Create) else 'delete'} {touched_binding(change)}"


def key(change: Change) -> tuple[str, Any]:
    """By binding."""
    return "", touched_binding(change)


def is_reversible(change: Change) -> bool:
    """Always: a binding that went can be created again."""
    return True


def touches(change: Change) -> frozenset[object]:
    """The binding."""
    return frozenset((touched_binding(change),))


def touched_binding(change: Change) -> AclBinding | None:
    """The binding that a change creates or deletes; ``None`` where it is a change of something else."""
    match change:
        case Create(AclBinding() as binding) | Delete(AclBinding() as binding):
            return binding
    return None


def acl_changes(changes: Iterable[Change]) -> list[AclChange]:
    """Those that create or delete a binding, in order."""
    return [
        change
        for change in changes
        if isinstance(change, Create | Delete) and isinstance(change.after or change.before, AclBinding)
    ]


def created_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes create, in order."""
    return [c.after for c in changes if isinstance(c, Create) and isinstance(c.after, AclBinding)]


def deleted_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes delete, in order."""
    return [c.before for c in changes if isinstance(c, Delete) and isinstance(c.before, AclBinding)]


def touched_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes create or delete, in order."""
    return [binding for change in changes if (binding := touched_binding(change)) is not None]


def is_acl_change(change: Change) -> TypeGuard[AclChange]:
    """Whether a change creates or deletes a binding."""
    return touched_binding(change) is not None
