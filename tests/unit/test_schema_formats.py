"""Formats that schemas name are checked: but for IRIs, which ``tests/conftest.py`` leaves out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

_ROOT = Path(__file__).parents[2]
_SCHEMAS = sorted([*(_ROOT / "schema").rglob("*.json"), *(_ROOT / "tests" / "schemas").rglob("*.json")])


def _formats(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("format"), str):
            yield node["format"]
        for below in node.values():
            yield from _formats(below)
    elif isinstance(node, list):
        for below in node:
            yield from _formats(below)


@pytest.mark.parametrize("schema", _SCHEMAS, ids=lambda path: path.name)
def test_each_format_that_a_schema_names_is_one_that_is_checked(schema: Path) -> None:
    known = jsonschema.Draft7Validator.FORMAT_CHECKER.checkers.keys()
    assert set(_formats(json.loads(schema.read_text(encoding="utf-8")))) <= known
