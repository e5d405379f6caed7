"""Which live ACLs a manifest can declare, and why not the others: of each text one case inside, and one a step out."""

from typing import Final

import pytest

from reconciler.manifest.write.text import binding_problem
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_TOPIC_NAME: Final = "a topic name has only ASCII letters, digits"
_NO_NAME: Final = "the principal has no name, or spaces"
_WILDCARD: Final = "only User:* is a wildcard"
_NO_HOST: Final = "no connection has that host"


def _problem(
    kind: str = "TOPIC",
    name: str = "a",
    form: str = "LITERAL",
    *,
    principal: str = "User:a",
    host: str = "*",
    operation: str = "ALL",
) -> str:
    pattern = ResourcePattern(ResourceType[kind], name, PatternType[form])
    entry = AccessControlEntry(principal, host, AclOperation[operation], AclPermissionType.ALLOW)
    return binding_problem(AclBinding(pattern, entry)) or ""


def _said(problem: str, why: str) -> bool:
    return problem.startswith(why) if why else not problem


@pytest.mark.parametrize(
    ("kind", "name", "form", "why"),
    [
        ("TOPIC", "a", "LITERAL", ""),
        ("TOPIC", "*", "LITERAL", ""),
        ("TOPIC", "*", "PREFIXED", _TOPIC_NAME),
        ("TOPIC", "a*", "LITERAL", _TOPIC_NAME),
        ("TOPIC", "a b", "LITERAL", _TOPIC_NAME),
        ("TOPIC", "x" * 249, "LITERAL", ""),
        ("TOPIC", "x" * 250, "LITERAL", "a topic name has at most 249 characters"),
        ("TOPIC", "__cluster_metadata", "LITERAL", "Kafka keeps this topic itself"),
        ("TOPIC", "__cluster_metadata", "PREFIXED", ""),
        ("TOPIC", "__kr.x", "LITERAL", "the name is reserved"),
        ("TOPIC", "__kr.x", "PREFIXED", "the name is reserved"),
        ("TOPIC", ".", "LITERAL", "a topic cannot be called '.'"),
        ("TOPIC", ".", "PREFIXED", ""),
        ("TOPIC", "..", "PREFIXED", ""),
        ("GROUP", "a b", "LITERAL", ""),
        ("GROUP", "__kr.x", "LITERAL", "the name is reserved"),
        ("GROUP", "!a", "LITERAL", "the name begins with a character below '*'"),
        ("GROUP", "+a", "LITERAL", ""),
        ("GROUP", "a*", "LITERAL", ""),
        ("GROUP", "a*", "PREFIXED", "a prefix that ends with '*'"),
        ("GROUP", "a*b", "PREFIXED", ""),
        ("GROUP", "a\u200b", "LITERAL", "it holds a control, bidirectional or invisible character"),
        ("USER", "User:x", "LITERAL", ""),
        ("USER", "User:*", "LITERAL", "the name is not a user"),
        ("USER", "x", "LITERAL", "the principal has no type and colon"),
        ("USER", "User:", "PREFIXED", ""),
        ("USER", "*", "PREFIXED", "a prefix of '*' is not a prefix"),
        ("CLUSTER", "kafka-cluster", "LITERAL", ""),
        ("CLUSTER", "other", "LITERAL", "the cluster is declared by its one name only"),
        ("CLUSTER", "kafka-cluster", "PREFIXED", "the cluster is declared by its one name only"),
    ],
)
def test_a_name_that_a_manifest_can_write(kind: str, name: str, form: str, why: str) -> None:
    assert _said(_problem(kind, name, form), why)


@pytest.mark.parametrize(
    ("principal", "why"),
    [
        ("User:a", ""),
        ("User:*", ""),
        ("Group:x", ""),
        ("User:CN=*.x", ""),
        ("User:a b", ""),
        ("a", "the principal has no type and colon"),
        ("user:a", "the principal's type is User in another case"),
        ("USER:a", "the principal's type is User in another case"),
        ("User:", _NO_NAME),
        ("User: a", _NO_NAME),
        ("User:a ", _NO_NAME),
        ("Us er:a", _NO_NAME),
        ("User:a*", _WILDCARD),
        ("User:*a", _WILDCARD),
        ("User:*.x", _WILDCARD),
        ("User:CN=a*", _WILDCARD),
        ("User:a\u202eb", "it holds a control, bidirectional or invisible character"),
    ],
)
def test_a_principal_that_a_manifest_can_write(principal: str, why: str) -> None:
    assert _said(_problem(principal=principal), why)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("*", ""),
        ("10.0.0.7", ""),
        ("10.0.0.0/8", ""),
        ("0:0:0:0:0:0:0:1", ""),
        ("10.0.0.5/8", "a manifest writes 10.0.0.0/8 for that range"),
        ("::1", _NO_HOST),
        ("10.0.0.007", _NO_HOST),
        ("host", _NO_HOST),
        ("", _NO_HOST),
    ],
)
def test_a_host_that_a_manifest_can_write(host: str, why: str) -> None:
    assert _said(_problem(host=host), why)


@pytest.mark.parametrize(
    ("kind", "operation", "why"),
    [
        ("TOPIC", "READ", ""),
        ("GROUP", "READ", ""),
        ("GROUP", "WRITE", "GROUP resources have no operation WRITE"),
        ("TRANSACTIONAL_ID", "READ", "TRANSACTIONAL_ID resources have no operation READ"),
        ("TRANSACTIONAL_ID", "ALL", ""),
    ],
)
def test_an_operation_that_kafka_checks_there(kind: str, operation: str, why: str) -> None:
    assert _said(_problem(kind, operation=operation), why)
