"""Decisions in a line of a log: JSON of any shape, audit events of vendors.

The decisions in a document: JSON of any shape that a layout or a collector writes, and ``key=value`` lines.

Every string of a document is searched, because collectors name their fields as they like. Objects inside of each other
describe one log event; elements of a list are log events of their own.
"""

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.addresses import IpAddress, address_text
from reconciler.parts.evidence.usage.message import (
    HALF,
    NO_CONTEXT,
    OPENING,
    OPERATIONS,
    RESOURCE_TYPES,
    Context,
    Event,
    LoggedReason,
    Logger,
    ParsedLine,
    ReadDecision,
    UnreadableReason,
    as_text,
    decisions_of_text,
    is_sign,
    layout_before,
    logger_of,
    time_at,
    time_of,
)

# Confluent's audit events (CloudEvents of ``io.confluent.kafka.server/authorization``) as decisions.

_TYPE: Final = "io.confluent.kafka.server/authorization"
#: Platform's ``crn:///kafka=ID/topic=…`` and Cloud's ``crn://confluent.cloud/…/kafka=ID``.
_CLUSTER = re.compile(r"/kafka=([^/]+)")
_CONFLUENT_VERDICTS: Final = {"ALLOW": True, "ALLOWED": True, "DENY": False, "DENIED": False}


