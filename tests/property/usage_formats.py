"""Decisions as Kafka and Confluent write them, and the layouts around them: printers for tests, and what they print."""

import json
from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
)
from reconciler.parts.evidence.usage.documents import decisions_in
from reconciler.parts.evidence.usage.message import (
    OPENING,
    OPERATIONS,
    RESOURCE_TYPES,
    Event,
    LoggedReason,
    ParsedLine,
    ReadMessage,
    UnreadableReason,
    parse_message,
    pascal,
)
from tests.property.strategies import short_names, wild_text


def parse_line(line: bytes) -> ParsedLine | UnreadableReason | None:
    """What a line with at most one decision shows."""
    found = decisions_in(line)
    assert len(found) <= 1
    return found[0] if found else None


def read_message(text: str) -> Event | UnreadableReason:
    """The decision of a message, whatever follows it."""
    found = parse_message(text, text.find(OPENING))
    return found.event if isinstance(found, ReadMessage) else found


#: What a name may hold to be taken for the end of itself.
SEPARATORS: Final = (
    " is Allowed operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:t",
    " is Denied Operation = Read from host = h on resource = ",
    " for request = Fetch with resourceRefCount = 1 based on rule SuperUser",
    " based on rule DefaultDeny",
    ", patternType=LITERAL, principal=User:a, host=*, operation=READ, permissionType=ALLOW))",
    ", host=*, operation=ALL, permissionType=ALLOW])",
    "Principal = ",
    " (kafka.authorizer.logger)",
    ", resourceName=",
)
_RULES: Final = {
    LoggedReason.SUPER_USER: "SuperUser",
    LoggedReason.DEFAULT_ALLOW: "DefaultAllow",
    LoggedReason.DEFAULT_DENY: "DefaultDeny",
}


def _resource(event: Event) -> str:
    return f"{pascal(event.request.resource_type)}:LITERAL:{event.request.resource_name}"


def _acl(binding: AclBinding, opening: str, closing: str) -> str:
    (kind, name, pattern_type), (principal, host, operation, permission) = binding
    return (
        f"MatchingAcl(acl=StandardAcl{opening}resourceType={kind.name}, resourceName={name}, "
        f"patternType={pattern_type.name}, principal={principal}, host={host}, operation={operation.name}, "
        f"permissionType={permission.name}{closing})"
    )


def standard(event: Event, opening: str = "(", closing: str = ")") -> str:
    """``StandardAuthorizerData`` from 3.2 on; with brackets from 4.3 on."""
    request, verdict = event.request, "Allowed" if event.allowed else "Denied"
    rule = _acl(event.acl, opening, closing) if event.acl else _RULES[event.ground]
    return (
        f"Principal = {request.principal} is {verdict} operation = {request.operation.name} "
        f"from host = {request.host} on resource = {_resource(event)} for request = {event.api} "
        f"with resourceRefCount = 1 based on rule {rule}"
    )


def standard_record(event: Event) -> str:
    """The same with the binding as a record."""
    return standard(event, "[", "]")


def acl_authorizer(event: Event) -> str:
    """``AclAuthorizer``, 2.4 to 3.9."""
    request, verdict = event.request, "Allowed" if event.allowed else "Denied"
    return (
        f"Principal = {request.principal} is {verdict} Operation = {pascal(request.operation)} "
        f"from host = {request.host} on resource = {_resource(event)} for request = {event.api} "
        f"with resourceRefCount = 12"
    )


def before_2_4(event: Event) -> str:
    """``SimpleAclAuthorizer``, 2.0 to 2.3."""
    return acl_authorizer(event).partition(" for request = ")[0]


def audit_event(event: Event) -> str:
    """Confluent's event of an access that an ACL decided."""
    request = event.request
    verdict: dict[str, object] = {
        "granted": event.allowed,
        "operation": pascal(request.operation),
        "resourceType": pascal(request.resource_type),
        "resourceName": request.resource_name,
        "patternType": "LITERAL",
    }
    if event.ground is LoggedReason.SUPER_USER:
        verdict["superUserAuthorization"] = True
    document = {
        "type": "io.confluent.kafka.server/authorization",
        "time": "2026-11-02T03:04:05.678Z",
        "source": f"crn:///kafka={event.cluster_id}",
        "data": {
            "serviceName": f"crn:///kafka={event.cluster_id}",
            "methodName": f"kafka.{event.api}",
            "authenticationInfo": {"principal": request.principal},
            "authorizationInfo": verdict,
            "requestMetadata": {"client_address": f"/{request.host}"},
        },
    }
    return json.dumps(document)


