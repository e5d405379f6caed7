"""What a run writes down while it goes, as JSON values: for the journal, and for the audit log.

The journal says for each batch what is about to be sent, before it is sent, and what became of it, behind its
answer. A step with an intent and no outcome may or may not have been applied: only the cluster can say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.apply.environment import Identity
from reconciler.apply.outcome import Outcome, Result, StepOutcome
from reconciler.model import AclBinding
from reconciler.plan import Phase, Plan, Step, binding_side, ids, step_side

#: Of a journal's records; a reader refuses a newer one.
JOURNAL_FORMAT: Final = 1


def opened(plan: Plan, facts: Mapping[str, Any], identity: Identity, time: str) -> dict[str, Any]:
    """A run begins; ``facts`` are what :func:`about` says of it."""
    return {
        "record": "run",
        "format": JOURNAL_FORMAT,
        **facts,
        "fileDigest": identity.file_digest,
        "toolVersion": plan.tool_version,
        "steps": len(plan.steps),
        "time": time,
    }


def intent(run: str, batch: int, phase: Phase, steps: Sequence[Step], time: str) -> dict[str, Any]:
    """A batch is about to be sent."""
    ids = [step.id for step in steps]
    return {"record": "intent", "run": run, "batch": batch, "phase": int(phase), "steps": ids, "time": time}


def outcomes(run: str, batch: int | None, found: Iterable[StepOutcome], time: str) -> dict[str, Any]:
    """What became of steps; a later record about a step counts more. No batch: nothing was sent for them."""
    items = [dict(_outcome(item)) for item in found]
    return {"record": "outcomes", "run": run, "batch": batch, "outcomes": items, "time": time}


def bridged(
    facts: Mapping[str, Any], action: str, bridges: Sequence[AclBinding], why: str, time: str
) -> dict[str, Any]:
    """Bridges are about to be created or removed, or were; ``action`` says which, ``why`` for which reason."""
    found = [binding_side(bridge) for bridge in bridges]
    return {"record": "bridges", **facts, "action": action, "bridges": found, "reason": why, "time": time}


def ended(run: str, result: Result, time: str) -> dict[str, Any]:
    """A run is over, and was honest about it."""
    return {
        "record": "end",
        "run": run,
        "succeeded": result.succeeded,
        "verified": result.verified,
        "interrupted": result.interrupted,
        "stopped": result.stopped,
        "differences": list(result.differences),
        "counts": {str(outcome): result.count(outcome) for outcome in Outcome if result.count(outcome)},
        "time": time,
    }


def audited(facts: Mapping[str, Any], item: StepOutcome, time: str) -> dict[str, Any]:
    """Who did what by which plan (:func:`about`), and what became of it: complete in itself."""
    return {
        "record": "step",
        **facts,
        **step_side(item.step),
        "outcome": str(item.outcome),
        "code": item.code,
        "message": item.message,
        "time": time,
    }


def about(plan: Plan, identity: Identity) -> dict[str, Any]:
    """Which run, whose, of which plan: computed once a run, for a plan's ids are digests of all of it."""
    change, whole = ids(plan)
    return {
        "run": identity.run,
        "operator": identity.operator,
        "planId": whole,
        "changeId": change,
        "cluster": {"id": plan.cluster_id, "name": plan.terms.cluster},
        "commit": plan.source_commit,
    }


def _outcome(item: StepOutcome) -> Iterator[tuple[str, str]]:
    yield "step", item.step.id
    yield "outcome", str(item.outcome)
    if item.code:
        yield "code", item.code
    if item.message:
        yield "message", item.message
