"""A report as text for a terminal or a job's log: the verdict, then each plan as ``plan`` prints it, then the rest."""

from collections.abc import Iterator

from reconciler.report.fleet_text import drift_lines
from reconciler.report.formats.interface import FormatOptions
from reconciler.report.plan_text import plan_lines
from reconciler.report.results import CheckStatus, Finding, Level, Report, Tone, verdict
from reconciler.report.style import Style, plain, safe

_TONES = {Tone.STOP: "error", Tone.CAUTION: "warn", Tone.CALM: "add"}
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warn", Level.NOTE: "dim"}


def write(report: Report, options: FormatOptions) -> str:
    """The lines of the report."""
    return "".join(f"{line}\n" for line in report_lines(report, options.style))


def report_lines(report: Report, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """The lines, without line ends."""
    found = verdict(report)
    yield style(_TONES[found.tone], found.words)
    for plans, drift in ((report.plans, False), (report.drifts, True)):
        for plan in plans:
            yield ""
            yield from plan_lines(plan, style, expand=expand, drift=drift)
    for fleet in report.fleets:
        yield ""
        yield from drift_lines(fleet, style)
    broken = [check for check in report.broken_checks if not check.told_elsewhere]
    if report.checks:
        yield ""
        counts = ", ".join(f"{report.standings[one]:,} {one}" for one in CheckStatus if report.standings[one])
        yield style("title", f"Checks: {counts}")
    for check in broken:
        yield (
            style("error" if check.standing.stops else "warn", f"  {check.standing}")
            + f"  {safe(check.name)}"
            + style("dim", f"  {safe(check.where)}")
        )
        yield from (f"    {safe(line)}" for line in (check.message, *check.lines))
    told = [one for one in report.open_findings if not one.checked and not one.rule.startswith("left-")]
    if told:
        yield ""
        yield style("title", f"Findings ({len(told):,})")
    for one in told:
        yield from _finding_lines(one, style)


def _finding_lines(one: Finding, style: Style) -> Iterator[str]:
    place = style("dim", f"  {safe(str(one.place))}") if one.place else ""
    subject = f"{one.subject}: " if one.subject else ""
    yield style(_LEVELS[one.level], f"  {one.level} {safe(one.rule)}") + f"  {safe(subject + one.message)}{place}"
    yield from (f"    {safe(line)}" for line in (*one.details, one.advice) if line)
