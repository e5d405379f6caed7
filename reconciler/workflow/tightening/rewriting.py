"""Narrowings as an edit of the manifests; and the roles that it could only keep as plain rules."""

import datetime
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from reconciler.edit import Book
from reconciler.edit.rights import declared_rights
from reconciler.fleet.tighten import GrantedRight, Narrowing
from reconciler.model import Declaration, DesiredState
from reconciler.model.expiry import Expiry
from reconciler.workflow.editing import EditRefusedError, ManifestEdit, edit
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.promise import NO_GAIN
from reconciler.workflow.tightening.state import granted

_FOREVER: Final = Expiry(datetime.date.max)
#: One use of a role, and the principal.
RoleGrant: TypeAlias = tuple[Hashable, str]


def edited(
    place: str,
    texts: Mapping[str, str],
    narrowings: Mapping[str, Sequence[Narrowing]],
    day: datetime.date,
    connection: ConnectionOptions,
) -> ManifestEdit:
    """The narrowings of each cluster as an edit; reasons, tickets and last days go with what takes their place.

    Raises :class:`EditRefusedError` where no edit does exactly that, or it would break Ownership.
    """
    narrowings = {name: found for name, found in narrowings.items() if found}
    if not narrowings:
        return ManifestEdit(place, texts)

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return {**book.desired, **{name: narrower(book.desired[name], found) for name, found in narrowings.items()}}

    made = edit(place, wanted, NO_GAIN, day, connection=connection)
    if made.breaches:
        words = [f"{breach.origin}: {breach.subject}" for breach in made.breaches]
        raise EditRefusedError("\n  ".join(["the narrower rights would break Ownership: nothing was written", *words]))
    return made


def narrower(state: DesiredState, narrowings: Sequence[Narrowing]) -> DesiredState:
    """What is declared with the narrowings; of two declarations of one right, the one that lasts longest."""
    declared = dict(state.bindings)
    said_of = {one: state.bindings[one] for narrowing in narrowings for one in narrowing.bindings}
    for binding in said_of:
        declared.pop(binding, None)
    for narrowing in narrowings:
        longest = max((said_of[one] for one in narrowing.bindings), key=_end)
        for binding in narrowing.into:
            known = declared.get(binding)
            if known is None or _end(known) < _end(longest):
                declared[binding] = said_of.get(binding, longest)._replace(role=None)
    return replace(state, bindings=declared)


def _end(said: Declaration) -> datetime.datetime:
    return (said.expires or _FOREVER).end


def role_grant(right: GrantedRight) -> RoleGrant:
    """What brings a right."""
    return right.role_use, right.binding.entry.principal


def as_plain(rights: Sequence[GrantedRight], broken: frozenset[RoleGrant]) -> tuple[GrantedRight, ...]:
    """The rights, of which those of ``broken`` uses of roles are judged one by one, as they would be the next time."""
    return tuple(one._replace(role_use=None) if role_grant(one) in broken else one for one in rights)


def broken_roles(
    after: Book, cluster: str, rights: Sequence[GrantedRight], narrowings: Sequence[Narrowing]
) -> frozenset[RoleGrant]:
    """The uses of roles of which the manifests after an edit say something as plain rules."""
    written = {one.binding for one in granted(declared_rights(after, cluster)) if not one.role_use}
    plain = {one.binding for one in rights if one.role_use is None}
    into = {narrowing.bindings: narrowing.into for narrowing in narrowings}
    gone = {one: found for bindings, found in into.items() for one in bindings}
    return frozenset(
        role_grant(right)
        for right in rights
        if right.role_use is not None
        and any(one in written and one not in plain for one in gone.get(right.binding, (right.binding,)))
    )
