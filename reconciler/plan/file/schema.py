"""The JSON Schema (draft-07) of a saved plan, spelled beside the code that writes one."""

import json
from typing import Any, Final

from reconciler.diff import SkipReason
from reconciler.model import RESOURCE_FIELDS, AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.plan.file.conditional_schema import conditional_schema, unbridged_schema
from reconciler.plan.file.schema_words import described
from reconciler.plan.file.topic_review_form import topic_review_schema
from reconciler.plan.guards import Guard
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.review.access_review import AccessChange
from reconciler.plan.review.effects import EffectKind

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": "integer", "minimum": 0}
_ACTIONS: Final = (
    "CreateAcl",
    "DeleteAcl",
    "CreateTopic",
    "DeleteTopic",
    "CreatePartitions",
    "AlterConfigs",
    "CreateQuota",
    "AlterQuota",
    "DeleteQuota",
)


def plan_schema_text() -> str:
    """The schema as it is committed, ``schema/plan.json``: with words and examples for editors."""
    return json.dumps(described(plan_schema()), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def plan_schema() -> dict[str, Any]:
    """What every saved plan holds; newer minor versions may add fields."""
    fields = {
        "formatVersion": {**_TEXT, "pattern": r"^1\.[0-9]+$", "description": "Another major version is not readable."},
        "toolVersion": _TEXT,
        "sourceCommit": _or_null(_TEXT),
        "changeId": _id("change", "The ordered changes with what they expect; equal on clusters in the same state."),
        "planId": _id("plan", "The change id with cluster, scope, options, acknowledgements and topic ids."),
        "cluster": _object({"id": _TEXT, "name": _TEXT}),
        "asOf": {**_TEXT, "format": "date"},
        "options": _object({"allowDeletes": {"type": "boolean"}, "only": _TEXTS, "exclude": _TEXTS}),
        "terms": _terms(),
        "acknowledgements": _list(_object({"guard": _enum(*Guard), "object": _TEXT, "reason": _TEXT})),
        "counts": {"type": "object", "additionalProperties": _COUNT},
        "estimatedSeconds": {"type": "number", "minimum": 0},
        "barriersBehindPhases": _list(_phase()),
        "conditional": _list(conditional_schema(_phase(), _pattern())),
        "unbridged": _list(unbridged_schema(_pattern())),
        "warnings": _TEXTS,
        "coverage": _object({"closed": _list(_pattern()), "opened": _list(_pattern())}),
        "accessChange": {**_enum(*AccessChange), "description": "The plan's effect on access in one word."},
        "access": _access(),
        "callouts": _list(_object({"rule": _TEXT, "principal": _TEXT, "text": _TEXT})),
        "topics": topic_review_schema(),
        "left": _list(_left()),
        "steps": _list(_step()),
        "digest": {**_TEXT, "pattern": "^sha256:[0-9a-f]{64}$", "description": "Of every byte before this line."},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A saved plan",
        **_object(fields),
        "additionalProperties": True,
    }


def _terms() -> dict[str, Any]:
    limit = _or_null(_COUNT)
    return _object(
        {
            "scope": _scope(),
            "allowEveryoneIfNoAclFound": _or_null({"type": "boolean"}),
            "limits": _object({"maxDeletes": limit, "maxDeletePercent": limit}),
            "pruneTopics": {"type": "boolean"},
            "pruneQuotas": {"type": "boolean"},
            "ignoreConfigs": _TEXTS,
            "barrierWaitSeconds": {"type": "number", "minimum": 0},
            "barrierProbe": _or_null({**_TEXT, "description": "As whom every broker is asked; null: a fixed wait."}),
            "barrierSeconds": {"type": "number", "minimum": 0},
            "brokers": _list(_COUNT),
        }
    )


def _scope() -> dict[str, Any]:
    names = {
        "oneOf": [_object({"any": {"const": True}}), _object({"prefix": _TEXT}), _object({"literal": _TEXTS})],
    }
    selector = {
        "type": "object",
        "properties": dict.fromkeys(("principals", *RESOURCE_FIELDS), names),
        "additionalProperties": False,
    }
    return _object({"include": _or_null(_list(selector)), "exclude": _list(selector), "ignore": _list(selector)})


def _step() -> dict[str, Any]:
    return _object(
        {
            "id": {**_TEXT, "pattern": "^[0-9a-f]{12}$"},
            "phase": _phase(),
            "action": _enum(*_ACTIONS),
            "before": _or_null(_side()),
            "after": _or_null(_side()),
            "origin": _or_null({**_TEXT, "description": "file:line:column in the manifests."}),
            "expires": _or_null({**_TEXT, "format": "date"}),
            "reason": _or_null(_TEXT),
            "ticket": _or_null(_TEXT),
            "destructive": {"type": "boolean"},
            "reversible": {"type": "boolean"},
            "effect": _or_null(
                _object(
                    {"kind": _enum(*EffectKind), "coveredBy": _or_null(_binding()), "origin": _or_null(_TEXT)},
                )
            ),
        }
    )


def _access() -> dict[str, Any]:
    names = {"oneOf": [_object({key: _TEXT}) for key in ("literal", "prefix", "longerThan")]}
    names["oneOf"].append(_object({"any": {"const": True}}))
    operations = _list(_enum(*(item.name for item in AclOperation if item > AclOperation.ALL)))
    region = {
        "resourceType": _resource_type(),
        "names": names,
        "except": _list(names),
        "description": {**_TEXT, "description": "The names in plain words."},
    }
    row = _object(
        {
            "principal": _or_null(
                {**_TEXT, "description": "null: everybody who has no row or exception of their own."}
            ),
            "hosts": _TEXT,
            **region,
            "gained": operations,
            "lost": operations,
            "witness": _object({"principal": _TEXT, "host": _TEXT, "name": _TEXT}),
            "topics": _object({"count": _COUNT, "first": _TEXTS}),
            "reading": {**_enum("least", "most"), "description": "null: certain, whatever nobody declared."},
        }
    )
    row["properties"]["reading"]["enum"].append(None)
    spared = _object({"principal": _TEXT, **region})
    return _object({"rows": _list(row), "exceptions": _list(spared), "morePrincipals": _COUNT, "denials": _TEXT})


def _left() -> dict[str, Any]:
    schema = _object({"reason": _enum(*SkipReason), "subject": _TEXT, "detail": _TEXT, "origin": _or_null(_TEXT)})
    schema["properties"] |= {
        "action": _enum(*_ACTIONS, "Impossible"),
        "before": _or_null({"type": "object"}),
        "after": _or_null({"type": "object"}),
    }
    return schema


def _side() -> dict[str, Any]:
    topic = {
        "type": "object",
        "required": ["name", "topicId"],
        "properties": {
            "name": _TEXT,
            "topicId": _or_null(_TEXT),
            "partitions": _or_null(_COUNT),
            "replicationFactor": _or_null(_COUNT),
            "configs": {"type": "object", "additionalProperties": _or_null(_TEXT)},
        },
    }
    quota = _object(
        {
            "entity": {"type": "object", "additionalProperties": _or_null(_TEXT)},
            "values": {"type": "object", "additionalProperties": {"type": "number"}},
        }
    )
    return {"anyOf": [_binding(), topic, quota]}


def _binding() -> dict[str, Any]:
    return _object(
        {
            **_pattern()["properties"],
            "principal": _TEXT,
            "host": _TEXT,
            "operation": _enum(*(item.name for item in AclOperation if item >= AclOperation.ALL)),
            "permissionType": _enum(AclPermissionType.DENY.name, AclPermissionType.ALLOW.name),
        }
    )


def _pattern() -> dict[str, Any]:
    return _object(
        {
            "resourceType": _resource_type(),
            "name": {**_TEXT, "minLength": 1},
            "patternType": _enum(PatternType.LITERAL.name, PatternType.PREFIXED.name),
        }
    )


def _resource_type() -> dict[str, Any]:
    return _enum(*(item.name for item in ResourceType if item >= ResourceType.TOPIC))


def _phase() -> dict[str, Any]:
    titles = "; ".join(f"{int(phase)} {TITLES[phase]}" for phase in Phase)
    return {"type": "integer", "enum": [int(phase) for phase in Phase], "description": titles}


def _id(name: str, description: str) -> dict[str, Any]:
    return {**_TEXT, "pattern": f"^{name}-[0-9a-f]{{64}}$", "description": description}


def _enum(*values: str) -> dict[str, Any]:
    return {"enum": [str(value) for value in values]}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
