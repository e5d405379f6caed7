"""Interpretations of what is unknown about a cluster's access rules: the least and the most permissive one.

Default-allow, opaque entries and whether a host is a range may be unknown. Every possible truth lies between the two
interpretations, so what both say of one *state* is certain.

That does not hold for the *difference* of two states: if an opaque entry may deny, access may be denied before and
after; if it may allow, access may be allowed before and after; and if it is about something else, the change grants.
So a difference is taken in several ``readings``: each fixes what every guess is, and compares the same guess before and
after. For one request, one operation and one of the two rights that some APIs accept, every possible truth is like
one of the readings, or the guess denies before and after and nothing changes (``reconciler.access.possible``).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from reconciler.access.hosts import RANGES_SINCE, address_range
from reconciler.access.index import GroupKey, Index
from reconciler.access.name_coverage import NameCoverage
from reconciler.access.name_set import NameSet
from reconciler.access.opaque import as_binding, covering, widest
from reconciler.access.operations import EVERY, permitted
from reconciler.dataclass import dataclass
from reconciler.model import WILDCARD_PRINCIPAL, AclBinding, AclPermissionType, OpaqueBinding, ResourceType
from reconciler.model.kafka_release import KafkaVersion


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The rules, what covers a resource (the same index unless entries are opaque), and default-allow."""

    index: Index
    cover: Index
    default_allow: bool

    def access(self, principal: str, host: str, resource_type: ResourceType, key: NameSet) -> int:
        """Permitted operations on the names of ``key`` that are in no narrower set, as bits; ignores super users."""
        found = 0
        for table in self.index.view(resource_type, principal, host):
            found |= table.at_names(key)
        # If some rules are guesses, a match does not prove that the name is covered: a guess may be about another name.
        if found and self.index is self.cover:
            return permitted(found)
        if self.default_allow and not self.cover.coverage(resource_type).covers(key):
            return EVERY
        return permitted(found)

    def may_have_access(self, principal: str, resource_type: ResourceType) -> bool:
        """Whether there is a rule for it on the type, or default-allow: where not, nothing is permitted."""
        of = self.index.bindings
        return bool(self.default_allow or of(resource_type, principal) or of(resource_type, WILDCARD_PRINCIPAL))

    def coverage(self, resource_type: ResourceType) -> NameCoverage:
        """The names that some binding matches."""
        return self.cover.coverage(resource_type)

    def with_changes(
        self, added: Iterable[AclBinding], removed: Iterable[AclBinding], covering: Iterable[AclBinding] = ()
    ) -> "Interpretation":
        """The same without ``removed`` and with ``added``; ``covering`` only cover their names."""
        added, removed, covering = tuple(added), tuple(removed), tuple(covering)
        index = self.index.with_changes(added, removed)
        shared = self.cover is self.index and not covering
        cover = index if shared else self.cover.with_changes((*added, *covering), removed)
        return replace(self, index=index, cover=cover)


class Interpretations(NamedTuple):
    """The least and the most permissive interpretation (one object if all is known), and the bindings of both.

    ``doubtful``, for brokers of unknown release, are the bindings whose host is a range since 4.4: guesses, as opaque
    entries are. ``None``: the release is known.

    ``guessed`` and ``ranged`` are empty unless something is guessed; see :meth:`readings`.
    """

    least: Interpretation
    most: Interpretation
    certain: Index
    doubtful: frozenset[AclBinding] | None = None
    guessed: tuple[Interpretation, ...] = ()
    ranged: tuple[Interpretation, ...] = ()

    @property
    def guesses(self) -> bool:
        """Whether opaque entries or doubtful hosts are guessed; unknown default-allow alone is not a guess."""
        return bool(self.guessed)

    @property
    def readings(self) -> tuple[Interpretation, ...]:
        """Eight, in an order that is the same for every state: what is unknown about a request, in each combination.

        Opaque entries are about something else, or allow; each of both with the names that they may cover covered and
        default-allow as strict as possible, and the other way. All that with doubtful hosts as text, then as ranges.
        """
        plain = self.guessed or (*self.both, *self.both)
        return (*plain, *(self.ranged or plain))

    @property
    def known(self) -> bool:
        """Whether nothing is unknown."""
        return self.least is self.most

    @property
    def both(self) -> tuple[Interpretation, Interpretation]:
        """The least permissive interpretation, then the most permissive."""
        return self.least, self.most

    @property
    def bindings(self) -> Iterable[AclBinding]:
        """Those that are known to exist, whatever their hosts mean."""
        return (*self.certain, *self.doubtful) if self.doubtful else self.certain

    def group_keys(self) -> Iterable[GroupKey]:
        """Who has such bindings on which resource type, each once."""
        if not self.doubtful:
            return self.certain.group_keys()
        return {
            *self.certain.group_keys(),
            *((one.pattern.resource_type, one.entry.principal) for one in self.doubtful),
        }

    def bindings_of(self, kind: ResourceType, principal: str) -> Sequence[AclBinding]:
        """One principal's on one resource type."""
        found = self.certain.bindings(kind, principal)
        if not self.doubtful:
            return found
        more = (one for one in self.doubtful if (one.pattern.resource_type, one.entry.principal) == (kind, principal))
        return (*found, *more)

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Interpretations":
        """Both interpretations with the same changes."""
        added, removed = tuple(added), tuple(removed)
        guesses = frozenset[AclBinding]() if self.doubtful is None else frozenset(filter(_may_be_range, added))
        doubtful = None if self.doubtful is None else self.doubtful.difference(removed) | guesses
        added = tuple(b for b in added if b not in guesses) if guesses else added
        if self.least.index is self.certain and not guesses:
            least = self.least.with_changes(added, removed)
            most = least if self.known else replace(least, default_allow=self.most.default_allow)
            return Interpretations(least, most, least.index, doubtful)
        # With guessed entries all indexes differ, so each has to be changed.
        denies, allows = (
            [g for g in guesses if g.entry.permission_type is kind]
            for kind in (AclPermissionType.DENY, AclPermissionType.ALLOW)
        )
        plain = self.readings[:4]
        return Interpretations(
            self.least.with_changes((*added, *denies), removed, allows),
            self.most.with_changes((*added, *allows), removed, denies),
            self.certain.with_changes(added, removed),
            doubtful,
            _each(plain, lambda reading: reading.with_changes(added, removed, guesses)),
            _each(self.ranged or (plain if guesses else ()), lambda r: r.with_changes((*added, *guesses), removed)),
        )

    def doubting_default_allow(self) -> "Interpretations":
        """The interpretations if default-allow is not known after all."""
        return self._replace(
            least=replace(self.least, default_allow=False), most=replace(self.most, default_allow=True)
        )