#: Layouts: a message and a time (``YYYY-MM-DD HH:MM:SS``) to a line; all tell the time, in UTC.
LAYOUTS: Final[dict[str, Callable[[str, str], str]]] = {
    "kafka": lambda message, time: f"[{time},123] DEBUG {message} (kafka.authorizer.logger)",
    "thread": lambda message, time: f"{time}.123 [data-plane-kafka-request-handler-1] INFO {message}",
    "iso": lambda message, time: f"{time.replace(' ', 'T')}.123Z INFO kafka.authorizer.logger - {message}",
    "zone": lambda message, time: f"{time}.1+00:00 INFO {message}",
    "kubernetes": lambda message, time: f"{time.replace(' ', 'T')}.000000001Z stdout F [{time},123] INFO {message}",
    "compose": lambda message, time: f"kafka-1  | [{time},123] INFO {message} (kafka.authorizer.logger)",
    "docker": lambda message, time: json.dumps({"log": f"[{time},1] INFO {message}\n", "time": f"{time}Z"}),
    "template": lambda message, time: json.dumps({"@timestamp": f"{time}Z", "log.level": "INFO", "message": message}),
}

_names = st.one_of(short_names, wild_text.filter(lambda name: "\n" not in name))
_hostile = st.one_of(
    _names, st.tuples(_names, st.sampled_from(SEPARATORS), _names).map("".join), st.sampled_from(SEPARATORS)
)
_hosts = st.sampled_from(["10.0.0.1", "127.0.0.1", "0:0:0:0:0:0:0:1", "fe80:0:0:0:1:2:3:4%eth0"])
_apis = st.sampled_from(["Fetch", "Produce", "Metadata", "FindCoordinator"])
_types = st.sampled_from(sorted(set(RESOURCE_TYPES.values())))
_operations = st.sampled_from(sorted(set(OPERATIONS.values())))


def _pattern(name: str, kind: str, length: int) -> tuple[str, PatternType]:
    if kind == "wildcard":
        return WILDCARD, PatternType.LITERAL
    return (name[: max(1, length)], PatternType.PREFIXED) if kind == "prefix" else (name, PatternType.LITERAL)


@st.composite
def _events(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Event:
    principal = f"User:{draw(names)}"
    request = AccessRequest(principal, draw(_hosts), draw(_operations), draw(_types), draw(names))
    ground = draw(st.sampled_from([LoggedReason.ACL, *_RULES]))
    allowed = draw(st.booleans()) if ground is LoggedReason.ACL else ground is not LoggedReason.DEFAULT_DENY
    event = Event(request, allowed, ground, None, draw(_apis))
    if ground is not LoggedReason.ACL:
        return event
    if not request.resource_name:
        return event._replace(ground=LoggedReason.SUPER_USER, allowed=True)
    name, pattern_type = _pattern(
        request.resource_name, draw(st.sampled_from(["wildcard", "prefix", "literal"])), draw(st.integers(1, 3))
    )
    entry = AccessControlEntry(
        draw(st.sampled_from([principal, WILDCARD_PRINCIPAL])),
        draw(st.sampled_from([WILDCARD, request.host])),
        draw(st.sampled_from([request.operation, AclOperation.ALL])),
        AclPermissionType.ALLOW if allowed else AclPermissionType.DENY,
    )
    return event._replace(acl=AclBinding(ResourcePattern(request.resource_type, name, pattern_type), entry))


#: Decisions whose names hold anything but line feeds, NUL and the sign of a lost character.
events = _events(_names.filter(lambda name: not {"\0", "\ufffd"} & set(name)))
#: The same with names that look like what stands around names.
hostile_events = _events(_hostile.filter(lambda name: not {"\0", "\ufffd"} & set(name)))
#: Times in one month, to the second.
times = st.builds(
    "2026-11-{:02d} {:02d}:{:02d}:{:02d}".format,
    st.integers(1, 30),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
)
