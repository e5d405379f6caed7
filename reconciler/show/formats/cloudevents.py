"""A report as CloudEvents 1.0, one JSON object a line: an event for each plan, step, gain, finding and broken check.

Ids follow from what an event says, so that whoever gets one twice can tell.
"""

import datetime
import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from reconciler.model.characters import safe
from reconciler.plan.file.document import plan_id, step_to_json
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.document import access_summary, check_summary, finding_summary, plan_summary
from reconciler.show.formats.escaping import json_text
from reconciler.show.reading import Report

_TYPE = "reconciler.{}.v1"


def write(report: Report, options: FormatOptions) -> str:
    """The events' lines, at the moment that the report was made."""
    return "".join(f"{json_text(event, indent=None)}\n" for event in _events(report, options.made))


def _events(report: Report, at: datetime.datetime) -> Iterator[dict[str, Any]]:
    for plan in report.plans:
        yield from _plan_events(plan, at, drift=False)
    for plan in report.drifts:
        yield from _plan_events(plan, at, drift=True)
    for finding in report.findings:
        yield _event("finding", finding.cluster, finding.subject, finding_summary(finding), at)
    for check in report.checks:
        yield _event("check", check.cluster, check.name, check_summary(check), at)


def _plan_events(plan: Plan, at: datetime.datetime, *, drift: bool) -> Iterator[dict[str, Any]]:
    cluster, kind = plan.terms.cluster, "drift" if drift else "plan"
    yield _event(kind, cluster, plan_id(plan), plan_summary(plan, drift=drift), at)
    tags = {"planId": plan_id(plan)}
    for row in plan.access.access_changes:
        yield _event(f"{kind}.access", cluster, row.principal or EVERYBODY_ELSE, {**tags, **access_summary(row)}, at)
    for step in plan.steps:
        yield _event(f"{kind}.step", cluster, step.id, {**tags, **step_to_json(step)}, at)


def _event(kind: str, cluster: str, subject: str, data: dict[str, Any], at: datetime.datetime) -> dict[str, Any]:
    source = f"/reconciler/clusters/{quote(cluster, safe='', errors='replace')}"
    event = {"specversion": "1.0", "type": _TYPE.format(kind), "source": source, "datacontenttype": "application/json"}
    if subject:
        event["subject"] = safe(subject)
    identity = json_text([event, data], indent=None)
    return {
        **event,
        "id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "time": at.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "data": data,
    }
