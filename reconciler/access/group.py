"""Bindings compiled: operations as bits, and what one principal is allowed and denied on one resource type."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import lru_cache, reduce
from itertools import chain
from operator import or_
from typing import Final, Generic, TypeVar

from reconciler.access.hosts import RangeIndex
from reconciler.access.names import NameIndex, NameSet, inside, names_of
from reconciler.model.acl import (
    IMPLICATIONS,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
)
from reconciler.model.flavor import KafkaVersion
from reconciler.model.frozen import Layers

# Operations as bits: OR the masks of all entries that match a request, and every operation is decided at once.
#
# A mask has three parts of 16 bits, with bit N for the operation with Kafka's code N: what ALLOWs name, what DENYs name
# (shifted by 16), and what ALLOWs only imply (shifted by 32). A DENY never implies anything.

_O = AclOperation
DENIED: Final = 16
IMPLIED: Final = 32
#: Every operation that a request can ask for.
OPERATIONS: Final = tuple(operation for operation in AclOperation if operation > _O.ALL)
EVERY: Final = sum(1 << operation for operation in OPERATIONS)


def bits(operations: Iterable[AclOperation]) -> int:
    """One bit for each operation; ALL stands for every one."""
    mask = 0
    for operation in operations:
        mask |= EVERY if operation is _O.ALL else 1 << operation
    return mask


@lru_cache(maxsize=8_192)
def operations_in(mask: int) -> frozenset[AclOperation]:
    """The operations whose bits are set in the lowest part."""
    return frozenset(operation for operation in OPERATIONS if mask >> operation & 1)


def permitted(mask: int) -> int:
    """What a mask permits, as bits: named or implied by an ALLOW and not named by a DENY."""
    return (mask | mask >> IMPLIED) & ~(mask >> DENIED) & EVERY


def entry_mask(operation: AclOperation, permission_type: AclPermissionType) -> int:
    """The mask of one entry; see :data:`ENTRY_MASKS`."""
    named = bits([operation])
    if permission_type is AclPermissionType.DENY:
        return named << DENIED
    implied = IMPLICATIONS.get(operation)
    return named if implied is None else named | 1 << implied + IMPLIED


#: By permission type and operation: the mask of one entry.
ENTRY_MASKS: Final = {
    permission_type: tuple(
        entry_mask(operation, permission_type) if operation >= _O.ALL else 0 for operation in AclOperation
    )
    for permission_type in (AclPermissionType.DENY, AclPermissionType.ALLOW)
}

#: The same folded to one part: an entry allows, denies or implies these operations.
_ABOUT: Final = {
    kind: tuple((mask | mask >> DENIED | mask >> IMPLIED) & EVERY for mask in masks)
    for kind, masks in ENTRY_MASKS.items()
}


def about(entry: AccessControlEntry, mask: int) -> bool:
    """Whether an entry allows or denies one of the operations: by name, through ALL, or because an ALLOW implies it."""
    return bool(_ABOUT[entry.permission_type][entry.operation] & mask)


# Host texts by name sets: which hosts have entries that match a name.


class HostIndex:
    """The host texts, except ``*``, of a group's rules, by name: one look-up instead of one for each host."""

    __slots__ = ("_bits", "_index", "_texts")

    def __init__(self, rules: Mapping[str, Mapping[NameSet, int]]) -> None:
        """Number the hosts, and give each name set a mask with one bit for each host that has a rule on it."""
        self._texts = [host for host in rules if host != WILDCARD]
        self._bits: dict[NameSet, int] = {}
        for number, host in enumerate(self._texts):
            for key in rules[host]:
                self._bits[key] = self._bits.get(key, 0) | 1 << number
        self._index = NameIndex(self._bits)

    def at(self, key: NameSet) -> list[str]:
        """The hosts with rules on the names of ``key`` that are in no narrower set."""
        return self._named(self._index.at_names(key))

    def on(self, zone: NameSet, inner: Iterable[NameSet]) -> list[str]:
        """The hosts whose rules may share a name with ``zone``; ``inner`` are the group's name sets inside it."""
        mask = self._index.at_names(zone)
        # LITERAL * and PREFIXED * share one name, which is * itself.
        if zone.text == WILDCARD:
            mask |= self._index.at(WILDCARD)
        for key in inner:
            mask |= self._bits.get(key, 0)
        return self._named(mask)

    def _named(self, bits: int) -> list[str]:
        texts = []
        while bits:
            lowest = bits & -bits
            texts.append(self._texts[lowest.bit_length() - 1])
            bits ^= lowest
        return texts


