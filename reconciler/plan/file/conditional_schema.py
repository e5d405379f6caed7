"""The JSON Schema of conditional steps, and of what changes its coverage without a bridge."""

from typing import Any, Final

from reconciler.plan.default_allow.bridge import Means, Side

_TEXT: Final = {"type": "string"}
_PRINCIPALS: Final = {
    "type": "array",
    "items": _TEXT,
    "description": "Who holds an ALLOW there on the side that has bindings.",
}
_WHAT: Final = (
    "Put there and taken away by apply itself, as far as the condition holds: sentinels by which brokers prove what "
    "they enforce, bridges that keep a resource open under default-allow, and barriers behind a phase."
)


def conditional_schema(phase: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    """One conditional step; which fields there are depends on its kind."""
    fields = {
        "kind": {"enum": ["sentinel", "bridge", "barrier"]},
        "phase": phase,
        "untilPhase": phase,
        "condition": _TEXT,
        **pattern["properties"],
        "side": {"enum": [str(side) for side in Side]},
        "means": {"enum": [str(means) for means in Means]},
        "principals": _PRINCIPALS,
        "principal": {**_TEXT, "description": "As whom brokers are asked."},
        "onlyForBridges": {"type": "boolean"},
        "waitSeconds": {"type": "number", "minimum": 0},
    }
    return {"type": "object", "description": _WHAT, "properties": fields, "required": ["kind", "phase"]}


def unbridged_schema(pattern: dict[str, Any]) -> dict[str, Any]:
    """Names that some may be refused for a moment."""
    fields = {
        **pattern["properties"],
        "side": {"enum": [str(side) for side in Side]},
        "reason": _TEXT,
        "principals": _PRINCIPALS,
    }
    return {"type": "object", "properties": fields, "required": list(fields)}
