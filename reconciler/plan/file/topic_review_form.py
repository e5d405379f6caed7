"""The review of topic steps as the plan file spells it, back again, and its JSON Schema."""

from typing import Any, Final

from reconciler.model import FrozenMap, TopicUse
from reconciler.plan.file.binding_form import origin_from
from reconciler.plan.review.topic_review import BrokerAnswer, Ruling, TopicReview, Validation

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}


def topic_review_side(review: TopicReview) -> dict[str, Any]:
    """The review as JSON values."""
    return {
        "brokerDefaults": dict(review.defaults),
        "uses": {name: _use_side(use) for name, use in review.uses.items()},
        "validation": None if review.validation is None else _validation_side(review.validation),
    }


def _use_side(use: TopicUse) -> dict[str, Any]:
    return {
        "sizeBytes": use.size_bytes,
        "records": use.records,
        "lastWrite": use.last_write,
        "groups": None if use.groups is None else list(use.groups),
        "gaps": list(use.gaps),
    }


def _validation_side(validation: Validation) -> dict[str, Any]:
    return {
        "asked": validation.asked,
        "answers": [
            {
                "step": answer.step,
                "subject": answer.subject,
                "ruling": str(answer.ruling),
                "code": answer.code,
                "message": answer.message,
                "origin": None if answer.origin is None else str(answer.origin),
            }
            for answer in validation.answers
        ],
    }


def topic_review_from(side: dict[str, Any] | None) -> TopicReview:
    """The inverse; a plan of an older version has none. Raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    if side is None:
        return TopicReview()
    validation = side["validation"]
    return TopicReview(
        FrozenMap(side["brokerDefaults"]),
        FrozenMap({name: _use_from(use) for name, use in side["uses"].items()}),
        None
        if validation is None
        else Validation(validation["asked"], tuple(map(_answer_from, validation["answers"]))),
    )


def _use_from(side: dict[str, Any]) -> TopicUse:
    groups = side["groups"]
    return TopicUse(
        side["sizeBytes"],
        side["records"],
        side["lastWrite"],
        None if groups is None else tuple(groups),
        tuple(side["gaps"]),
    )


def _answer_from(side: dict[str, Any]) -> BrokerAnswer:
    return BrokerAnswer(
        side["step"],
        side["subject"],
        Ruling(side["ruling"]),
        side["code"],
        side["message"],
        origin_from(side["origin"]),
    )


def topic_review_schema() -> dict[str, Any]:
    """What ``topics`` of a saved plan holds."""
    number = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    text = {"anyOf": [_TEXT, {"type": "null"}]}
    groups = {"anyOf": [_TEXTS, {"type": "null"}]}
    use = _object({"sizeBytes": number, "records": number, "lastWrite": text, "groups": groups, "gaps": _TEXTS})
    answer = _object(
        {
            "step": {**_TEXT, "pattern": "^[0-9a-f]{12}$"},
            "subject": _TEXT,
            "ruling": {"enum": [str(ruling) for ruling in Ruling]},
            "code": _TEXT,
            "message": {**_TEXT, "description": "The broker's, word for word."},
            "origin": text,
        }
    )
    validation = _object({"asked": _TEXT, "answers": {"type": "array", "items": answer}})
    return _object(
        {
            "brokerDefaults": {"type": "object", "additionalProperties": _TEXT},
            "uses": {"type": "object", "additionalProperties": use},
            "validation": {"anyOf": [validation, {"type": "null"}]},
        }
    )


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields)}
