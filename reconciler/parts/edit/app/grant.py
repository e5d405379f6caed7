"""Grant, revoke and rename as edits of manifests: what is declared changes by exactly these bindings."""

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from reconciler.app.options import ConnectionOptions, moment
from reconciler.app.reasons import AmbiguousClusterError, RequestError
from reconciler.app.session import split_cluster
from reconciler.dataclass import dataclass
from reconciler.manifest.write.pages import Book
from reconciler.manifest.write.text import binding_problem, text_problem
from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType, ResourcePattern
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredState, Expiry
from reconciler.parts.edit.app import adopt
from reconciler.parts.edit.app.editing import ManifestEdit, Proposal, change_of, edit, gain_of, loss_of
from reconciler.parts.edit.kinds.acl import renamed


class NotDeclaredError(RequestError):
    """No manifest declares what is to be revoked."""


@dataclass(frozen=True, slots=True)
class AskedAccess:
    """What is to be granted or revoked; without operations or a pattern: all that the principal is allowed.

    ``only``: of that, nothing but these bindings is to be revoked.
    """

    principal: str
    operations: tuple[AclOperation, ...] = ()
    pattern: ResourcePattern | None = None
    host: str | None = None
    only: Collection[AclBinding] | None = None

    def bindings(self) -> list[AclBinding]:
        """The bindings that grant it."""
        if self.pattern is None:
            return []
        allow = AclPermissionType.ALLOW
        return [
            AclBinding(self.pattern, AccessControlEntry(self.principal, self.host or "*", operation, allow))
            for operation in self.operations
        ]

    def means(self, binding: AclBinding) -> bool:
        """Whether a binding is one of those to revoke."""
        pattern, entry = binding
        return (
            entry.principal == self.principal
            and entry.permission_type is AclPermissionType.ALLOW
            and (not self.operations or entry.operation in self.operations)
            and self.pattern in (None, pattern)
            and self.host in (None, entry.host)
            and (self.only is None or binding in self.only)
        )


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """Until when, why, and where it was agreed; ``override`` are access tests that access at once may break."""

    expires: Expiry | None = None
    reason: str | None = None
    ticket: str | None = None
    override: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrantEdit:
    """An edit, and sentences for who asked: what is declared already, what still grants the same."""

    edit: ManifestEdit
    notes: tuple[str, ...] = ()


def grant(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    terms: GrantTerms = GrantTerms(),
    as_of: datetime.date | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
) -> GrantEdit:
    """Declare what is asked, in the file where it belongs; nothing is written.

    What is declared already stays, unless it ends sooner. Raises a :class:`WorkflowError`.
    """
    as_of = as_of or moment()
    checked_terms(asked, terms, as_of)
    declaration = Declaration(UNWRITTEN, terms.reason, terms.ticket, terms.expires)
    notes: list[str] = []

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return on_cluster(book, cluster, lambda state: _with(state, asked.bindings(), declaration, notes))

    return GrantEdit(edit(path, wanted, gain_of(asked.principal), as_of, connection=connection), tuple(notes))


def checked_terms(asked: AskedAccess, terms: GrantTerms, as_of: datetime.date) -> None:
    """Raise a :class:`RequestError` where no manifest can say it, or it is over."""
    for binding in asked.bindings():
        if (problem := binding_problem(binding)) is not None:
            raise RequestError(f"{binding} cannot be declared: {problem}")
    for text in (terms.reason, terms.ticket):
        if text is not None and (problem := text_problem(text)) is not None:
            raise RequestError(f"{text!a} cannot be written: {problem}")
    if terms.expires is not None and terms.expires.over(as_of):
        raise RequestError(f"{terms.expires} is over", "name a time to come")


def _with(
    state: DesiredState, bindings: Collection[AclBinding], declaration: Declaration, notes: list[str]
) -> DesiredState:
    declared = dict(state.bindings)
    for binding in bindings:
        there = declared.get(binding)
        if there is None or _ends_sooner(there.expires, declaration.expires):
            declared[binding] = declaration
        else:
            until = "" if there.expires is None else f", until {there.expires}"
            notes.append(f"{binding} is declared already at {there.origin}{until}")
    return replace(state, bindings=declared)


def _ends_sooner(expiry: Expiry | None, other: Expiry | None) -> bool:
    return expiry is not None and (other is None or expiry.end < other.end)


