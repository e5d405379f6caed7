"""The canonical text as a person sees it."""

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import BrokerFacts, snapshot_text

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")
PAY = ResourcePattern(ResourceType.GROUP, "pay-", PatternType.PREFIXED)


def allow(pattern: ResourcePattern, principal: str, operation: AclOperation) -> AclBinding:
    return AclBinding(pattern, AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW))


STATE = ClusterState(
    "4L6g3nShT-eMCtK--X86sw",
    bindings=frozenset(
        {
            allow(PAY, "User:svc", AclOperation.READ),
            allow(ORDERS, "User:svc", AclOperation.WRITE),
            allow(ORDERS, "User:svc", AclOperation.READ),
            allow(ORDERS, "User:\u202eevil", AclOperation.READ),
            allow(ORDERS, "User:josé", AclOperation.ALL),
        }
    ),
    topics={"orders": Topic("orders", 2, 1, {"retention.ms": "7"}, "Z8p", ((1,), (2,)))},
    opaque=(OpaqueBinding("User:x", "User:y", "*", 7, 3, 13, 3),),
    unreadable_topics={"secret": "TOPIC_AUTHORIZATION_FAILED"},
    acl_gap="one kind was not asked for",
)

TEXT = r"""{
"formatVersion": "1.0",
"clusterId": "4L6g3nShT-eMCtK--X86sw",
"aclGap": "one kind was not asked for",
"topicGap": null,
"broker": {"defaultPartitions": 6, "defaultReplicationFactor": 1, "brokerIds": [1, 2], "topicsCreated": 0},
"acls": [
{"resourceType": "TOPIC", "patternType": "LITERAL", "name": "orders", "entries": [
["User:josé", "*", "ALLOW", "ALL"],
["User:svc", "*", "ALLOW", "READ", "WRITE"],
["User:\u202eevil", "*", "ALLOW", "READ"]
]},
{"resourceType": "GROUP", "patternType": "PREFIXED", "name": "pay-", "entries": [
["User:svc", "*", "ALLOW", "READ"]
]}
],
"topics": [
{"name": "orders", "partitions": 2, "replicationFactor": 1, "topicId": "Z8p", "configs": {"retention.ms": "7"}, "replicaAssignments": [[1], [2]]}
],
"opaque": [
{"resourceType": 7, "patternType": 3, "name": "User:x", "principal": "User:y", "host": "*", "operation": 13, "permissionType": 3}
],
"unreadableTopics": {"secret": "TOPIC_AUTHORIZATION_FAILED"}
}
"""  # noqa: E501 - a line is a fact


def test_a_line_is_a_fact() -> None:
    assert snapshot_text(STATE, BrokerFacts(default_partitions=6, broker_ids=(1, 2))) == TEXT


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        snapshot_text(ClusterState("\ud800"))
