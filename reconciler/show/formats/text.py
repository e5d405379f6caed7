"""A report as text for a terminal or a job's log: the verdict, then each plan as ``plan`` prints it, then the rest."""

from collections.abc import Iterator
from dataclasses import replace

from reconciler.model.characters import Style, plain, safe
from reconciler.plan.file import as_shown
from reconciler.plan.guards import NO_GUARDRAILS
from reconciler.results.findings import CheckStatus, Finding, finding_groups
from reconciler.show.document import FEW, first_lines, lines_shown
from reconciler.show.fleet_report import drift_lines
from reconciler.show.formats import FormatOptions
from reconciler.show.lint import LEVEL_STYLES, group_lines
from reconciler.show.plan import drift_lines as cluster_drift_lines
from reconciler.show.plan import plan_lines
from reconciler.show.reading import Report
from reconciler.show.review import rows_cut
from reconciler.show.verdicts import Tone, first_screen, known_rows, review_word, verdict

_TONES = {Tone.STOP: "error", Tone.CAUTION: "warn", Tone.CALM: "add"}
#: Of what the base has as well, so many are named.
_KNOWN = 3


def write(report: Report, options: FormatOptions) -> str:
    """The lines of the report."""
    for plan in report.all_plans:
        if plan.steps and (cut := rows_cut(plan.access)):
            options.on_cut(*cut)
    return "".join(f"{line}\n" for line in report_lines(report, options.style))


def report_lines(report: Report, style: Style = plain) -> Iterator[str]:
    """The lines, without line ends."""
    conclusion = verdict(report)
    yield style(_TONES[conclusion.tone], f"{review_word(report)}: {safe(conclusion.words)}")
    if report.guardrail_findings:
        yield ""
        yield style("title", "Guardrails changed")
    for finding in report.guardrail_findings:
        yield from _finding_lines(finding, style)
    for plans, lines in ((report.plans, plan_lines), (report.drifts, cluster_drift_lines)):
        for plan in plans:
            yield ""
            rest = as_shown(plan, replace(plan, guardrails=NO_GUARDRAILS))
            yield from lines(rest, style)
    for fleet in report.fleets:
        yield ""
        yield from drift_lines(fleet, style)
    broken = report.open_checks
    if report.checks:
        yield ""
        counts = ", ".join(
            f"{report.standings[status]:,} {status}" for status in CheckStatus if report.standings[status]
        )
        yield style("title", f"Checks: {counts}")
    shown = broken[: lines_shown(len(broken), expand=False)]
    for check in shown:
        yield (
            style("error" if check.standing.stops else "warn", f"  {check.standing}")
            + f"  {safe(check.name)}"
            + style("dim", f"  {safe(check.where)}")
        )
        yield from (f"    {safe(line)}" for line in (check.message, *check.lines))
    if broken[len(shown) :]:
        yield f"  and {len(broken) - len(shown):,} more, which the HTML page and JSON have"
    if (compared := first_screen(report).compared) is not None:
        yield ""
        yield style("title", f"Findings: {compared.text}")
        known_lines = [f"  known: {safe(row.text)}  [{safe(row.label)}]" for row in known_rows(report)]
        yield from (style("dim", line) for line in first_lines(known_lines, expand=False, most=_KNOWN))
    findings = report.other_findings
    if findings:
        yield ""
        yield style("title", f"Findings ({len(findings):,})")
    for group in finding_groups(findings):
        yield from (f"  {line}" for line in group_lines(group, style, FEW))


def _finding_lines(finding: Finding, style: Style) -> Iterator[str]:
    place = style("dim", f"  {safe(str(finding.place))}") if finding.place else ""
    yield (
        style(LEVEL_STYLES[finding.level], f"  {finding.level} {safe(finding.rule)}")
        + f"  {safe(finding.sentence)}{place}"
    )
    yield from (f"    {safe(line)}" for line in (*finding.details, finding.advice) if line)
