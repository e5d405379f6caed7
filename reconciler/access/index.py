"""Bindings by resource type, principal, name and host, compiled on first use; immutable for callers.

``with_changes`` makes only the groups that changed and reuses the compiled tables of the others.
"""

from array import array
from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from reconciler.access.group import BindingGroup
from reconciler.access.names import (
    ALL_NAMES,
    NameCoverage,
    NameIndex,
    NameSet,
    inside,
    literal,
    meets,
    meets_any,
    names_of,
    outermost,
)
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.flavor import KafkaVersion
from reconciler.model.frozen import Layers, without_collector

# Principals by the names that they have bindings on.

#: Of so many questions each looks at every binding: a table of a million bindings takes longer, and 100 MB. A plan asks
#: about two states, for default-allow on and off.
_SCANNED: Final = 8
#: Principals, each once, with the patterns of their bindings.
Holders: TypeAlias = Iterator[tuple[str, Iterable[ResourcePattern]]]


class PrincipalIndex:
    """Principals of one resource type by the name sets that they have bindings on."""

    __slots__ = ("_asked", "_by_names", "_holders", "_more", "_ordered")

    def __init__(self, holders: Callable[[], Holders]) -> None:
        """Nothing is looked at yet; ``holders`` gives the same each time."""
        self._holders = holders
        self._more: list[tuple[str, Iterable[ResourcePattern]]] = []
        self._asked = 0
        self._by_names: dict[NameSet, set[str]] | None = None
        self._ordered: list[NameSet] = []

    def add(self, principal: str, pattern: ResourcePattern) -> None:
        """Some index that comes from the first one has this as well."""
        if self._by_names is None:
            self._more.append((principal, (pattern,)))
            return
        key = names_of(pattern)
        if key not in self._by_names:
            self._by_names[key] = set()
            insort(self._ordered, key)
        self._by_names[key].add(principal)

    def meeting(self, zones: list[NameSet], own: Callable[[], Holders] | None = None) -> set[str]:
        """Principals with a binding that shares a name with one of ``zones``.

        ``own`` gives the holders of the index that asks. Others that were added may be in the answer, too.
        """
        self._asked += 1
        if self._by_names is None and self._asked <= _SCANNED:
            return _meeting((own or self._holders)(), zones)
        return self._looked_up(zones)

    def _looked_up(self, zones: list[NameSet]) -> set[str]:
        by_names = self._by_names
        if by_names is None:
            by_names = self._by_names = {}
            for principal, patterns in chain(self._holders(), self._more):
                for key in map(names_of, patterns):
                    by_names.setdefault(key, set()).add(principal)
            self._ordered = sorted(by_names)
            self._more.clear()
        principals: set[str] = set()
        for zone in zones:
            # Every set around a zone is a prefix of its text, so look those up instead of scanning all sets.
            outer = [NameSet(zone.text[:length]) for length in range(len(zone.text) + 1)]
            for key in [*outer, *inside(self._ordered, zone)]:
                principals.update(by_names.get(key, ()))
        return principals


def _meeting(holders: Holders, zones: list[NameSet]) -> set[str]:
    """The holders of a pattern that shares a name with one of ``zones``."""
    zones = outermost(zones)
    if zones == [ALL_NAMES]:
        return {principal for principal, _ in holders}
    names = {zone.text for zone in zones if zone.literal}
    wide = [zone for zone in zones if not zone.literal]
    return {principal for principal, patterns in holders if _any_meets(patterns, zones, names=names, wide=wide)}


def _any_meets(
    patterns: Iterable[ResourcePattern], zones: list[NameSet], *, names: Set[str], wide: list[NameSet]
) -> bool:
    """Whether a pattern shares a name with one of ``zones``, which are ``names`` and what is ``wide``."""
    last: ResourcePattern | None = None
    for pattern in patterns:
        # Several operations on one pattern come one after another, as a rule.
        if pattern is last:
            continue
        last = pattern
        _, name, form = pattern
        if form is not PatternType.LITERAL or name == WILDCARD:
            if meets_any(names_of(pattern), zones):
                return True
        # Most patterns and most zones are single names.
        elif name in names or (wide and meets_any(literal(name), wide)):
            return True
    return False


