"""Findings and checks of a plan, what guards refuse and what stays; and of a command that ended without a result."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from reconciler.diff import SkipReason
from reconciler.plan import Plan
from reconciler.report.results.documents import FailedOutput
from reconciler.report.results.finding import Check, CheckStatus, Finding, Level
from reconciler.report.verification_text import NOT_VERIFIED, VERIFY

#: What a person has to look at; the others are what was asked for.
_LEVELS: Final = {
    SkipReason.REFUSED: Level.WARNING,
    SkipReason.IMPOSSIBLE: Level.WARNING,
    SkipReason.UNREADABLE: Level.WARNING,
    SkipReason.UNSUPPORTED: Level.WARNING,
    SkipReason.LEFTOVER: Level.WARNING,
    SkipReason.UNDECLARED: Level.WARNING,
    SkipReason.BREAK_GLASS: Level.WARNING,
    SkipReason.UNFINISHED: Level.WARNING,
}


def verification_findings(plan: Plan, document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What nobody has verified of a plan that comes from a file; nothing for what a command has just printed."""
    rule, cluster, found = "plan-not-verified", plan.terms.cluster, document.get("verification")
    if found is None:
        if "digest" not in document:
            return ()
        return (Finding(rule, rule, Level.WARNING, NOT_VERIFIED, VERIFY, cluster),)
    found = found if isinstance(found, dict) else {}
    if found.get("verified") is True:
        return ()
    places = found.get("differences") or []
    if not places:
        return (Finding(rule, rule, Level.WARNING, NOT_VERIFIED, VERIFY, cluster),)
    message = "not the plan that the manifests give for this cluster now; these differ: " + ", ".join(map(str, places))
    return (Finding(rule, rule, Level.ERROR, message, "plan again", cluster),)


def guard_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each refusal."""
    return tuple(
        Finding(
            f"guard-{refusal.guard}",
            f"guard-{refusal.guard}",
            Level.ERROR,
            refusal.message,
            refusal.remedy,
            plan.terms.cluster,
            refusal.object,
            checked=True,
        )
        for refusal in plan.refusals
    )


def left_findings(plan: Plan) -> tuple[Finding, ...]:
    """One for each difference that stays."""
    return tuple(
        Finding(
            f"left-{left.reason}",
            f"left-{left.reason}",
            _LEVELS.get(left.reason, Level.NOTE),
            f"not changed: {left.detail}",
            "",
            plan.terms.cluster,
            left.subject,
            left.origin,
        )
        for left in plan.skipped
    )


def guard_checks(plan: Plan) -> tuple[Check, ...]:
    """One for each guard that refuses; one that passed where none does."""
    if not plan.refusals:
        return (Check("Guards", "guards", plan.terms.cluster, CheckStatus.PASSED, "no guard refuses this plan"),)
    return tuple(_guards(plan))


def _guards(plan: Plan) -> Iterator[Check]:
    for guard, group in groupby(sorted(plan.refusals, key=lambda one: one.guard), key=lambda one: one.guard):
        refusals = list(group)
        lines = tuple(f"{refusal.message}; {refusal.remedy}" for refusal in refusals)
        message = refusals[0].message if len(refusals) == 1 else f"{len(refusals):,} refusals"
        yield Check("Guards", f"guard {guard}", plan.terms.cluster, CheckStatus.FAILED, message, lines)


def failed_finding(form: FailedOutput) -> Finding:
    """What did not come about."""
    message, advice = _failed(form), "its messages are in the log of the job"
    return Finding("run-failed", "run-failed", Level.ERROR, message, advice, form.cluster, form.failed, checked=True)


def failed_check(form: FailedOutput) -> Check:
    """The same among the checks, so that none of their formats can be without it."""
    return Check("Runs", f"{form.failed} ended well", form.cluster, CheckStatus.FAILED, _failed(form))


def _failed(form: FailedOutput) -> str:
    return f"{form.failed} ended with {form.status}, so its findings are unknown"
