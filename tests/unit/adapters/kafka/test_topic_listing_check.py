"""When a listing of all topics can be believed: short, fixed, and never more generous than a broker."""

import pytest

from reconciler.kafka.listing import topic_listing_gap
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

ME = "User:me"
TOPIC, ALLOW, DENY = ResourceType.TOPIC, AclPermissionType.ALLOW, AclPermissionType.DENY
SHOWING = ["ALL", "DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"]


def acl(
    operation: str,
    principal: str = ME,
    *,
    name: str = "*",
    kind: AclPermissionType = ALLOW,
    host: str = "*",
    on: ResourceType = TOPIC,
    pattern: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(
        ResourcePattern(on, name, pattern), AccessControlEntry(principal, host, AclOperation[operation], kind)
    )


def reason(*bindings: AclBinding, opaque: tuple[OpaqueBinding, ...] = (), principal: str | None = ME) -> str | None:
    return topic_listing_gap(bindings, opaque, principal, ())


@pytest.mark.parametrize("principal", [ME, "User:*"])
@pytest.mark.parametrize("operation", SHOWING)
def test_an_allow_on_every_topic_proves_it(operation: str, principal: str) -> None:
    assert reason(acl(operation, principal)) is None


@pytest.mark.parametrize("operation", [o.name for o in AclOperation if o.name not in (*SHOWING, "UNKNOWN", "ANY")])
def test_other_operations_do_not_permit_describe(operation: str) -> None:
    assert "no ALLOW DESCRIBE" in str(reason(acl(operation)))


@pytest.mark.parametrize(
    "binding",
    [
        acl("ALL", name="t"),
        acl("ALL", pattern=PatternType.PREFIXED),
        acl("ALL", host="10.0.0.1"),
        acl("ALL", "User:other"),
        acl("ALL", "Group:*"),
        acl("ALL", on=ResourceType.GROUP),
        acl("ALL", name="kafka-cluster", on=ResourceType.CLUSTER),
    ],
)
def test_an_allow_that_does_not_cover_everything_proves_nothing(binding: AclBinding) -> None:
    assert reason(binding) is not None


@pytest.mark.parametrize("principal", [ME, "User:*"])
@pytest.mark.parametrize("operation", ["ALL", "DESCRIBE"])
@pytest.mark.parametrize("pattern", [PatternType.LITERAL, PatternType.PREFIXED])
def test_a_deny_of_describe_takes_the_proof_away(principal: str, operation: str, pattern: PatternType) -> None:
    deny = acl(operation, principal, name="x", kind=DENY, host="10.9.9.9", pattern=pattern)
    assert "can hide topics" in str(reason(acl("ALL"), deny))


@pytest.mark.parametrize(
    "deny", [acl("READ", kind=DENY), acl("ALL", "User:other", kind=DENY), acl("ALL", kind=DENY, on=ResourceType.GROUP)]
)
def test_a_deny_of_something_else_does_not(deny: AclBinding) -> None:
    assert reason(acl("ALL"), deny) is None


def test_a_declared_super_user_sees_everything() -> None:
    assert topic_listing_gap([acl("ALL", kind=DENY)], (), ME, ["User:admin", ME]) is None


def test_without_a_principal_nothing_is_known() -> None:
    assert "spec.principal" in str(reason(acl("ALL", "User:*"), principal=None))


@pytest.mark.parametrize(
    ("entry", "hides"),
    [
        (OpaqueBinding("x", ME, "*", None, 3, None, 2), True),
        (OpaqueBinding("x", "User:*", "*", 2, None, 8, None), True),
        (OpaqueBinding("x", ME, "*", 2, 9, 8, 2), True),
        (OpaqueBinding("x", ME, "*", 7, 3, 13, 2), False),
        (OpaqueBinding("x", ME, "*", 2, 3, 15, 2), False),
        (OpaqueBinding("x", ME, "*", None, 3, None, 3), False),
        (OpaqueBinding("x", "User:other", "*", None, None, None, None), False),
    ],
)
def test_an_entry_that_cannot_be_named_may_be_such_a_deny(entry: OpaqueBinding, hides: bool) -> None:
    assert (reason(acl("ALL"), opaque=(entry,)) is not None) == hides