#: A resource type and a principal.
GroupKey: TypeAlias = tuple[ResourceType, str]
#: Bindings by resource type, then by principal: a key of both would be an object more for each of a million groups.
_Groups: TypeAlias = dict[ResourceType, dict[str, tuple[AclBinding, ...]]]
_NOBODYS: Final[Mapping[str, tuple[AclBinding, ...]]] = {}
_VIEWS = 65_536
#: Groups from so many bindings on are copied, and not compiled anew, where one in so many of them changes at most.
_LARGE: Final = 64
_ONE_IN: Final = 8
_PATTERN: Final = itemgetter(0)


def _grouped(bindings: Collection[AclBinding]) -> _Groups:
    """Bindings, each there once, as groups: counted first and then put in their places, without a list for each group.

    A list has room for more than it holds, and a cluster of a million bindings has 200,000 groups.
    """
    numbers: dict[ResourceType, dict[str, int]] = {}
    sizes, number_of = array("I"), array("I")
    # Indexes into tuples instead of attribute access: these loops run for every binding, and there can be a million.
    for binding in bindings:
        kind = binding[0][0]
        of_kind = numbers.get(kind)
        if of_kind is None:
            of_kind = numbers[kind] = {}
        number = of_kind.setdefault(binding[1][0], len(sizes))
        if number == len(sizes):
            sizes.append(0)
        sizes[number] += 1
        number_of.append(number)
    next_places = array("I", accumulate(sizes, initial=0))
    ordered: list[Any] = [None] * len(number_of)
    for binding, number in zip(bindings, number_of, strict=True):
        ordered[next_places[number]] = binding
        next_places[number] += 1

    def group(number: int) -> tuple[AclBinding, ...]:
        end = next_places[number]
        return tuple(ordered[end - sizes[number] : end])

    return {kind: {who: group(number) for who, number in of_kind.items()} for kind, of_kind in numbers.items()}


class _PatternCounts:
    """How many bindings of one resource type the first index has on patterns."""

    __slots__ = ("_asked", "_counts", "_groups")

    def __init__(self, groups: Mapping[str, tuple[AclBinding, ...]]) -> None:
        self._groups = groups
        self._asked = 0
        self._counts: Mapping[ResourcePattern, int] | None = None

    def patterns(self) -> Iterator[ResourcePattern]:
        """Of each binding."""
        return map(_PATTERN, chain.from_iterable(self._groups.values()))

    def of(self, patterns: Set[ResourcePattern]) -> Mapping[ResourcePattern, int]:
        """Those of these patterns at least. The first questions look at every binding: see ``_SCANNED``."""
        self._asked += 1
        if self._counts is None and self._asked > _SCANNED:
            self._counts = Counter(self.patterns())
        if self._counts is None:
            return Counter(filter(patterns.__contains__, self.patterns()))
        return self._counts


class _Covered:
    """The names of one resource type that some binding covers, with how many are on each pattern.

    A change of a few takes no work for the others: it shares what the first index has.
    """

    __slots__ = ("_counts", "_first", "_gone", "_more", "_moved", "_new", "names")

    def __init__(self, counts: _PatternCounts) -> None:
        self._counts = counts
        self._first = self._more = self.names = NameCoverage(map(names_of, set(counts.patterns())))
        #: By how much a pattern has more or fewer bindings than at first, those that it had none of, and has none of.
        self._moved = Layers[ResourcePattern, int]()
        self._new: frozenset[NameSet] = frozenset()
        self._gone = Layers[NameSet, bool]()

    def after(self, removed: Iterable[ResourcePattern], added: Iterable[ResourcePattern]) -> "_Covered":
        """The same where the bindings on these patterns go and come."""
        moved: dict[ResourcePattern, int] = {}
        for patterns, step in ((removed, -1), (added, 1)):
            for pattern in patterns:
                moved[pattern] = moved.get(pattern, self._moved.get(pattern, 0)) + step
        counts = self._counts.of(moved.keys())
        held = {pattern for pattern, more in moved.items() if counts.get(pattern, 0) + more}
        copy = _Covered.__new__(_Covered)
        copy._counts, copy._first, copy._moved = self._counts, self._first, self._moved.with_items(moved)
        copy._new = self._new.union(names_of(pattern) for pattern in held if pattern not in counts)
        there, gone = map(names_of, held), map(names_of, moved.keys() - held)
        copy._gone = self._gone.with_items({**dict.fromkeys(there), **dict.fromkeys(gone, True)})
        copy._more = self._more if copy._new == self._new else NameCoverage(copy._new, self._first)
        copy.names = NameCoverage((), copy._more, copy._gone) if copy._gone else copy._more
        return copy


