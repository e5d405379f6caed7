"""Hosts of ACL entries: ``*``, an exact address, since Kafka 4.4 address ranges (KIP-1276); and classes of hosts.

A connection's host is what Java's ``InetAddress.getHostAddress`` prints. An entry with any other host text matches no
connection, but its pattern still covers the resource.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD
from reconciler.model.addresses import NOWHERE, RANGES_SINCE, IpAddress, IpRange, address, address_text, ip_range
from reconciler.model.flavor import KafkaVersion


def address_range(text: str, version: KafkaVersion) -> IpRange | None:
    """The range that an entry's host means for brokers of a release, or ``None`` if it is plain text to them."""
    return None if version < RANGES_SINCE else ip_range(text)


def is_dead(text: str, version: KafkaVersion) -> bool:
    """Whether no connection can match an entry with this host."""
    if text == WILDCARD or address(text) is not None:
        return False
    block = address_range(text, version)
    return block is None or block.first > block.last


class HostClass(NamedTuple):
    """Hosts that no entry distinguishes: ``label`` is ``*`` for hosts that no entry names, an address, or a range.

    ``sample`` is one of them, as ``getHostAddress`` prints it.
    """

    label: str
    sample: str


class Hosts(NamedTuple):
    """A set of hosts: the narrowest label that contains a host decides, and ``any_host`` if none does.

    This is how a result is written, not how brokers match: there any DENY that matches wins, however wide it is.
    ``listed`` are inside, ``but`` are outside; labels are addresses and, from Kafka 4.4 on, ranges as written.
    """

    any_host: bool
    listed: tuple[str, ...] = ()
    but: tuple[str, ...] = ()

    def contains(self, host: str, version: KafkaVersion) -> bool:
        """Whether a connection from ``host`` is in the set."""
        # An exact address decides before any range; and of the other labels only ranges can hold it, so hundreds of
        # addresses cost hundreds of comparisons of texts and no parsing.
        if host in self.listed:
            return True
        if host in self.but:
            return False
        labels = [(label, True) for label in self.listed if "/" in label]
        labels += [(label, False) for label in self.but if "/" in label]
        lengths = ((_length(label, host, version), inside) for label, inside in labels)
        return max(((length, inside) for length, inside in lengths if length >= 0), default=(0, self.any_host))[1]

    def may_meet(self, text: str, version: KafkaVersion) -> bool:
        """Whether an entry's host and the set may have a connection in common; never ``False`` where they have one.

        ``True`` also where exceptions inside a range take all of it, which nobody writes.
        """
        own = address_range(text, version)
        if own is None:
            return text == WILDCARD or "/" in text or self.contains(text, version)
        for label in self.listed:
            inner, number = address_range(label, version), address(label)
            if (inner is not None and own.holds(inner)) or (number is not None and own.contains(number)):
                return True
        around = [(label, True) for label in self.listed] + [(label, False) for label in self.but]
        ranges = ((outer, inside) for label, inside in around if (outer := address_range(label, version)) is not None)
        lengths = ((outer.length, inside) for outer, inside in ranges if outer.holds(own))
        return max(lengths, default=(0, self.any_host))[1]

    def __str__(self) -> str:
        """``any host``, ``any host but 10.0.0.0/8, and 10.0.0.1``, ``10.0.0.0/8 but 10.0.0.1``."""
        listed, but = ", ".join(self.listed), f" but {', '.join(self.but)}" if self.but else ""
        if not self.any_host:
            return listed + but
        return f"any host{but}, and {listed}" if listed else f"any host{but}"


ANY_HOST: Final = Hosts(any_host=True)
#: A host where any will do: one of the addresses set aside for documentation (RFC 5737).
EXAMPLE_HOST: Final = "192.0.2.0"


def _length(label: str, host: str, version: KafkaVersion) -> int:
    """How narrow a range is that contains ``host``; -1 if it does not contain it."""
    block, number = address_range(label, version), address(host)
    return block.length if block is not None and number is not None and block.contains(number) else -1


class RangeIndex:
    """The ranges among host texts, to find those that hold a host; single addresses are left out.

    A range that holds another begins with the same bits, so it is looked up once for each length that there is. A
    principal can have thousands of hosts, and comparing each with each takes seconds.
    """

    __slots__ = ("_lengths", "_texts", "_version")

    def __init__(self, texts: Iterable[str], version: KafkaVersion) -> None:
        self._version = version
        self._texts: dict[IpRange, list[str]] = {}
        for text in texts:
            if "/" in text and (block := address_range(text, version)) is not None:
                self._texts.setdefault(block, []).append(text)
        self._lengths = sorted({(block.width, block.length) for block in self._texts})

    def around(self, label: str) -> Iterator[str]:
        """The texts, widest first, whose ranges hold every host of ``label``: a range, or an address."""
        if not self._lengths:
            return
        own, number = address_range(label, self._version), address(label)
        if own is None and number is not None and number != NOWHERE:
            own = IpRange(number.width, number.number, number.width)
        for width, length in self._lengths if own is not None else ():
            if own is not None and width == own.width and length <= own.length:
                yield from self._texts.get(IpRange(width, own.bits >> own.length - length, length), ())


