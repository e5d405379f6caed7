"""Confluent's audit events (CloudEvents of ``io.confluent.kafka.server/authorization``) as decisions."""

import re
from collections.abc import Mapping
from typing import Any, Final

from reconciler.access import AccessRequest
from reconciler.fleet.usage.event import Event, LoggedReason, UnreadableReason
from reconciler.fleet.usage.vocabulary import OPERATIONS, RESOURCE_TYPES

_TYPE: Final = "io.confluent.kafka.server/authorization"
#: Platform's ``crn:///kafka=ID/topic=…`` and Cloud's ``crn://confluent.cloud/…/kafka=ID``.
_CLUSTER = re.compile(r"/kafka=([^/]+)")
_VERDICTS: Final = {"ALLOW": True, "ALLOWED": True, "DENY": False, "DENIED": False}


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
        _ground(info, allowed=allowed),
        api=str(data.get("methodName", "")).removeprefix("kafka."),
        cluster_id=_cluster_id(document, data),
    )


def _principal(info: Any) -> str | None:
    """``User:alice``, or the id inside Cloud's ``{"confluentServiceAccount": {"resourceId": "sa-1"}}``."""
    found = info.get("principal") if isinstance(info, dict) else None
    if isinstance(found, str):
        return found if ":" in found else None
    if isinstance(found, dict):
        ids = [value["resourceId"] for value in found.values() if isinstance(value, dict) and "resourceId" in value]
        if len(ids) == 1 and isinstance(ids[0], str) and ids[0]:
            return f"User:{ids[0]}"
    return None


def _allowed(info: Mapping[str, Any]) -> bool | None:
    if isinstance(info.get("granted"), bool):
        return bool(info["granted"])
    return _VERDICTS.get(str(info.get("result")).upper())


def _ground(info: Mapping[str, Any], *, allowed: bool) -> LoggedReason:
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
        found = _CLUSTER.search(text) if isinstance(text, str) else None
        if found:
            return found[1]
    return ""
