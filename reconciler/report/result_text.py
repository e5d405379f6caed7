"""The end of an apply, as text and as JSON values: outcomes counted, everything that is not good by name."""

from collections.abc import Iterator
from typing import Any, Final

from reconciler.apply import GOOD, LoginCheck, Outcome, Result, StepOutcome
from reconciler.plan import describe, ids, step_to_json
from reconciler.plan.file.codec import SKIPPED
from reconciler.report.style import Style, counted, plain, safe

#: How many steps that were not attempted are named: a run that stops early leaves thousands of them.
_NAMED: Final = 10


def result_lines(result: Result, style: Style = plain) -> Iterator[str]:
    """Yield the lines: what is not good first, the verdict last."""
    unsent = 0
    for item in result.outcomes:
        unsent += item.outcome is Outcome.NOT_ATTEMPTED
        if item.outcome not in GOOD and (item.outcome is not Outcome.NOT_ATTEMPTED or unsent <= _NAMED):
            yield style("error", f"  {item.outcome}: {safe(describe(item.step.change))}") + _why(item)
    if unsent > _NAMED:
        yield style("error", f"  and {unsent - _NAMED:,} more not attempted")
    for text in result.differences:
        yield style("error", f"  {safe(text)}")
    for text in result.notes:
        yield style("warn", f"  {safe(text)}")
    yield from _logins(result, style)
    for one in result.plan.refused:
        yield style("error", f"  refused: {safe(one.subject)}  {safe(one.detail)}")
    if result.stopped:
        yield style("error", f"stopped: {safe(result.stopped)}")
    yield _counts(result)
    yield _verdict(result, style)
    if result.audit_head:
        yield f"Audit log: head {result.audit_head}"


def result_document(result: Result) -> dict[str, Any]:
    """The result as JSON values."""
    change, whole = ids(result.plan)
    return {
        "changeId": change,
        "planId": whole,
        "cluster": {"id": result.plan.cluster_id, "name": result.plan.terms.cluster},
        "succeeded": result.succeeded,
        "verified": result.verified,
        "stopped": result.stopped,
        "interrupted": result.interrupted,
        "differences": list(result.differences),
        "notes": list(result.notes),
        **({"logins": [_login(one) for one in result.logins]} if result.logins else {}),
        "auditHead": result.audit_head or None,
        **({"enforcementDoubt": result.doubt} if result.doubt else {}),
        "counts": {str(outcome): result.count(outcome) for outcome in Outcome},
        "steps": [_step(item) for item in result.outcomes],
        "refused": [SKIPPED.write(one) for one in result.plan.refused],
    }


def _step(item: StepOutcome) -> dict[str, Any]:
    blocked_by = None if item.blocked_by is None else describe(item.blocked_by)
    return {
        **step_to_json(item.step),
        "outcome": str(item.outcome),
        "code": item.code,
        "message": item.message,
        "blockedBy": blocked_by,
    }


def _login(check: LoginCheck) -> dict[str, Any]:
    outcome = "not-tried" if check.works is None else "works" if check.works else "refused"
    return {
        "principal": check.principal,
        "mechanism": check.mechanism,
        "outcome": outcome,
        **({"detail": check.detail} if check.detail else {}),
    }


def _logins(result: Result, style: Style) -> Iterator[str]:
    """New passwords: those that work are counted, every other one is named."""
    for check in result.logins:
        words = f"login as {check.principal} with {check.mechanism}"
        if check.works is None:
            yield style("warn", f"  {safe(words)} could not be tried: {safe(check.detail)}")
        elif not check.works:
            yield style("error", f"  {safe(words)} is refused: {safe(check.detail)}")
    working = sum(check.works is True for check in result.logins)
    if working:
        yield f"  {counted(working, 'new password')} tried by a login, and accepted"


def _why(item: StepOutcome) -> str:
    words = ": ".join(part for part in (item.code, item.message) if part)
    return f"  {safe(words)}" if words else ""


def _counts(result: Result) -> str:
    found = ((outcome, result.count(outcome)) for outcome in Outcome)
    return ", ".join(f"{number:,} {outcome}" for outcome, number in found if number) or "no steps"


def _verdict(result: Result, style: Style) -> str:
    if result.succeeded:
        steps = counted(len(result.outcomes), "step")
        if refused := len(result.plan.refused):
            steps += f"; {counted(refused, 'change')} refused, and not performed"
        if result.doubt:
            return style("warn", f"Applied: {steps}, and the cluster lists what it should. {safe(result.doubt)}.")
        return style("add", f"Applied and verified: {steps}.")
    if not result.verified:
        return style("error", "The cluster could not be read at the end: nothing above is verified. Plan again.")
    return style("error", "Not everything is as planned. Plan again to see what is left; applying again is safe.")
