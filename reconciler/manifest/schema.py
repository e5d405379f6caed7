"""JSON Schemas (draft-07) of the kinds, for editors, made from the models.

They describe what an editor sees: YAML's numbers and booleans. What only Kafka's rules can decide, ``validate`` checks.
"""

import json
from typing import Any, Final

from pydantic import BaseModel

from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.models.cluster import ConnectionsDocument
from reconciler.manifest.project import ProjectSpec

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
#: The schema of any document, whatever its kind.
ANY_KIND: Final = "manifest"
#: What a schema can be asked for.
SCHEMA_KINDS: Final = (*KINDS_BY_NAME, ANY_KIND)
#: The schema of a document in the operator's file, which is no manifest, and of the project file.
CONNECTIONS: Final = "connections"
PROJECT: Final = "project"


def json_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind, or of any document for ``manifest``; raises ``KeyError`` for another word."""
    if kind == ANY_KIND:
        return _any_kind()
    if kind == CONNECTIONS:
        schema, title = _of_model(ConnectionsDocument), "A document of a connections file"
    elif kind == PROJECT:
        schema, title = _of_model(ProjectSpec), "A project file, reconciler.yaml"
    else:
        schema, title = _of_kind(kind), f"{kind} manifest"
    definitions = schema.pop("definitions", {})
    return {"$schema": DRAFT, "title": title, **schema, "definitions": dict(sorted(definitions.items()))}


def schema_text(kind: str) -> str:
    """The schema as written in ``schema/``: sorted, indented, with a newline at the end."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _any_kind() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for kind in KINDS_BY_NAME:
        schema = _of_kind(kind)
        definitions.update(schema.pop("definitions", {}))
        definitions[f"{kind}Document"] = schema
    return {
        "$schema": DRAFT,
        "title": "A document of a manifest",
        "description": f"One document: {', '.join(KINDS_BY_NAME)}.",
        "oneOf": [{"$ref": f"#/definitions/{kind}Document"} for kind in KINDS_BY_NAME],
        "definitions": dict(sorted(definitions.items())),
    }


def _of_kind(kind: str) -> dict[str, Any]:
    return _of_model(KINDS_BY_NAME[kind].model())


def _of_model(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    tidied: dict[str, Any] = _tidy({**schema, "definitions": definitions})
    return tidied


def _tidy(node: Any) -> Any:
    """Without pydantic's titles and nulls: no manifest holds a null; draft-07 wants ``$ref`` alone."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {key: _tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    if tidy.get("default", 0) is None or tidy.get("default") == {} or tidy.get("default") == []:
        del tidy["default"]
    alternatives = tidy.get("anyOf")
    if isinstance(alternatives, list) and {"type": "null"} in alternatives:
        rest = [item for item in alternatives if item != {"type": "null"}]
        if len(rest) == 1:
            del tidy["anyOf"]
            tidy = {**rest[0], **tidy}
        else:
            tidy["anyOf"] = rest
    # Editors that follow draft-07 ignore whatever stands next to a `$ref`: a description there would never show.
    if "$ref" in tidy and len(tidy) > 1:
        tidy = {"allOf": [{"$ref": tidy.pop("$ref")}], **tidy}
    return tidy
