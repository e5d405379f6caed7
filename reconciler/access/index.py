"""Bindings by resource type and principal, compiled on first use; immutable for callers.

``with_changes`` makes only the groups that changed and reuses the compiled tables of the others.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, Final, TypeAlias

from reconciler.access.host_index import HostIndex
from reconciler.access.hosts import IpRange, address, address_range
from reconciler.access.name_coverage import NameCoverage
from reconciler.access.name_index import NameIndex
from reconciler.access.name_set import NameSet, names_of
from reconciler.access.nested_names import inside
from reconciler.access.operations import ENTRY_MASKS
from reconciler.access.principal_index import PrincipalIndex
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, ResourcePattern, ResourceType
from reconciler.model.collector import without_collector
from reconciler.model.kafka_release import KafkaVersion

#: A resource type and a principal.
GroupKey: TypeAlias = tuple[ResourceType, str]
#: Bindings by resource type, then by principal: a key of both would be an object more for each of a million groups.
_Groups: TypeAlias = dict[ResourceType, dict[str, tuple[AclBinding, ...]]]
_NOBODYS: Final[Mapping[str, tuple[AclBinding, ...]]] = {}
_VIEWS = 65_536
_PATTERN: Final = itemgetter(0)


class BindingGroup:
    """One principal's bindings on one resource type: a name index for each host text."""

    __slots__ = ("_host_index", "bindings", "ordered", "ranges", "rules", "tables")

    def __init__(self, bindings: Collection[AclBinding], version: KafkaVersion) -> None:
        """Compile the tables."""
        self.bindings = bindings
        # Host first: a request has one, so the tables of others are never read. A set of operations is one int.
        by_host: dict[str, dict[NameSet, int]] = {}
        for pattern, (_, host, operation, permission_type) in bindings:
            rules = by_host.get(host)
            if rules is None:
                rules = by_host[host] = {}
            key = names_of(pattern)
            rules[key] = rules.get(key, 0) | ENTRY_MASKS[permission_type][operation]
        self.rules = by_host
        self.tables = {host: NameIndex(rules) for host, rules in by_host.items()}
        self._host_index: HostIndex | None = None
        self.ordered = sorted({key for rules in by_host.values() for key in rules})
        self.ranges: tuple[tuple[str, IpRange], ...] = tuple(
            (host, found) for host in self.tables if "/" in host and (found := address_range(host, version)) is not None
        )

    def hosts(self) -> HostIndex | None:
        """Which hosts have rules on which names; ``None`` if all rules are for any host."""
        if self._host_index is None and not self.rules.keys() <= {WILDCARD}:
            self._host_index = HostIndex(self.rules)
        return self._host_index

    def hosts_on(self, zone: NameSet) -> Collection[str]:
        """The host texts, except ``*``, whose rules may share a name with ``zone``."""
        found = self.hosts()
        # The look-up of one name finds its own rules, too.
        return () if found is None else found.on(zone, () if zone.literal else inside(self.ordered, zone))

    def labels(self, host: str) -> Iterator[str]:
        """The host texts, except ``*``, that match a connection from ``host``."""
        if host != WILDCARD and host in self.tables:
            yield host
        if self.ranges and (number := address(host)) is not None:
            yield from (text for text, found in self.ranges if found.contains(number))

    def texts(self, host: str) -> Iterator[str]:
        """The host texts that match a connection from ``host``."""
        if WILDCARD in self.tables:
            yield WILDCARD
        yield from self.labels(host)

    def of_host(self, host: str) -> Iterator[NameIndex]:
        """The tables that apply to a connection from ``host``."""
        return (self.tables[text] for text in self.texts(host))


def changed_keys(before: BindingGroup | None, after: BindingGroup | None, bits: int = -1) -> set[NameSet]:
    """The name sets on which two groups of one principal differ in some of ``bits``."""
    old, new = ({} if group is None else group.rules for group in (before, after))
    found: set[NameSet] = set()
    for host in old.keys() | new.keys():
        here, there = old.get(host, {}), new.get(host, {})
        if here != there:
            found.update(key for key in here.keys() | there.keys() if (here.get(key, 0) ^ there.get(key, 0)) & bits)
    return found


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


