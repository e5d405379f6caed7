"""The authorizer against rows that were run through Kafka's own compiled classes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.group import bits
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

_FACTS = Path(__file__).parents[2] / "conformance"
_VERSIONS = [(3, 9), (4, 0), (4, 1), (4, 3), (4, 4)]


def rows(file: str) -> list[Any]:
    found: list[Any] = json.loads((_FACTS / file).read_text(encoding="utf-8"))
    return found


def versions(row: dict[str, Any]) -> list[tuple[int, ...]]:
    """The releases for which a row speaks: ``<=4.3`` or ``>=4.0``, with a remark perhaps."""
    said = re.match(r"(<=|>=)(\d+)\.(\d+)", row.get("kafka_versions", ">=0.0"))
    assert said is not None
    bound = (int(said[2]), int(said[3]))
    return [version for version in _VERSIONS if (version <= bound if said[1] == "<=" else version >= bound)]


def bindings(row: dict[str, Any]) -> list[AclBinding]:
    return [
        AclBinding(
            ResourcePattern(ResourceType[acl["resource_type"]], acl["resource_name"], PatternType[acl["pattern_type"]]),
            AccessControlEntry(
                acl["principal"], acl["host"], AclOperation[acl["operation"]], AclPermissionType[acl["permission"]]
            ),
        )
        for acl in row["acls"]
    ]


def authorizers(row: dict[str, Any]) -> list[Authorizer]:
    """One for each release that the row speaks of."""
    settings = row["super_users"], row["allow_everyone_if_no_acl"]
    return [Authorizer(bindings(row), *settings, version) for version in versions(row)]


@pytest.mark.parametrize("row", rows("authorizer.json"), ids=lambda row: row["name"])
def test_requests_are_decided_as_kafka_decides_them(row: dict[str, Any]) -> None:
    query = row["query"]
    asked = AclOperation[query["operation"]], ResourceType[query["resource_type"]], query["resource_name"]
    for authorizer in authorizers(row):
        decision = authorizer.authorize(query["principal"], query["host"], *asked)
        assert decision.allowed is (row["expected"] == "ALLOWED")
        assert (decision.binding is not None) is (decision.rule in ("allow", "implied_allow", "deny"))


@pytest.mark.parametrize("row", rows("authorize-by-resource-type.json"), ids=lambda row: row["name"])
def test_types_are_decided_as_kafka_decides_them(row: dict[str, Any]) -> None:
    query = row["query"]
    asked = AclOperation[query["operation"]], ResourceType[query["resource_type"]]
    for authorizer in authorizers(row):
        decision = authorizer.authorize_by_resource_type(query["principal"], query["host"], *asked)
        assert decision.allowed is (row["expected"] == "ALLOWED")


@pytest.mark.parametrize("row", rows("authorized-operations.json"), ids=lambda row: row["name"])
def test_authorized_operations_are_those_that_kafka_tells(row: dict[str, Any]) -> None:
    query = row["query"]
    for authorizer in authorizers(row):
        found = authorizer.authorized_operations(
            query["principal"], query["host"], ResourceType[query["resource_type"]], query["resource_name"]
        )
        assert {operation.name for operation in found} == set(row["expected_operations"])
        # KIP-430: bit N for code N (``Utils.to32BitField``).
        assert bits(found) == row["expected_bitfield"]


@pytest.mark.parametrize("row", rows("acl-filter.json"), ids=lambda row: row["name"])
def test_matching_selects_as_kafkas_filters_do(row: dict[str, Any]) -> None:
    wanted = row["filter"]
    selection = AclBindingFilter(
        ResourcePatternFilter(
            ResourceType[wanted["resource_type"]], wanted["resource_name"], PatternType[wanted["pattern_type"]]
        )
    )
    found = bindings({"acls": [row["binding"]]})
    if all(wanted[field] in (None, "ANY") for field in ("principal", "host", "operation", "permission")):
        assert Authorizer(found).matching(selection) == (tuple(found) if row["matches"] else ())
        assert Authorizer(found).matching(selection.pattern_filter) == Authorizer(found).matching(selection)


def test_the_range_that_says_nothing_up_to_4_3_denies_from_4_4_on() -> None:
    row = next(row for row in rows("authorizer.json") if row["name"] == "host-cidr-deny-has-no-effect")
    query = row["query"]
    asked = AclOperation[query["operation"]], ResourceType[query["resource_type"]], query["resource_name"]
    assert Authorizer(bindings(row), kafka_version=(4, 4)).authorize("User:alice", "10.1.2.3", *asked).allowed is False
    assert Authorizer(bindings(row), kafka_version=(4, 4)).authorize("User:alice", "11.1.2.3", *asked).allowed is True


def test_groups_have_three_operations_before_4_0() -> None:
    row = next(row for row in rows("authorized-operations.json") if row["name"] == "group-all")
    authorizer = Authorizer(bindings(row), kafka_version=(3, 9))
    found = authorizer.authorized_operations("User:client2", "127.0.0.1", ResourceType.GROUP, "group1")
    assert found == {AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE}
