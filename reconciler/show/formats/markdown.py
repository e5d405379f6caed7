"""A report as Markdown, with a picture of who gains access: a comment that never outgrows its limit, and a summary.

Verdict and counts come first and always stand; then sections that give way to one another. What came from a manifest
or a cluster is escaped by ``reconciler.show.formats.escaping``.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from reconciler.model.characters import counted, safe, shortened, with_points
from reconciler.model.desired import Origin, moment_text
from reconciler.plan.file import change_id, plan_id
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import AccessChange
from reconciler.results.findings import Check, CheckStatus, Finding, FindingGroup, Level, finding_groups
from reconciler.show.access_lines import NAMES_SHOWN, AccessLine, access_lines, ordered_lines, rows_shown
from reconciler.show.document import ReportDocument, Row, SectionName
from reconciler.show.fleet_report import FleetCluster
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.document import FittedSection, Measure, fitted
from reconciler.show.formats.escaping import markdown_cell as cell
from reconciler.show.formats.escaping import markdown_code as code
from reconciler.show.formats.escaping import markdown_element as element
from reconciler.show.formats.escaping import markdown_text as prose
from reconciler.show.formats.page_view import changes_of
from reconciler.show.plan import drift_document, plan_document
from reconciler.show.plan import warning_sections as warnings_of
from reconciler.show.reading import Report
from reconciler.show.review import callout_rows
from reconciler.show.verdicts import FirstScreen, Tone, first_screen, known_rows, plan_counts, plan_verdict, verdict

# Small pieces that the sections of a Markdown report share.

#: So many plans are shown; of others only their number, and what stands out in them.
MOST_PLANS: Final = 20
_LONGEST_NAME: Final = 100
#: The same as it is written: a sign that Markdown could take for something becomes up to nine.
_LONGEST_CODE: Final = 200


def cut(text: str) -> str:
    """What always stands has to stay short, however long its signs become."""
    if len(text) <= _LONGEST_NAME and len(code(text)) <= _LONGEST_CODE:
        return text
    kept = text[: _LONGEST_NAME - 1]
    while len(code(kept)) > _LONGEST_CODE:
        kept = kept[:-1]
    return f"{kept}…"


def on_cluster(cluster: str) -> str:
    """`` on `prod```; empty for no cluster."""
    return f" on {code(cluster)}" if cluster else ""


def at(place: Origin | None) -> str:
    """The place, small."""
    return f" <sub>{code(str(place))}</sub>" if place is not None else ""


def more(noun: str, plural: str = "") -> Callable[[int], str]:
    """What a section says of rows that had no room."""

    def words(number: int) -> str:
        which = counted(number, noun) if number == 1 or not plural else f"{number:,} {plural}"
        return f"\n*{which} more; the full report has them.*\n"

    return words


# The sections of a Markdown report that are about plans: access, steps, what stays and what is worth a note.

#: Rows of access that fit however much else there is.
_SURE_TO_FIT: Final = 10_000
#: Cells of changed access that are read at a glance.
_MOST_CELLS: Final = 12


def callout_sections(report: Report) -> Iterator[FittedSection]:
    """What stands out, whichever plan it is of."""
    rows = [
        f"- **{prose(row.label)}**: {prose(row.text)}\n" for plan in report.plans for row in callout_rows(plan.access)
    ]
    if rows:
        yield FittedSection("\n#### What stands out\n\n", rows, more("grant that stands out", "grants"), weight=4)


def access_sections(report: Report) -> Iterator[FittedSection]:
    """Who gains and loses what, and how many rows of plans that are only counted nobody is shown."""
    drifts = set(map(id, report.drifts))
    for plan in report.all_plans[:MOST_PLANS]:
        if plan.access.access_changes:
            title = "Access, against what is declared" if id(plan) in drifts else "Access"
            of = f" on {code(cut(plan.terms.cluster))}" if len(report.all_plans) > 1 else ""
            yield _access_of(plan, f"\n#### {title}{of}\n\n", drift=id(plan) in drifts)
    others = [plan for plan in report.all_plans[MOST_PLANS:] if plan.access.access_changes]
    lines = [line for plan in others for line in access_lines(plan.access.access_changes)]
    yield FittedSection("", (), more("row of access", "rows"), total=sum(line.rows for line in lines))


def picture_sections(report: Report) -> Iterator[FittedSection]:
    """Who gains and loses what at a glance: drawn, or where that is too much for a picture, the cells that change."""
    if len(report.plans) != 1:
        return
    changes = report.plans[0].access.access_changes
    chart = chart_fence(changes)
    if chart:
        yield FittedSection(chart, (), more("picture"))
    elif matrix := changes_of(changes):
        cells = [(who, cell_of) for who, some in matrix.rows for cell_of in some]
        rows = [
            f"| {cell(_moved(change.gained, change.lost))} | {cell(who)} "
            f"| {cell(matrix.columns[change.column].label)} |\n"
            for who, change in cells[:_MOST_CELLS]
        ]
        opening = "| change | who | names |\n|---|---|---|\n"
        legend = ", ".join(f"{letter} {operation}" for letter, operation in matrix.letters)
        remaining = len(cells) - len(rows)
        closing = f"\n{prose(legend)}{f'. {remaining:,} more cells: see Access' if remaining else ''}\n"
        yield FittedSection("\n#### Changed cells\n\n", rows, more("cell"), opening, closing)


def _moved(gained: str, lost: str) -> str:
    return " ".join(filter(None, (f"gains {gained}" if gained else "", f"loses {lost}" if lost else "")))


def _access_of(plan: Plan, heading: str, *, drift: bool) -> FittedSection:
    changes = plan.access.access_changes
    lines = ordered_lines(changes, most_names=NAMES_SHOWN)
    rows = [_access_row(line, drift=drift) for line in lines]
    if sum(map(len, rows)) > _SURE_TO_FIT:  # names in which every sign has to be escaped
        lines = list(access_lines(changes, most_names=NAMES_SHOWN, gravest_first=True))
        rows = [_access_row(line, drift=drift) for line in lines]
    opening = f"| who | {'more or less than declared' if drift else 'gains or loses'} | on |\n|---|---|---|\n"
    closing = ""
    if plan.access.more_principals:
        closing = f"\n{counted(plan.access.more_principals, 'more principal')} through `User:*`, not listed.\n"
    if any(row.reading for row in changes):
        closing += "\n*perhaps*: depends on cluster settings that are not known.\n"
    shown, total = [line.rows - line.unnamed for line in lines], sum(line.rows for line in lines)
    words = more("row of access", "rows")
    return FittedSection(heading, rows, words, opening, closing, weight=4, amounts=shown, total=total)


def _access_row(line: AccessLine, *, drift: bool) -> str:
    """A row of the table. What would be lost if drift were reverted is there, and more than is declared."""
    doubt = "" if line.certain else " *perhaps*"
    hosts = f" from {cell(cut(line.hosts))}" if line.hosts else ""
    below = "".join(f"<br>{prose(text)}" for text in (line.topics, line.note) if text)
    moved = f"{'➕' if (line.sign == '+') is not drift else '➖'} {line.operations}{doubt}"
    return f"| {cell(with_points(line.who))} | {moved} | {prose(line.names)}{hosts}{below} |\n"


def warning_sections(report: Report) -> Iterator[FittedSection]:
    """What a reviewer should know besides."""
    sections = [section for plan in report.all_plans for section in warnings_of(plan, expand=True)]
    rows = [f"- {prose(row.text)}\n" for row in dict.fromkeys(row for section in sections for row in section.rows)]
    if rows:
        yield FittedSection("\n#### Warnings\n\n", rows, more("warning"), weight=2)


def note_sections(document: ReportDocument) -> Iterator[FittedSection]:
    """Bridges, what is for good, what the broker said, what is accepted."""
    for section in document.of(SectionName.NOTES, SectionName.ACCEPTED):
        heading = f"\n**{prose(_short(safe(section.title or section.closing)))}**\n" + ("\n" if section.rows else "")
        yield FittedSection(heading, [f"- {prose(safe(row.sentence))}\n" for row in section.rows], more("line"))


def step_sections(plan: Plan, document: ReportDocument, *, many: bool) -> Iterator[FittedSection]:
    """What is sent, in its order; then what stays."""
    of = f" for {element(cut(plan.terms.cluster))}" if many else ""
    if plan.steps:
        counts = plan_counts(plan)  # the rest keeps its case: SCRAM is no word
        opening = f"<details><summary>{counts[:1].upper()}{counts[1:]}{of}, in order</summary>\n"
        yield FittedSection(
            "\n", list(_step_rows(document)), more("line of steps", "lines"), opening, "\n</details>\n", weight=2
        )
    if plan.skipped:
        opening = f"<details><summary>Skipped ({len(plan.skipped):,}){of}</summary>\n"
        rows = list(_skipped_rows(document))
        yield FittedSection("\n", rows, more("line", "lines"), opening, "\n</details>\n", weight=2)


def drift_sections(report: Report) -> Iterator[FittedSection]:
    """How each cluster differs, what bringing it back would do, and how to keep or remove the differences."""
    for plan in report.drifts[:MOST_PLANS]:
        of = f" on {code(cut(plan.terms.cluster))}" if len(report.all_plans) > 1 else ""
        for section in drift_document(plan).of(SectionName.DIFFERENCES, SectionName.SKIPPED, SectionName.NOTES):
            rows = [text for row in section.rows for text in _document_row(row)]
            yield FittedSection(
                f"\n#### {prose(section.title)} ({section.count:,}){of}\n\n", rows, more("line"), weight=2
            )


def _document_row(row: Row, indent: str = "", words: Callable[[str], str] = prose) -> Iterator[str]:
    """A row and what is below it, as items of a list; ``words`` writes texts that have no sign."""
    if row.only_counts:
        yield f"{indent}- {row.unnamed:,} more\n"
        return
    line = code(f"{row.sign} {row.text}") if row.sign in ("+", "-", "~") else words(row.text)
    line += "".join(f" *{prose(text)}*" for text in (row.label, row.until) if text)
    line += f" {code(row.why)}" if row.why else ""  # what a proposer wrote, not what we say
    line += "".join(f" <sub>{code(note)}</sub>" for note in (*row.notes, row.place) if note)
    yield f"{indent}- {line}\n"
    for below in row.below:
        yield from _document_row(below, f"{indent}  ", words)
    if row.names:
        yield f"{indent}  - {code(', '.join(row.names) + (f' and {row.unnamed:,} more' if row.unnamed else ''))}\n"


def _step_rows(document: ReportDocument) -> Iterator[str]:
    for section in document.of(SectionName.STEPS):
        title = f"\n**{section.number}. {section.title} ({section.count:,})**\n\n"
        for row in section.rows:
            yield title + "".join(_document_row(row, words=code))
            title = ""
        for about, remark in section.remarks:
            yield f"- *note on {counted(about, 'step')} above:* {prose(remark)}\n"


def _skipped_rows(document: ReportDocument) -> Iterator[str]:
    for group in (row for section in document.of(SectionName.SKIPPED) for row in section.rows):
        title = f"\n**{prose(group.text)}** ({group.count:,})\n\n"
        for row in group.below:
            yield title + "".join(_document_row(row, words=code))
            title = ""


_SIGNS: Final = {Tone.STOP: "🛑", Tone.CAUTION: "⚠️", Tone.CALM: "✅"}
_LEVELS: Final = {Level.ERROR: "🛑 error", Level.WARNING: "⚠️ warning", Level.NOTE: "note"}
_STANDINGS: Final = {CheckStatus.FAILED: "🛑 failed", CheckStatus.UNDECIDED: "🛑 undecided"}
_DIFFERENCES: Final = {"+": "missing", "-": "undeclared", "~": "different", "!": "skipped"}
_CHANGES: Final = {"+": "➕", "-": "➖"}
#: Characters of a row of the first screen.
_LONGEST_ROW: Final = 250
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


#: GitHub takes 65,536 characters for a comment; some room is left for what a bot adds.
COMMENT_LIMIT: Final = 60_000
#: GitHub takes 1 MiB for everything that is written to a step's summary; some room is left for others.
SUMMARY_LIMIT: Final = 1024 * 1024 - 4096


def comment(report: Report, options: FormatOptions) -> str:
    """A pull request's comment with a hidden marker, by which a bot finds it again; at most 60,000 characters."""
    return document(report, options.marker or default_marker(report), COMMENT_LIMIT, _utf16, options.on_cut)


