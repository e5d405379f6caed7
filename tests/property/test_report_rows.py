"""One document, many formats: what is said of a plan, a check or a finding has the same words in each of them."""

import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from markdown_it import MarkdownIt

from reconciler.model.characters import safe
from reconciler.plan.proposal import Plan
from reconciler.results import OutputKind, output
from reconciler.results.findings import Check, Finding, Level, finding_groups
from reconciler.show.access_lines import AccessLine
from reconciler.show.document import ReportDocument, Row, SectionName
from reconciler.show.plan import drift_document, plan_document, plan_report
from reconciler.show.reading import Report
from reconciler.show.review import access_digest, access_lines_of
from tests.integration.report.formats import FORMATS, report_of
from tests.property.report_values import reports
from tests.property.transitions import Transition, transitions
from tests.unit.report.test_lines import plan
from tests.worlds import bindings

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
#: A report of every example is written in eight formats: to look for a smaller one would take minutes.
_FEW = [Phase.explicit, Phase.reuse, Phase.generate]
#: Formats that have a place for every row of a plan.
WHOLE = ("text.txt", "comment.md", "summary.md", "page.html")


def squeezed(text: str) -> str:
    """What is left of a text without what tells names from words, and columns from each other."""
    return re.sub(r"[`\"\s]+", "", text.replace("\N{MINUS SIGN}", "-"))


def read(name: str, text: str) -> str:
    """A format's text as a person or a program reads it: nothing escaped, no markup."""
    match name.rpartition(".")[2]:
        case "md":
            text = html.unescape(re.sub(r"<[^>]*>", "\n", _MARKDOWN.render(text)))
        case "html":
            text = re.sub(r"(?s)<(style|script)>.*?</\1>", "", text)
            text = html.unescape(re.sub(r"<[^>]*>", "\n", text))
        case "xml":
            found = ET.fromstring(text).iter()  # noqa: S314 - our own text
            text = "\n".join(word for one in found for word in (*one.attrib.values(), one.text or ""))
        case "json":
            text = "\n".join(_texts(json.loads(text)))
    return squeezed(text)


def _texts(value: Any) -> Iterator[str]:
    """Every text of a document; of SARIF without its escapes."""
    if isinstance(value, str):
        yield re.sub(r"\\([\\\[\]])", r"\1", value).replace("{{", "{").replace("}}", "}")
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def words(row: Row) -> Iterator[str]:
    """All that a row says, in the order in which it says it."""
    yield f"{row.sign} {row.text}" if row.sign in ("+", "-", "~") else row.text
    yield from (row.label, row.until, row.place, row.why, *row.notes)
    for below in row.below:
        yield from words(below)
    if row.names:
        yield ", ".join(row.names)


def missing(text: str, said: Iterable[str]) -> list[str]:
    """What a format does not say."""
    return [one for one in said if squeezed(safe(one)) not in text]


def out_of_order(text: str, said: Iterable[str]) -> list[str]:
    """What a format does not say behind what it says before."""
    position, found = 0, []
    for one in said:
        at = text.find(squeezed(safe(one)), position)
        if at < 0:
            found.append(one)
        position = max(at, position)
    return found


def documents(report: Report, name: str) -> Iterator[ReportDocument]:
    """What plans and drifts say, with as many rows as a format has room for."""
    yield from (plan_document(one, fold=name != "page.html") for one in report.plans)
    if name in ("text.txt", "comment.md", "summary.md"):
        yield from map(drift_document, report.drifts)


def shown(name: str, report: Report) -> Iterator[tuple[SectionName, list[str]]]:
    """What each section says in the order of its rows; access is compared by its columns."""
    for document in documents(report, name):
        for section in document.sections:
            if section.part is SectionName.ACCESS or (section.part is SectionName.NEXT and name != "text.txt"):
                continue
            # What is below a row may stand in another column; rows keep their order.
            yield section.part, [next(words(row)) for row in section.rows if row.text]
            rows = [one for row in section.rows for one in words(row)] + [text for _, text in section.remarks]
            yield section.part, rows
            yield section.part, [section.title or section.closing]
            if section.part is SectionName.STEPS and name in ("text.txt", "page.html"):
                yield section.part, [section.closing]


def columns(line: AccessLine) -> tuple[str, ...]:
    return (line.operations, line.names, line.hosts, *line.topics.split(" known: "), line.note)


