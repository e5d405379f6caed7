"""Hosts that a connection can have: ``*``, the exact text of Java's ``InetAddress.getHostAddress()``, or a range.

Brokers before 4.4 accept any other text, ranges too, and never match it, so that a DENY on it denies nobody. A plan
refuses ranges where the cluster is older; here nothing is known of the cluster.
"""

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.model import WILDCARD


def host_problem(text: str) -> Trouble | None:
    """Why no connection can come from ``text``, with the form that matches; ``None`` if it is fine."""
    if text == WILDCARD:
        return None
    if not text.strip():
        return Trouble(Code.HOST, "a host cannot be empty", "write an address, or omit hosts for every host")
    if "/" in text:
        return _range_problem(text)
    right = right_form(text.strip())
    if right is None:
        message = f"{quoted(text)} is not an IP address: Kafka compares addresses, never host names or patterns"
        return Trouble(Code.HOST, message, "list the addresses the clients connect from, as the broker sees them")
    if right != text:
        message = (
            f"the host {quoted(text)} never matches: Kafka compares texts, and brokers write this address otherwise"
        )
        return Trouble(Code.HOST, message, f"write {right}")
    return None


def _range_problem(text: str) -> Trouble | None:
    """Why a text with a slash is no range that a reviewer can read, as ``CidrUtils`` of Kafka 4.4 reads it."""
    from reconciler.model.addresses import ip_range  # noqa: PLC0415  (needed by few manifests)

    found = ip_range(text)
    if found is None:
        advice = "write 10.0.0.0/8 or fe80::/10: an address, a slash, and how many of its bits count"
        return Trouble(Code.HOST, f"{quoted(text)} is not a range of addresses", advice)
    if found.first > found.last:
        return Trouble(Code.HOST, f"no connection comes from {quoted(text)}", "write the addresses that are meant")
    if str(found) != text:
        # Brokers store the text as it is and ignore the bits after the length: 10.0.0.5/8 reads like one address.
        return Trouble(Code.HOST, f"{quoted(text)} means all of {found}", f"write {found}")
    return None


def right_form(text: str) -> str | None:
    """The address as a broker writes it: IPv6 in full and lower case, IPv4-mapped as IPv4; ``None`` if it is none."""
    import ipaddress  # noqa: PLC0415  (needed by few manifests, and not free at start-up)

    parts = text.split(".")
    if len(parts) == 4 and all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        text = ".".join(str(int(part)) for part in parts)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = (int.from_bytes(address.packed[i : i + 2]) for i in range(0, 16, 2))
    scope = f"%{address.scope_id}" if address.scope_id else ""
    return ":".join(f"{group:x}" for group in groups) + scope