def step_summary(report: Report, options: FormatOptions) -> str:
    """The summary of a workflow's step: at most 1 MiB of UTF-8."""
    return document(report, default_marker(report), SUMMARY_LIMIT, _utf8, options.on_cut)


def _utf16(text: str) -> int:
    """Characters as JavaScript counts them, never fewer than others do."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def document(
    report: Report, marker: str, limit: int, measure: Measure, on_cut: Callable[[int, int], None] | None = None
) -> str:
    """The text, of at most ``limit`` in the unit of ``measure``; the marker comes first, hidden.

    ``on_cut`` is called as :class:`FormatOptions` says.
    """
    sections = [_first_section(report), *_sections(report)]
    text, shown, rows = fitted(_head(report, marker), sections, _tail(report), limit, measure, _cut_words)
    if shown < rows and on_cut is not None:
        on_cut(shown, rows)
    return text


def _cut_words(shown: int, rows: int) -> str:
    return f"\n**{rows_shown(shown, rows)}; the full report has the others.**\n"


def _head(report: Report, marker: str) -> str:
    conclusion, screen = verdict(report), first_screen(report)
    lines = [
        f"<!-- reconciler:{marker} -->",
        f"### {_SIGNS[conclusion.tone]} {screen.word}: {prose(_short(screen.about))}",
        "",
    ]
    return "\n".join(lines)


def _first_section(report: Report) -> FittedSection:
    """What always stands: the first screen, then a line for each plan, the checks and the findings."""
    rows = list(_first_rows(first_screen(report)))
    lines = ["", *rows] if rows else []
    lines.append("")
    planned = [_plan_line(plan, report) for plan in report.plans[:MOST_PLANS]]
    planned += [_plan_line(plan, report, drift=True) for plan in report.drifts[:MOST_PLANS]]
    lines += [f"- {line}" for line in planned[:MOST_PLANS]]
    lines += [f"- drift of the fleet: {fleet.words} · snapshot {code(cut(fleet.run))}" for fleet in report.fleets]
    if len(report.all_plans) > MOST_PLANS:
        lines.append(f"- {counted(len(report.all_plans) - MOST_PLANS, 'plan')} more, which the full report has")
    if report.checks:
        counts = ", ".join(
            f"{report.standings[status]:,} {status}" for status in CheckStatus if report.standings[status]
        )
        lines.append(f"- {counted(len(report.checks_once), 'check')}: {counts}")
    if report.findings:
        levels = [finding.level for finding in report.new_findings]
        counts = ", ".join(counted(levels.count(level), level) for level in Level if level in levels)
        excepted = f"{len(report.excepted_findings):,} accepted" if report.excepted_findings else ""
        text = ", ".join(filter(None, (counts, excepted)))
        lines += [f"- findings: {text}"] if text else []
    return FittedSection("\n".join(lines) + "\n", (), more("line"))


def _first_rows(screen: FirstScreen) -> Iterator[str]:
    """What a reviewer reads before any fold."""
    for row in screen.access:
        yield f"- {_CHANGES[row.sign]} {prose(_short(row.text))}" if row.text else f"- and {row.unnamed:,} more"
    if screen.owner is not None:
        yield f"- **Owner**: {screen.owner.text}"
    for row in screen.others:
        words = (code if row.sign else prose)(_short(row.sentence)) if row.text else f"{row.unnamed:,} more"
        yield f"- **{row.label}**: {words}{''.join(f' ({prose(note)})' for note in row.notes)}"
    for row in screen.lasting:
        yield f"- **Cannot be undone**: {prose(_short(row.sentence))}"
    if screen.compared is not None:
        yield f"- **Findings**: {screen.compared.text}"
    if screen.approval is not None:
        sign = "🛑 " if screen.approval.sign == "!" else ""
        yield f"- **Approval**: {sign}{prose(screen.approval.text)}"


def _short(text: str) -> str:
    return shortened(text, _LONGEST_ROW)


def _plan_line(plan: Plan, report: Report, *, drift: bool = False) -> str:
    what = "drift of" if drift else "plan for"
    words = plan_verdict(plan, drift=drift).words
    address = report.address_of(plan.terms.cluster)
    which = f"id {code(cut(plan.cluster_id))}" + (f", at {code(cut(address))}" if address else "")
    begin = f"{what} {code(cut(plan.terms.cluster))} ({which}): {prose(words)}"
    return f"{begin} · {plan_counts(plan, drift=drift)} · as of {moment_text(plan.as_of)}"


def _tail(report: Report) -> str:
    if not report.all_plans:
        return ""
    lines = ["", "<details><summary>Approve with --require-id</summary>", ""] if report.plans else []
    # What people approve is what pipelines compare with the plan of the merged commit (action/github.py).
    lines += [
        f"- {code(cut(plan.terms.cluster))} {code(plan_id(plan))}, its change {code(change_id(plan))}"
        for plan in report.plans[:MOST_PLANS]
    ]
    commits = {plan.source_commit: None for plan in report.all_plans[:MOST_PLANS] if plan.source_commit}
    lines += ["", "</details>"] if report.plans else []
    return "\n".join([*lines, *(f"\nManifests of {code(cut(commit))}" for commit in commits), ""])


def _sections(report: Report) -> Iterator[FittedSection]:
    """In the order in which a reviewer needs them: what judges is worth no more than the rules that did."""
    yield from _guardrails(report)
    rows = [f"- {code(refusal.refusing)}: {prose(refusal.message)}{_remedy(refusal)}\n" for refusal in report.refusals]
    if rows:
        yield FittedSection("\n#### Refused\n\n", rows, more("refusal"), weight=4)
    yield from _fleets(report)
    yield from picture_sections(report)
    yield from callout_sections(report)
    yield from drift_sections(report)
    yield from access_sections(report)
    yield from _checks(report.open_checks)
    yield from _findings(report.other_findings)
    yield from _base_section(report)
    yield from warning_sections(report)
    documents = [(plan, plan_document(plan)) for plan in report.plans[:MOST_PLANS]]
    for _, planned in documents:
        yield from note_sections(planned)
    for plan, planned in documents:
        yield from step_sections(plan, planned, many=len(report.all_plans) > 1)


def _guardrails(report: Report) -> Iterator[FittedSection]:
    rows = [
        f"- **{finding.rule.removeprefix('guardrail-')}**: {prose(finding.message)}{at(finding.place)}\n"
        for finding in report.guardrail_findings
    ]
    if rows:
        yield FittedSection("\n#### Guardrails changed\n\n", rows, more("guardrail change"), weight=4)


def _remedy(finding: Finding) -> str:
    return f" <br>{prose(finding.advice)}" if finding.advice else ""


def _fleets(report: Report) -> Iterator[FittedSection]:
    for fleet in report.fleets:
        rows = [_cluster_row(cluster) for cluster in (*fleet.unknown, *fleet.differing)]
        if rows:
            opening = "| cluster | missing | undeclared | topics and others | skipped | first differences |\n"
            opening += "|---|---|---|---|---|---|\n"
            yield FittedSection(
                "\n#### Clusters that differ or are not known\n\n", rows, more("cluster"), opening, weight=4
            )
        doubts = [f"- {code(cut(cluster.cluster))}: {prose(cluster.doubt)}\n" for cluster in fleet.doubtful]
        if doubts:
            yield FittedSection("\n#### Not seen whole\n\n", doubts, more("cluster"), weight=2)


def _cluster_row(cluster: FleetCluster) -> str:
    name, counts = cell(cluster.cluster), cluster.counts
    if counts is None:
        return f"| {name} | | | | | {prose(cluster.words)} |\n"
    lines = "<br>".join(f"{_DIFFERENCES[line.sign]} {cell(line.text)}" for line in cluster.differences)
    return f"| {name} | {counts.creates:,} | {counts.deletes:,} | {counts.others:,} | {counts.left:,} | {lines} |\n"


def _checks(checks: Iterable[Check]) -> Iterator[FittedSection]:
    rows = ["".join(_check(check)) for check in checks]
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


def _base_section(report: Report) -> Iterator[FittedSection]:
    """What the base has as well, folded."""
    rows = [text for row in known_rows(report) for text in _document_row(row)]
    if rows:
        opening = f"<details><summary>Known, as in the base ({len(rows):,})</summary>\n\n"
        yield FittedSection("\n", rows, more("finding"), opening, "\n</details>\n")


def _finding_rows(group: FindingGroup) -> Iterator[str]:
    """What a rule advises stands in its first row."""
    advice = group.advice
    for row in group.rows:
        subject = f"{cell(row.subject)} " if row.subject else ""
        hint = f"<br>{prose(row.advice or advice)}" if row.advice or advice else ""
        where = cell(str(row.place)) if row.place else f"cluster {code(row.cluster)}" if row.cluster else ""
        yield f"| {_LEVELS[group.level]} | {cell(group.rule)} | {subject}{prose(row.message)}{hint} | {where} |\n"
        advice = ""


# Who gains and loses what as a picture: a flowchart that GitHub and GitLab draw from a fence of Markdown.

#: More nodes or edges than these are not read but skipped.
MOST_NODES: Final = 12
MOST_EDGES: Final = 16
_NAMES_SHOWN: Final = 3
_LONGEST: Final = 40
#: A sign that joins two letters of a name: nothing begins or ends with it, for Mermaid or for Markdown in its labels.
_JOINING: Final = re.compile(r"(?<=[A-Za-z0-9])[.-](?=[A-Za-z0-9])")
#: Mermaid puts these around numbers of signs until it has drawn; a name that holds them would be taken for one.
_ITS_OWN: Final = str.maketrans({"\ufb02": "\\ufb02", "\xb6": "\\u00b6"})


def access_chart(rows: Iterable[AccessChange]) -> str:
    """The text of a flowchart, principals to names; empty where nothing moves, or too much for a picture."""
    lines = list(access_lines(rows, most_names=_NAMES_SHOWN, gravest_first=True))
    people = {f"user {with_points(line.who)}": (line.who, "") for line in lines}
    # A right on a user leads to what that user itself gains: whoever has it may act as that one.
    ends = [people.get(_names(line), ("", _names(line))) for line in lines]
    nodes = dict.fromkeys([*people.values(), *ends])
    if not lines or len(nodes) > MOST_NODES or len(lines) > MOST_EDGES:
        return ""
    ids = {node: f"n{number}" for number, node in enumerate(nodes, 1)}
    shown = [f"  {ids[node]}[{_label(with_points(node[0]) or node[1])}]" for node in nodes]
    shown += [_edge(line, ids[line.who, ""], ids[end]) for line, end in zip(lines, ends, strict=True)]
    return "\n".join(["flowchart LR", *shown, ""])


def _names(line: AccessLine) -> str:
    hosts = f" from {line.hosts}" if line.hosts else ""
    return f"{line.names.replace('`', '')}{hosts}"


def _edge(line: AccessLine, start: str, end: str) -> str:
    doubt = "" if line.certain else " perhaps"
    if line.sign == "+":
        return f"  {start} == {_label(f'gains {line.operations}{doubt}')} ==> {end}"
    return f"  {start} -. {_label(f'loses {line.operations}{doubt}')} .-> {end}"


def _label(text: str) -> str:
    """``text`` in quotes: letters and digits as they are, whatever else as its number."""
    shown = safe(text).translate(_ITS_OWN)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    joining = {match.start() for match in _JOINING.finditer(shown)}
    return f'"{"".join(_sign(sign, joined=place in joining) for place, sign in enumerate(shown))}"'


def _sign(sign: str, *, joined: bool) -> str:
    plain = joined or (sign.isascii() and sign.isalnum())
    return sign if plain else f"#{ord(sign)};"


def chart_fence(rows: Sequence[AccessChange]) -> str:
    """The same as a fence of Markdown; empty where there is no picture."""
    chart = access_chart(rows)
    return f"\n```mermaid\n{chart}```\n" if chart else ""