def revoke(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    as_of: datetime.date | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
) -> GrantEdit:
    """Declare what is asked no longer; nothing is written. Raises :class:`RequestError` where nothing declares it."""
    notes: list[str] = []

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return on_cluster(book, cluster, lambda state: _less(state, asked, notes))

    return GrantEdit(edit(path, wanted, loss_of(asked.principal), as_of, connection=connection), tuple(notes))


def _less(state: DesiredState, asked: AskedAccess, notes: list[str]) -> DesiredState:
    gone = {binding for binding in state.bindings if asked.means(binding)}
    others = [binding for binding in sorted(state.bindings.keys() - gone) if _still(binding, asked)]
    still = [f"{binding} at {state.bindings[binding].origin}" for binding in others]
    if not gone:
        advice = f"what grants it is {', '.join(still)}" if still else f"reconciler access {asked.principal} lists all"
        raise NotDeclaredError(f"no manifest declares that for {asked.principal}", advice)
    notes += [f"still granted by {text}" for text in still]
    return replace(
        state, bindings={binding: declaration for binding, declaration in state.bindings.items() if binding not in gone}
    )


def _still(binding: AclBinding, asked: AskedAccess) -> bool:
    """Whether a binding that stays grants some of it to the principal, or to everybody."""
    pattern, entry = binding
    if asked.pattern is None or entry.permission_type is not AclPermissionType.ALLOW:
        return False
    whose = entry.principal in (asked.principal, "User:*")
    what = entry.operation is AclOperation.ALL or entry.operation in asked.operations
    return whose and what and pattern.overlaps(asked.pattern)


def rename(
    path: str,
    old: str,
    new: str,
    *,
    finish: bool = False,
    as_of: datetime.date | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
) -> GrantEdit:
    """Give ``new`` what ``old`` has, on every cluster; with ``finish`` take it from ``old``. Nothing is written."""
    notes: list[str] = []

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        less = {name: adopt.without_principal(state, old) for name, state in book.desired.items()}
        if less == book.desired:
            raise RequestError(f"no manifest grants {old} anything", "reconciler access lists who has what")
        if finish:
            for name, state in less.items():
                notes.extend(_lacking(book.desired[name], state, new))
        states = less if finish else {name: adopt.second(state, old, new) for name, state in book.desired.items()}
        notes.extend(adopt.unwritten(book, old))
        places = adopt.mentions(book, old)
        # Tests, owners and protected names are policy: no command rewrites them in passing. The scope follows, or
        # nothing could be declared for the new name; it keeps the old one, or no plan would delete what that has.
        if finish and (kept := adopt.in_scope(book, old)):
            notes.append(f"the scope at {', '.join(kept)} keeps {old}, so that a plan deletes its ACLs: remove it then")
        if places:
            notes.append(f"{old} is also named at {', '.join(places[:10])}: change that yourself")
        return states

    proposal = Proposal(
        partial(adopt.with_second, old=old, new=new), partial(adopt.with_second_in_scope, old=old, new=new)
    )
    promise = loss_of(old) if finish else change_of(new)
    edited = edit(path, wanted, promise, as_of, None if finish else proposal, connection)
    if finish:
        notes.append(f"clients that still log in as {old} are refused once this is applied: move them to {new} first")
    return GrantEdit(edited, tuple(dict.fromkeys(notes)))


def _lacking(before: DesiredState, after: DesiredState, new: str) -> Iterator[str]:
    """What the old name had and the new one has not."""
    gone = sorted(before.bindings.keys() - after.bindings.keys())
    for binding in [binding for binding in gone if renamed(binding, new) not in after.bindings][:10]:
        yield f"{new} lacks {binding.entry.operation.name} on {binding.pattern}, which {binding.entry.principal} has"


def on_cluster(
    book: Book, cluster: str | None, change: Callable[[DesiredState], DesiredState]
) -> dict[str, DesiredState]:
    """The declared states with a change of one cluster."""
    names = list(book.clusters)
    cluster, _ = split_cluster(cluster)
    if cluster is None and len(names) != 1:
        raise AmbiguousClusterError(names, snapshot=False)
    name = cluster or names[0]
    if name not in book.clusters:
        raise RequestError(f"there is no cluster {name!r}", f"declared are {', '.join(names) or 'none'}")
    return {**book.desired, name: change(book.desired[name])}