class _Family:
    """What the indexes have in common that come from one another by changes."""

    __slots__ = ("compiled", "covered", "groups", "large", "principals", "touched")

    def __init__(self, groups: _Groups) -> None:
        #: What the first index was made of.
        self.groups = groups
        #: Of these what is compiled, and large ones of which some index changes a part.
        self.compiled: dict[GroupKey, BindingGroup] = {}
        self.large: dict[GroupKey, Layers[AclBinding, bool]] = {}
        #: The groups that are otherwise in any of them than in the first.
        self.touched: set[GroupKey] = set()
        self.covered: dict[ResourceType, _Covered] = {}
        self.principals: dict[ResourceType, PrincipalIndex] = {}

    def first_covered(self, kind: ResourceType) -> _Covered:
        """The coverage of the first index."""
        if kind not in self.covered:
            self.covered[kind] = _Covered(_PatternCounts(self.groups.get(kind, _NOBODYS)))
        return self.covered[kind]

    def principals_of(self, kind: ResourceType) -> PrincipalIndex:
        """Who has bindings on which names in any of them; principals without a colon are left out."""
        if kind not in self.principals:
            # Asked for again each time: the bindings themselves are kept once.
            self.principals[kind] = PrincipalIndex(lambda: _holders(self.groups.get(kind, _NOBODYS).items()))
        return self.principals[kind]


def _holders(groups: Iterable[tuple[str, Iterable[AclBinding]]]) -> Holders:
    return ((who, map(_PATTERN, group)) for who, group in groups if ":" in who)


class _Own:
    """A group that is otherwise in an index than in the first: its bindings, compiled once for all that have it."""

    __slots__ = ("bindings", "compiled")

    def __init__(self, bindings: Collection[AclBinding], compiled: BindingGroup | None) -> None:
        self.bindings = bindings
        self.compiled = compiled


class _Step(NamedTuple):
    """How an index comes from another one: the bindings that went, and those that came.

    ``origin`` stands for the other one, and does not keep it; nor does ``covered``, which it fills.
    """

    origin: object
    removed: list[AclBinding]
    added: list[AclBinding]
    covered: Mapping[ResourceType, _Covered]

    def patterns(self, kind: ResourceType) -> Iterator[list[ResourcePattern]]:
        """The patterns of one resource type whose bindings go, then of those that come."""
        for bindings in (self.removed, self.added):
            yield [pattern for pattern, _ in bindings if pattern.resource_type is kind]

    def moved(self) -> dict[GroupKey, list[AclBinding]]:
        """The same by group."""
        groups: dict[GroupKey, list[AclBinding]] = {}
        for binding in (*self.removed, *self.added):
            groups.setdefault((binding.pattern.resource_type, binding.entry.principal), []).append(binding)
        return groups