def is_audit_event(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object is an authorization event of a Kafka cluster."""
    data = document.get("data")
    return (
        document.get("type") == _TYPE
        and isinstance(data, dict)
        and isinstance(data.get("authorizationInfo"), dict)
        and str(data.get("methodName", "kafka.")).startswith("kafka.")
    )


def parse_audit_event(document: Mapping[str, Any]) -> Event | UnreadableReason:
    """The decision of an event for which :func:`is_audit_event` holds."""
    data = document["data"]
    info = data["authorizationInfo"]
    principal = _principal(data.get("authenticationInfo"))
    allowed = _allowed(info)
    name = info.get("resourceName")
    if principal is None or allowed is None or not isinstance(name, str):
        return UnreadableReason.CUT
    operation = OPERATIONS.get(str(info.get("operation")))
    kind = RESOURCE_TYPES.get(str(info.get("resourceType")))
    if operation is None or kind is None or str(info.get("patternType", "LITERAL")) != "LITERAL":
        return UnreadableReason.UNKNOWN_WORD
    return Event(
        AccessRequest(principal, _host(data), operation, kind, name),
        allowed,
        _confluent_ground(info, allowed=allowed),
        api=str(data.get("methodName", "")).removeprefix("kafka."),
        cluster_id=_cluster_id(document, data),
    )


def _principal(info: Any) -> str | None:
    """``User:alice``, or the id inside Cloud's ``{"confluentServiceAccount": {"resourceId": "sa-1"}}``."""
    principal = info.get("principal") if isinstance(info, dict) else None
    if isinstance(principal, str):
        return principal if ":" in principal else None
    if isinstance(principal, dict):
        ids = [value["resourceId"] for value in principal.values() if isinstance(value, dict) and "resourceId" in value]
        if len(ids) == 1 and isinstance(ids[0], str) and ids[0]:
            return f"User:{ids[0]}"
    return None


def _allowed(info: Mapping[str, Any]) -> bool | None:
    if isinstance(info.get("granted"), bool):
        return bool(info["granted"])
    return _CONFLUENT_VERDICTS.get(str(info.get("result")).upper())


def _confluent_ground(info: Mapping[str, Any], *, allowed: bool) -> LoggedReason:
    if info.get("superUserAuthorization") is True:
        return LoggedReason.SUPER_USER
    if info.get("aclAuthorization"):
        return LoggedReason.ACL
    if info.get("rbacAuthorization"):
        return LoggedReason.ROLE
    return LoggedReason.UNSAID if allowed else LoggedReason.DEFAULT_DENY


def _host(data: Mapping[str, Any]) -> str:
    """The client's address; Java's ``InetAddress`` prints it after a slash. Empty if the event has none."""
    metadata = data.get("requestMetadata")
    given: Any = None
    if isinstance(metadata, dict):
        given = metadata.get("client_address") or metadata.get("clientAddress")
    if given is None:
        given = data.get("clientAddress")
    if isinstance(given, list) and given:
        given = given[0]
    if isinstance(given, dict):
        given = given.get("ip")
    return given.rpartition("/")[2] if isinstance(given, str) else ""


def _cluster_id(document: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    for text in (data.get("serviceName"), document.get("source"), document.get("subject"), data.get("resourceName")):
        match = _CLUSTER.search(text) if isinstance(text, str) else None
        if match:
            return match[1]
    return ""


# Redpanda's audit events (OCSF class 6003, API Activity) as decisions.
#
# Source: Redpanda's page of sample messages (docs/vendors.md). An event names the API and the resource but not the
# operation that was asked for, so that follows from what Kafka asks for there (``KafkaApis``); where Kafka asks for
# several, the event is not taken for any. An event with a ``count`` stands for several accesses and counts as one.

_API_ACTIVITY: Final = 6003
_KAFKA: Final = "kafka rpc protocol"
_POLICY: Final = "aclAuthorization"
_OCSF_VERDICTS: Final = {"authorized": True, "denied": False}
_TYPES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
}
_PRINCIPAL: Final = re.compile(r"\{type (user|role|group) name (.+)\}", re.DOTALL)
_PRINCIPAL_TYPES: Final = {"user": "User", "role": "RedpandaRole", "group": "Group"}
_ANY_HOST: Final = "{{any_host}}"


def _asked(operation: AclOperation, kind: ResourceType, apis: str) -> dict[tuple[str, ResourceType], AclOperation]:
    return {(api, kind): operation for api in apis.split()}


#: What an API asks for on a type of resource, where that is one operation.
_OPERATIONS: Final[Mapping[tuple[str, ResourceType], AclOperation]] = MappingProxyType(
    {
        **_asked(AclOperation.READ, ResourceType.TOPIC, "fetch offset_commit txn_offset_commit describe_producers"),
        **_asked(AclOperation.WRITE, ResourceType.TOPIC, "produce add_partitions_to_txn"),
        **_asked(
            AclOperation.DESCRIBE, ResourceType.TOPIC, "metadata list_offsets offset_fetch offset_for_leader_epoch"
        ),
        **_asked(AclOperation.CREATE, ResourceType.TOPIC, "create_topics"),
        **_asked(AclOperation.DELETE, ResourceType.TOPIC, "delete_topics delete_records"),
        **_asked(AclOperation.ALTER, ResourceType.TOPIC, "create_partitions"),
        **_asked(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "describe_configs"),
        **_asked(AclOperation.ALTER_CONFIGS, ResourceType.TOPIC, "alter_configs incremental_alter_configs"),
        **_asked(
            AclOperation.READ,
            ResourceType.GROUP,
            "offset_commit join_group heartbeat leave_group sync_group add_offsets_to_txn txn_offset_commit",
        ),
        **_asked(
            AclOperation.DESCRIBE, ResourceType.GROUP, "offset_fetch find_coordinator describe_groups list_groups"
        ),
        **_asked(AclOperation.DELETE, ResourceType.GROUP, "delete_groups offset_delete"),
        **_asked(
            AclOperation.WRITE,
            ResourceType.TRANSACTIONAL_ID,
            "init_producer_id add_partitions_to_txn add_offsets_to_txn end_txn txn_offset_commit produce",
        ),
        **_asked(
            AclOperation.DESCRIBE,
            ResourceType.TRANSACTIONAL_ID,
            "find_coordinator describe_transactions list_transactions",
        ),
        **_asked(AclOperation.DESCRIBE, ResourceType.CLUSTER, "describe_acls list_groups describe_log_dirs"),
        **_asked(AclOperation.ALTER, ResourceType.CLUSTER, "create_acls delete_acls"),
        **_asked(AclOperation.CREATE, ResourceType.CLUSTER, "create_topics"),
        **_asked(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, "init_producer_id"),
        **_asked(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, "describe_configs describe_client_quotas"),
        **_asked(
            AclOperation.ALTER_CONFIGS,
            ResourceType.CLUSTER,
            "alter_configs incremental_alter_configs alter_client_quotas",
        ),
    }
)


def is_ocsf_event(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object is Redpanda's event of an access to the Kafka API."""
    return (
        document.get("class_uid") == _API_ACTIVITY
        and _at(document, "metadata", "product", "name") == "Redpanda"
        and _at(document, "api", "service", "name") == _KAFKA
    )


def parse_ocsf_event(document: Mapping[str, Any]) -> Event | UnreadableReason:
    """The decision of an event for which :func:`is_ocsf_event` holds."""
    decisions, resources = _at(document, "actor", "authorizations"), document.get("resources")
    user, api, host = (_at(document, *path) for path in (("actor", "user", "name"), ("api", "operation"), _CLIENT))
    if not (isinstance(decisions, list) and isinstance(resources, list) and all(map(_is_text, (user, api, host)))):
        return UnreadableReason.CUT
    # What an administrative request is about (acl_binding) stands among the resources that were asked for.
    asked = [resource for resource in resources if isinstance(resource, dict) and resource.get("type") in _TYPES]
    if len(decisions) != 1 or len(asked) != 1:
        return UnreadableReason.AMBIGUOUS
    allowed, name = _OCSF_VERDICTS.get(str(_at(decisions[0], "decision"))), asked[0].get("name")
    if allowed is None or not isinstance(name, str) or not name:
        return UnreadableReason.CUT
    kind = _TYPES[asked[0]["type"]]
    operation = _OPERATIONS.get((api, kind))
    if operation is None or _at(decisions[0], "policy", "name") != _POLICY:
        return UnreadableReason.UNKNOWN_WORD
    acl = _acl(_at(document, "unmapped", "authorization_metadata"))
    ground = _ocsf_ground(_at(decisions[0], "policy", "desc"), allowed=allowed)
    request = AccessRequest(f"User:{user}", _address(host), operation, kind, name)
    return Event(request, allowed, ground, acl if ground is LoggedReason.ACL else None, api=api)


_CLIENT: Final = ("src_endpoint", "ip")


def _at(value: Any, *path: str) -> Any:
    """What is at a path of fields; ``None`` where there is nothing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _ocsf_ground(words: Any, *, allowed: bool) -> LoggedReason:
    text = str(words)
    if text.startswith("superuser"):
        return LoggedReason.SUPER_USER
    if text.startswith("acl:"):
        return LoggedReason.ACL
    return LoggedReason.UNSAID if allowed else LoggedReason.DEFAULT_DENY


def _address(text: str) -> str:
    """As Java prints it, which is how bindings name it."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return text
    return address_text(IpAddress(parsed.max_prefixlen, int(parsed)))


def _acl(words: Any) -> AclBinding | None:
    """The binding that decided; ``None`` where a part of it is not plain."""
    entry, pattern = _at(words, "acl_authorization"), _at(words, "resource")
    principal = _PRINCIPAL.fullmatch(str(_at(entry, "principal")))
    kind, name = _TYPES.get(str(_at(pattern, "type"))), _at(pattern, "name")
    operation = AclOperation.__members__.get(str(_at(entry, "op")).upper())
    permission = AclPermissionType.__members__.get(str(_at(entry, "permission_type")).upper())
    pattern_type = PatternType.__members__.get(str(_at(pattern, "pattern")).upper())
    if principal is None or kind is None or operation is None or permission is None or pattern_type is None:
        return None
    if not isinstance(name, str) or _at(entry, "host") != _ANY_HOST:
        return None
    return AclBinding(
        ResourcePattern(kind, name, pattern_type),
        AccessControlEntry(f"{_PRINCIPAL_TYPES[principal[1]]}:{principal[2]}", WILDCARD, operation, permission),
    )


#: Names of fields, as letters alone: ``@timestamp``, ``log.level`` and ``logger_name`` are each written in many ways.
_TIMES: Final = (
    "timestamp",
    "time",
    "instant",
    "timemillis",
    "timestampmillis",
    "sourcerealtimetimestamp",
    "realtimetimestamp",
    "timeunixnano",
    "observedtimeunixnano",
    "ts",
    "eventtime",
    "datetime",
    "date",
)
_LEVELS: Final = frozenset({"level", "loglevel", "severity", "severitytext", "levelname", "priority"})
_LOGGERS: Final = frozenset({"logger", "loggername", "loglogger"})
#: Objects whose fields are about the message beside them.
_BESIDE: Final = frozenset(
    {"log", "logger", "fields", "attributes", "labels", "scope", "instrumentationscope", "stream"}
)
_LETTERS = re.compile(r"[^a-z]")
_TRACE = re.compile(r"\btrace\b", re.ASCII | re.IGNORECASE)
_OPENING = re.compile(rb'\{\s*"')
_NESTED = re.compile(r'(?:\[\s*)?\{\s*"')
_SEPARATORS = re.compile(r"[\s,\x1e]*")
_PAIR = re.compile(r'([\w.@-]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?:\s+|\Z)')
#: Seconds, milliseconds, microseconds and nanoseconds since 1970, by their number of digits.
_EPOCHS: Final = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}


class _RepeatedNameError(ValueError):
    """An object has two fields of one name: readers differ about which one counts."""


def decisions_of_document(line: bytes) -> list[ReadDecision] | None:
    """The decisions in a line that is a document, or a document behind a prefix of a collector; else ``None``."""
    opening = _OPENING.search(line)
    place = opening.start() if opening else -1
    if line[:1] == b'"':
        return _field_of_pretty_json(line)
    if place < 0 or b"Principal = " in line[:place]:
        return _logfmt(line)
    whole = place == 0 or (line[:1] == b"[" and not line[1:place].strip())
    text = as_text(line if whole else line[place:])
    if text is None:
        return [UnreadableReason.NOT_TEXT] if whole else None
    prefix = line[:place].decode("utf-8", "replace")
    before = layout_before("" if whole else prefix)
    if before is None:
        return None
    around = NO_CONTEXT if whole else Context(before.time, before.traced, before.logger)
    try:
        return [decision for document in _documents(text) for decision in _decisions_of(document, around)]
    except UnicodeEncodeError:
        return [UnreadableReason.NOT_TEXT]
    except (ValueError, RecursionError):
        return [UnreadableReason.CUT] if whole else None


def _documents(text: str) -> Iterator[Any]:
    """Documents one after the other, as collectors write them into files; raises ``ValueError``."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    place = 0
    while place < len(text):
        document, end = decoder.raw_decode(text, place)
        if "\\ud" in text or "\\uD" in text:
            # Half of a surrogate pair is a lost character.
            json.dumps(document, ensure_ascii=False).encode()
        yield document
        separators = _SEPARATORS.match(text, end)
        place = separators.end() if separators else end


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _RepeatedNameError
    return fields


def _field_of_pretty_json(line: bytes) -> list[ReadDecision] | None:
    """A field, or an element of a list, of a document that is written over several lines."""
    text = as_text(line)
    if text is None:
        return None
    bare = text.rstrip(", ")
    for opening, closing in ("{}", "[]"):
        try:
            return _decisions_of(json.loads(opening + bare + closing), NO_CONTEXT)
        except (ValueError, RecursionError):
            continue
    return None


def _logfmt(line: bytes) -> list[ReadDecision] | None:
    """A line of ``key=value`` from its beginning to its end."""
    text = as_text(line)
    if text is None or _PAIR.match(text) is None:
        return None
    pairs: list[tuple[str, Any]] = []
    place = 0
    while place < len(text):
        match = _PAIR.match(text, place)
        if match is None:
            return None
        try:
            value = json.loads(match[2]) if match[2].startswith('"') else match[2]
        except ValueError:
            return None
        pairs.append((match[1], value))
        place = match.end()
    try:
        return _decisions_of(_object(pairs), NO_CONTEXT)
    except ValueError:
        return [UnreadableReason.AMBIGUOUS]


def _decisions_of(value: Any, around: Context) -> list[ReadDecision]:
    """The decisions in a part of a document."""
    if isinstance(value, str):
        return _of_string(value, around)
    if isinstance(value, list):
        return _of_list(value, around)
    return _of_object(value, around) if isinstance(value, dict) else []


def _of_string(text: str, around: Context) -> list[ReadDecision]:
    nested = text.strip()
    if _NESTED.match(nested) and (is_sign(nested) or "authorizationInfo" in nested or "\\u00" in nested):
        try:
            return [decision for document in _documents(nested) for decision in _decisions_of(document, around)]
        except UnicodeEncodeError:
            return [UnreadableReason.NOT_TEXT]
        except ValueError:
            return [UnreadableReason.CUT]
    return decisions_of_text(text.rstrip("\r\n"), around) if is_sign(text) else []


def _of_list(values: Sequence[Any], around: Context) -> list[ReadDecision]:
    if values and all(isinstance(value, dict) and value.keys() >= {"field", "value"} for value in values):
        # A row of CloudWatch Logs Insights.
        return _of_object({str(value["field"]): value["value"] for value in values}, around)
    if values and isinstance(values[0], str) and values[0].isdecimal():
        # Loki: a time, then a line.
        around = around._replace(time=_time(values[0]) or around.time)
    return [decision for value in values for decision in _decisions_of(value, around)]


def _of_object(document: Mapping[str, Any], around: Context) -> list[ReadDecision]:
    around = _context(document, around)
    event: Event | UnreadableReason | None = None
    if is_audit_event(document):
        event = parse_audit_event(document)
    elif is_ocsf_event(document):
        event = parse_ocsf_event(document)
    if event is not None:
        return [ParsedLine(around.time, event) if isinstance(event, Event) else event]
    texts = [item for item in document.values() if isinstance(item, str)]
    parts = [
        _decisions_of(value, around)
        for value in document.values()
        # The beginning of another field is that field, shortened.
        if not (isinstance(value, str) and any(other != value and other.startswith(value) for other in texts))
    ]
    named = [[UnreadableReason.AMBIGUOUS] for name in document if is_sign(name)]
    return _alternatives([*parts, *named])


def _alternatives(parts: Sequence[Sequence[ReadDecision]]) -> list[ReadDecision]:
    """What several fields say of one log event: the same decision in two of them is one."""
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return list(parts[0]) if parts else []
    decisions: list[ReadDecision] = []
    held: Counter[object] = Counter()
    for part in parts:
        own: Counter[object] = Counter()
        for item in part:
            key = item.event if isinstance(item, ParsedLine) else item
            own[key] += 1
            if own[key] > held[key]:
                decisions.append(item)
        held |= own
    return decisions


def _context(document: Mapping[str, Any], around: Context) -> Context:
    """What an object says about its messages, and what is said around it."""
    fields = {_plain(name): value for name, value in document.items()}
    times = (time for name in _TIMES if name in fields and (time := _time(fields[name])))
    time = next(times, around.time)
    traced, loggers = around.traced, [around.logger]
    for name, value in _about(fields):
        if name in _LEVELS and isinstance(value, str):
            traced = traced or _TRACE.search(value) is not None
        elif name in _LOGGERS and isinstance(value, str) and value.strip():
            loggers.append(logger_of(value))
    # The innermost word counts, but nothing inside of another class's message is a decision.
    logger = Logger.FOREIGN if Logger.FOREIGN in loggers else loggers[-1]
    if len(loggers) > 2 and Logger.OURS in loggers[1:]:
        logger = logger if logger is Logger.FOREIGN else Logger.OURS
    return Context(time, traced, logger)


def _about(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        yield name, value
        if name in _BESIDE and isinstance(value, dict):
            for inner, text in value.items():
                # A scope without a class of Java is a collector's, not a logger.
                scope = inner == "name" and isinstance(text, str) and logger_of(text) is not Logger.UNKNOWN
                if scope or (name == "logger" and inner == "name"):
                    yield "logger", text
                else:
                    yield _plain(inner), text


@lru_cache(maxsize=4_096)
def _plain(name: str) -> str:
    return _LETTERS.sub("", name.lower())


def _time(given: Any) -> str:
    if isinstance(given, dict) and isinstance(given.get("epochSecond"), int):
        return time_at(given["epochSecond"])
    if isinstance(given, str):
        if given.isdecimal() and given.isascii():
            return time_at(int(given) / _EPOCHS[len(given)]) if len(given) in _EPOCHS else ""
        return time_of(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        for size in (1_000_000_000, 1_000_000, 1_000):
            # Since 1973 milliseconds have 12 digits and more.
            if given > 100_000_000 * size:
                return time_at(given / size)
        return time_at(given)
    return ""


# The decisions in one line of a log: in text, in documents of any shape, or audit events. No line makes this raise.

OPENING_BYTES: Final = OPENING.encode()
#: The beginning of a character that JSON may escape.
_ESCAPED: Final = b"\\u00"
_HALF_BYTES = re.compile(HALF.encode())


def decisions_in(line: bytes) -> tuple[ReadDecision, ...]:
    """The decisions in a line, or why they cannot be read; nothing if the line is not about decisions.

    Only a document with several log events has more than one.
    """
    line = line.strip(b" \t\r\n\0")
    if b"\0" in line:
        # Also what UTF-16 looks like.
        bare = line.replace(b"\0", b"")
        return (UnreadableReason.NOT_TEXT,) if _hinted(bare) and _signed(bare) else ()
    if not _hinted(line) or not (_ESCAPED in line or _signed(line)):
        return ()
    decisions = decisions_of_document(line)
    if decisions is not None:
        return tuple(decisions)
    text = as_text(line)
    if text is None:
        return (UnreadableReason.NOT_TEXT,) if _signed(line) else ()
    if _is_structured(line):
        return (UnreadableReason.CUT,)
    return tuple(decisions_of_text(text))


def is_second_half(line: bytes) -> bool:
    """Whether a line is the end of a message that began in an earlier line."""
    return OPENING_BYTES not in line and _HALF_BYTES.search(line) is not None


def _hinted(line: bytes) -> bool:
    """Whether there may be a sign of a decision: most lines have none, and are not looked at any further."""
    return (
        b"Principal" in line
        or b"peration" in line
        or b"resourceRefCount" in line
        or b"based on rule" in line
        or b"Auth request " in line
        or b"active since " in line
        or _ESCAPED in line
        or _is_structured(line)
    )


def _signed(line: bytes) -> bool:
    return is_sign(line.decode("latin-1")) or _is_structured(line)


def _is_structured(line: bytes) -> bool:
    """Whether a field of an audit event is in the line; elsewhere than in a document it shows that one was cut."""
    return b'authorizationInfo"' in line or b'"kafka rpc protocol' in line
