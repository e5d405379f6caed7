"""A report as one JSON document, already judged, and as CloudEvents 1.0."""

import datetime
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias
from urllib.parse import quote

from reconciler.access.hosts import ANY_HOST
from reconciler.dataclass import dataclass
from reconciler.model.characters import counted, safe
from reconciler.model.desired import moment_text
from reconciler.plan.file import ids, plan_id, step_to_json
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.results import OutputKind, output
from reconciler.results.findings import Check, Finding
from reconciler.show.fleet_report import fleet_document
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import json_text
from reconciler.show.reading import Report, step_counts
from reconciler.show.verdicts import plan_verdict, verdict


def write(report: Report, _: FormatOptions) -> str:
    """The document's text."""
    return report_text(report)


def report_text(report: Report) -> str:
    """The document's text; it depends on nothing but the report."""
    conclusion = verdict(report)
    document = {
        "verdict": conclusion.words,
        "tone": str(conclusion.tone),
        "clusters": list(report.clusters),
        "plans": [_plan(plan, drift=False) for plan in report.plans],
        "drifts": [_plan(plan, drift=True) for plan in report.drifts],
        "fleets": [fleet_document(fleet) for fleet in report.fleets],
        "findings": [finding_summary(finding) for finding in (*report.open_findings, *report.excepted_findings)],
        "checks": [check_summary(check) for check in report.checks],
    }
    return json_text(output(OutputKind.REPORT, document)) + "\n"


def _plan(plan: Plan, *, drift: bool) -> dict[str, Any]:
    rows = [access_summary(row) for row in plan.access.access_changes]
    callouts = [
        {"rule": callout.rule, "principal": callout.principal, "text": callout.text} for callout in plan.access.callouts
    ]
    return {**plan_summary(plan, drift=drift), "access": rows, "callouts": callouts}


def access_summary(row: AccessChange) -> dict[str, Any]:
    """A row of gained and lost access."""
    kind = row.resources.resource_type
    return {
        "principal": row.principal or EVERYBODY_ELSE,
        "resourceType": kind.name,
        "names": row.resources.describe(),
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
    conclusion = plan_verdict(plan, drift=drift)
    return {
        "cluster": plan.terms.cluster,
        "planId": whole,
        "changeId": change,
        "verdict": conclusion.words,
        "tone": str(conclusion.tone),
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
        "excepted": finding.excepted,
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


# A text that must not become too long: what has to be said first, then sections that give way to one another.
#
# Each section keeps its title and says how many of its rows were left out; nothing is cut in the middle.

#: How long a text is, in the unit of a limit.
Measure: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class FittedSection:
    """Rows between an opening and a closing. ``weight`` is its share where not everything fits.

    ``heading`` stays even where no row does. ``left_out`` gives the words for a number of rows that did not fit.
    """

    heading: str
    rows: Sequence[str]
    left_out: Callable[[int], str]
    opening: str = ""
    closing: str = ""
    weight: int = 1
    #: How much each row says of what is counted over all sections, and how much that is altogether; see :func:`fitted`.
    amounts: Sequence[int] = ()
    total: int = 0


#: Words for what is shown of all that is counted.
Counted: TypeAlias = Callable[[int, int], str]


def fitted(
    head: str,
    sections: Sequence[FittedSection],
    tail: str,
    limit: int,
    measure: Measure = len,
    counted_words: Counted | None = None,
) -> tuple[str, int, int]:
    """Head, sections and tail in at most ``limit``; head and tail have to fit. Also what is shown, and of how much.

    Where not even all titles do, the last sections are counted only. Where less is shown than the ``total`` of the
    sections, ``counted_words`` follow the head.
    """
    total = sum(section.total for section in sections)
    text, shown = _fitted(head, sections, tail, limit, measure)
    if counted_words is None or shown == total:
        return text, shown, total
    text, shown = _fitted(head, sections, tail, limit - measure(counted_words(total, total)), measure)
    return head + counted_words(shown, total) + text.removeprefix(head), shown, total


def _fitted(head: str, sections: Sequence[FittedSection], tail: str, limit: int, measure: Measure) -> tuple[str, int]:
    bare = list(accumulate((measure(_bare(section)) for section in sections), initial=0))
    room = limit - measure(head) - measure(tail)
    if bare[-1] > room:
        shown = bisect_right(bare, max(0, room - measure(_cut_note(len(sections))))) - 1
        tail = _cut_note(len(sections) - shown) + tail
        room, sections = limit - measure(head) - measure(tail), sections[:shown]
    room -= bare[len(sections)]
    shares = _shares(
        [_wanted(section, measure) for section in sections], [section.weight for section in sections], room
    )
    parts = [_filled(section, share, measure) for section, share in zip(sections, shares, strict=True)]
    return "".join((head, *(text for text, _ in parts), tail)), sum(amount for _, amount in parts)


def _cut_note(sections: int) -> str:
    return f"\n*{counted(sections, 'section')} more; the full report has them.*\n"


def _bare(section: FittedSection) -> str:
    """What a section takes whatever becomes of its rows; the longest form, without a row."""
    rows = len(section.rows)
    return section.heading + section.opening + section.closing + (section.left_out(rows) if rows else "")


def _wanted(section: FittedSection, measure: Measure) -> int:
    return sum(measure(row) for row in section.rows)


def _shares(wanted: Sequence[int], weights: Sequence[int], room: int) -> list[int]:
    """Room by weight; what one does not need goes to the others."""
    given = [0] * len(wanted)
    hungry = [index for index, size in enumerate(wanted) if size]
    while hungry and room > 0:
        unit = room / sum(weights[index] for index in hungry)
        content = [index for index in hungry if wanted[index] <= unit * weights[index]]
        for index in content or hungry:
            given[index] = wanted[index] if content else int(unit * weights[index])
            room -= given[index]
        if not content:
            break
        hungry = [index for index in hungry if index not in content]
    return given


def _filled(section: FittedSection, share: int, measure: Measure) -> tuple[str, int]:
    """The section with what fits, and the amount of it; a row too long for the room does not take others with it."""
    used, amount, kept = 0, 0, []
    for index, row in enumerate(section.rows):
        if used + (size := measure(row)) <= share:
            used += size
            kept.append(row)
            amount += section.amounts[index] if section.amounts else 0
    missing = len(section.rows) - len(kept)
    if not kept:
        return section.heading + (section.left_out(missing) if missing else ""), 0
    text = section.heading + section.opening + "".join(kept) + section.closing
    return text + (section.left_out(missing) if missing else ""), amount


_TYPE = "reconciler.{}.v1"


def events(report: Report, options: FormatOptions) -> str:
    """The events' lines, at the moment that the report was made."""
    return "".join(f"{json_text(event, indent=None)}\n" for event in _events(report, options.made_at))


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
