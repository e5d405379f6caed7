"""A report as Markdown: a comment on a pull request that never outgrows it, and a step's summary.

Verdict and counts come first and always stand; then sections that give way to one another. What came from a manifest
or a cluster is escaped by ``reconciler.report.formats.escaping``.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from reconciler.model import Origin
from reconciler.plan import TITLES, Plan, change_id, plan_id
from reconciler.report.access_lines import AccessLine, access_lines
from reconciler.report.formats.escaping import markdown_cell as cell
from reconciler.report.formats.escaping import markdown_code as code
from reconciler.report.formats.escaping import markdown_element as element
from reconciler.report.formats.escaping import markdown_text as prose
from reconciler.report.formats.sections import Measure, Section, fitted
from reconciler.report.results import Check, CheckStatus, Finding, Level, Report, Tone, plan_verdict, verdict
from reconciler.report.results.fleet import FleetCluster
from reconciler.report.results.notes import plan_notes
from reconciler.report.results.verdict import plan_counts
from reconciler.report.step_lines import StepLine, step_lines
from reconciler.report.style import counted

_SIGNS: Final = {Tone.STOP: "🛑", Tone.CAUTION: "⚠️", Tone.CALM: "✅"}
_LEVELS: Final = {Level.ERROR: "🛑 error", Level.WARNING: "⚠️ warning", Level.NOTE: "note"}
_STANDINGS: Final = {CheckStatus.FAILED: "🛑 failed", CheckStatus.UNDECIDED: "🛑 undecided"}
_DIFFERENCES: Final = {"+": "missing", "-": "undeclared", "~": "different", "!": "not changed"}
_MARKER: Final = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)
_LONGEST_MARKER: Final = 200
#: So many plans are shown; of others only their number, and what stands out in them.
_MOST_PLANS: Final = 20
_LONGEST_NAME: Final = 100
#: Names shown of rows that differ in their name only, and of very many steps that are alike.
_NAMES_SHOWN: Final = 4
_STEPS_NAMED: Final = 20
#: The same as it is written: a sign that Markdown could take for something becomes up to nine.
_LONGEST_CODE: Final = 200


def marker_problem(marker: str) -> str | None:
    """Why a text cannot be a marker: in an HTML comment two hyphens would end it."""
    if _MARKER.fullmatch(marker) and len(marker) <= _LONGEST_MARKER:
        return None
    return "a marker is letters and digits with single dots, hyphens and underscores between them"


def default_marker(report: Report) -> str:
    """The same for the same clusters, so that a bot finds its comment again: their name, or a digest."""
    names = "-".join(report.clusters) or ("fleet" if report.fleets else "manifests")
    return names if marker_problem(names) is None else hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:16]


def document(report: Report, marker: str, limit: int, measure: Measure) -> str:
    """The text, of at most ``limit`` in the unit of ``measure``; the marker comes first, hidden."""
    sections = list(_sections(report))
    return fitted(_head(report, marker), sections, _tail(report), limit, measure)


def _head(report: Report, marker: str) -> str:
    found = verdict(report)
    lines = [f"<!-- reconciler:{marker} -->", f"### {_SIGNS[found.tone]} {prose(found.words)}", ""]
    said = [_plan_line(plan) for plan in report.plans[:_MOST_PLANS]]
    said += [_plan_line(plan, drift=True) for plan in report.drifts[:_MOST_PLANS]]
    lines += [f"- {line}" for line in said[:_MOST_PLANS]]
    lines += [f"- drift of the fleet: {fleet.words} · snapshot {code(_cut(fleet.run))}" for fleet in report.fleets]
    if len(report.all_plans) > _MOST_PLANS:
        lines.append(f"- {counted(len(report.all_plans) - _MOST_PLANS, 'plan')} more, which the full report has")
    if report.checks:
        counts = ", ".join(f"{report.standings[one]:,} {one}" for one in CheckStatus if report.standings[one])
        lines.append(f"- {counted(len(report.checks), 'check')}: {counts}")
    if report.findings:
        levels = [one.level for one in report.open_findings]
        counts = ", ".join(counted(levels.count(level), level) for level in Level if level in levels)
        waived = f"{len(report.waived_findings):,} accepted" if report.waived_findings else ""
        lines.append(f"- findings: {', '.join(filter(None, (counts, waived)))}")
    return "\n".join(lines) + "\n"


def _plan_line(plan: Plan, *, drift: bool = False) -> str:
    what = "drift of" if drift else "plan for"
    said = plan_verdict(plan, drift=drift).words
    return f"{what} {code(_cut(plan.terms.cluster))}: {prose(said)} · {plan_counts(plan)} · as of {plan.as_of}"


def _tail(report: Report) -> str:
    if not report.all_plans:
        return ""
    lines = ["", "<details><summary>Approve with --require-id</summary>", ""] if report.plans else []
    for plan in report.plans[:_MOST_PLANS]:
        # People approve the first; pipelines compare the second with that of the merged commit (action/github.py).
        lines += [f"- {code(_cut(plan.terms.cluster))} {code(change_id(plan))}", f"  <!-- {plan_id(plan)} -->"]
    commits = {plan.source_commit: None for plan in report.all_plans[:_MOST_PLANS] if plan.source_commit}
    lines += ["", "</details>"] if report.plans else []
    return "\n".join([*lines, *(f"\nManifests of {code(_cut(commit))}" for commit in commits), ""])


def _sections(report: Report) -> Iterator[Section]:
    """In the order in which a reviewer needs them."""
    refusals = [one for one in report.open_findings if one.rule.startswith("guard-")]
    if refusals:
        rows = [f"- {code(one.rule.removeprefix('guard-'))}: {prose(one.message)}{_remedy(one)}\n" for one in refusals]
        yield Section("\n#### Refused\n\n", rows, _more("refusal"), weight=4)
    yield from _guardrails(report)
    yield from _fleets(report)
    yield from _callouts(report)
    yield from _access(report)
    yield from _checks(report.broken_checks)
    yield from _findings(one for one in report.open_findings if not one.checked and not _is_guardrail(one))
    yield from _warnings(report)
    yield from _notes(report)
    for plan in report.all_plans[:_MOST_PLANS]:
        yield from _steps(plan, many=len(report.all_plans) > 1)


def _is_guardrail(finding: Finding) -> bool:
    return finding.rule.startswith("guardrail-")


def _guardrails(report: Report) -> Iterator[Section]:
    changed = [one for one in report.open_findings if _is_guardrail(one)]
    rows = [f"- **{one.rule.removeprefix('guardrail-')}**: {prose(one.message)}{_at(one.place)}\n" for one in changed]
    if rows:
        yield Section("\n#### Guardrails changed\n\n", rows, _more("guardrail change"), weight=4)


def _remedy(finding: Finding) -> str:
    return f" <br>{prose(finding.advice)}" if finding.advice else ""


def _fleets(report: Report) -> Iterator[Section]:
    for fleet in report.fleets:
        rows = [_cluster_row(one) for one in (*fleet.unknown, *fleet.differing)]
        if rows:
            opening = "| cluster | missing | undeclared | topics and quotas | not changed | first differences |\n"
            opening += "|---|---|---|---|---|---|\n"
            yield Section("\n#### Clusters that differ or are not known\n\n", rows, _more("cluster"), opening, weight=4)
        doubts = [f"- {code(_cut(one.cluster))}: {prose(one.doubt)}\n" for one in fleet.doubtful]
        if doubts:
            yield Section("\n#### Not seen whole\n\n", doubts, _more("cluster"), weight=2)


def _cluster_row(one: FleetCluster) -> str:
    name, counts = cell(one.cluster), one.counts
    if counts is None:
        return f"| {name} | | | | | {prose(one.words)} |\n"
    lines = "<br>".join(f"{_DIFFERENCES[line.sign]} {cell(line.text)}" for line in one.differences)
    return f"| {name} | {counts.creates:,} | {counts.deletes:,} | {counts.topics:,} | {counts.left:,} | {lines} |\n"


def _callouts(report: Report) -> Iterator[Section]:
    rows = [
        f"- **{prose(callout.rule)}**: {prose(callout.text)}\n"
        for plan in report.all_plans
        for callout in plan.access.callouts
    ]
    if rows:
        yield Section("\n#### What stands out\n\n", rows, _more("grant that stands out", "grants"), weight=4)


def _access(report: Report) -> Iterator[Section]:
    drifts = set(map(id, report.drifts))
    for plan in report.all_plans[:_MOST_PLANS]:
        rows = [_access_row(line) for line in access_lines(plan.access.access_changes, most_names=_NAMES_SHOWN)]
        if not rows:
            continue
        of = f" on {code(_cut(plan.terms.cluster))}" if len(report.all_plans) > 1 else ""
        opening = "| who | gains or loses | on | from |\n|---|---|---|---|\n"
        closing = ""
        if plan.access.more_principals:
            closing = f"\n{counted(plan.access.more_principals, 'more principal')} through `User:*`, not listed.\n"
        if any(row.reading for row in plan.access.access_changes):
            closing += "\n*perhaps*: depends on cluster settings that are not declared.\n"
        title = "Access, if it is brought back to what is declared" if id(plan) in drifts else "Access"
        yield Section(f"\n#### {title}{of}\n\n", rows, _more("row of access", "rows"), opening, closing, weight=4)


def _access_row(line: AccessLine) -> str:
    doubt = "" if line.certain else " *perhaps*"
    names = prose(line.names) + (f"<br>{prose(line.topics)}" if line.topics else "")
    moved = f"{'➕' if line.sign == '+' else '➖'} {line.operations}{doubt}"
    return f"| {cell(line.who)} | {moved} | {names} | {cell(line.hosts) if line.hosts else 'any host'} |\n"


def _checks(checks: Iterable[Check]) -> Iterator[Section]:
    broken = [check for check in checks if not check.told_elsewhere]
    rows = ["".join(_check(check)) for check in broken]
    if rows:
        yield Section("\n#### Checks that did not pass\n\n", rows, _more("check"), weight=3)


def _check(check: Check) -> Iterator[str]:
    standing = _STANDINGS.get(check.standing, str(check.standing))
    yield f"- {standing}: {code(check.name)}{_of(check.where)}{_at(check.place)} {prose(check.message)}\n"
    yield from (f"  - {prose(line)}\n" for line in check.lines)


def _findings(findings: Iterable[Finding]) -> Iterator[Section]:
    rows = [_finding_row(one) for one in findings]
    if rows:
        opening = "<details><summary>Findings</summary>\n\n| | rule | what | where |\n|---|---|---|---|\n"
        closing = "\n</details>\n"
        yield Section("\n", rows, _more("finding"), opening, closing, weight=2)


def _finding_row(one: Finding) -> str:
    subject = f"{cell(one.subject)} " if one.subject else ""
    advice = f"<br>{prose(one.advice)}" if one.advice else ""
    where = cell(str(one.place)) if one.place else f"cluster {code(one.cluster)}" if one.cluster else ""
    return f"| {_LEVELS[one.level]} | {cell(one.rule)} | {subject}{prose(one.message)}{advice} | {where} |\n"


def _warnings(report: Report) -> Iterator[Section]:
    rows = [f"- {prose(text)}\n" for plan in report.all_plans for text in plan.warnings]
    if rows:
        yield Section("\n#### Warnings\n\n", rows, _more("warning"), weight=2)


def _notes(report: Report) -> Iterator[Section]:
    for plan in report.all_plans[:_MOST_PLANS]:
        for note in plan_notes(plan):
            heading = f"\n**{prose(_cut(note.title))}**\n" + ("\n" if note.items else "")
            yield Section(heading, [f"- {prose(item)}\n" for item in note.items], _more("line"))


def _steps(plan: Plan, *, many: bool) -> Iterator[Section]:
    if not plan.steps:
        return
    rows: list[str] = []
    for number, (phase, lines) in enumerate(groupby(step_lines(plan), lambda line: line.phase), 1):
        title = f"\n**{number}. {TITLES[phase]}**\n\n"
        for line in lines:
            rows.append(title + _step_row(line))
            title = ""
    of = f" for {element(_cut(plan.terms.cluster))}" if many else ""
    opening = f"<details><summary>{plan_counts(plan).capitalize()}{of}, in order</summary>\n"
    yield Section("\n", rows, _more("line of steps", "lines"), opening, "\n</details>\n", weight=2)


def _step_row(line: StepLine) -> str:
    effect = f" *{prose(line.effect)}*" if line.effect else ""
    said = "".join(f" *{prose(text)}*" for text in (line.until, line.why) if text)
    details = [detail.text for detail in line.details]
    if line.names:
        more = f" and {len(line.names) - _STEPS_NAMED:,} more" if len(line.names) > _STEPS_NAMED else ""
        details.append(", ".join(line.names[:_STEPS_NAMED]) + more)
    below = "".join(f"  - {code(text)}\n" for text in details)
    return f"- {code(f'{line.sign} {line.words}')}{effect}{said}{_at(line.origin)}\n{below}"


def _cut(text: str) -> str:
    """What always stands has to stay short, however long its signs become."""
    if len(text) <= _LONGEST_NAME and len(code(text)) <= _LONGEST_CODE:
        return text
    kept = text[: _LONGEST_NAME - 1]
    while len(code(kept)) > _LONGEST_CODE:
        kept = kept[:-1]
    return f"{kept}…"


def _of(cluster: str) -> str:
    return f" on {code(cluster)}" if cluster else ""


def _at(place: Origin | None) -> str:
    return f" <sub>{code(str(place))}</sub>" if place is not None else ""


def _more(noun: str, plural: str = "") -> Callable[[int], str]:
    def words(number: int) -> str:
        which = counted(number, noun) if number == 1 or not plural else f"{number:,} {plural}"
        return f"\n*{which} more; the full report has them.*\n"

    return words
