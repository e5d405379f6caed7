"""Interpretations of what is unknown: unreadable ACLs, unset facts, the principal that no ACL names, bounded work.

Interpretations of what is unknown about a cluster's access rules: the least and the most permissive one.

Default-allow, opaque entries and whether a host is a range may be unknown. Every possible truth lies between the two
interpretations, so what both say of one *state* is certain.

That does not hold for the *difference* of two states: if an opaque entry may deny, access may be denied before and
after; if it may allow, access may be allowed before and after; and if it is about something else, the change grants.
So a difference is taken in several ``readings``: each fixes what every guess is, and compares the same guess before and
after. For one request, one operation and one of the two rights that some APIs accept, every possible truth is like
one of the readings, or the guess denies before and after and nothing changes (``reconciler.access.difference``).
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

from reconciler.access.group import EVERY, permitted
from reconciler.access.hosts import address_range
from reconciler.access.index import GroupKey, Index
from reconciler.access.names import NameCoverage, NameSet
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.flavor import KafkaVersion

# Entries of kinds that the Kafka client cannot name: everything that each could mean, as bindings.
#
# An answer that one of them could change is undecided. An entry whose codes are all known is an ordinary binding.

_TYPES = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)
_PERMISSIONS = (AclPermissionType.DENY, AclPermissionType.ALLOW)
_PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)


def as_binding(entry: OpaqueBinding) -> AclBinding | None:
    """The binding that an entry is, or ``None`` if a code is lost or newer than we know, or it is perhaps not there."""
    if entry.perhaps:
        return None
    # No binding has the code 0, so what is lost is refused as what is newer.
    kind, pattern_type, operation, permission = (
        code or 0 for code in (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    )
    try:
        pattern = ResourcePattern(ResourceType(kind), entry.name, PatternType(pattern_type))
        rule = AclOperation(operation), AclPermissionType(permission)
        return AclBinding(pattern, AccessControlEntry(entry.principal, entry.host, *rule))
    except ValueError:
        return None


def of_members(bindings: Iterable[AclBinding], types: Collection[str]) -> Iterator[OpaqueBinding]:
    """What bindings of groups and roles may be for any principal: nobody knows who is a member."""
    for pattern, entry in bindings:
        if entry.principal.partition(":")[0] in types:
            kind, pattern_type = int(pattern.resource_type), int(pattern.pattern_type)
            rule = int(entry.operation), int(entry.permission_type)
            yield OpaqueBinding(pattern.name, WILDCARD_PRINCIPAL, entry.host, kind, pattern_type, *rule, perhaps=True)


def widest(entry: OpaqueBinding) -> Iterator[AclBinding]:
    """Bindings that together cover every request that the entry could decide, whatever its lost codes are."""
    # A principal without a colon makes brokers fail for every principal (StandardAcl.parsePrincipal).
    principal = entry.principal if ":" in entry.principal else WILDCARD_PRINCIPAL
    permissions = [kind for kind in _PERMISSIONS if kind == entry.permission_type] or _PERMISSIONS
    operations = [kind for kind in AclOperation if kind >= AclOperation.ALL and kind == entry.operation]
    for kind in [kind for kind in _TYPES if kind == entry.resource_type] or _TYPES:
        operation = operations[0] if operations else AclOperation.ALL
        for pattern, permission in product(_widest_patterns(entry, kind), permissions):
            yield AclBinding(pattern, AccessControlEntry(principal, entry.host, operation, permission))


def covering(entry: OpaqueBinding) -> Iterator[AclBinding]:
    """A binding that covers exactly what the entry covers, if its pattern is known and it is there for certain."""
    if not entry.perhaps and entry.resource_type in _TYPES and entry.pattern_type in _PATTERN_TYPES and entry.name:
        yield next(widest(entry))


def _widest_patterns(entry: OpaqueBinding, kind: ResourceType) -> tuple[ResourcePattern, ...]:
    if entry.pattern_type in _PATTERN_TYPES and entry.name:
        return (ResourcePattern(kind, entry.name, PatternType(entry.pattern_type)),)
    if entry.pattern_type is None and entry.name and entry.name != WILDCARD:
        return (ResourcePattern(kind, entry.name, PatternType.PREFIXED),)
    # Every name takes two patterns: LITERAL * does not match names that begin with an asterisk and are longer.
    return ResourcePattern(kind, WILDCARD), ResourcePattern(kind, WILDCARD, PatternType.PREFIXED)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The rules, what covers a resource (the same index unless entries are opaque), and default-allow."""

    index: Index
    cover: Index
    default_allow: bool

    def access(self, principal: str, host: str, resource_type: ResourceType, key: NameSet) -> int:
        """Permitted operations on the names of ``key`` that are in no narrower set, as bits; ignores super users."""
        mask = 0
        for table in self.index.view(resource_type, principal, host):
            mask |= table.at_names(key)
        # If some rules are guesses, a match does not prove that the name is covered: a guess may be about another name.
        if mask and self.index is self.cover:
            return permitted(mask)
        if self.default_allow and not self.cover.coverage(resource_type).covers(key):
            return EVERY
        return permitted(mask)

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
            *((item.pattern.resource_type, item.entry.principal) for item in self.doubtful),
        }

    def bindings_of(self, kind: ResourceType, principal: str) -> Collection[AclBinding]:
        """One principal's on one resource type."""
        certain = self.certain.bindings(kind, principal)
        if not self.doubtful:
            return certain
        more = (
            item for item in self.doubtful if (item.pattern.resource_type, item.entry.principal) == (kind, principal)
        )
        return (*certain, *more)

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
        readings = interpret(settled, opaque, RANGES_SINCE, default_allow)._replace(doubtful=frozenset())
        return readings.with_changes(doubtful, ()) if doubtful else readings
    read = [(entry, as_binding(entry)) for entry in opaque]
    certain = Index(bindings, version)
    if named := [binding for _, binding in read if binding is not None]:
        certain = certain.with_changes(named, ())
    unclear = [entry for entry, binding in read if binding is None]
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


