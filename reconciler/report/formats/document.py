"""A report as one JSON document: verdict, plans with their counts, access, findings and checks, already judged."""

from typing import Any

from reconciler.access.hosts import ANY_HOST
from reconciler.model import moment_text
from reconciler.plan import EVERYBODY_ELSE, AccessChange, Plan, ids, operations_words
from reconciler.report.formats.escaping import json_text
from reconciler.report.formats.interface import FormatOptions
from reconciler.report.results import Check, Finding, Report, plan_verdict, verdict
from reconciler.report.results.fleet import fleet_document
from reconciler.report.results.report import step_counts


def write(report: Report, _: FormatOptions) -> str:
    """The document's text."""
    found = verdict(report)
    document = {
        "verdict": found.words,
        "tone": str(found.tone),
        "clusters": list(report.clusters),
        "plans": [_plan(plan, drift=False) for plan in report.plans],
        "drifts": [_plan(plan, drift=True) for plan in report.drifts],
        "fleets": [fleet_document(fleet) for fleet in report.fleets],
        "findings": [finding_summary(one) for one in (*report.open_findings, *report.waived_findings)],
        "checks": [check_summary(check) for check in report.checks],
    }
    return json_text(document) + "\n"


def _plan(plan: Plan, *, drift: bool) -> dict[str, Any]:
    rows = [access_summary(row) for row in plan.access.access_changes]
    callouts = [{"rule": one.rule, "principal": one.principal, "text": one.text} for one in plan.access.callouts]
    return {**plan_summary(plan, drift=drift), "access": rows, "callouts": callouts}


def access_summary(row: AccessChange) -> dict[str, Any]:
    """A row of gained and lost access."""
    kind = row.region.resource_type
    return {
        "principal": row.principal or EVERYBODY_ELSE,
        "resourceType": kind.name,
        "names": row.region.describe(),
        "hosts": "" if row.hosts == str(ANY_HOST) else row.hosts,
        "gained": operations_words(row.gained, kind),
        "lost": operations_words(row.lost, kind),
        "certain": row.reading is None,
        "superUser": None if row.super_user is None else str(row.super_user),
        **({} if row.since is None else {"since": moment_text(row.since.instant)}),
    }


def plan_summary(plan: Plan, *, drift: bool) -> dict[str, Any]:
    """A plan's ids, verdict and counts."""
    counts = step_counts(plan)
    change, whole = ids(plan)
    found = plan_verdict(plan, drift=drift)
    return {
        "cluster": plan.terms.cluster,
        "planId": whole,
        "changeId": change,
        "verdict": found.words,
        "tone": str(found.tone),
        "accessChange": str(plan.access.trend),
        "create": counts.create,
        "update": counts.update,
        "delete": counts.delete,
        "left": len(plan.skipped),
        "refused": len(plan.refusals),
        "asOf": moment_text(plan.as_of),
        "sourceCommit": plan.source_commit,
    }


def finding_summary(finding: Finding) -> dict[str, Any]:
    """A finding's fields."""
    return {
        "cluster": finding.cluster,
        "rule": finding.rule,
        "level": str(finding.level),
        "subject": finding.subject,
        "message": finding.message,
        "advice": finding.advice,
        "place": None if finding.place is None else str(finding.place),
        "waived": finding.waived,
    }


def check_summary(check: Check) -> dict[str, Any]:
    """A check's fields."""
    return {
        "cluster": check.cluster,
        "basis": check.basis,
        "group": check.group,
        "name": check.name,
        "standing": str(check.standing),
        "message": check.message,
        "lines": list(check.lines),
        "place": None if check.place is None else str(check.place),
    }
