"""Which file may name which principals, topics and other resources; reports breaches with the owner.

A file may name what its teams own and what has no owner. CLUSTER is an exception and always needs an owner or a
consent: ALTER on it permits to change every ACL. A file of no team may name only what has no owner, so a misspelled
glob removes rights and never adds any.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from reconciler.model import AclOperation, DesiredState, Origin, ResourcePattern, ResourceType
from reconciler.policy.owners import (
    OwnedPatterns,
    Owner,
    OwnerConsent,
    effective_consents,
    owners_of_principal,
    teams_by_file,
)


class BreachKind(StrEnum):
    """Which rule is broken."""

    #: A binding for a principal of another team.
    PRINCIPAL = "principal"
    #: A binding on a resource of another team, without its consent.
    RESOURCE = "resource"
    #: A declaration of a topic of another team.
    TOPIC = "topic"
    #: A consent outside the files of the team that gives it.
    CONSENT = "consent"
    #: Owners in a file that belongs to a team.
    OWNERS = "owners"


@dataclass(frozen=True, slots=True)
class Breach:
    """One breach: ``teams`` are those of the file, ``owners`` those that own the resource (none if nobody does).

    ``pattern`` and ``operations`` are set for RESOURCE, ``pattern`` for TOPIC, ``principal`` for PRINCIPAL.
    """

    origin: Origin
    kind: BreachKind
    teams: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    principal: str | None = None
    pattern: ResourcePattern | None = None
    operations: tuple[AclOperation, ...] = ()


class Ownership:
    """Owners and consents of one cluster, as rules for what its manifests declare. Immutable."""

    __slots__ = ("_consents", "_counting", "_files", "_holdings", "_owners")

    def __init__(self, owners: Iterable[Owner], consents: Iterable[OwnerConsent] = ()) -> None:
        """Without owners everything is permitted."""
        self._owners = tuple(owners)
        self._consents = tuple(consents)
        self._files = teams_by_file(self._owners)
        self._holdings = OwnedPatterns(self._owners)
        self._counting = effective_consents(self._consents, self._files)

    def breaches(self, desired: DesiredState) -> tuple[Breach, ...]:
        """All breaches, in the order of files and lines."""
        if not self._owners:
            return ()
        found = (
            *self._of_bindings(desired),
            *self._of_topics(desired),
            *self._of_quotas(desired),
            *self._of_documents(),
        )
        return tuple(sorted(found, key=lambda item: (item.origin, item.kind, item.principal or "", item.pattern or ())))

    def used_consents(self, desired: DesiredState) -> tuple[OwnerConsent, ...]:
        """The consents without which something declared would be a breach, in the order of files and lines."""
        found = {
            consent
            for binding, declaration in desired.bindings.items()
            for consent in self._consents_for(declaration.origin.file, binding.pattern, binding.entry.operation)
        }
        return tuple(sorted(found, key=lambda consent: consent.origin))

    def _teams(self, file: str) -> frozenset[str]:
        return self._files.get(file, frozenset())

    def _of_bindings(self, desired: DesiredState) -> Iterator[Breach]:
        by_pattern: dict[tuple[Origin, ResourcePattern], set[AclOperation]] = defaultdict(set)
        by_principal: dict[tuple[str, str], Origin] = {}
        permitted: dict[tuple[str, ResourcePattern, AclOperation], bool] = {}
        for binding, (origin, *_) in desired.bindings.items():
            pattern, entry = binding
            key = (origin.file, pattern, entry.operation)
            # One rule expands to many bindings with the same pattern and operation.
            if key not in permitted:
                permitted[key] = self._may_name(*key)
            if not permitted[key]:
                by_pattern[origin, pattern].add(entry.operation)
            named = (origin.file, entry.principal)
            by_principal[named] = min(origin, by_principal.get(named, origin))
        for (origin, pattern), operations in by_pattern.items():
            teams = self._teams(origin.file)
            owners = self._holdings.whole(pattern) or self._holdings.touched(pattern) - teams
            yield self._breach(
                origin, BreachKind.RESOURCE, owners, pattern=pattern, operations=tuple(sorted(operations))
            )
        for (file, principal), origin in by_principal.items():
            owners = owners_of_principal(self._owners, principal)
            # A principal without an owner is free: anyone may grant it access to their own resources.
            if owners and not owners & self._teams(file):
                yield self._breach(origin, BreachKind.PRINCIPAL, owners, principal=principal)

    def _may_name(self, file: str, pattern: ResourcePattern, operation: AclOperation) -> bool:
        teams, owners = self._teams(file), self._holdings.whole(pattern)
        if owners & teams or any(self._consents_for(file, pattern, operation)):
            return True
        # A prefix or * must not touch a name of another team, not even one that does not exist yet.
        return pattern.resource_type is not ResourceType.CLUSTER and not self._holdings.touched(pattern) - teams

    def _consents_for(self, file: str, pattern: ResourcePattern, operation: AclOperation) -> Iterator[OwnerConsent]:
        """The consents by which ``file`` may name what its teams do not own."""
        if not self._counting:
            return
        teams, owners = self._teams(file), self._holdings.whole(pattern)
        if not owners & teams:
            for consent in self._counting:
                if consent.to in teams and consent.team in owners and consent.covers(pattern, operation):
                    yield consent

    def _of_topics(self, desired: DesiredState) -> Iterator[Breach]:
        for name, wanted in desired.topics.items():
            pattern = ResourcePattern(ResourceType.TOPIC, name)
            owners = self._holdings.whole(pattern)
            if owners and not owners & self._teams(wanted.origin.file):
                yield self._breach(wanted.origin, BreachKind.TOPIC, owners, pattern=pattern)

    def _of_quotas(self, desired: DesiredState) -> Iterator[Breach]:
        """A quota is its user's; those without a named user, defaults among them, touch everybody and need no owner."""
        for entity, wanted in desired.quotas.items():
            origin, principal = wanted.declaration.origin, entity.principal
            owners = owners_of_principal(self._owners, principal) if principal else frozenset[str]()
            if owners and not owners & self._teams(origin.file):
                yield self._breach(origin, BreachKind.PRINCIPAL, owners, principal=principal)

    def _of_documents(self) -> Iterator[Breach]:
        """Ownership documents themselves: a team that could declare them in its own file could own everything."""
        for owner in self._owners:
            if self._teams(owner.origin.file):
                yield self._breach(owner.origin, BreachKind.OWNERS, ())
        for consent in self._consents:
            if consent not in self._counting:
                yield self._breach(consent.origin, BreachKind.CONSENT, [consent.team])

    def _breach(
        self,
        origin: Origin,
        kind: BreachKind,
        owners: Iterable[str],
        *,
        principal: str | None = None,
        pattern: ResourcePattern | None = None,
        operations: tuple[AclOperation, ...] = (),
    ) -> Breach:
        teams = tuple(sorted(self._teams(origin.file)))
        return Breach(origin, kind, teams, tuple(sorted(owners)), principal, pattern, operations)