# A group's tables, and what its entries allow.

_Item = TypeVar("_Item")
#: Groups with fewer names are looked through again; of others the answers of that many questions are kept.
_MANY_NAMES: Final = 64
_MOST_REMEMBERED: Final = 16


class _Remembered(Generic[_Item]):
    """The items of an iterator, each drawn at its first use."""

    __slots__ = ("_drawn", "_rest")

    def __init__(self, rest: Iterator[_Item]) -> None:
        self._drawn: list[_Item] = []
        self._rest = rest

    def __iter__(self) -> Iterator[_Item]:
        yield from self._drawn
        for item in self._rest:
            self._drawn.append(item)
            yield item


class BindingGroup:
    """One principal's bindings on one resource type: a name index for each host text."""

    __slots__ = (
        "_allowed",
        "_bits",
        "_host_index",
        "_mark",
        "_step",
        "bindings",
        "ordered",
        "ranges",
        "rules",
        "tables",
    )

    def __init__(self, bindings: Collection[AclBinding], version: KafkaVersion) -> None:
        """Compile the tables."""
        # Host first: a request has one, so the tables of others are never read. A set of operations is one int.
        by_host: dict[str, dict[NameSet, int]] = {}
        for pattern, (_, host, operation, permission_type) in bindings:
            rules = by_host.get(host)
            if rules is None:
                rules = by_host[host] = {}
            key = names_of(pattern)
            rules[key] = rules.get(key, 0) | ENTRY_MASKS[permission_type][operation]
        tables = {host: NameIndex(rules) for host, rules in by_host.items()}
        ordered = sorted({key for rules in by_host.values() for key in rules})
        ranges = RangeIndex(tables, version) if any("/" in host for host in tables) else None
        self._setup(bindings, by_host, tables, ordered, ranges)

    def _setup(
        self,
        bindings: Collection[AclBinding],
        rules: Mapping[str, Mapping[NameSet, int]],
        tables: dict[str, NameIndex],
        ordered: list[NameSet],
        ranges: RangeIndex | None,
    ) -> None:
        self.bindings, self.rules, self.tables, self.ordered, self.ranges = bindings, rules, tables, ordered, ranges
        self._host_index: HostIndex | None = None
        self._bits: int | None = None
        self._allowed: dict[tuple[tuple[str, ...], AclOperation], _Remembered[NameSet]] | None = None
        self._mark = object()
        #: The group that this one comes from, by its mark, and the names on which they differ.
        self._step: tuple[object, Set[NameSet]] | None = None

    def with_changes(
        self, bindings: Collection[AclBinding], moved: Iterable[AclBinding], version: KafkaVersion
    ) -> "BindingGroup":
        """The group of ``bindings``, which are those of this one but for the few of ``moved``.

        It shares the tables of the others.
        """
        masks: dict[str, dict[NameSet, int | None]] = {}
        for pattern, entry in moved:
            masks.setdefault(entry.host, {})[names_of(pattern)] = _mask(bindings, pattern, entry) or None
        rules, tables = {**self.rules}, self.tables.copy()
        for host, changed in masks.items():
            before = rules.pop(host, None)
            own = (before if isinstance(before, Layers) else Layers(before)).with_items(changed)
            table = tables.pop(host, None)
            if own:
                rules[host] = own
                tables[host] = NameIndex(own) if table is None else table.with_changes(own, changed)
        keys = {key for changed in masks.values() for key in changed}
        ordered = self.ordered.copy()
        for key in keys:
            _keep(ordered, key, any(key in own for own in rules.values()))
        ranges = self.ranges
        if any("/" in host for host in rules.keys() ^ self.rules.keys()):
            ranges = RangeIndex(tables, version)
        copy = BindingGroup.__new__(BindingGroup)
        copy._setup(bindings, rules, tables, ordered, ranges)
        copy._step = self._mark, keys
        if self._bits is not None:
            new = chain.from_iterable(changed.values() for changed in masks.values())
            copy._bits = reduce(or_, filter(None, new), self._bits)
        if masks.keys() <= {WILDCARD}:
            copy._host_index = self._host_index
        return copy

    def may_say(self, bits: int) -> bool:
        """Whether a rule says one of ``bits``; perhaps also if one said so in a group that this one comes from."""
        if self._bits is None:
            self._bits = reduce(or_, chain.from_iterable(own.values() for own in self.rules.values()), 0)
        return bool(self._bits & bits)

    def changed_keys(self, other: "BindingGroup") -> Set[NameSet] | None:
        """The only names on which two groups may differ, where one comes from the other."""
        for derived, base in ((self, other), (other, self)):
            if derived._step is not None and derived._step[0] is base._mark:
                return derived._step[1]
        return None

    def hosts(self) -> HostIndex | None:
        """Which hosts have rules on which names; ``None`` if all rules are for any host."""
        if self._host_index is None and not self.rules.keys() <= {WILDCARD}:
            self._host_index = HostIndex(self.rules)
        return self._host_index

    def hosts_on(self, zone: NameSet) -> Collection[str]:
        """The host texts, except ``*``, whose rules may share a name with ``zone``."""
        host_index = self.hosts()
        # The look-up of one name finds its own rules, too.
        return () if host_index is None else host_index.on(zone, () if zone.literal else inside(self.ordered, zone))

    def labels(self, host: str) -> Iterator[str]:
        """The host texts, except ``*``, that match a connection from ``host``."""
        if host != WILDCARD and host in self.tables:
            yield host
        if self.ranges is not None and "/" not in host:
            yield from self.ranges.around(host)

    def texts(self, host: str) -> Iterator[str]:
        """The host texts that match a connection from ``host``."""
        if WILDCARD in self.tables:
            yield WILDCARD
        yield from self.labels(host)

    def of_host(self, host: str) -> Iterator[NameIndex]:
        """The tables that apply to a connection from ``host``."""
        return (self.tables[text] for text in self.texts(host))

    def allowed(self, host: str, operation: AclOperation) -> Iterable[NameSet]:
        """The names on which rules for a connection from ``host`` allow an operation, and none of this group denies it.

        Names are found as they are asked for, and once: those of ``User:*`` are asked for with each principal.
        """
        texts = tuple(self.texts(host))
        # Not all DENYs of a group again after each change of it.
        if not self.may_say(1 << operation):
            return ()
        if len(self.ordered) < _MANY_NAMES:
            return self._undenied(texts, operation)
        if self._allowed is None or len(self._allowed) >= _MOST_REMEMBERED:
            self._allowed = {}
        names = self._allowed.get((texts, operation))
        if names is None:
            names = self._allowed[texts, operation] = _Remembered(self._undenied(texts, operation))
        return names

    def _undenied(self, texts: Iterable[str], operation: AclOperation) -> Iterator[NameSet]:
        tables, deny = [self.tables[text] for text in texts], 1 << operation + DENIED
        for text in texts:
            for key, mask in self.rules[text].items():
                if mask >> operation & 1 and not any(table.at_names(key) & deny for table in tables):
                    yield key