class Index:
    """Bindings, indexed for requests of one principal, host and name."""

    __slots__ = ("_changed", "_compiled", "_coverage", "_groups", "_principals", "_shared", "_views", "version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Group the bindings; about 0.25 s for 100,000."""
        unique = bindings if isinstance(bindings, set | frozenset | Mapping) else dict.fromkeys(bindings)
        with without_collector():
            groups = _grouped(unique)
        self._setup(groups, {}, {}, {}, version)

    def _setup(
        self,
        groups: _Groups,
        changed: dict[GroupKey, tuple[AclBinding, ...]],
        compiled: dict[GroupKey, BindingGroup],
        shared: dict[GroupKey, BindingGroup],
        version: KafkaVersion,
    ) -> None:
        #: What the first index was made of, and the groups that are otherwise in this one; an empty one is not there.
        self._groups, self._changed = groups, changed
        self._compiled = compiled
        #: What any index that this one comes from, or that comes from it, compiled last.
        self._shared = shared
        self._views: dict[tuple[ResourceType, str, str], tuple[NameIndex, ...]] = {}
        self._coverage: dict[ResourceType, NameCoverage] = {}
        self._principals: dict[ResourceType, PrincipalIndex] = {}
        self.version = version

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Index":
        """The same without ``removed`` and with ``added``; removing an absent binding changes nothing."""
        changed: dict[GroupKey, dict[AclBinding, None]] = {}
        for bindings, remove in ((removed, True), (added, False)):
            for binding in bindings:
                group_key = (binding.pattern.resource_type, binding.entry.principal)
                if group_key not in changed:
                    changed[group_key] = dict.fromkeys(self.bindings(*group_key))
                if remove:
                    changed[group_key].pop(binding, None)
                else:
                    changed[group_key][binding] = None
        compiled = dict(self._compiled)
        # The compiled tables of changed groups are stale; all others are shared with the old index.
        for group_key in changed:
            compiled.pop(group_key, None)
        copy = Index.__new__(Index)
        groups = {**self._changed, **{group_key: tuple(found) for group_key, found in changed.items()}}
        copy._setup(self._groups, groups, compiled, self._shared, self.version)
        return copy

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, grouped."""
        return chain.from_iterable(group for kind in self._kinds() for _, group in self._of_kind(kind))

    def _kinds(self) -> Collection[ResourceType]:
        return dict.fromkeys((*self._groups, *(kind for kind, _ in self._changed)))

    def _of_kind(self, kind: ResourceType) -> Iterator[tuple[str, tuple[AclBinding, ...]]]:
        """Who has bindings on one resource type, and those."""
        groups, changed = self._groups.get(kind, _NOBODYS), self._changed
        if not changed:
            yield from groups.items()
            return
        yield from ((who, group) for who, group in groups.items() if (kind, who) not in changed)
        yield from ((who, group) for (of_kind, who), group in changed.items() if of_kind is kind and group)

    def group_keys(self) -> Iterator[GroupKey]:
        """Who has bindings on which resource type."""
        return ((kind, principal) for kind in self._kinds() for principal, _ in self._of_kind(kind))

    def bindings(self, resource_type: ResourceType, principal: str) -> Sequence[AclBinding]:
        """One principal's own bindings on one type."""
        if self._changed and (found := self._changed.get((resource_type, principal))) is not None:
            return found
        return self._groups.get(resource_type, _NOBODYS).get(principal, ())

    def group(self, resource_type: ResourceType, principal: str) -> BindingGroup | None:
        """One principal's compiled bindings on one type, or ``None`` if there are none."""
        group_key = (resource_type, principal)
        group = self._compiled.get(group_key)
        # Compile on first use: most requests concern few of the principals.
        if group is None and (found := self.bindings(resource_type, principal)):
            # Two states of a cluster have most groups in common, and are compared principal by principal.
            group = self._shared.get(group_key)
            if group is None or group.bindings is not found:
                group = self._shared[group_key] = BindingGroup(found, self.version)
            self._compiled[group_key] = group
        return group

    def view(self, resource_type: ResourceType, principal: str, host: str) -> tuple[NameIndex, ...]:
        """The tables that decide for a connection: its principal's and those of ``User:*``, by host."""
        view_key = (resource_type, principal, host)
        found = self._views.get(view_key)
        if found is None:
            who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            groups = (self.group(resource_type, name) for name in who)
            found = tuple(table for group in groups if group is not None for table in group.of_host(host))
            # Hosts come from requests, so the cache could grow without limit.
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[view_key] = found
        return found

    def changed_groups(self, other: "Index") -> list[GroupKey]:
        """The groups that differ between two indexes, sorted."""
        keys = self._changed.keys() | other._changed.keys()
        if self._groups is not other._groups:
            keys = {*self.group_keys(), *other.group_keys()}
        found = ((key, self.bindings(*key), other.bindings(*key)) for key in keys)
        return sorted(key for key, old, new in found if old is not new and set(old) != set(new))

    def principals(self, resource_type: ResourceType) -> PrincipalIndex:
        """Who has bindings on which names of one type; principals without a colon are left out."""
        if resource_type not in self._principals:
            # Asked for again each time: the bindings themselves are kept once.
            self._principals[resource_type] = PrincipalIndex(partial(self._patterns_of, resource_type))
        return self._principals[resource_type]

    def _patterns_of(self, resource_type: ResourceType) -> Iterator[tuple[str, Iterable[ResourcePattern]]]:
        for principal, group in self._of_kind(resource_type):
            if ":" in principal:
                yield principal, map(_PATTERN, group)

    def knows(self, principal: str) -> bool:
        """Whether a binding names this principal."""
        return any(self.bindings(kind, principal) for kind in ResourceType)

    def coverage(self, resource_type: ResourceType) -> NameCoverage:
        """The names of one type that some binding matches."""
        if resource_type not in self._coverage:
            patterns = {binding[0] for _, group in self._of_kind(resource_type) for binding in group}
            self._coverage[resource_type] = NameCoverage(map(names_of, patterns))
        return self._coverage[resource_type]