class Index:
    """Bindings, indexed for requests of one principal, host and name."""

    __slots__ = ("_changed", "_covered", "_family", "_mark", "_step", "_views", "version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Group the bindings; about 0.25 s for 100,000."""
        unique = bindings if isinstance(bindings, set | frozenset | Mapping) else dict.fromkeys(bindings)
        with without_collector():
            groups = _grouped(unique)
        self._setup(_Family(groups), Layers(), None, version)

    def _setup(
        self, family: _Family, changed: Layers[GroupKey, _Own], step: _Step | None, version: KafkaVersion
    ) -> None:
        self._family = family
        #: The groups that are otherwise in this one than in the first index; an empty one is not there.
        self._changed = changed
        self._step, self._mark = step, object()
        self._views: dict[tuple[ResourceType, str, str], tuple[NameIndex, ...]] = {}
        self._covered: dict[ResourceType, _Covered] = {}
        self.version = version

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Index":
        """The same without ``removed`` and with ``added``; removing an absent binding changes nothing."""
        moved: dict[GroupKey, dict[AclBinding, bool]] = {}
        groups: dict[GroupKey, Collection[AclBinding]] = {}
        for bindings, comes in ((removed, False), (added, True)):
            for binding in bindings:
                group_key = (binding.pattern.resource_type, binding.entry.principal)
                if group_key not in groups:
                    groups[group_key] = self._searchable(group_key)
                    moved[group_key] = {}
                group = moved[group_key]
                if (binding in groups[group_key]) is not comes:
                    group[binding] = comes
                else:  # removed before, or nothing new
                    group.pop(binding, None)
        moved = {group_key: group for group_key, group in moved.items() if group}
        gone, new = ([b for group in moved.values() for b in group if group[b] is comes] for comes in (False, True))
        for pattern, entry in new:
            if ":" in entry.principal:
                self._family.principals_of(pattern.resource_type).add(entry.principal, pattern)
        self._family.touched.update(moved)
        copy = Index.__new__(Index)
        own = {group_key: self._own(group_key, groups[group_key], group) for group_key, group in moved.items()}
        step = _Step(self._mark, gone, new, self._covered)
        copy._setup(self._family, self._changed.with_items(own), step, self.version)
        return copy

    def _searchable(self, group_key: GroupKey) -> Collection[AclBinding]:
        """The bindings of a group, to look for some in them."""
        group = self.bindings(*group_key)
        if len(group) < _LARGE or isinstance(group, Layers):
            return group
        large = self._family.large
        if group_key not in large:
            large[group_key] = Layers(dict.fromkeys(group, True))
        return large[group_key]

    def _own(self, group_key: GroupKey, group: Collection[AclBinding], moved: Mapping[AclBinding, bool]) -> _Own:
        """A group that the step changes; of a large one that is compiled, and of which it changes little, as well."""
        few = len(moved)
        if isinstance(group, Layers):
            group = group.with_items({binding: came or None for binding, came in moved.items()})
        else:
            group = (
                *(binding for binding in group if binding not in moved),
                *(binding for binding, came in moved.items() if came),
            )
            group = group if len(group) < _LARGE else Layers(dict.fromkeys(group, True))
        now = self._changed.get(group_key)
        old = self._family.compiled.get(group_key) if now is None else now.compiled
        if old is None or len(group) < max(_LARGE, _ONE_IN * few):
            return _Own(group, None)
        return _Own(group, old.with_changes(group, moved, self.version))

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, grouped."""
        return chain.from_iterable(group for kind in self._kinds() for _, group in self._of_kind(kind))

    def _kinds(self) -> Collection[ResourceType]:
        return dict.fromkeys((*self._family.groups, *(kind for kind, _ in self._changed)))

    def _of_kind(self, kind: ResourceType) -> Iterator[tuple[str, Collection[AclBinding]]]:
        """Who has bindings on one resource type, and those."""
        groups = self._family.groups.get(kind, _NOBODYS)
        changed = {who: own.bindings for (of_kind, who), own in self._changed.items() if of_kind is kind}
        yield from ((who, group) for who, group in groups.items() if who not in changed)
        yield from ((who, group) for who, group in changed.items() if group)

    def group_keys(self) -> Iterator[GroupKey]:
        """Who has bindings on which resource type."""
        return ((kind, principal) for kind in self._kinds() for principal, _ in self._of_kind(kind))

    def bindings(self, resource_type: ResourceType, principal: str) -> Collection[AclBinding]:
        """One principal's own bindings on one type."""
        if self._changed and (own := self._changed.get((resource_type, principal))) is not None:
            return own.bindings
        return self._family.groups.get(resource_type, _NOBODYS).get(principal, ())

    def group(self, resource_type: ResourceType, principal: str) -> BindingGroup | None:
        """One principal's compiled bindings on one type, or ``None`` if there are none."""
        group_key = (resource_type, principal)
        # Compile on first use: most requests concern few of the principals.
        own = self._changed.get(group_key) if self._changed else None
        if own is not None:
            if own.compiled is None and own.bindings:
                own.compiled = BindingGroup(own.bindings, self.version)
            return own.compiled
        # Two states of a cluster have most groups in common, and are compared principal by principal.
        shared = self._family.compiled
        group = shared.get(group_key)
        if group is None and (bindings := self.bindings(*group_key)):
            group = shared[group_key] = BindingGroup(bindings, self.version)
        return group

    def view(self, resource_type: ResourceType, principal: str, host: str) -> tuple[NameIndex, ...]:
        """The tables that decide for a connection: its principal's and those of ``User:*``, by host."""
        view_key = (resource_type, principal, host)
        tables = self._views.get(view_key)
        if tables is None:
            who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            groups = (self.group(resource_type, name) for name in who)
            tables = tuple(table for group in groups if group is not None for table in group.of_host(host))
            # Hosts come from requests, so the cache could grow without limit.
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[view_key] = tables
        return tables

    def changed_groups(self, other: "Index") -> list[GroupKey]:
        """The groups that differ between two indexes, sorted."""
        return sorted(self.moved(other))

    def moved(self, other: "Index") -> Mapping[GroupKey, Collection[AclBinding]]:
        """By group, the bindings that are in one of two indexes alone."""
        for derived, base in ((other, self), (self, other)):
            if derived._step is not None and derived._step.origin is base._mark:
                return derived._step.moved()
        if self._family is other._family:
            keys = self._changed.keys() | other._changed.keys()
        else:
            keys = {*self.group_keys(), *other.group_keys()}
        pairs = ((key, self.bindings(*key), other.bindings(*key)) for key in keys)
        return {key: moved for key, old, new in pairs if old is not new and (moved := frozenset(old) ^ frozenset(new))}

    def principals(self, resource_type: ResourceType, zones: list[NameSet]) -> set[str]:
        """Who has bindings of one type that share a name with one of ``zones``; those without a colon are left out."""
        family = self._family
        people = family.principals_of(resource_type).meeting(zones, lambda: _holders(self._of_kind(resource_type)))
        # Of these the table of all indexes may say what holds for another one.
        unsure = {who for who in people if (resource_type, who) in family.touched} if family.touched else ()
        if not unsure:
            return people
        few: list[tuple[str, Collection[AclBinding]]] = []
        principals = people.difference(unsure)
        for who in unsure:
            own = self.bindings(resource_type, who)
            group = self.group(resource_type, who) if len(own) >= _LARGE else None
            if group is None:
                few.append((who, own))
            elif meets(group.ordered, outermost(zones)):
                principals.add(who)
        return principals | _meeting(_holders(item for item in few if item[1]), zones)

    def knows(self, principal: str) -> bool:
        """Whether a binding names this principal."""
        return any(self.bindings(kind, principal) for kind in ResourceType)

    def coverage(self, resource_type: ResourceType) -> NameCoverage:
        """The names of one type that some binding matches."""
        if resource_type not in self._covered:
            self._covered[resource_type] = self._after_step(resource_type)
        return self._covered[resource_type].names

    def _after_step(self, kind: ResourceType) -> _Covered:
        step = self._step
        if step is None:
            return self._family.first_covered(kind)
        before = step.covered.get(kind)
        if before is not None:
            removed, added = step.patterns(kind)
            return before.after(removed, added) if removed or added else before
        first, removed, added = self._family.groups.get(kind, _NOBODYS), [], []
        for (of_kind, who), own in self._changed.items():
            if of_kind is kind:
                old, new = frozenset(first.get(who, ())), frozenset(own.bindings)
                removed += [pattern for pattern, _ in old - new]
                added += [pattern for pattern, _ in new - old]
        return self._family.first_covered(kind).after(removed, added)
