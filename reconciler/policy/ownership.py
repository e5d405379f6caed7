"""Which file may name which principals, topics and other resources; reports breaches with the owner.

A file may name what its teams own. Of what nobody owns, :mod:`reconciler.policy.laws` says for each kind whether a
team's file may declare it. CLUSTER is an exception and always needs an owner or a consent: ALTER on it permits to
change every ACL. A file of no team may name only what has no owner. There it may do what a team's file may not, so a
misspelled glob removes rights and can add such ones.

An item that has expired is judged as before its end: it is wanted no longer, and somebody still wrote it.

A binding that a ``Role`` document contributes is held against the file of the role too: whoever edits the role decides
what everybody who uses it declares.
"""

import datetime
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from itertools import chain, product
from typing import Any, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Expiry, Origin
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.policy.laws import ACL, TOPIC, DeclaredBy, Ends, Goes, Law, Unowned, law_of
from reconciler.policy.owners import (
    Agreement,
    OwnedPatterns,
    OwnedPrincipals,
    Owner,
    OwnerConsent,
    effective_consents,
    teams_by_file,
)

# A breach of ownership: which rule is broken, where, by whom, and whose the resource is.


class BreachKind(StrEnum):
    """Which rule is broken."""

    #: A binding for a principal of another team.
    PRINCIPAL = "principal"
    #: A binding on a resource of another team, without its consent.
    RESOURCE = "resource"
    #: A declaration of a topic of another team.
    TOPIC = "topic"
    #: A declaration of the configs of a group of another team.
    GROUP = "group"
    #: A consent outside the files of the team that gives it.
    CONSENT = "consent"
    #: Owners in a file that belongs to a team.
    OWNERS = "owners"
    #: A team's file that declares something about everybody, such as a default quota.
    SHARED = "shared"
    #: A team's file that declares what no team owns, and only a file of no team may declare.
    UNOWNED = "unowned"
    #: A team's file that sets the variables of files that are not the team's.
    VARIABLES = "variables"
    #: A team's file that calls topics its own which the rules do not give it.
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Breach:
    """One breach: ``teams`` are those of the file, ``owners`` those that own the resource (none if nobody does).

    ``subject`` is what a SHARED or UNOWNED one declares. ``pattern``, ``permission`` and ``operations`` are set for
    RESOURCE, ``pattern`` for TOPIC, GROUP and CLAIM, ``principal`` for PRINCIPAL. ``part`` is the more exact pattern of
    ``owners`` that the one of a RESOURCE reaches. ``strangers`` are the principals of a RESOURCE that ``teams`` do not
    own, ``consent`` is the place of one that names the operation and covers neither them nor the permission. With
    ``role`` the file is that of a ``Role`` document's rule, which ``origin`` uses. ``rule`` is
    the item of Ownership that says so, where it is one of the guardrails.
    """

    origin: Origin
    kind: BreachKind
    teams: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    principal: str | None = None
    pattern: ResourcePattern | None = None
    part: ResourcePattern | None = None
    operations: tuple[AclOperation, ...] = ()
    permission: AclPermissionType = AclPermissionType.ALLOW
    strangers: tuple[str, ...] = ()
    consent: Origin | None = None
    role: Origin | None = None
    rule: Origin | None = None
    subject: str = ""