def host_classes(texts: Iterable[str], version: KafkaVersion) -> list[HostClass]:
    """One class for each set of hosts that these host texts distinguish; the hosts of no entry come first.

    Ranges never cover every host: 0.0.0.0 is in none.

    An exact address is its own class. A range is the class of its addresses that are in no narrower range and are no
    exact text; a range without such addresses has no class, and neither has a text that no connection can have.
    """
    exact: set[str] = set()
    ranges: dict[IpRange, str] = {}
    for text in sorted(set(texts) - {WILDCARD}):
        if (block := address_range(text, version)) is not None:
            ranges.setdefault(block, text)
        elif address(text) is not None:
            exact.add(text)
    taken = {number for text in exact if (number := address(text)) is not None and "%" not in text}
    narrower = _narrower(ranges)
    # A host outside every entry stands for the class of all hosts that nobody named.
    fresh = _outside(set(ranges), taken)
    inside = [
        HostClass(label, address_text(host))
        for outer, label in sorted(ranges.items())
        if (host := _lowest(outer, narrower[outer], taken)) is not None
    ]
    return [
        *([HostClass(WILDCARD, fresh)] if fresh else []),
        *(HostClass(text, text) for text in sorted(exact)),
        *inside,
    ]


def _narrower(ranges: Iterable[IpRange]) -> dict[IpRange, list[IpRange]]:
    """The other ranges that each one holds: in order of their first addresses they follow it."""
    narrower: dict[IpRange, list[IpRange]] = {}
    around: list[IpRange] = []
    for item in sorted(ranges, key=lambda item: (item.width, item.bits << item.width - item.length, item.length)):
        while around and not around[-1].holds(item):
            around.pop()
        for outer in around:
            narrower[outer].append(item)
        around.append(item)
        narrower[item] = []
    return narrower


def _lowest(outer: IpRange, inner: Iterable[IpRange], taken: set[IpAddress]) -> IpAddress | None:
    """The lowest address of ``outer`` that is in no ``inner`` range and not taken."""
    number = outer.first
    # Java shows an IPv4-mapped address as one of IPv4, so no connection comes from there.
    unseen = [_MAPPED] if outer.holds(_MAPPED) else []
    ends = sorted((r.first, r.last) for r in (*inner, *unseen))
    for first, last in ends:
        while number < first and IpAddress(outer.width, number) in taken:
            number += 1
        if number < first:
            break
        number = max(number, last + 1)
    while IpAddress(outer.width, number) in taken:
        number += 1
    return IpAddress(outer.width, number) if number <= outer.last else None


_MAPPED: Final = IpRange(128, 0xFFFF, 96)
#: Documentation blocks come first (RFC 5737, RFC 3849): examples then never show somebody's real address.
_EVERYWHERE = (
    IpRange(32, 0xC00002, 24),
    IpRange(32, 0xC63364, 24),
    IpRange(32, 0xCB0071, 24),
    IpRange(32, 0, 0),
    IpRange(128, 0x20010DB8, 32),
    IpRange(128, 0, 0),
)


def _outside(ranges: set[IpRange], taken: set[IpAddress]) -> str | None:
    """A host that no entry names: 0.0.0.0 at the last, which is in no range; ``None`` where an entry names that too."""
    for block in _EVERYWHERE:
        if any(r.holds(block) for r in ranges):
            continue
        host = _lowest(block, [r for r in ranges if block.holds(r)], taken)
        if host is not None:
            return address_text(host)
    return None if NOWHERE in taken else address_text(NOWHERE)


# Sets of host classes, written as hosts.


@dataclass(slots=True)
class ClassSet:
    """Some of a list of host classes: ``members``, and with ``usual`` all that are not ``lacking``; by number."""

    members: list[int] = field(default_factory=list)
    lacking: set[int] = field(default_factory=set)
    usual: bool = False

    def example(self, classes: Sequence[HostClass]) -> str:
        """A host of the first class."""
        return classes[0 if self.usual and 0 not in self.lacking else min(self.members)].sample

    def hosts(self, classes: Sequence[HostClass], version: KafkaVersion) -> Hosts | None:
        """The hosts of these classes, or ``None`` for no class."""
        others = sorted(self.lacking.difference(self.members)) if self.usual else None
        # Without ranges, what is not listed need not be looked at: it may be hundreds of classes for each resource set.
        if others is not None and not any("/" in classes[number].label for number in others):
            return Hosts(any_host=True, but=tuple(classes[number].label for number in others))
        members = self.members if others is None else sorted({*range(len(classes))}.difference(others))
        if not members:
            return None
        chosen = [classes[number] for number in sorted(members)]
        if chosen[0].label != WILDCARD and not any("/" in host.label for host in chosen):
            return Hosts(any_host=False, listed=tuple(host.label for host in chosen))
        return _together(chosen, classes, version)


def _together(hosts: Sequence[HostClass], classes: Sequence[HostClass], version: KafkaVersion) -> Hosts:
    """Some of all classes as a set of hosts."""
    chosen = {host.label for host in hosts}
    others = tuple(host.label for host in classes if host.label not in chosen)
    if WILDCARD in chosen:
        around = RangeIndex(others, version)
        listed = tuple(host.label for host in hosts if any(around.around(host.label)))
        return Hosts(any_host=True, listed=listed, but=others)
    listed = tuple(host.label for host in hosts)
    around = RangeIndex(listed, version)
    return Hosts(any_host=False, listed=listed, but=tuple(other for other in others if any(around.around(other))))