@settings(max_examples=8, phases=_FEW)
@given(transitions())
def test_every_format_has_each_row_of_a_plan_and_of_drift(transition: Transition) -> None:
    """A title is a row as well: what a section is about is said by nobody else."""
    for found in (transition.plan(), transition.plan(default_allow=None, allow_deletes=False)):
        for kind in (OutputKind.PLAN, OutputKind.DRIFT):
            same_rows(report_of([output(kind, plan_report(found))]))


def same_rows(report: Report) -> None:
    for name in WHOLE:
        text = read(name, FORMATS[name](report))
        for part, said in shown(name, report):
            assert missing(text, said) == [], (name, part)
        for part, said in list(shown(name, report))[::3]:
            assert out_of_order(text, said) == [], (name, part)
        for one in report.all_plans:
            for line in access_lines_of(one.access, expand=False):
                who = line.name if name == "text.txt" else line.who
                assert missing(text, (who, *columns(line))) == [], name
            assert missing(text, (text for row in one.access.callouts for text in (row.rule, row.text))) == [], name
    for name in ("junit.xml", "sarif.json", "slack.json"):
        text = read(name, FORMATS[name](report))
        assert missing(text, access_digest(report.all_plans, most=24, room=2_000).lines) == [], name


def test_of_many_rows_every_format_shows_the_same_and_counts_the_others() -> None:
    wanted = [*(f"TOPIC:L:t{n} User:a{n:02}@* ALLOW READ" for n in range(60)), "TOPIC:L:* User:zz@* ALLOW WRITE"]
    wanted += [f"GROUP:P:g{n:02} User:a{n:02}@10.0.0.{n} DENY READ" for n in range(50)]
    found = plan([], bindings(*wanted))
    for kind in (OutputKind.PLAN, OutputKind.DRIFT):
        same_steps(report_of([output(kind, plan_report(found))]), found)


def same_steps(report: Report, found: Plan) -> None:
    """Each row, and behind the first names how many have none."""
    for name in ("text.txt", "comment.md", "summary.md"):
        text = read(name, FORMATS[name](report))
        for document in documents(report, name):
            rows = [row for section in document.of(SectionName.STEPS, SectionName.DIFFERENCES) for row in section.rows]
            assert sum(len(row.names) + row.unnamed for row in rows) == len(found.steps) - 1, "one stands out"
            said = [word for row in rows for word in (f"{row.sign} {row.text}", *_first_names(row))]
            assert out_of_order(text, said) == [], name


def _first_names(row: Row) -> list[str]:
    more = f" and {row.unnamed:,} more" if row.unnamed else ""
    return [", ".join(row.names) + more] if row.names else []


@settings(max_examples=10, phases=_FEW)
@given(reports)
def test_every_format_has_each_check_and_finding(report: Report) -> None:
    """Texts of any sort: what is open, what was accepted, and what stops."""
    for name in ("text.txt", "comment.md", "summary.md", "page.html", "junit.xml"):
        text = read(name, FORMATS[name](report))
        for check in report.broken_checks:
            if name == "junit.xml" or not check.reported_elsewhere:
                assert missing(text, check_words(check)) == [], name
    for name in ("text.txt", "comment.md", "summary.md", "page.html"):
        text = read(name, FORMATS[name](report))
        for group in finding_groups(report.other_findings):
            said = [group.rule, *(word for row in group.rows for word in (row.subject, row.message))]
            assert missing(text, said) == [], name
    for name, some in (
        ("sarif.json", report.findings),
        ("gitlab-codequality.json", report.open_findings),
        ("annotations.txt", [one for one in report.new_findings if report.new_findings.index(one) < 8]),
    ):
        text = read(name, FORMATS[name](report)).replace("%25", "%")
        for finding in some:
            assert missing(text, finding_words(finding)) == [], name


def check_words(check: Check) -> list[str]:
    return [str(check.standing), check.name, check.message, *check.lines]


def finding_words(finding: Finding) -> list[str]:
    return [finding.subject, finding.message]


@pytest.mark.parametrize("level", Level)
def test_what_a_format_has_no_room_for_is_counted(level: Level) -> None:
    """In the words of every format, with the number."""
    report = Report(findings=tuple(Finding(f"R{n:02}", "rule", level, f"message {n}") for n in range(60)))
    assert "52 findings more of this level" in FORMATS["annotations.txt"](report)
    for name in ("comment.md", "summary.md", "page.html", "sarif.json", "gitlab-codequality.json"):
        text = FORMATS[name](report)
        assert all(one.message in text for one in report.findings), name