def _each(
    readings: Iterable[Interpretation], change: Callable[[Interpretation], Interpretation]
) -> tuple[Interpretation, ...]:
    """Every reading changed; equal ones stay one object, so that they are compared once."""
    readings = tuple(readings)
    changed = {reading: change(reading) for reading in dict.fromkeys(readings)}
    return tuple(changed[reading] for reading in readings)


def interpret(
    bindings: Collection[AclBinding],
    opaque: Iterable[OpaqueBinding],
    version: KafkaVersion | None,
    default_allow: bool | None,
) -> Interpretations:
    """Two interpretations; they differ if default-allow is unknown, an opaque entry lacks codes, a host is doubtful."""
    if version is None:
        # 4.3 and 4.4 differ in ranges alone, so all else is judged by the rules of 4.4.
        read = [(entry, as_binding(entry)) for entry in opaque]
        named = [binding for _, binding in read if binding is not None]
        # As they are, where nothing is to be added or taken away: there may be millions.
        bindings = {*bindings, *named} if named else bindings
        opaque = [entry for entry, binding in read if binding is None]
        doubtful = frozenset(filter(_may_be_range, bindings))
        settled = [binding for binding in bindings if binding not in doubtful] if doubtful else bindings
        found = interpret(settled, opaque, RANGES_SINCE, default_allow)._replace(doubtful=frozenset())
        return found.with_changes(doubtful, ()) if doubtful else found
    certain = Index(bindings, version)
    unclear = []
    for entry in opaque:
        if (binding := as_binding(entry)) is None:
            unclear.append(entry)
        else:
            certain = certain.with_changes([binding], ())
    guesses = [binding for entry in unclear for binding in widest(entry)]
    if not guesses:
        least = Interpretation(certain, certain, default_allow is True)
        return Interpretations(
            least, least if default_allow is not None else replace(least, default_allow=True), certain
        )
    kinds = {kind: [g for g in guesses if g.entry.permission_type is kind] for kind in AclPermissionType}
    # Least permissive: every guess that denies applies, and every guess covers its names, which closes them under
    # default-allow. Most permissive: every guess that allows applies, and only entries with a known pattern cover.
    least = Interpretation(
        certain.with_changes(kinds[AclPermissionType.DENY], ()),
        certain.with_changes(guesses, ()),
        default_allow is True,
    )
    most = Interpretation(
        certain.with_changes(kinds[AclPermissionType.ALLOW], ()),
        certain.with_changes([binding for entry in unclear for binding in covering(entry)], ()),
        default_allow is not False,
    )
    # Guesses that deny need no reading of their own: where they deny, they do so before and after.
    allowing = most.index if kinds[AclPermissionType.ALLOW] else certain
    # While default-allow is off for certain, it does not matter what is covered.
    loose = most if most.default_allow else replace(most, cover=least.cover)
    guessed = tuple(replace(extreme, index=index) for index in (certain, allowing) for extreme in (least, loose))
    return Interpretations(least, most, certain, None, guessed)


def _may_be_range(binding: AclBinding) -> bool:
    return "/" in binding.entry.host and address_range(binding.entry.host, RANGES_SINCE) is not None
