"""Bindings by resource type and principal, compiled when first asked for; to callers an immutable value.

An index with changes copies only the groups that changed and keeps what the others have compiled.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from reconciler.access.hosts import Range, address, address_range
from reconciler.access.operations import ENTRY_MASKS, KafkaVersion
from reconciler.access.table import Key, NameTable, key_of
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, ResourceType

#: Whose bindings on which type of resource.
GroupKey: TypeAlias = tuple[ResourceType, str]
_VIEWS = 65_536


class Group:
    """One principal's bindings on one type of resource: a table of names for each host text."""

    __slots__ = ("bindings", "keys", "ranges", "tables")

    def __init__(self, bindings: Collection[AclBinding], version: KafkaVersion) -> None:
        """Compile the tables."""
        self.bindings = bindings
        by_host: dict[str, dict[Key, int]] = {}
        for pattern, (_, host, operation, permission_type) in bindings:
            rules = by_host.get(host)
            if rules is None:
                rules = by_host[host] = {}
            key = key_of(pattern)
            rules[key] = rules.get(key, 0) | ENTRY_MASKS[permission_type][operation]
        self.tables = {host: NameTable(rules) for host, rules in by_host.items()}
        self.keys = frozenset().union(*by_host.values()) if by_host else frozenset[Key]()
        self.ranges: tuple[tuple[Range, NameTable], ...] = tuple(
            (found, self.tables[host])
            for host in self.tables
            if "/" in host and (found := address_range(host, version)) is not None
        )

    def of_host(self, host: str) -> Iterator[NameTable]:
        """The tables that a connection from ``host`` meets."""
        if (table := self.tables.get(WILDCARD)) is not None:
            yield table
        if host != WILDCARD and (table := self.tables.get(host)) is not None:
            yield table
        if self.ranges and (number := address(host)) is not None:
            yield from (table for found, table in self.ranges if found.contains(number))


class Index:
    """Bindings, asked for what they say of one principal, host and name."""

    __slots__ = ("_compiled", "_coverage", "_groups", "_views", "version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Group the bindings; about a quarter of a second for 100,000."""
        unique = bindings if isinstance(bindings, set | frozenset | dict) else dict.fromkeys(bindings)
        groups: dict[GroupKey, list[AclBinding]] = {}
        for binding in unique:
            group_key = (binding[0][0], binding[1][0])
            group = groups.get(group_key)
            if group is None:
                groups[group_key] = [binding]
            else:
                group.append(binding)
        self._setup(groups, {}, version)

    def _setup(
        self, groups: dict[GroupKey, list[AclBinding]], compiled: dict[GroupKey, Group], version: KafkaVersion
    ) -> None:
        self._groups = groups
        self._compiled = compiled
        self._views: dict[tuple[ResourceType, str, str], tuple[NameTable, ...]] = {}
        self._coverage: dict[ResourceType, Coverage] = {}
        self.version = version

    def with_changes(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> "Index":
        """The same less ``removed`` and with ``added``; what is already so changes nothing."""
        changed: dict[GroupKey, dict[AclBinding, None]] = {}
        for bindings, remove in ((removed, True), (added, False)):
            for binding in bindings:
                group_key = (binding.pattern.resource_type, binding.entry.principal)
                if group_key not in changed:
                    changed[group_key] = dict.fromkeys(self._groups.get(group_key, ()))
                if remove:
                    changed[group_key].pop(binding, None)
                else:
                    changed[group_key][binding] = None
        groups, compiled = dict(self._groups), dict(self._compiled)
        for group_key, found in changed.items():
            compiled.pop(group_key, None)
            groups.pop(group_key, None)
            if found:
                groups[group_key] = list(found)
        copy = Index.__new__(Index)
        copy._setup(groups, compiled, self.version)
        return copy

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, grouped."""
        for group in self._groups.values():
            yield from group

    def group_keys(self) -> Collection[GroupKey]:
        """Who has bindings on which type of resource."""
        return self._groups.keys()

    def bindings(self, resource_type: ResourceType, principal: str) -> Collection[AclBinding]:
        """One principal's own bindings on one type."""
        return self._groups.get((resource_type, principal), ())

    def group(self, resource_type: ResourceType, principal: str) -> Group | None:
        """One principal's compiled bindings on one type, or ``None`` where there are none."""
        group_key = (resource_type, principal)
        group = self._compiled.get(group_key)
        if group is None and (found := self._groups.get(group_key)) is not None:
            group = self._compiled[group_key] = Group(found, self.version)
        return group

    def view(self, resource_type: ResourceType, principal: str, host: str) -> tuple[NameTable, ...]:
        """The tables that decide for a connection: its own and those of ``User:*``, for any host and for its own."""
        view_key = (resource_type, principal, host)
        found = self._views.get(view_key)
        if found is None:
            who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            groups = (self.group(resource_type, name) for name in who)
            found = tuple(table for group in groups if group is not None for table in group.of_host(host))
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[view_key] = found
        return found

    def coverage(self, resource_type: ResourceType) -> "Coverage":
        """Which names of one type any binding matches; compiled for all types at once."""
        if not self._coverage:
            keys: dict[ResourceType, Counter[Key]] = {kind: Counter() for kind in ResourceType}
            for pattern, count in Counter(binding[0] for binding in self).items():
                keys[pattern.resource_type][key_of(pattern)] += count
            self._coverage = {kind: Coverage(found) for kind, found in keys.items()}
        return self._coverage[resource_type]


class Coverage:
    """Names that some binding matches, whatever its principal, host, operation and permission."""

    __slots__ = ("_table", "keys", "ordered")

    def __init__(self, keys: Iterable[Key]) -> None:
        """Compile the set of keys."""
        self.keys = frozenset(keys)
        self.ordered = sorted(self.keys)
        self._table = NameTable(dict.fromkeys(self.keys, 1))

    def covers(self, key: Key) -> bool:
        """Whether every name of ``key`` is covered. No finite set of longer names covers a prefix."""
        return self._table.at_key(key) != 0

    def covers_name(self, name: str) -> bool:
        """Whether some binding's pattern matches ``name``."""
        return self._table.at(name) != 0

    def within(self, key: Key) -> list[Key]:
        """The keys inside ``key``, itself included, in order."""
        return inside(self.ordered, key)


def inside(ordered: list[Key], key: Key) -> list[Key]:
    """The keys of a sorted list that lie inside ``key``."""
    if key.literal:
        start = bisect_left(ordered, key)
        return [key] if start < len(ordered) and ordered[start] == key else []
    if not key.text:
        return ordered
    start = bisect_left(ordered, Key(key.text))
    end = start
    while end < len(ordered) and ordered[end].text.startswith(key.text):
        end += 1
    return ordered[start:end]
