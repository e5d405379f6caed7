"""A plan as canonical JSON: one top-level field a line, one list item a line, the digest of all that last.

``formatVersion`` keeps Terraform's rule: a reader ignores what it does not know in a newer minor version, and
refuses another major one. The file holds no address and no setting of a client.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from reconciler.diff import Skipped
from reconciler.model.disguise import undisguised_json
from reconciler.plan.conditional import conditional_side, unbridged_side
from reconciler.plan.file.access_form import access_side, callout_side, effect_side
from reconciler.plan.file.binding_form import pattern_side
from reconciler.plan.file.identity import acknowledgement_side, ids, options_side
from reconciler.plan.file.scope_form import scope_side
from reconciler.plan.file.topic_review_form import topic_review_side
from reconciler.plan.kinds import sides
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.step import Step

FORMAT_VERSION: Final = "1.0"
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def plan_text(plan: Plan) -> str:
    """The file's text: byte for byte the same for the same plan."""
    return seal(undisguised_json("{\n" + ",\n".join(_lines(plan_document(plan)))))


def seal(body: str) -> str:
    """Close the text with the digest of what stands before it."""
    return f'{body},\n"digest":"{body_digest(body)}"\n}}\n'


def body_digest(body: str) -> str:
    """The digest that the last line carries."""
    return "sha256:" + hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values, without the digest; what ``--output json`` prints."""
    change, whole = ids(plan)
    return {
        "formatVersion": FORMAT_VERSION,
        "toolVersion": plan.tool_version,
        "sourceCommit": plan.source_commit,
        "changeId": change,
        "planId": whole,
        "cluster": {"id": plan.cluster_id, "name": plan.terms.cluster},
        "asOf": plan.as_of.isoformat(),
        "options": options_side(plan.options),
        "terms": terms_side(plan.terms),
        "acknowledgements": [acknowledgement_side(ack) for ack in plan.acknowledgements],
        "counts": {camel(name): getattr(plan.counts, name) for name in plan.counts.__slots__},
        "estimatedSeconds": plan.estimated_seconds,
        "barriersBehindPhases": [int(phase) for phase in plan.barriers],
        "conditional": conditional_side(plan),
        "unbridged": unbridged_side(plan),
        "warnings": list(plan.warnings),
        "coverage": {
            "closed": [pattern_side(pattern) for pattern in plan.coverage.closed],
            "opened": [pattern_side(pattern) for pattern in plan.coverage.opened],
        },
        "accessChange": str(plan.access.change),
        "access": access_side(plan.access),
        "callouts": [callout_side(callout) for callout in plan.access.callouts],
        "topics": topic_review_side(plan.topics),
        "left": [_left_side(left) for left in plan.skipped],
        "steps": [
            {**step_side(step), "effect": effect_side(effect)}
            for step, effect in zip(plan.steps, plan.access.effects, strict=True)
        ],
    }


def terms_side(terms: Terms) -> dict[str, Any]:
    """The cluster's terms as the plan file spells them."""
    return {
        "scope": scope_side(terms.scope),
        "allowEveryoneIfNoAclFound": terms.default_allow,
        "limits": {"maxDeletes": terms.limits.max_deletes, "maxDeletePercent": terms.limits.max_delete_percent},
        "pruneTopics": terms.prune_topics,
        "pruneQuotas": terms.prune_quotas,
        "ignoreConfigs": list(terms.ignore_configs),
        "barrierWaitSeconds": terms.barrier_wait,
        "barrierProbe": terms.probe,
        "barrierSeconds": terms.barrier_seconds,
        "brokers": list(terms.brokers),
    }


def step_side(step: Step) -> dict[str, Any]:
    """A step as the plan file spells it."""
    action, before, after = sides(step.change)
    return {
        "id": step.id,
        "phase": int(step.phase),
        "action": action,
        "before": before,
        "after": after,
        "origin": None if step.origin is None else str(step.origin),
        "expires": None if step.expires is None else step.expires.isoformat(),
        "reason": step.reason,
        "ticket": step.ticket,
        "destructive": step.destructive,
        "reversible": step.reversible,
    }


def _left_side(left: Skipped) -> dict[str, Any]:
    side: dict[str, Any] = {
        "reason": str(left.reason),
        "subject": left.subject,
        "detail": left.detail,
        "origin": None if left.origin is None else str(left.origin),
    }
    if left.change is not None:
        side["action"], side["before"], side["after"] = sides(left.change)
    return side


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f" {_encode(item)}" for item in value)
            yield f'"{key}":[\n{items}\n]'
        else:
            yield f'"{key}":{_encode(value)}'


def camel(name: str) -> str:
    """``live_bindings`` as JSON spells it, ``liveBindings``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
