"""The state from which rights are taken, and the rights that manifests declare for it."""

from collections.abc import Iterable, Sequence

from reconciler.access import Authorizer
from reconciler.dataclass import dataclass
from reconciler.edit import Book
from reconciler.edit.pages import read
from reconciler.edit.rights import DeclaredRight, declared_rights
from reconciler.fleet.tighten import GrantedRight
from reconciler.manifest import ClusterDeclaration, Manifests
from reconciler.model import AclBinding, AclPermissionType, DesiredState
from reconciler.report.access_view import AccessView
from reconciler.workflow.editing import texts_of
from reconciler.workflow.manifests import sound
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.reasons import RequestError
from reconciler.workflow.states import AccessState, declared_access, live_access, with_desired
from reconciler.workflow.usage_evidence import unclaimed

_OWNER = "owner"


@dataclass(frozen=True, slots=True)
class TightenScope:
    """What the manifests declare for one cluster, as far as it may be narrowed.

    ``declared`` has a right as often as it is written; ``owned`` are those of the built-in role ``owner``;
    ``super_users`` are those that not only the manifests state.
    """

    declaration: ClusterDeclaration
    desired: DesiredState
    book: Book
    declared: tuple[DeclaredRight, ...]
    super_users: frozenset[str]

    @property
    def rights(self) -> tuple[GrantedRight, ...]:
        """Each binding once."""
        return tuple(granted(self.declared))

    @property
    def owned(self) -> frozenset[AclBinding]:
        """What an owner has by being one."""
        return frozenset(one.binding for one in self.declared if one.role == _OWNER)


@dataclass(frozen=True, slots=True)
class TightenBase:
    """The state from which rights are taken; ``authorizer`` does without facts that only the manifests state."""

    view: AccessView
    authorizer: Authorizer
    manifests: Manifests
    scope: TightenScope
    cluster_id: str = ""
    live: bool = False


def state_of(request: StateRequest, connection: ConnectionOptions, tell: Tell = ignore) -> TightenBase:
    """The state, with the rights that the manifests declare for it."""
    found: AccessState = (
        live_access(request, connection, tell=tell) if request.live else declared_access(request, connection)
    )
    if found.manifests is None or found.declaration is None or found.desired is None:
        raise RequestError("only declared rights can be narrowed", "give the directory of the manifests")
    view = with_desired(found) if request.live else found.view
    with sound():
        book = read(texts_of(found.manifests))
    rights = unclaimed(view)
    return TightenBase(
        view,
        rights,
        found.manifests,
        scope_of(book, found.declaration, found.desired, frozenset(rights.super_users)),
        found.state.cluster_id if found.state else "",
        request.live,
    )


def scope_of(
    book: Book, declaration: ClusterDeclaration, desired: DesiredState, super_users: frozenset[str]
) -> TightenScope:
    """What is declared for a cluster and has not expired."""
    declared = (
        one
        for one in declared_rights(book, declaration.name)
        if one.binding.entry.permission_type is AclPermissionType.ALLOW and one.binding in desired.bindings
    )
    return TightenScope(declaration, desired, book, tuple(declared), super_users)


def granted(declared: Iterable[DeclaredRight]) -> Sequence[GrantedRight]:
    """Each binding once: as what a role brings only where nothing else declares it."""
    found: dict[AclBinding, GrantedRight] = {}
    for one in declared:
        use = None if one.use is None else str(one.use)
        known = found.get(one.binding)
        if known is None or use is None:
            found[one.binding] = GrantedRight(one.binding, use, one.of_role)
    return list(found.values())
