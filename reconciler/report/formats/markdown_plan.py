"""The sections of a Markdown report that are about plans: access, steps, what stays and what is worth a note."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.model.naming import with_points
from reconciler.plan import TITLES, Plan
from reconciler.report.access_lines import NAMES_SHOWN, AccessLine, access_lines, ordered_lines
from reconciler.report.bridge_text import stage_number
from reconciler.report.formats.escaping import markdown_cell as cell
from reconciler.report.formats.escaping import markdown_code as code
from reconciler.report.formats.escaping import markdown_element as element
from reconciler.report.formats.escaping import markdown_text as prose
from reconciler.report.formats.markdown_words import MOST_PLANS, at, cut, more
from reconciler.report.formats.sections import FittedSection
from reconciler.report.results import Report
from reconciler.report.results.notes import plan_notes
from reconciler.report.results.verdicts import plan_counts
from reconciler.report.skipped_lines import skipped_groups
from reconciler.report.step_lines import StepLine, note_lines, step_lines, steps_shown
from reconciler.report.style import counted

#: Rows of access that fit however much else there is.
_SURE_TO_FIT: Final = 10_000


def callout_sections(report: Report) -> Iterator[FittedSection]:
    """What stands out, whichever plan it is of."""
    rows = [
        f"- **{prose(callout.rule)}**: {prose(callout.text)}\n"
        for plan in report.all_plans
        for callout in plan.access.callouts
    ]
    if rows:
        yield FittedSection("\n#### What stands out\n\n", rows, more("grant that stands out", "grants"), weight=4)


def access_sections(report: Report) -> Iterator[FittedSection]:
    """Who gains and loses what, and how many rows of plans that are only counted nobody is shown."""
    drifts = set(map(id, report.drifts))
    for plan in report.all_plans[:MOST_PLANS]:
        if plan.access.access_changes:
            title = "Access, if it is brought back to what is declared" if id(plan) in drifts else "Access"
            of = f" on {code(cut(plan.terms.cluster))}" if len(report.all_plans) > 1 else ""
            yield _access_of(plan, f"\n#### {title}{of}\n\n")
    others = [plan for plan in report.all_plans[MOST_PLANS:] if plan.access.access_changes]
    lines = [line for plan in others for line in access_lines(plan.access.access_changes)]
    yield FittedSection("", (), more("row of access", "rows"), total=sum(line.rows for line in lines))


def _access_of(plan: Plan, heading: str) -> FittedSection:
    changes = plan.access.access_changes
    lines = ordered_lines(changes, most_names=NAMES_SHOWN)
    rows = [_access_row(line) for line in lines]
    if sum(map(len, rows)) > _SURE_TO_FIT:  # names in which every sign has to be escaped
        lines = list(access_lines(changes, most_names=NAMES_SHOWN, gravest_first=True))
        rows = [_access_row(line) for line in lines]
    opening = "| who | gains or loses | on |\n|---|---|---|\n"
    closing = ""
    if plan.access.more_principals:
        closing = f"\n{counted(plan.access.more_principals, 'more principal')} through `User:*`, not listed.\n"
    if any(row.reading for row in changes):
        closing += "\n*perhaps*: depends on cluster settings that are not known.\n"
    shown, total = [line.rows - line.unnamed for line in lines], sum(line.rows for line in lines)
    words = more("row of access", "rows")
    return FittedSection(heading, rows, words, opening, closing, weight=4, amounts=shown, total=total)


def _access_row(line: AccessLine) -> str:
    doubt = "" if line.certain else " *perhaps*"
    hosts = f" from {cell(cut(line.hosts))}" if line.hosts else ""
    below = "".join(f"<br>{prose(text)}" for text in (line.topics, line.note) if text)
    moved = f"{'➕' if line.sign == '+' else '➖'} {line.operations}{doubt}"
    return f"| {cell(with_points(line.who))} | {moved} | {prose(line.names)}{hosts}{below} |\n"


def warning_sections(report: Report) -> Iterator[FittedSection]:
    """What a reviewer should know besides."""
    texts = dict.fromkeys(text for plan in report.all_plans for text in (*plan.warnings, *plan.login_warnings))
    rows = [f"- {prose(text)}\n" for text in texts]
    if rows:
        yield FittedSection("\n#### Warnings\n\n", rows, more("warning"), weight=2)


def note_sections(report: Report) -> Iterator[FittedSection]:
    """Bridges, what is for good, what the broker said, what is accepted."""
    for plan in report.all_plans[:MOST_PLANS]:
        for note in plan_notes(plan):
            heading = f"\n**{prose(cut(note.title))}**\n" + ("\n" if note.items else "")
            yield FittedSection(heading, [f"- {prose(item)}\n" for item in note.items], more("line"))


def step_sections(plan: Plan, *, many: bool) -> Iterator[FittedSection]:
    """What is sent, in its order; then what stays."""
    of = f" for {element(cut(plan.terms.cluster))}" if many else ""
    if plan.steps:
        counts = plan_counts(plan)  # the rest keeps its case: SCRAM is no word
        opening = f"<details><summary>{counts[:1].upper()}{counts[1:]}{of}, in order</summary>\n"
        yield FittedSection(
            "\n", list(_step_rows(plan)), more("line of steps", "lines"), opening, "\n</details>\n", weight=2
        )
    if plan.skipped:
        opening = f"<details><summary>Skipped ({len(plan.skipped):,}){of}</summary>\n"
        yield FittedSection("\n", list(_skipped_rows(plan)), more("line", "lines"), opening, "\n</details>\n", weight=2)


def _step_rows(plan: Plan) -> Iterator[str]:
    for phase, found in groupby(step_lines(plan), lambda line: line.phase):
        lines = list(found)
        total = steps_shown(lines)[1]
        title = f"\n**{stage_number(plan, phase)}. {TITLES[phase]} ({total:,})**\n\n"
        for line in lines:
            yield title + _step_row(line)
            title = ""
        for about, note in note_lines(lines):
            yield f"- *note on {counted(about, 'step')} above:* {prose(note)}\n"


def _skipped_rows(plan: Plan) -> Iterator[str]:
    for group in skipped_groups(plan):
        title = f"\n**{prose(group.heading)}** ({group.total:,})\n\n"
        for line in group.lines:
            yield f"{title}- {code(line.text)}{at(line.origin)}\n{_named(line.names, line.unnamed)}"
            title = ""


def _named(names: Sequence[str], unnamed: int) -> str:
    """The first names of rows that share a line."""
    return f"  - {code(', '.join(names) + (f' and {unnamed:,} more' if unnamed else ''))}\n" if names else ""


def _step_row(line: StepLine) -> str:
    effect = f" *{prose(line.effect)}*" if line.effect else ""
    said = f" *{prose(line.until)}*" if line.until else ""
    if line.why:  # what a proposer wrote, not what we say
        said += f" {code(line.why)}"
    below = "".join(f"  - {code(detail.text)}\n" for detail in line.details) + _named(line.names, line.unnamed)
    return f"- {code(f'{line.sign} {line.words}')}{effect}{said}{at(line.origin)}\n{below}"