def breach_order(breach: Breach) -> tuple[object, ...]:
    """By files and lines."""
    return (
        breach.origin,
        breach.kind,
        breach.principal or breach.subject,
        breach.pattern or (),
        breach.part or (),
        breach.permission,
        breach.operations,
        (breach.role is not None, breach.role or ()),
        (breach.rule is not None, breach.rule or ()),
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
        "_as_of",
        "_claims",
        "_consents",
        "_counting",
        "_denying",
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
        as_of: datetime.date = datetime.date.min,
        guardrails: bool = False,
        variables: tuple[Origin, Collection[str]] | None = None,
        claims: Collection[tuple[ResourcePattern, Origin]] = (),
    ) -> None:
        """Without owners everything is permitted.

        ``as_of``: a consent that is over by then covers only what ended no later than the consent did.
        ``variables``: the place that sets them, the files that use them. ``claims``: what files call their own.
        """
        self._as_of = as_of
        self._claims = claims
        self._variables = variables
        self._owners = tuple(owners)
        self._consents = tuple(consents)
        self._guardrails = guardrails
        self._denying = frozenset(owner.team for owner in self._owners if owner.deny_any)
        self._files = teams_by_file(self._owners)
        self._holdings = OwnedPatterns(self._owners)
        self._counting = effective_consents(self._consents, self._files)
        self._owners_of = cache(OwnedPrincipals(self._owners).owners)

    def breaches(self, desired: DesiredState) -> tuple[Breach, ...]:
        """All breaches, in the order of files and lines."""
        if not self._owners:
            return ()
        breaches = (
            *self._of_bindings(desired),
            *self._of_topics(desired),
            *self._of_listed(desired),
            *self._of_variables(),
            *self._of_claims(),
            *(() if self._guardrails else self._of_documents()),
        )
        return tuple(sorted(breaches, key=breach_order))

    def forbids(self, binding: AclBinding, declared: Declaration) -> bool:
        """Whether what declared a binding that has expired may not speak for it."""
        return bool(self._owners) and any(self._of_bindings(DesiredState(expired={binding: declared})))

    def owners_of(self, pattern: ResourcePattern) -> frozenset[str] | None:
        """The teams that own a name of it; ``None`` where nothing says who owns what."""
        return self._holdings.touched(pattern) if self._owners else None

    def agreement(self, binding: AclBinding, declared: Declaration) -> Agreement | None:
        """What the owners say to what names it; ``None`` where it is nobody's."""
        breaches = self._of_bindings(DesiredState(bindings={binding: declared})) if self._owners else ()
        if any(breach.kind is BreachKind.RESOURCE for breach in breaches):
            return Agreement.MISSING
        if not self.owners_of(binding.pattern):
            return None
        given = (self._consents_for(place.file, binding, None) for place in _places(declared))
        return Agreement.GIVEN if any(chain.from_iterable(given)) else Agreement.OWN

    def used_consents(self, desired: DesiredState) -> tuple[OwnerConsent, ...]:
        """The consents without which something declared would be a breach, in the order of files and lines."""
        if not self._consents:
            return ()
        used = {
            consent
            for binding, declared in desired.bindings.items()
            for place in _places(declared)
            for consent in self._consents_for(place.file, binding, None)
        }
        return tuple(sorted(used, key=lambda consent: consent.origin))

    def may_deny(self, file: str) -> bool:
        """Whether a file is one of a team that may deny whatever there is."""
        return not self._denying.isdisjoint(self._teams(file))

    def outlasting(self, desired: DesiredState) -> Mapping[OwnerConsent, tuple[Origin, ...]]:
        """The places that rely on a consent and go on when it ends, the last one that covers them; each is sorted."""
        outlasting: dict[OwnerConsent, set[Origin]] = defaultdict(set)
        if not any(consent.expires for consent in self._consents):
            return {}
        for binding, declared in desired.bindings.items():
            by_part = (self._consents_by_part(place.file, binding, None) for place in _places(declared))
            for _, covering in chain.from_iterable(by_part):
                ends = {consent: consent.expires for consent in covering if consent.expires is not None}
                last = max(ends, key=lambda item: ends[item].end, default=None)
                if last is None or len(ends) < len(covering):
                    continue
                if declared.expires is None or declared.expires.end > ends[last].end:
                    outlasting[last].add(declared.origin)
        return {consent: tuple(sorted(places)) for consent, places in outlasting.items()}

    def _teams(self, file: str) -> frozenset[str]:
        return self._files.get(file, frozenset())

    def _judged(self, desired: DesiredState) -> Iterator[tuple[AclBinding, _Place, Expiry | None]]:
        """Every binding with each place that has a say in it, and its end if that is over.

        A role in a file of no team is everybody's: those who may edit such files may edit the rules of ownership too.
        """
        over = desired.expired.items() if ACL.ends is Ends.JUDGED else ()
        ended = ((binding, declared, declared.expires) for binding, declared in over)
        standing = ((binding, declared, None) for binding, declared in desired.bindings.items())
        repeated = ((binding, declared, self._ended(declared)) for binding, declared in desired.repeated)
        for binding, declared, end in chain(standing, ended, repeated):
            for place in _places(declared):
                if place.role is None or self._teams(place.file):
                    yield binding, place, end

    def _ended(self, declared: Declaration) -> Expiry | None:
        """Its end if that is over."""
        return declared.expires if declared.expires is not None and declared.expires.over(self._as_of) else None

    def _of_bindings(self, desired: DesiredState) -> Iterator[Breach]:
        uses: dict[_Use, list[AclBinding]] = defaultdict(list)
        by_principal: dict[tuple[str, bool, str], _Place] = {}
        free: dict[tuple[str, ResourcePattern, AclPermissionType], bool] = {}
        for binding, place, end in self._judged(desired):
            pattern, entry = binding
            if entry.permission_type is AclPermissionType.DENY and self.may_deny(place.file):
                continue
            # One rule expands to many bindings with the same pattern.
            key = (place.file, pattern, entry.permission_type)
            if key not in free:
                free[key] = self._is_free(*key)
            if not free[key] and not any(self._consents_for(place.file, binding, end)):
                near = self._near_consent(place.file, binding)
                uses[_Use(place, pattern, entry.permission_type, near)].append(binding)
            named = (place.file, place.role is not None, entry.principal)
            by_principal[named] = min(place, by_principal.get(named, place), key=lambda item: item.origin)
        for use, bindings in uses.items():
            yield from self._resource_breaches(use, bindings)
        for (file, _, principal), place in by_principal.items():
            owners = self._owners_of(principal)
            # A principal without an owner is free: anyone may grant it access to their own resources.
            if owners and not owners & self._teams(file):
                yield self._breach(place, BreachKind.PRINCIPAL, owners, principal=principal)

    def _is_free(self, file: str, pattern: ResourcePattern, permission: AclPermissionType) -> bool:
        """Whether a file may name a pattern without anybody's consent."""
        if next(self._foreign_parts(file, pattern), None) is not None:
            return False
        if self._holdings.owners(pattern):
            return True
        takes = permission is AclPermissionType.DENY
        return pattern.resource_type is not ResourceType.CLUSTER and self._may_declare_unowned(file, ACL, takes=takes)

    def _foreign_parts(self, file: str, pattern: ResourcePattern) -> Iterator[ResourcePattern]:
        """What a pattern reaches of other teams: itself, and each more exact pattern, also of names of the future."""
        teams = self._teams(file)
        for part in (pattern, *self._holdings.inner(pattern)):
            owners = self._holdings.owners(part)
            if owners and not owners & teams:
                yield part

    def _may_declare_unowned(self, file: str, law: Law, *, takes: bool) -> bool:
        """Whether a file may declare an item of this kind that nobody owns; ``takes``: it takes something away."""
        match law.unowned:
            case Unowned.ADDITIONS:
                return not takes or not self._teams(file)
            case Unowned.NO_TEAM:
                return not self._teams(file)

    def _consents_for(self, file: str, binding: AclBinding, end: Expiry | None) -> tuple[OwnerConsent, ...]:
        """The consents by which ``file`` may name what its teams do not own; ``end``: when the binding expired.

        None at all where the owner of a part does not consent.
        """
        parts = [consents for _, consents in self._consents_by_part(file, binding, end)]
        return tuple(chain.from_iterable(parts)) if all(parts) and self._holdings.owners(binding.pattern) else ()

    def _consents_by_part(
        self, file: str, binding: AclBinding, end: Expiry | None
    ) -> Iterator[tuple[ResourcePattern, list[OwnerConsent]]]:
        """Each part of other teams, with their consents to it."""
        for part in self._foreign_parts(file, binding.pattern):
            yield (
                part,
                [
                    consent
                    for consent in self._consents_about(file, part)
                    if self._stands(consent, end) and consent.covers(AclBinding(part, binding.entry), self._owners_of)
                ],
            )

    def _stands(self, consent: OwnerConsent, end: Expiry | None) -> bool:
        """Whether a consent counts now or, for what has expired, counted until then."""
        if consent.expires is None:
            return True
        return not consent.expires.over(self._as_of) if end is None else consent.expires.end >= end.end

    def _consents_about(self, file: str, pattern: ResourcePattern) -> Iterator[OwnerConsent]:
        """The consents of the owners of a pattern, in an order of their own."""
        if self._counting:
            for pair in product(self._teams(file), self._holdings.owners(pattern)):
                yield from self._counting.get(pair, ())

    def _near_consent(self, file: str, binding: AclBinding) -> Origin | None:
        """One that names the operation, but not this principal or permission: what its author will think of."""
        near = (
            item
            for part in self._foreign_parts(file, binding.pattern)
            for item in self._consents_about(file, part)
            if item.names(part, binding.entry.operation) and self._stands(item, None)
        )
        return min((item.origin for item in near), default=None)

    def _resource_breaches(self, use: _Use, bindings: Collection[AclBinding]) -> Iterator[Breach]:
        """One for each part whose owners do not consent, or one for all where nobody owns the whole."""
        entries = [binding.entry for binding in bindings]
        teams, holdings = self._teams(use.place.file), self._holdings
        owners = holdings.owners(use.pattern)
        strangers = {item.principal for item in entries if not self._owners_of(item.principal) & teams}
        breach = replace(
            self._breach(
                use.place, BreachKind.RESOURCE, owners or holdings.touched(use.pattern) - teams, pattern=use.pattern
            ),
            operations=tuple(sorted({entry.operation for entry in entries})),
            permission=use.permission,
            strangers=tuple(sorted(strangers)),
            consent=use.consent,
        )
        parts = self._lacking(use, bindings) if owners else []
        for part in parts:
            inner = None if part == use.pattern else part
            yield replace(breach, owners=tuple(sorted(holdings.owners(part))), part=inner)
        if not parts:
            yield breach

    def _lacking(self, use: _Use, bindings: Iterable[AclBinding]) -> list[ResourcePattern]:
        """The parts of a pattern whose owners do not consent to one of the bindings."""
        by_part = (self._consents_by_part(use.place.file, binding, None) for binding in bindings)
        return list(dict.fromkeys(part for part, consents in chain.from_iterable(by_part) if not consents))

    def _of_topics(self, desired: DesiredState) -> Iterator[Breach]:
        for name, wanted in desired.topics.items():
            pattern = ResourcePattern(ResourceType.TOPIC, name)
            subject = f"{'deletion of ' if wanted.absent else ''}topic {name}"
            # Everybody's offsets and transactions are in the internal ones: a team's file may not reconfigure them.
            takes = wanted.absent or name in INTERNAL_TOPICS
            yield from self._of_name(TOPIC, wanted.origin, pattern, subject, takes=takes)

    def _of_listed(self, desired: DesiredState) -> Iterator[Breach]:
        """Each item by the law of its kind, whether it stands, has expired, or is to be absent or disabled."""
        for kind, items in desired.listed.items():
            law = law_of(kind)
            for desired_item in items.values():
                if (desired_item.expired and law.ends is Ends.NEVER) or self._only_disables(law, desired_item):
                    continue
                item, origin = desired_item.item, desired_item.declaration.origin
                if law.declared_by is DeclaredBy.NAME:
                    yield from self._of_name(law, origin, item.place, item.subject, takes=desired_item.goes)
                else:
                    yield from self._of_principal(law, origin, item.principal, item.subject, takes=desired_item.goes)

    def _only_disables(self, law: Law, desired_item: DesiredItem[Any]) -> bool:
        """Whether an item does no more than a DENY would, in a file that may deny whatever there is."""
        disables = law.goes is Goes.ABSENT_OR_DISABLED and desired_item.item.is_disabled and not desired_item.goes
        return disables and self.may_deny(desired_item.declaration.origin.file)

    def _of_name(
        self, law: Law, origin: Origin, pattern: ResourcePattern, subject: str, *, takes: bool
    ) -> Iterator[Breach]:
        """Of a named resource: it is its owner's."""
        owners = self._holdings.owners(pattern)
        if owners and not owners & self._teams(origin.file):
            kind = BreachKind(pattern.resource_type.name.lower())
            yield self._breach(_Place(origin), kind, owners, pattern=pattern)
        elif not owners and not self._may_declare_unowned(origin.file, law, takes=takes):
            yield replace(self._breach(_Place(origin), BreachKind.UNOWNED, ()), subject=subject)

    def _of_principal(
        self, law: Law, origin: Origin, principal: str | None, subject: str, *, takes: bool
    ) -> Iterator[Breach]:
        """Of a principal's: it is the principal's owner's. Without one it is about everybody, as a DENY for all is."""
        owners = self._owners_of(principal) if principal else frozenset[str]()
        if not principal and self._teams(origin.file):
            yield replace(self._breach(_Place(origin), BreachKind.SHARED, ()), subject=subject)
        elif owners and not owners & self._teams(origin.file):
            yield self._breach(_Place(origin), BreachKind.PRINCIPAL, owners, principal=principal)
        elif principal and not owners and not self._may_declare_unowned(origin.file, law, takes=takes):
            yield replace(self._breach(_Place(origin), BreachKind.UNOWNED, ()), subject=subject)

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
            if teams and not holdings.owners(pattern) & teams and not holdings.touched(pattern) - teams:
                yield self._breach(_Place(origin), BreachKind.CLAIM, (), pattern=pattern)

    def _of_documents(self) -> Iterator[Breach]:
        """Ownership documents themselves: a team that could declare them in its own file could own everything."""
        for owner in self._owners:
            if self._teams(owner.origin.file):
                yield self._breach(_Place(owner.origin), BreachKind.OWNERS, ())
        for consent in self._consents:
            if consent not in self._counting.get((consent.to, consent.team), ()):
                yield self._breach(_Place(consent.origin), BreachKind.CONSENT, [consent.team])

    def _breach(
        self,
        place: _Place,
        kind: BreachKind,
        owners: Iterable[str],
        *,
        principal: str | None = None,
        pattern: ResourcePattern | None = None,
    ) -> Breach:
        return Breach(
            place.origin,
            kind,
            tuple(sorted(self._teams(place.file))),
            tuple(sorted(owners)),
            principal,
            pattern,
            role=place.role,
            rule=self._rule(owners) if self._guardrails else None,
        )

    def _rule(self, owners: Iterable[str]) -> Origin:
        """The item of the first owner; without one, the first item, for then it is a rule about all that is unowned."""
        named = set(owners)
        return min((owner.origin for owner in self._owners if owner.team in named), default=self._owners[0].origin)