# A principal that no binding names: it stands for everybody else.


def unnamed_principal(indexes: Iterable[Index], taken: Container[str] = ()) -> str:
    """``User:anyone-else``, with ``-`` appended as long as a binding or ``taken`` names it."""
    all_indexes = tuple(indexes)
    name = "User:anyone-else"
    while name in taken or any(index.knows(name) for index in all_indexes):
        name += "-"
    return name


# A limit on how much one question about access may cost, counted in decisions and not in seconds.
#
# A few lines of a manifest can ask for billions of decisions: hosts times names, principals times prefixes. Where no
# shorter way is known, the answer is that there is none: an error, and never a part of an answer. A count gives the
# same answer on every machine and on every run; a clock does not.

#: Decisions that any change may cost.
BASE: Final = 2_000_000
#: And further ones for each binding that it touches: an honest change costs a few dozen, in all its moments together.
FOR_EACH_BINDING: Final = 100

#: What a row counts for: it is sorted, held against guards and other rows, and written.
ROW: Final = 10


class TooMuchToDecideError(Exception):
    """The rows of an access difference would take more decisions than their limit; ``str()`` names the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"who gains and who loses access takes more than {limit:,} decisions")
        self.limit = limit


class Work:
    """Counts decisions. Share one among all comparisons that answer one question."""

    __slots__ = ("_limit", "_spent")

    def __init__(self, limit: int | None = None) -> None:
        """Without a limit it only counts."""
        self._limit = limit
        self._spent = 0

    @property
    def spent(self) -> int:
        """Decisions so far."""
        return self._spent

    def spend(self, decisions: int) -> None:
        """Count, and raise :class:`TooMuchToDecideError` above the limit; call it before the work is done."""
        self._spent += decisions
        if self._limit is not None and self._spent > self._limit:
            raise TooMuchToDecideError(self._limit)


def work_for(bindings: int) -> Work:
    """What a change of so many bindings may cost."""
    return Work(BASE + FOR_EACH_BINDING * bindings)
