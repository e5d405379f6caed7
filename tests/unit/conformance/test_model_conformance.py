"""The model against rows that were run through Kafka's own compiled classes."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.topic import collision_key, topic_name_problem

_FACTS = Path(__file__).parents[2] / "conformance"


def rows(file: str) -> Any:
    return json.loads((_FACTS / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", rows("topic-name.json")["names"], ids=lambda row: ascii(row["name"]))
def test_topic_names_are_legal_as_kafka_says(row: dict[str, Any]) -> None:
    assert (topic_name_problem(row["name"]) is None) is row["valid"]


@pytest.mark.parametrize("row", rows("topic-name.json")["collisions"], ids=lambda row: f"{row['a']} {row['b']}")
def test_topic_names_collide_as_kafka_says(row: dict[str, Any]) -> None:
    assert (collision_key(row["a"]) == collision_key(row["b"])) is row["collides"]


def test_the_files_hold_rows() -> None:
    assert [*map(len, rows("topic-name.json").values())] == [16, 3]
