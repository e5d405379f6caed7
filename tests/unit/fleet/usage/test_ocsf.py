"""Redpanda's audit events, as its page of samples has them."""

import copy
import json
from typing import Any

import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.parts.evidence.usage.message import LoggedReason, ParsedLine, UnreadableReason
from tests.property.usage_formats import parse_line
from tests.worlds import binding

#: The page's "Metadata Request", without what is not read.
METADATA: dict[str, Any] = {
    "category_uid": 6,
    "class_uid": 6003,
    "count": 2,
    "metadata": {"product": {"name": "Redpanda", "uid": "0", "vendor_name": "Redpanda Data, Inc."}, "version": "1.0.0"},
    "time": 1700533480724,
    "actor": {
        "authorizations": [
            {
                "decision": "authorized",
                "policy": {
                    "desc": "acl: {principal {type user name user} host {{any_host}} op all perm allow}, "
                    "resource: type {topic} name {*} pattern {literal}",
                    "name": "aclAuthorization",
                },
            }
        ],
        "user": {"name": "user", "type_id": 1},
    },
    "api": {"operation": "metadata", "service": {"name": "kafka rpc protocol"}},
    "resources": [{"name": "test", "type": "topic"}],
    "src_endpoint": {"ip": "127.0.0.1", "name": "rpk", "port": 53602},
    "unmapped": {
        "authorization_metadata": {
            "acl_authorization": {
                "host": "{{any_host}}",
                "op": "all",
                "permission_type": "allow",
                "principal": "{type user name user}",
            },
            "resource": {"name": "*", "pattern": "literal", "type": "topic"},
        }
    },
}


def parsed(**changes: Any) -> Any:
    """The line with values at paths (``api__operation``) replaced."""
    document = copy.deepcopy(METADATA)
    for path, value in changes.items():
        *way, last = path.split("__")
        place: Any = document
        for name in way:
            place = place[int(name) if name.isdecimal() else name]
        place[int(last) if last.isdecimal() else last] = value
    return parse_line(json.dumps(document).encode())


def test_an_access_that_an_acl_permitted() -> None:
    found = parsed()
    assert isinstance(found, ParsedLine)
    assert found.time.startswith("2023-11-21")
    event = found.event
    assert event.request == AccessRequest("User:user", "127.0.0.1", AclOperation.DESCRIBE, ResourceType.TOPIC, "test")
    assert (event.allowed, event.ground, event.api) == (True, LoggedReason.ACL, "metadata")
    assert event.acl == binding("User:user ALLOW ALL on TOPIC *")


def test_a_super_user_and_what_its_request_is_about() -> None:
    decision = [{"decision": "authorized", "policy": {"desc": "superuser", "name": "aclAuthorization"}}]
    about = [{"name": "create acl", "type": "acl_binding", "data": {}}, {"name": "kafka-cluster", "type": "cluster"}]
    event = parsed(actor__authorizations=decision, resources=about, api__operation="create_acls").event
    assert (event.ground, event.acl) == (LoggedReason.SUPER_USER, None)
    assert (event.request.operation, event.request.resource_type) == (AclOperation.ALTER, ResourceType.CLUSTER)


def test_a_refusal_without_an_acl() -> None:
    decision = [{"decision": "denied", "policy": {"desc": "", "name": "aclAuthorization"}}]
    event = parsed(actor__authorizations=decision, api__operation="produce", src_endpoint__ip="::1").event
    assert (event.allowed, event.ground, event.acl) == (False, LoggedReason.DEFAULT_DENY, None)
    assert (event.request.operation, event.request.host) == (AclOperation.WRITE, "0:0:0:0:0:0:0:1")


def test_a_role_decides_under_its_own_name() -> None:
    event = parsed(unmapped__authorization_metadata__acl_authorization__principal="{type role name readers}").event
    assert event.acl == binding("RedpandaRole:readers ALLOW ALL on TOPIC *")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"api__operation": "something_new"}, UnreadableReason.UNKNOWN_WORD),
        ({"resources": [{"name": "a", "type": "topic"}, {"name": "b", "type": "topic"}]}, UnreadableReason.AMBIGUOUS),
        ({"resources": []}, UnreadableReason.AMBIGUOUS),
        ({"actor__authorizations": []}, UnreadableReason.AMBIGUOUS),
        ({"actor__authorizations__0__decision": "perhaps"}, UnreadableReason.CUT),
        ({"actor__user": "user"}, UnreadableReason.CUT),
        ({"resources": "test"}, UnreadableReason.CUT),
        ({"src_endpoint": {}}, UnreadableReason.CUT),
    ],
)
def test_what_cannot_be_trusted_is_counted_with_a_reason(change: dict[str, Any], reason: UnreadableReason) -> None:
    assert parsed(**change) is reason


def test_other_events_are_not_about_decisions() -> None:
    assert parsed(class_uid=3002) is None
    assert parsed(api__service__name="Redpanda Admin HTTP Server") is None


def test_an_acl_that_is_not_plain_is_not_guessed() -> None:
    assert parsed(unmapped__authorization_metadata__acl_authorization__host="{{10.0.0.1}}").event.acl is None
    assert parsed(unmapped={}).event.acl is None
