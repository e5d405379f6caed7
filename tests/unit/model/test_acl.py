"""Patterns, entries and bindings: what they refuse, how they compare, and what they cover."""

import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from tests.property.strategies import bindings, topic_patterns, wild_bindings

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, ALLOW = AclOperation.READ, AclPermissionType.ALLOW
#: Every name that can tell two patterns over "ab." and three letters apart: one letter longer, and one of its own.
NAMES = ["".join(letters) for length in range(1, 5) for letters in product("ab.z", repeat=length)]


@pytest.mark.parametrize("resource_type", [ResourceType.UNKNOWN, ResourceType.ANY])
def test_a_pattern_has_a_resource_type(resource_type: ResourceType) -> None:
    with pytest.raises(ValueError, match=f"{resource_type.name} LITERAL belongs in a filter"):
        ResourcePattern(resource_type, "t")


@pytest.mark.parametrize("pattern_type", [PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH])
def test_a_pattern_has_a_pattern_type(pattern_type: PatternType) -> None:
    with pytest.raises(ValueError, match=f"TOPIC {pattern_type.name} belongs in a filter"):
        ResourcePattern(TOPIC, "t", pattern_type)


@pytest.mark.parametrize("pattern_type", [PatternType.LITERAL, PatternType.PREFIXED])
def test_a_pattern_has_a_name(pattern_type: PatternType) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        ResourcePattern(TOPIC, "", pattern_type)


@pytest.mark.parametrize("operation", [AclOperation.UNKNOWN, AclOperation.ANY])
def test_an_entry_has_an_operation(operation: AclOperation) -> None:
    with pytest.raises(ValueError, match=f"ALLOW {operation.name} belongs in a filter"):
        AccessControlEntry("User:a", "*", operation, ALLOW)


@pytest.mark.parametrize("permission", [AclPermissionType.UNKNOWN, AclPermissionType.ANY])
def test_an_entry_has_a_permission(permission: AclPermissionType) -> None:
    with pytest.raises(ValueError, match=f"{permission.name} READ belongs in a filter"):
        AccessControlEntry("User:a", "*", READ, permission)


def test_a_pattern_is_literal_unless_it_says_otherwise() -> None:
    assert ResourcePattern(TOPIC, "t") == ResourcePattern(TOPIC, "t", PatternType.LITERAL)


@given(bindings, bindings)
def test_equal_bindings_are_those_with_seven_equal_fields(a: AclBinding, b: AclBinding) -> None:
    assert (a == b) is ((*a.pattern, *a.entry) == (*b.pattern, *b.entry))
    assert (a < b) is ((*a.pattern, *a.entry) < (*b.pattern, *b.entry))


@given(wild_bindings)
def test_a_copy_is_equal_and_hashes_alike(binding: AclBinding) -> None:
    copy = pickle.loads(pickle.dumps(binding))  # noqa: S301 - our own bytes
    rebuilt = AclBinding(ResourcePattern(*binding.pattern), AccessControlEntry(*binding.entry))
    assert copy == rebuilt == binding
    assert len({copy, rebuilt, binding}) == 1
    assert type(copy.pattern) is ResourcePattern
    assert copy.entry.operation is binding.entry.operation


@given(st.lists(bindings))
def test_the_order_does_not_depend_on_where_one_starts(several: list[AclBinding]) -> None:
    backwards = list(reversed(several))
    assert sorted(several) == sorted(backwards)


def test_the_order_is_type_name_pattern_type_then_the_entry() -> None:
    patterns = [
        ResourcePattern(TOPIC, "a"),
        ResourcePattern(TOPIC, "a", PatternType.PREFIXED),
        ResourcePattern(TOPIC, "b"),
        ResourcePattern(GROUP, "a"),
    ]
    entries = [
        AccessControlEntry("User:a", "*", READ, AclPermissionType.DENY),
        AccessControlEntry("User:a", "*", READ, ALLOW),
        AccessControlEntry("User:a", "*", AclOperation.WRITE, ALLOW),
        AccessControlEntry("User:b", "*", READ, ALLOW),
    ]
    ordered = [AclBinding(pattern, entry) for pattern in patterns for entry in entries]
    backwards = list(reversed(ordered))
    assert sorted(backwards) == ordered


def test_a_binding_is_no_tuple_of_its_fields_changed_in_place() -> None:
    pattern = ResourcePattern(TOPIC, "t")
    with pytest.raises(AttributeError):
        pattern.name = "u"  # type: ignore[misc]  # the point of the test
    with pytest.raises(AttributeError):
        pattern.colour = "red"  # type: ignore[attr-defined]  # no room for more fields


@given(topic_patterns)
def test_a_pattern_matches_the_names_it_says(pattern: ResourcePattern) -> None:
    for name in NAMES:
        if pattern.pattern_type is PatternType.PREFIXED:
            assert pattern.matches(name) is (name[: len(pattern.name)] == pattern.name)
        else:
            assert pattern.matches(name) is (pattern.name in ("*", name))


@given(topic_patterns, topic_patterns)
def test_contains_and_overlaps_are_about_the_names_matched(a: ResourcePattern, b: ResourcePattern) -> None:
    names = [*NAMES, "*", "*a"]
    of_a = {name for name in names if a.matches(name)}
    of_b = {name for name in names if b.matches(name)}
    assert a.contains(b) is (of_b <= of_a)
    assert a.overlaps(b) is bool(of_a & of_b)
    assert a.overlaps(b) is b.overlaps(a)


def test_patterns_of_two_types_have_nothing_in_common() -> None:
    everything, topic = ResourcePattern(GROUP, "*"), ResourcePattern(TOPIC, "a")
    assert not everything.contains(topic)
    assert not everything.overlaps(topic)


def test_only_a_literal_star_is_the_wildcard() -> None:
    assert ResourcePattern(TOPIC, "*").is_wildcard
    assert not ResourcePattern(TOPIC, "*", PatternType.PREFIXED).is_wildcard
    assert not ResourcePattern(TOPIC, "a*").matches("ab")


@pytest.mark.parametrize(
    ("binding", "text"),
    [
        (
            AclBinding(ResourcePattern(TOPIC, "orders"), AccessControlEntry("User:a", "*", READ, ALLOW)),
            "User:a ALLOW READ on TOPIC orders",
        ),
        (
            AclBinding(
                ResourcePattern(GROUP, "pay-", PatternType.PREFIXED),
                AccessControlEntry("User:*", "10.0.0.7", AclOperation.ALL, AclPermissionType.DENY),
            ),
            "User:* DENY ALL from 10.0.0.7 on GROUP PREFIXED pay-",
        ),
    ],
)
def test_a_binding_reads_as_a_sentence(binding: AclBinding, text: str) -> None:
    assert str(binding) == text


def test_opaque_entries_keep_what_is_known_of_them() -> None:
    known, lost = (OpaqueBinding("n", "User:a", "*", 7, 3, 13, 3), OpaqueBinding("n", "User:a", "*", None, 3, None, 3))
    assert known != lost
    assert pickle.loads(pickle.dumps(lost)) == lost  # noqa: S301 - our own bytes
