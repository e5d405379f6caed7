"""The message of one decision in Kafka's three formats: ``StandardAuthorizerData``, ``AclAuthorizer``, and before 2.4.

Names are untrusted: a principal or a group may contain the words that separate the fields. A message that can be read
in two ways is refused. Where a message may begin and end, :mod:`~reconciler.fleet.usage.layout` says; lines that a name
with line breaks forges cannot be recognised here; see ``scan``.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from reconciler.access import AccessRequest
from reconciler.access.by_resource_type import PROBE
from reconciler.fleet.usage.event import Event, LoggedReason, UnreadableReason
from reconciler.fleet.usage.vocabulary import BINDING_OPERATIONS, OPERATIONS, RESOURCE_TYPES
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclPermissionType,
    PatternType,
    ResourcePattern,
)

#: How every message begins.
OPENING: Final = "Principal = "
_HEAD = re.compile(
    r" is (Allowed|Denied) (operation|Operation) = ([A-Za-z_]+) from host = (\S+) on resource = ([A-Za-z_]+):", re.ASCII
)
_MIDDLE = re.compile(r" for request = (\w+) with resourceRefCount = (\d+)(?!\d)", re.ASCII)
_REASON: Final = " based on rule "
_PLAIN = re.compile(r"(SuperUser|DefaultAllow|DefaultDeny)(?!\w)", re.ASCII)
_PLAIN_GROUNDS: Final = {
    "SuperUser": (LoggedReason.SUPER_USER, True),
    "DefaultAllow": (LoggedReason.DEFAULT_ALLOW, True),
    "DefaultDeny": (LoggedReason.DEFAULT_DENY, False),
}
#: How a binding is printed, and how it ends: with a bracket if it is a Java record (Kafka 4.3; not yet in 4.1).
_ACL_ENDS: Final = {
    f"MatchingAcl(acl=StandardAcl{opening}resourceType=": re.compile(
        rf", operation=([A-Za-z_]+), permissionType=(ALLOW|DENY){closing}", re.ASCII
    )
    for opening, closing in (("(", r"\)\)"), ("[", r"\]\)"))
}
#: What the layout of Kafka's default configuration adds, ``%m (%c)``: only it shows where an old message ends.
_LOGGER = re.compile(r" \(kafka\.authorizer\.logger\)(?:\s*\[[^\s\[\]]*\])?\s*\Z")


class ReadMessage(NamedTuple):
    """A decision, and what is written after its message."""

    event: Event
    rest: str


def parse_message(text: str, start: int = 0) -> ReadMessage | UnreadableReason:
    """The decision whose message begins at ``start``, or why it cannot be read."""
    heads = list(_HEAD.finditer(text, start))
    middles = list(_MIDDLE.finditer(text, start))
    if len(heads) > 1 or len(middles) > 1:
        return UnreadableReason.AMBIGUOUS
    if not heads:
        return UnreadableReason.CUT
    principal = text[start + len(OPENING) : heads[0].start()]
    return _message(text, principal, heads[0], middles[0] if middles else None)


def _message(
    text: str, principal: str, head: re.Match[str], middle: re.Match[str] | None
) -> ReadMessage | UnreadableReason:
    verdict, spelling, operation, host, kind = head.groups()
    if ":" not in principal:
        return UnreadableReason.CUT
    if operation not in OPERATIONS or kind not in RESOURCE_TYPES:
        return UnreadableReason.UNKNOWN_WORD
    name, rest = _name(text, head, middle)
    if name is None:
        return UnreadableReason.CUT
    request = AccessRequest(principal, host, OPERATIONS[operation], RESOURCE_TYPES[kind], name)
    api, references = (middle[1], int(middle[2])) if middle else ("", 1)
    event = Event(request, verdict == "Allowed", api=api, on_some=references == 0 and name == PROBE)
    if spelling == "Operation":
        return ReadMessage(event, rest)
    # Only StandardAuthorizer writes it in lower case, and always with a reason: a message without one was cut.
    return _reasoned(event, rest.removeprefix(_REASON)) if rest.startswith(_REASON) else UnreadableReason.CUT


def _name(text: str, head: re.Match[str], middle: re.Match[str] | None) -> tuple[str | None, str]:
    """The resource's name and the text after it; no name if it may be cut off."""
    if middle is not None:
        resource, rest = text[head.end() : middle.start()], text[middle.end() :]
    else:
        logger = _LOGGER.search(text, head.end())
        if logger is None or head[2] == "operation":
            return None, ""
        resource, rest = text[head.end() : logger.start()], ""
    if resource.startswith("LITERAL:"):
        return resource.removeprefix("LITERAL:"), rest
    # Before 2.0 there were no pattern types, and messages did not name the request.
    return (resource, rest) if middle is None else (None, rest)


def _reasoned(event: Event, reason: str) -> ReadMessage | UnreadableReason:
    plain = _PLAIN.match(reason)
    if plain is not None:
        ground, allowed = _PLAIN_GROUNDS[plain[1]]
        if allowed is not event.allowed:
            return UnreadableReason.CUT
        return ReadMessage(event._replace(ground=ground), reason[plain.end() :])
    for opening, closing in _ACL_ENDS.items():
        if reason.startswith(opening):
            body = reason.removeprefix(opening)
            ends = [end for end in closing.finditer(body) if (end[2] == "ALLOW") is event.allowed]
            found = {binding for end in ends for binding in _bindings(event, body, end)}
            acl = found.pop() if len(found) == 1 else None
            if not ends:
                return UnreadableReason.CUT
            return ReadMessage(event._replace(ground=LoggedReason.ACL, acl=acl), body[ends[-1].end() :])
    return UnreadableReason.CUT


def _bindings(event: Event, body: str, end: re.Match[str]) -> Iterator[AclBinding]:
    """Every binding that the text can mean and that applies to the request; its names may contain separators."""
    operation = BINDING_OPERATIONS.get(end[1])
    kind, comma, rest = body[: end.start()].partition(", resourceName=")
    if operation is None or not comma or RESOURCE_TYPES.get(kind) is not event.request.resource_type:
        return
    for principal in (event.request.principal, WILDCARD_PRINCIPAL):
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            separator = f", patternType={pattern_type.name}, principal={principal}, host="
            place = rest.find(separator)
            while place >= 0:
                host = rest[place + len(separator) :]
                if _fits(event, rest[:place], pattern_type, host):
                    pattern = ResourcePattern(event.request.resource_type, rest[:place], pattern_type)
                    permission = AclPermissionType[end[2]]
                    yield AclBinding(pattern, AccessControlEntry(principal, host, operation, permission))
                place = rest.find(separator, place + 1)


def _fits(event: Event, name: str, pattern_type: PatternType, host: str) -> bool:
    """Whether a binding on ``name`` for ``host`` can have decided the request; a host with a ``/`` is a range."""
    wanted = event.request
    if not name or " " in host or (host not in (WILDCARD, wanted.host) and "/" not in host):
        return False
    if pattern_type is PatternType.PREFIXED:
        return wanted.resource_name.startswith(name)
    return name in (WILDCARD, wanted.resource_name)
