"""Hosts of ACL entries: ``*``, an exact address, since Kafka 4.4 address ranges (KIP-1276); and classes of hosts.

A connection's host is what Java's ``InetAddress.getHostAddress`` prints. An entry with any other host text matches no
connection, but its pattern still covers the resource.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from reconciler.access.operations import KafkaVersion
from reconciler.model import WILDCARD

#: The first release that takes a host with a slash as a range.
RANGES_SINCE: Final = (4, 4)
_IPV4 = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)
_LENGTH_4 = re.compile(r"\d{1,2}", re.ASCII)
_LENGTH_6 = re.compile(r"[+-]?\d{1,9}", re.ASCII)


class IpAddress(NamedTuple):
    """An address as a number; ``width`` is 32 or 128."""

    width: int
    number: int


class IpRange(NamedTuple):
    """Addresses that share their first ``length`` bits."""

    width: int
    bits: int
    length: int

    def contains(self, address: IpAddress) -> bool:
        """Whether ``address`` is in this range; an IPv4 address is never in an IPv6 range."""
        return address.width == self.width and address.number >> (self.width - self.length) == self.bits

    @property
    def first(self) -> int:
        """The number of the lowest address."""
        return self.bits << (self.width - self.length)

    @property
    def last(self) -> int:
        """The number of the highest address."""
        return self.first | (1 << self.width - self.length) - 1


def address(text: str) -> IpAddress | None:
    """The address that ``getHostAddress`` prints as exactly ``text``, without a scope; ``None`` if there is none."""
    # Compare the printed form: an entry with an abbreviated or upper-case IPv6 address matches no connection.
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    number = IpAddress(parsed.max_prefixlen, int(parsed))
    return number if address_text(number) == text.partition("%")[0] else None


def address_text(found: IpAddress) -> str:
    """Java's text: dotted IPv4, IPv6 in full, lower case, without padding, IPv4-mapped as IPv4."""
    if found.width == 32:
        return str(ipaddress.IPv4Address(found.number))
    mapped = ipaddress.IPv6Address(found.number).ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return ":".join(f"{found.number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def address_range(text: str, version: KafkaVersion) -> IpRange | None:
    """The range that an entry's host means, or ``None`` if the broker takes it as plain text.

    Follows ``CidrUtils``, which uses commons-net's ``SubnetUtils`` and ``SubnetUtils6``: numbers with leading zeros are
    decimal, bits after the prefix length are ignored, an IPv4-mapped IPv6 range is not a range.
    """
    if version < RANGES_SINCE or "/" not in text:
        return None
    host, _, length = text.partition("/")
    return _range_6(host, length) if ":" in text else _range_4(host, length)


def _range_4(host: str, length: str) -> IpRange | None:
    octets = _IPV4.fullmatch(host)
    if octets is None or _LENGTH_4.fullmatch(length) is None:
        return None
    numbers = [int(octet) for octet in octets.groups()]
    if max(numbers) > 255 or int(length) > 32:
        return None
    return IpRange(32, int.from_bytes(bytes(numbers)) >> 32 - int(length), int(length))


def _range_6(host: str, length: str) -> IpRange | None:
    if _LENGTH_6.fullmatch(length) is None or not 0 <= int(length) <= 128:
        return None
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        parsed = ipaddress.IPv6Address(host)
    except ValueError:
        return None
    if parsed.ipv4_mapped is not None or parsed.scope_id is not None:
        return None
    return IpRange(128, int(parsed) >> 128 - int(length), int(length))


def is_dead(text: str, version: KafkaVersion) -> bool:
    """Whether no connection can match an entry with this host."""
    return text != WILDCARD and address(text) is None and address_range(text, version) is None


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
        found = [(_length(label, host, version), label in self.listed) for label in (*self.listed, *self.but)]
        return max(((length, inside) for length, inside in found if length >= 0), default=(0, self.any_host))[1]

    def __str__(self) -> str:
        """``any host``, ``any host but 10.0.0.0/8, and 10.0.0.1``, ``10.0.0.0/8 but 10.0.0.1``."""
        listed, but = ", ".join(self.listed), f" but {', '.join(self.but)}" if self.but else ""
        if not self.any_host:
            return listed + but
        return f"any host{but}, and {listed}" if listed else f"any host{but}"


ANY_HOST: Final = Hosts(any_host=True)


def _length(label: str, host: str, version: KafkaVersion) -> int:
    """How narrow a label is that contains ``host``; -1 if it does not contain it."""
    if label == host:
        return 1_000
    found, number = address_range(label, version), address(host)
    return found.length if found is not None and number is not None and found.contains(number) else -1


def is_within(label: str, ranges: Iterable[str], version: KafkaVersion) -> bool:
    """Whether all hosts of ``label`` are in one of ``ranges``; single addresses in ``ranges`` are ignored."""
    ranges = [text for text in ranges if "/" in text]
    if not ranges:
        return False
    own, number = address_range(label, version), address(label)
    if own is not None:
        number = IpAddress(own.width, own.first)
    outer = (address_range(text, version) for text in ranges)
    return number is not None and any(
        found is not None and found.contains(number) and (own is None or own.length >= found.length) for found in outer
    )


def host_classes(texts: Iterable[str], version: KafkaVersion) -> list[HostClass]:
    """One class for each set of hosts that these host texts distinguish; the hosts of no entry come first.

    An exact address is its own class. A range is the class of its addresses that are in no narrower range and are no
    exact text; a range without such addresses has no class, and neither has a text that no connection can have.
    """
    exact: set[str] = set()
    ranges: dict[IpRange, str] = {}
    for text in sorted(set(texts) - {WILDCARD}):
        if (found := address_range(text, version)) is not None:
            ranges.setdefault(found, text)
        elif address(text) is not None:
            exact.add(text)
    taken = {number for text in exact if (number := address(text)) is not None and "%" not in text}
    # A host outside every entry stands for the class of all hosts that nobody named.
    fresh = _outside(set(ranges), taken)
    inside = [
        HostClass(label, address_text(host))
        for outer, label in sorted(ranges.items())
        if (host := _lowest(outer, [r for r in ranges if _narrower(r, outer)], taken)) is not None
    ]
    return [
        *([HostClass(WILDCARD, fresh)] if fresh else []),
        *(HostClass(text, text) for text in sorted(exact)),
        *inside,
    ]


def _narrower(inner: IpRange, outer: IpRange) -> bool:
    return inner != outer and inner.length >= outer.length and outer.contains(IpAddress(inner.width, inner.first))


def _lowest(outer: IpRange, inner: Iterable[IpRange], taken: set[IpAddress]) -> IpAddress | None:
    """The lowest address of ``outer`` that is in no ``inner`` range and not taken."""
    number = outer.first
    ends = sorted((r.first, r.last) for r in inner)
    for first, last in ends:
        while number < first and IpAddress(outer.width, number) in taken:
            number += 1
        if number < first:
            break
        number = max(number, last + 1)
    while IpAddress(outer.width, number) in taken:
        number += 1
    return IpAddress(outer.width, number) if number <= outer.last and _is_printed(outer.width, number) else None


def _is_printed(width: int, number: int) -> bool:
    """Whether Java would show this number as an address of its own width."""
    return width == 32 or number >> 32 != 0xFFFF


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
    """A host that no entry names, or ``None`` if the ranges cover every address."""
    for block in _EVERYWHERE:
        if any(r == block or _narrower(block, r) for r in ranges):
            continue
        found = _lowest(block, [r for r in ranges if _narrower(r, block)], taken)
        if found is not None:
            return address_text(found)
    return None
