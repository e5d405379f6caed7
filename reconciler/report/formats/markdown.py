"""A report as Markdown: a comment on a pull request that never outgrows it, and a step's summary.

Verdict and counts come first and always stand; then sections that give way to one another. What came from a manifest
or a cluster is escaped by ``reconciler.report.formats.escaping``.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from reconciler.model import moment_text
from reconciler.plan import Plan, plan_id
from reconciler.report.access_lines import rows_shown
from reconciler.report.formats.escaping import markdown_cell as cell
from reconciler.report.formats.escaping import markdown_code as code
from reconciler.report.formats.escaping import markdown_text as prose
from reconciler.report.formats.markdown_plan import (
    access_sections,
    callout_sections,
    note_sections,
    step_sections,
    warning_sections,
)
from reconciler.report.formats.markdown_words import MOST_PLANS, at, cut, more, on_cluster
from reconciler.report.formats.sections import FittedSection, Measure, fitted
from reconciler.report.results import Check, CheckStatus, Finding, Level, Report, Tone, plan_verdict, verdict
from reconciler.report.results.finding_groups import FindingGroup, finding_groups
from reconciler.report.results.fleet import FleetCluster
from reconciler.report.results.verdicts import plan_counts
from reconciler.report.style import counted

_SIGNS: Final = {Tone.STOP: "🛑", Tone.CAUTION: "⚠️", Tone.CALM: "✅"}
_LEVELS: Final = {Level.ERROR: "🛑 error", Level.WARNING: "⚠️ warning", Level.NOTE: "note"}
_STANDINGS: Final = {CheckStatus.FAILED: "🛑 failed", CheckStatus.UNDECIDED: "🛑 undecided"}
_DIFFERENCES: Final = {"+": "missing", "-": "undeclared", "~": "different", "!": "skipped"}
_MARKER: Final = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)
_LONGEST_MARKER: Final = 200


def marker_problem(marker: str) -> str | None:
    """Why a text cannot be a marker: in an HTML comment two hyphens would end it."""
    if _MARKER.fullmatch(marker) and len(marker) <= _LONGEST_MARKER:
        return None
    return "a marker is letters and digits with single dots, hyphens and underscores between them"


def default_marker(report: Report) -> str:
    """The same for the same clusters, so that a bot finds its comment again: their name, or a digest."""
    names = "-".join(report.clusters) or ("fleet" if report.fleets else "manifests")
    return names if marker_problem(names) is None else hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:16]


def document(
    report: Report, marker: str, limit: int, measure: Measure, on_cut: Callable[[int, int], None] | None = None
) -> str:
    """The text, of at most ``limit`` in the unit of ``measure``; the marker comes first, hidden.

    ``on_cut`` is called as :class:`FormatOptions` says.
    """
    sections = list(_sections(report))
    text, shown, rows = fitted(_head(report, marker), sections, _tail(report), limit, measure, _cut_words)
    if shown < rows and on_cut is not None:
        on_cut(shown, rows)
    return text


def _cut_words(shown: int, rows: int) -> str:
    return f"\n**{rows_shown(shown, rows)}; the full report has the others.**\n"


def _head(report: Report, marker: str) -> str:
    found = verdict(report)
    lines = [f"<!-- reconciler:{marker} -->", f"### {_SIGNS[found.tone]} {prose(found.words)}", ""]
    said = [_plan_line(plan, report) for plan in report.plans[:MOST_PLANS]]
    said += [_plan_line(plan, report, drift=True) for plan in report.drifts[:MOST_PLANS]]
    lines += [f"- {line}" for line in said[:MOST_PLANS]]
    lines += [f"- drift of the fleet: {fleet.words} · snapshot {code(cut(fleet.run))}" for fleet in report.fleets]
    if len(report.all_plans) > MOST_PLANS:
        lines.append(f"- {counted(len(report.all_plans) - MOST_PLANS, 'plan')} more, which the full report has")
    if report.checks:
        counts = ", ".join(f"{report.standings[one]:,} {one}" for one in CheckStatus if report.standings[one])
        lines.append(f"- {counted(len(report.checks_once), 'check')}: {counts}")
    if report.findings:
        levels = [one.level for one in report.open_findings]
        counts = ", ".join(counted(levels.count(level), level) for level in Level if level in levels)
        waived = f"{len(report.waived_findings):,} accepted" if report.waived_findings else ""
        lines.append(f"- findings: {', '.join(filter(None, (counts, waived)))}")
    return "\n".join(lines) + "\n"


def _plan_line(plan: Plan, report: Report, *, drift: bool = False) -> str:
    what = "drift of" if drift else "plan for"
    said = plan_verdict(plan, drift=drift).words
    address = report.address_of(plan.terms.cluster)
    which = f"id {code(cut(plan.cluster_id))}" + (f", at {code(cut(address))}" if address else "")
    begin = f"{what} {code(cut(plan.terms.cluster))} ({which}): {prose(said)}"
    return f"{begin} · {plan_counts(plan, drift=drift)} · as of {moment_text(plan.as_of)}"


def _tail(report: Report) -> str:
    if not report.all_plans:
        return ""
    lines = ["", "<details><summary>Approve with --require-id</summary>", ""] if report.plans else []
    # What people approve is what pipelines compare with the plan of the merged commit (action/github.py).
    lines += [f"- {code(cut(plan.terms.cluster))} {code(plan_id(plan))}" for plan in report.plans[:MOST_PLANS]]
    commits = {plan.source_commit: None for plan in report.all_plans[:MOST_PLANS] if plan.source_commit}
    lines += ["", "</details>"] if report.plans else []
    return "\n".join([*lines, *(f"\nManifests of {code(cut(commit))}" for commit in commits), ""])


def _sections(report: Report) -> Iterator[FittedSection]:
    """In the order in which a reviewer needs them: what judges is worth no more than the rules that did."""
    yield from _guardrails(report)
    refusals = [one for one in report.open_findings if one.rule.startswith("guard-")]
    if refusals:
        rows = [f"- {code(one.rule.removeprefix('guard-'))}: {prose(one.message)}{_remedy(one)}\n" for one in refusals]
        yield FittedSection("\n#### Refused\n\n", rows, more("refusal"), weight=4)
    yield from _fleets(report)
    yield from callout_sections(report)
    yield from access_sections(report)
    yield from _checks(report.broken_checks)
    yield from _findings(report.other_findings)
    yield from warning_sections(report)
    yield from note_sections(report)
    for plan in report.all_plans[:MOST_PLANS]:
        yield from step_sections(plan, many=len(report.all_plans) > 1)


def _guardrails(report: Report) -> Iterator[FittedSection]:
    rows = [
        f"- **{one.rule.removeprefix('guardrail-')}**: {prose(one.message)}{at(one.place)}\n"
        for one in report.guardrail_findings
    ]
    if rows:
        yield FittedSection("\n#### Guardrails changed\n\n", rows, more("guardrail change"), weight=4)


def _remedy(finding: Finding) -> str:
    return f" <br>{prose(finding.advice)}" if finding.advice else ""


def _fleets(report: Report) -> Iterator[FittedSection]:
    for fleet in report.fleets:
        rows = [_cluster_row(one) for one in (*fleet.unknown, *fleet.differing)]
        if rows:
            opening = "| cluster | missing | undeclared | topics and others | skipped | first differences |\n"
            opening += "|---|---|---|---|---|---|\n"
            yield FittedSection(
                "\n#### Clusters that differ or are not known\n\n", rows, more("cluster"), opening, weight=4
            )
        doubts = [f"- {code(cut(one.cluster))}: {prose(one.doubt)}\n" for one in fleet.doubtful]
        if doubts:
            yield FittedSection("\n#### Not seen whole\n\n", doubts, more("cluster"), weight=2)


def _cluster_row(one: FleetCluster) -> str:
    name, counts = cell(one.cluster), one.counts
    if counts is None:
        return f"| {name} | | | | | {prose(one.words)} |\n"
    lines = "<br>".join(f"{_DIFFERENCES[line.sign]} {cell(line.text)}" for line in one.differences)
    return f"| {name} | {counts.creates:,} | {counts.deletes:,} | {counts.others:,} | {counts.left:,} | {lines} |\n"


def _checks(checks: Iterable[Check]) -> Iterator[FittedSection]:
    broken = [check for check in checks if not check.told_elsewhere]
    rows = ["".join(_check(check)) for check in broken]
    if rows:
        yield FittedSection("\n#### Checks that did not pass\n\n", rows, more("check"), weight=3)


def _check(check: Check) -> Iterator[str]:
    standing = _STANDINGS.get(check.standing, str(check.standing))
    yield f"- {standing}: {code(check.name)}{on_cluster(check.where)}{at(check.place)} {prose(check.message)}\n"
    yield from (f"  - {prose(line)}\n" for line in check.lines)


def _findings(findings: Iterable[Finding]) -> Iterator[FittedSection]:
    groups = list(finding_groups(findings))
    rows = [row for group in groups for row in _finding_rows(group)]
    if rows:
        total = sum(group.total for group in groups)
        opening = f"<details><summary>Findings ({total:,})</summary>\n\n| | rule | what | where |\n|---|---|---|---|\n"
        closing = "\n</details>\n"
        yield FittedSection("\n", rows, more("finding"), opening, closing, weight=2)


def _finding_rows(group: FindingGroup) -> Iterator[str]:
    """What a rule advises stands in its first row."""
    advice = group.advice
    for one in group.rows:
        subject = f"{cell(one.subject)} " if one.subject else ""
        said = f"<br>{prose(one.advice or advice)}" if one.advice or advice else ""
        where = cell(str(one.place)) if one.place else f"cluster {code(one.cluster)}" if one.cluster else ""
        yield f"| {_LEVELS[group.level]} | {cell(group.rule)} | {subject}{prose(one.message)}{said} | {where} |\n"
        advice = ""
