"""Redpanda's audit events (OCSF class 6003, API Activity) as decisions.

Source: Redpanda's page of sample messages (docs/vendors.md). An event names the API and the resource but not the
operation that was asked for, so that follows from what Kafka asks for there (``KafkaApis``); where Kafka asks for
several, the event is not taken for any. An event with a ``count`` stands for several accesses and counts as one.
"""

import ipaddress
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from reconciler.access import AccessRequest
from reconciler.fleet.usage.event import Event, LoggedReason, UnreadableReason
from reconciler.model import (
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

_API_ACTIVITY: Final = 6003
_KAFKA: Final = "kafka rpc protocol"
_POLICY: Final = "aclAuthorization"
_VERDICTS: Final = {"authorized": True, "denied": False}
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
    asked = [one for one in resources if isinstance(one, dict) and one.get("type") in _TYPES]
    if len(decisions) != 1 or len(asked) != 1:
        return UnreadableReason.AMBIGUOUS
    allowed, name = _VERDICTS.get(str(_at(decisions[0], "decision"))), asked[0].get("name")
    if allowed is None or not isinstance(name, str) or not name:
        return UnreadableReason.CUT
    kind = _TYPES[asked[0]["type"]]
    operation = _OPERATIONS.get((api, kind))
    if operation is None or _at(decisions[0], "policy", "name") != _POLICY:
        return UnreadableReason.UNKNOWN_WORD
    acl = _acl(_at(document, "unmapped", "authorization_metadata"))
    ground = _ground(_at(decisions[0], "policy", "desc"), allowed=allowed)
    request = AccessRequest(f"User:{user}", _address(host), operation, kind, name)
    return Event(request, allowed, ground, acl if ground is LoggedReason.ACL else None, api=api)


_CLIENT: Final = ("src_endpoint", "ip")


def _at(found: Any, *path: str) -> Any:
    """What is at a path of fields; ``None`` where there is nothing."""
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _ground(words: Any, *, allowed: bool) -> LoggedReason:
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
