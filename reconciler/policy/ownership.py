"""Which file may name which principals, topics and other resources; reports breaches with the owner.

A file may name what its teams own and what has no owner. CLUSTER is an exception and always needs an owner or a
consent: ALTER on it permits to change every ACL. DENY is another: on what nobody owns it can cut off everybody, so it
needs a file of no team. A file of no team may name only what has no owner, so a misspelled glob removes rights and
never adds any.

A binding that a ``Role`` document contributes is held against the file of the role too: whoever edits the role decides
what everybody who uses it declares.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from reconciler.model import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    Declaration,
    DesiredState,
    Origin,
    ResourcePattern,
    ResourceType,
)
from reconciler.policy.breach import Breach, BreachKind, breach_order
from reconciler.policy.owners import (
    OwnedPatterns,
    Owner,
    OwnerConsent,
    effective_consents,
    owners_of_principal,
    teams_by_file,
)


class _Place(NamedTuple):
    """Where a binding is declared, and the rule of a role by which ``file`` has a say in it."""

    origin: Origin
    role: Origin | None = None

    @property
    def file(self) -> str:
        return (self.role or self.origin).file


def _places(declared: Declaration) -> Iterator[_Place]:
    yield _Place(declared.origin)
    if declared.role is not None and declared.role.file != declared.origin.file:
        yield _Place(declared.origin, declared.role)


class _Use(NamedTuple):
    """What makes one RESOURCE breach of several bindings: the same place, pattern and permission."""

    place: _Place
    pattern: ResourcePattern
    permission: AclPermissionType
    consent: Origin | None


class Ownership:
    """Owners and consents of one cluster, as rules for what its manifests declare. Immutable.

    ``guardrails``: the rules come from another directory than what they judge, so breaches name them, and the files
    that hold the rules are not judged.
    """

    __slots__ = (
        "_claims",
        "_consents",
        "_counting",
        "_files",
        "_guardrails",
        "_holdings",
        "_owners",
        "_owners_of",
        "_variables",
    )

    def __init__(
        self,
        owners: Iterable[Owner],
        consents: Iterable[OwnerConsent] = (),
        *,
        guardrails: bool = False,
        variables: tuple[Origin, Collection[str]] | None = None,
        claims: Collection[tuple[ResourcePattern, Origin]] = (),
    ) -> None:
        """Without owners everything is permitted.

        ``variables``: the place that sets them, the files that use them. ``claims``: what files call their own.
        """
        self._claims = claims
        self._variables = variables
        self._owners = tuple(owners)
        self._consents = tuple(consents)
        self._guardrails = guardrails
        self._files = teams_by_file(self._owners)
        self._holdings = OwnedPatterns(self._owners)
        self._counting = effective_consents(self._consents, self._files)
        self._owners_of = cache(lambda principal: owners_of_principal(self._owners, principal))

    def breaches(self, desired: DesiredState) -> tuple[Breach, ...]:
        """All breaches, in the order of files and lines."""
        if not self._owners:
            return ()
        found = (
            *self._of_bindings(desired),
            *self._of_topics(desired),
            *self._of_listed(desired),
            *self._of_variables(),
            *self._of_claims(),
            *(() if self._guardrails else self._of_documents()),
        )
        return tuple(sorted(found, key=breach_order))

    def used_consents(self, desired: DesiredState) -> tuple[OwnerConsent, ...]:
        """The consents without which something declared would be a breach, in the order of files and lines."""
        if not self._consents:
            return ()
        found = {
            consent
            for binding, declared in desired.bindings.items()
            for place in _places(declared)
            for consent in self._consents_for(place.file, binding)
        }
        return tuple(sorted(found, key=lambda consent: consent.origin))

    def _teams(self, file: str) -> frozenset[str]:
        return self._files.get(file, frozenset())

    def _judged(self, desired: DesiredState) -> Iterator[tuple[AclBinding, _Place]]:
        """Every binding with each place that has a say in it.

        A role in a file of no team is everybody's: those who may edit such files may edit the rules of ownership too.
        """
        for binding, declared in desired.bindings.items():
            for place in _places(declared):
                if place.role is None or self._teams(place.file):
                    yield binding, place

    def _of_bindings(self, desired: DesiredState) -> Iterator[Breach]:
        uses: dict[_Use, list[AclBinding]] = defaultdict(list)
        by_principal: dict[tuple[str, bool, str], _Place] = {}
        free: dict[tuple[str, ResourcePattern, AclPermissionType], bool] = {}
        for binding, place in self._judged(desired):
            pattern, entry = binding
            # One rule expands to many bindings with the same pattern.
            key = (place.file, pattern, entry.permission_type)
            if key not in free:
                free[key] = self._is_free(*key)
            if not free[key] and not any(self._consents_for(place.file, binding)):
                near = self._near_consent(place.file, binding)
                uses[_Use(place, pattern, entry.permission_type, near)].append(binding)
            named = (place.file, place.role is not None, entry.principal)
            by_principal[named] = min(place, by_principal.get(named, place), key=lambda one: one.origin)
        for use, bindings in uses.items():
            yield self._resource_breach(use, bindings)
        for (file, _, principal), place in by_principal.items():
            owners = self._owners_of(principal)
            # A principal without an owner is free: anyone may grant it access to their own resources.
            if owners and not owners & self._teams(file):
                yield self._breach(place, BreachKind.PRINCIPAL, owners, principal=principal)

    def _is_free(self, file: str, pattern: ResourcePattern, permission: AclPermissionType) -> bool:
        """Whether a file may name a pattern without anybody's consent."""
        teams = self._teams(file)
        if self._holdings.whole(pattern) & teams:
            return True
        if pattern.resource_type is ResourceType.CLUSTER or (teams and permission is AclPermissionType.DENY):
            return False
        # A prefix or * must not touch a name of another team, not even one that does not exist yet.
        return not self._holdings.touched(pattern) - teams

    def _consents_for(self, file: str, binding: AclBinding) -> Iterator[OwnerConsent]:
        """The consents by which ``file`` may name what its teams do not own."""
        for consent in self._consents_about(file, binding.pattern):
            if consent.covers(binding, self._owners_of):
                yield consent

    def _consents_about(self, file: str, pattern: ResourcePattern) -> Iterator[OwnerConsent]:
        if not self._counting:
            return
        teams, owners = self._teams(file), self._holdings.whole(pattern)
        if not owners & teams:
            yield from (one for one in self._counting if one.to in teams and one.team in owners)

    def _near_consent(self, file: str, binding: AclBinding) -> Origin | None:
        """One that names the operation, but not this principal or permission: what its author will think of."""
        about = self._consents_about(file, binding.pattern)
        return min((one.origin for one in about if one.names(binding.pattern, binding.entry.operation)), default=None)

    def _resource_breach(self, use: _Use, bindings: Iterable[AclBinding]) -> Breach:
        entries = [binding.entry for binding in bindings]
        teams = self._teams(use.place.file)
        owners = self._holdings.whole(use.pattern) or self._holdings.touched(use.pattern) - teams
        strangers = {one.principal for one in entries if not self._owners_of(one.principal) & teams}
        return self._breach(
            use.place,
            BreachKind.RESOURCE,
            owners,
            pattern=use.pattern,
            operations=tuple(sorted({one.operation for one in entries})),
            permission=use.permission,
            strangers=tuple(sorted(strangers)),
            consent=use.consent,
        )

    def _of_topics(self, desired: DesiredState) -> Iterator[Breach]:
        for name, wanted in desired.topics.items():
            pattern = ResourcePattern(ResourceType.TOPIC, name)
            owners = self._holdings.whole(pattern)
            if owners and not owners & self._teams(wanted.origin.file):
                yield self._breach(_Place(wanted.origin), BreachKind.TOPIC, owners, pattern=pattern)

    def _of_listed(self, desired: DesiredState) -> Iterator[Breach]:
        """What is about a named resource is its owner's, as a topic is; a quota is its user's.

        A quota without a named user, as a default is, can slow down everybody, as a DENY can.
        """
        wanted = (one for items in desired.listed.values() for one in items.values() if not one.expired)
        for one in wanted:
            origin, principal, place = one.declaration.origin, one.item.principal, one.item.place
            if place is not None:
                holders = self._holdings.whole(place)
                if holders and not holders & self._teams(origin.file):
                    kind = BreachKind(place.resource_type.name.lower())
                    yield self._breach(_Place(origin), kind, holders, pattern=place)
                continue
            owners = self._owners_of(principal) if principal else frozenset[str]()
            if not principal and self._teams(origin.file):
                yield replace(self._breach(_Place(origin), BreachKind.SHARED, ()), subject=one.item.subject)
            elif owners and not owners & self._teams(origin.file):
                yield self._breach(_Place(origin), BreachKind.PRINCIPAL, owners, principal=principal)

    def _of_variables(self) -> Iterator[Breach]:
        """Whoever sets a variable declares what others write: a team could grant anything in the name of another."""
        origin, users = self._variables or (None, ())
        teams = frozenset[str]() if origin is None else self._teams(origin.file)
        for file in sorted(users):
            if origin is not None and teams - self._teams(file):
                yield self._breach(_Place(origin), BreachKind.VARIABLES, self._teams(file) - teams)
                return

    def _of_claims(self) -> Iterator[Breach]:
        """A team's file may name what nobody owns, and not call it its own; what others own is a breach anyway."""
        for pattern, origin in self._claims:
            teams, holdings = self._teams(origin.file), self._holdings
            if teams and not holdings.whole(pattern) & teams and not holdings.touched(pattern) - teams:
                yield self._breach(_Place(origin), BreachKind.CLAIM, (), pattern=pattern)

    def _of_documents(self) -> Iterator[Breach]:
        """Ownership documents themselves: a team that could declare them in its own file could own everything."""
        for owner in self._owners:
            if self._teams(owner.origin.file):
                yield self._breach(_Place(owner.origin), BreachKind.OWNERS, ())
        for consent in self._consents:
            if consent not in self._counting:
                yield self._breach(_Place(consent.origin), BreachKind.CONSENT, [consent.team])

    def _breach(  # noqa: PLR0913 - the fields of a breach
        self,
        place: _Place,
        kind: BreachKind,
        owners: Iterable[str],
        *,
        principal: str | None = None,
        pattern: ResourcePattern | None = None,
        operations: tuple[AclOperation, ...] = (),
        permission: AclPermissionType = AclPermissionType.ALLOW,
        strangers: tuple[str, ...] = (),
        consent: Origin | None = None,
    ) -> Breach:
        return Breach(
            place.origin,
            kind,
            tuple(sorted(self._teams(place.file))),
            tuple(sorted(owners)),
            principal,
            pattern,
            operations,
            permission,
            strangers,
            consent,
            place.role,
            self._rule(owners) if self._guardrails else None,
        )

    def _rule(self, owners: Iterable[str]) -> Origin:
        """The item of the first owner; without one, the first item, for then it is a rule about all that is unowned."""
        named = set(owners)
        return min((owner.origin for owner in self._owners if owner.team in named), default=self._owners[0].origin)
