"""Hosts that a connection can have: ``*`` or the exact text of Java's ``InetAddress.getHostAddress()``.

Up to Kafka 4.3 anything else is accepted and never matches, so that a DENY on it denies nobody.
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
        message = f"{quoted(text)} is an address range: before 4.4 Kafka takes it for a text that no address equals"
        return Trouble(Code.HOST, message, "list each address")
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
