"""Internet addresses and ranges as Kafka's brokers write and compare them."""

import ipaddress
import re
from typing import Final, NamedTuple

from reconciler.model.acl import WILDCARD

#: The first release that takes a host with a slash as a range (KIP-1276).
RANGES_SINCE: Final = (4, 4)
#: The first level of ``metadata.version`` at which a controller creates an ACL with a range, 4.4-IV1 (KIP-1276);
#: brokers of 4.4 judge ranges at any level.
RANGES_LEVEL: Final = 32
#: An address that documentation keeps for itself (RFC 5737): a host that no binding names.
ANY_OTHER_HOST: Final = "192.0.2.1"
_IPV4 = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)
_LENGTH_4 = re.compile(r"\d{1,2}", re.ASCII)
#: ``Integer.parseInt``: digits of any script that has them, in Unicode's first plane, and zeros without number.
_LENGTH_6 = re.compile(r"[+-]?\d+")
_LEADING_ZEROS = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
#: The longest IPv4 address that Java reads, also at the end of an IPv6 address, and its largest number of a scope.
_LONGEST_4: Final = 15
_LARGEST_SCOPE: Final = 2**31 - 1
_MOST_DIGITS: Final = 10


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
        """Whether ``address`` is in this range; an IPv4 address is never in an IPv6 range.

        0.0.0.0 is in no range: commons-net's ``SubnetUtils.SubnetInfo.isInRange`` refuses it first of all.
        """
        if address.width != self.width or address == NOWHERE:
            return False
        return address.number >> (self.width - self.length) == self.bits

    def holds(self, other: "IpRange") -> bool:
        """Whether every address of ``other`` is in this range."""
        return (
            self.width == other.width
            and self.length <= other.length
            and other.bits >> (other.length - self.length) == self.bits
        )

    @property
    def first(self) -> int:
        """The number of the lowest address."""
        return self.bits << (self.width - self.length) or (1 if self.width == NOWHERE.width else 0)

    @property
    def last(self) -> int:
        """The number of the highest address; below :attr:`first` where no address is in the range."""
        return (self.bits << (self.width - self.length)) | (1 << self.width - self.length) - 1

    def __str__(self) -> str:
        """As people write it: without bits after the prefix length."""
        network = self.bits << (self.width - self.length)
        address = ipaddress.IPv4Address(network) if self.width == NOWHERE.width else ipaddress.IPv6Address(network)
        return f"{address}/{self.length}"


NOWHERE: Final = IpAddress(32, 0)


def address(text: str) -> IpAddress | None:
    """The address that ``getHostAddress`` prints as exactly ``text``, without a scope; ``None`` if there is none."""
    # Compare the printed form: an entry with an abbreviated or upper-case IPv6 address matches no connection.
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    number = IpAddress(parsed.max_prefixlen, int(parsed))
    return number if address_text(number) == text.partition("%")[0] else None


def address_text(host: IpAddress) -> str:
    """Java's text: dotted IPv4, IPv6 in full, lower case, without padding, IPv4-mapped as IPv4."""
    if host.width == 32:
        return str(ipaddress.IPv4Address(host.number))
    mapped = ipaddress.IPv6Address(host.number).ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return ":".join(f"{host.number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def resolved(text: str) -> IpAddress | None:
    """The address that ``InetAddress.getByName`` reads without asking a resolver; ``None`` for the name of a host.

    An address of fewer than four parts has the rest in its last one, leading zeros are decimal, an IPv4-mapped address
    is the IPv4 one, and two addresses that differ in their scope alone are equal (``Inet6Address.equals``).
    """
    if ":" not in text:
        number = _java_ipv4(text)
        return None if number is None else IpAddress(32, number)
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        parsed = ipaddress.IPv6Address(_LEADING_ZEROS.sub("", bare.partition("%")[0]))
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped
    return IpAddress(128, int(parsed)) if mapped is None else IpAddress(32, int(mapped))


def ip_range(text: str) -> IpRange | None:
    """The range that an entry's host means since Kafka 4.4, or ``None`` if the broker takes it as plain text.

    Follows ``CidrUtils``, which uses commons-net's ``SubnetUtils`` and ``SubnetUtils6``: numbers with leading zeros are
    decimal, bits after the prefix length are ignored, so is a numbered scope, and an IPv4-mapped IPv6 range is not a
    range. A broker stores the text as it is.
    """
    host, slash, length = text.partition("/")
    if not slash:
        return None
    return _range_6(host, length) if ":" in text else _range_4(host, length)


def hosts_meet(first: str, second: str) -> bool:
    """Whether some connection may match both of two entries' hosts, by the rules of Kafka 4.4."""
    if first == second or WILDCARD in (first, second):
        return True
    if "/" not in first and "/" not in second:
        return False
    ranges = ip_range(first), ip_range(second)
    if ranges[0] is not None and ranges[1] is not None:
        return ranges[0].holds(ranges[1]) or ranges[1].holds(ranges[0])
    block, text = (ranges[0], second) if ranges[0] is not None else (ranges[1], first)
    number = address(text)
    return block is not None and number is not None and block.contains(number)


def _range_4(host: str, length: str) -> IpRange | None:
    octets = _IPV4.fullmatch(host)
    if octets is None or _LENGTH_4.fullmatch(length) is None:
        return None
    numbers = [int(octet) for octet in octets.groups()]
    if max(numbers) > 255 or int(length) > 32:
        return None
    return IpRange(32, int.from_bytes(bytes(numbers)) >> 32 - int(length), int(length))


def _range_6(host: str, length: str) -> IpRange | None:
    if _LENGTH_6.fullmatch(length) is None or max(length) > "\uffff":
        return None
    bits = _int(length)
    if not 0 <= bits <= 128:
        return None
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    number = _java_ipv6(host)
    return None if number is None else IpRange(128, number >> 128 - bits, bits)


def _java_ipv4(text: str) -> int | None:
    """The IPv4 address of one to four decimal numbers (``IPAddressUtil.textToNumericFormatV4``)."""
    parts = text.split(".")
    if len(text) > _LONGEST_4 or len(parts) > 4 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    *first, last = map(int, parts)
    room = 8 * (4 - len(first))
    if any(part > 255 for part in first) or last >= 1 << room:
        return None
    return int.from_bytes(bytes(first)) << room | last


def _java_ipv6(text: str) -> int | None:
    """The IPv6 address that ``InetAddress.getByName`` reads (``IPAddressUtil.textToNumericFormatV6``); no IPv4 one.

    Groups and octets may have leading zeros. A scope is an int; one that is a name is looked up among the broker's own
    interfaces, which nobody else knows.
    """
    text, percent, scope = text.partition("%")
    if percent and not (scope.isascii() and scope.isdecimal() and 0 <= _int(scope) <= _LARGEST_SCOPE):
        return None
    tail = text.rpartition(":")[2]
    if "." in tail and len(tail) > _LONGEST_4:
        return None
    try:
        parsed = ipaddress.IPv6Address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        return None
    return None if parsed.ipv4_mapped is not None else int(parsed)


def _int(text: str) -> int:
    """The number that digits mean, whatever their script and however many zeros they begin with; -1 for a long one."""
    sign, digits = text[: len(text) - len(text.lstrip("+-"))], text.lstrip("+-")
    short = digits[-_MOST_DIGITS:]
    if any(int(digit) for digit in digits[:-_MOST_DIGITS]):
        return -1
    return -int(short) if sign == "-" else int(short)
