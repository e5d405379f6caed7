"""Every field of every committed schema says what it means, with an example that fits where it is a single value."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

_SCHEMAS = sorted((Path(__file__).parents[3] / "schema").glob("*.json"))


def _fields(node: object, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, field in (node.get("properties") or {}).items():
            yield f"{path}.{name}", field
            yield from _fields(field, f"{path}.{name}")
        for key, value in node.items():
            if key not in ("properties", "examples", "enum", "const", "default"):
                yield from _fields(value, path)
    elif isinstance(node, list):
        for item in node:
            yield from _fields(item, path)


def _is_single(field: dict[str, Any]) -> bool:
    text = json.dumps(field)
    return not any(word in text for word in ('"properties"', '"items"', '"additionalProperties"', '"object"', '"$ref"'))


@pytest.mark.parametrize("path", _SCHEMAS, ids=lambda path: path.stem)
def test_every_field_has_words_and_an_example(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    found = list(_fields(schema))
    assert found
    for place, field in found:
        assert field.get("description"), f"{place} has no description"
        assert field.get("examples") or "const" in field or not _is_single(field), f"{place} has no example"
        for example in field.get("examples", ()):
            jsonschema.Draft7Validator({**field, "definitions": schema.get("definitions", {})}).validate(example)
