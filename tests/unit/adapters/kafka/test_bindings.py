"""Rows of codes become bindings, or opaque entries; nothing is dropped."""

from itertools import product

import pytest

from reconciler.kafka.bindings import needs_messages, read_rows, unsupported_by_client
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

ENTRY = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)


def test_what_can_be_named_is_a_binding() -> None:
    listing = read_rows([(2, "t", 4, [("User:a", "*", 3, 3)]), (4, "kafka-cluster", 3, [("User:b", "10.0.0.1", 2, 2)])])
    assert listing.opaque == ()
    assert listing.bindings == {
        AclBinding(ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED), ENTRY),
        AclBinding(
            ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"),
            AccessControlEntry("User:b", "10.0.0.1", AclOperation.ALL, AclPermissionType.DENY),
        ),
    }


def test_every_combination_of_codes_is_kept_once() -> None:
    codes = [None, *range(18)]
    rows = [(t, "n", p, [("User:a", "*", o, m) for o, m in product(codes, codes)]) for t, p in product(codes, codes)]
    listing = read_rows(rows)
    assert len(listing.bindings) + len(listing.opaque) == len(codes) ** 4
    assert len(listing.bindings) == 6 * 2 * 14 * 2
    assert all(unsupported_by_client(binding, None) is None for binding in listing.bindings)


def test_a_nameless_resource_is_opaque() -> None:
    assert read_rows([(2, "", 3, [("User:a", "*", 3, 3)])]).opaque == (OpaqueBinding("", "User:a", "*", 2, 3, 3, 3),)


def test_what_confluent_kafka_cannot_name_needs_messages() -> None:
    pairs = product([t for t in ResourceType if t >= 2], [o for o in AclOperation if o >= 2])
    for resource_type, operation in pairs:
        entry = AccessControlEntry("User:a", "*", operation, AclPermissionType.ALLOW)
        binding = AclBinding(ResourcePattern(resource_type, "n"), entry)
        named = resource_type <= ResourceType.TRANSACTIONAL_ID and operation <= AclOperation.IDEMPOTENT_WRITE
        assert unsupported_by_client(binding, None) is None
        reason = unsupported_by_client(binding, "does not take these settings")
        assert (reason is None) is named is not needs_messages(binding)
        if reason is not None:
            assert resource_type.name in reason or operation.name in reason


@pytest.mark.parametrize(
    ("name", "principal", "host"), [("pay\0x", "User:a", "*"), ("pay", "User:a\0x", "*"), ("pay", "User:a", "*\0x")]
)
def test_what_the_client_would_cut_short_is_opaque(name: str, principal: str, host: str) -> None:
    """Sent as a C string it would be another binding, and perhaps one that is wanted."""
    listing = read_rows([(2, name, 3, [(principal, host, 3, 3)])])
    assert listing.bindings == frozenset()
    assert listing.opaque == (OpaqueBinding(name, principal, host, 2, 3, 3, 3),)
    entry = AccessControlEntry(principal, host, AclOperation.READ, AclPermissionType.ALLOW)
    reason = unsupported_by_client(AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry), None)
    assert reason is not None
    assert "NUL" in reason
