"""The model against rows that were run through Kafka's own compiled classes."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from reconciler.model.topic import collision_key, topic_name_problem

_FACTS = Path(__file__).parents[2] / "conformance"


def rows(file: str) -> Any:
    return json.loads((_FACTS / file).read_text(encoding="utf-8"))


def test_no_fact_of_kafkas_classes_is_left_out() -> None:
    # Rules of the proposals stay in the model although no command asks for them today.
    assert {path.name: len(json.loads(path.read_text(encoding="utf-8"))) for path in _FACTS.iterdir()} == {
        "acl-filter.json": 20,
        "authorize-by-resource-type.json": 14,
        "authorized-operations.json": 9,
        "authorizer.json": 112,
        "topic-name.json": 2,
    }


@pytest.mark.parametrize("row", rows("acl-filter.json"), ids=lambda row: row["name"])
def test_filters_match_as_kafkas_do(row: dict[str, Any]) -> None:
    wanted, found = row["filter"], row["binding"]
    selection = AclBindingFilter(
        ResourcePatternFilter(
            ResourceType[wanted["resource_type"]], wanted["resource_name"], PatternType[wanted["pattern_type"]]
        ),
        AccessControlEntryFilter(
            wanted["principal"],
            wanted["host"],
            AclOperation[wanted["operation"]],
            AclPermissionType[wanted["permission"]],
        ),
    )
    binding = AclBinding(
        ResourcePattern(
            ResourceType[found["resource_type"]], found["resource_name"], PatternType[found["pattern_type"]]
        ),
        AccessControlEntry(
            found["principal"], found["host"], AclOperation[found["operation"]], AclPermissionType[found["permission"]]
        ),
    )
    assert selection.matches(binding) is row["matches"]


@pytest.mark.parametrize("row", rows("topic-name.json")["names"], ids=lambda row: ascii(row["name"]))
def test_topic_names_are_legal_as_kafka_says(row: dict[str, Any]) -> None:
    assert (topic_name_problem(row["name"]) is None) is row["valid"]


@pytest.mark.parametrize("row", rows("topic-name.json")["collisions"], ids=lambda row: f"{row['a']} {row['b']}")
def test_topic_names_collide_as_kafka_says(row: dict[str, Any]) -> None:
    assert (collision_key(row["a"]) == collision_key(row["b"])) is row["collides"]


def test_the_files_hold_rows() -> None:
    assert [len(rows("acl-filter.json")), *map(len, rows("topic-name.json").values())] == [20, 16, 3]