def _mask(bindings: Collection[AclBinding], pattern: ResourcePattern, like: AccessControlEntry) -> int:
    """What the entries of one principal and host on one pattern say."""
    mask = 0
    for permission_type, masks in ENTRY_MASKS.items():
        for operation in (AclOperation.ALL, *OPERATIONS):
            entry = AccessControlEntry(like.principal, like.host, operation, permission_type)
            if AclBinding(pattern, entry) in bindings:
                mask |= masks[operation]
    return mask


def _keep(ordered: list[NameSet], key: NameSet, there: bool) -> None:
    at = bisect_left(ordered, key)
    held = ordered[at : at + 1] == [key]
    if held and not there:
        del ordered[at]
    elif there and not held:
        ordered.insert(at, key)


def changed_keys(before: BindingGroup | None, after: BindingGroup | None, bits: int = -1) -> set[NameSet]:
    """The name sets on which two groups of one principal differ in some of ``bits``."""
    old, new = ({} if group is None else group.rules for group in (before, after))
    few = None if before is None or after is None else before.changed_keys(after)
    changed: set[NameSet] = set()
    for host in old.keys() | new.keys():
        here, there = old.get(host, {}), new.get(host, {})
        keys = (here.keys() | there.keys() if here != there else ()) if few is None else few
        changed.update(key for key in keys if (here.get(key, 0) ^ there.get(key, 0)) & bits)
    return changed
