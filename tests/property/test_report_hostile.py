"""No input becomes markup, a link, a mention, a workflow command, an escape sequence or a formula, in any format."""

import datetime
import html.parser
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reconciler.model.characters import escape_invisible, safe
from reconciler.plan.file import plan_id
from reconciler.results.findings import Level
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import markdown_cell, markdown_code, markdown_text, unformulaic
from reconciler.show.formats.markdown import comment
from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS
from tests.property.report_values import reports, texts

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_TAGS = {"h3", "h4", "p", "ul", "ol", "li", "code", "strong", "em", "sub", "br", "details", "summary"}
_TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
#: What GitHub and GitLab look for in text that is not code.
_ACTIVE = re.compile(
    r"@|#|://|www\.|[$~^%!\[\]{}<>|`\\]|:[a-z0-9_+-]+:|GH-\d|\b[0-9a-f]{7,40}\b|mailto:", re.IGNORECASE
)
_PAGE_TAGS = {
    *("html", "head", "meta", "title", "style", "script", "body", "header", "nav", "main", "footer", "section"),
    *("article", "h1", "h2", "h3", "h4", "p", "ul", "ol", "li", "dl", "dt", "dd", "div", "span", "code", "a", "b"),
    *("strong", "em", "small", "form", "label", "input", "select", "option", "table", "caption", "colgroup", "col"),
    *("thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "text", "line", "rect", "g", "details"),
    "summary",
}


class _Seen(html.parser.HTMLParser):
    """Tags with their attributes, text that is code and text that is not, cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.code: list[str] = []
        self.text: list[str] = []
        self.cells: list[str] = []
        self.comments: list[str] = []
        self.all: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"br", "meta", "input", "col"}:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "script" in self.open:
            return
        self.all.append(data)
        (self.code if "code" in self.open else self.text).append(data)
        if "td" in self.open:
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def _seen(text: str) -> _Seen:
    seen = _Seen()
    seen.feed(text)
    seen.close()
    assert not seen.open
    return seen


@settings(max_examples=40)
@given(reports)
def test_markdown_is_only_what_the_template_writes(report: Report) -> None:
    seen = _seen(
        _MARKDOWN.render(comment(report, FormatOptions("1", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))))
    )
    assert {tag for tag, _ in seen.tags} <= _TAGS | _TABLE | {"pre"}
    # The only block of code is the picture of who gains what.
    attributes = [found for _, found in seen.tags if found]
    assert attributes == [{"class": "language-mermaid"}] * sum(tag == "pre" for tag, _ in seen.tags)
    (marker,) = seen.comments
    assert re.fullmatch(r" reconciler:[A-Za-z0-9._-]+ ", marker)
    # The last code that is an id is ours: a name may read like one, but stands before it.
    ids = [found for found in seen.code if re.fullmatch(r"plan-[0-9a-f]{64}", found)]
    assert ids[len(ids) - len(report.plans) :] == [plan_id(plan) for plan in report.plans]
    for text in seen.text:
        assert not _ACTIVE.search(text), text
    for cell in seen.cells:
        assert not cell.lstrip().startswith(("=", "+", "-", "@")), cell


@given(texts)
def test_code_in_markdown_shows_what_it_was_given(text: str) -> None:
    for shown, wanted in ((markdown_code(text), safe(text)), (markdown_cell(text), unformulaic(text))):
        seen = _seen(_MARKDOWN.render(f"| head |\n|---|\n| x {shown} y |\n\n- z {shown}\n"))
        assert "".join(seen.code) == wanted * 2
        assert Counter(tag for tag, _ in seen.tags)["code"] == 2
        assert {tag for tag, _ in seen.tags} <= _TABLE | {"ul", "li", "code"}


@given(texts)
def test_sentences_in_markdown_show_their_words(text: str) -> None:
    seen = _seen(_MARKDOWN.render(f"- z {markdown_text(text)}\n"))
    assert re.sub(r"[`\s]+", "", "".join(seen.all)) == re.sub(r"[`\s]+", "", f"z {safe(text)}")
    assert {tag for tag, _ in seen.tags} <= {"ul", "li", "code"}


@settings(max_examples=20)
@given(reports)
def test_the_page_is_only_what_the_template_writes(report: Report) -> None:
    text = FORMATS["page.html"](report)
    seen = _seen(text)
    counts = Counter(tag for tag, _ in seen.tags)
    assert set(counts) <= _PAGE_TAGS
    assert (counts["script"], counts["style"], counts["title"] - text.count("<g>")) == (1, 1, 1)
    assert not seen.comments
    for tag, attributes in seen.tags:
        assert not any(name.startswith("on") or name in {"style", "src", "srcset", "action"} for name in attributes)
        if tag == "a":
            assert re.fullmatch(r"#[a-z0-9-]+", attributes["href"] or "")
        if "id" in attributes:
            assert re.fullmatch(r"[a-z0-9-]+", attributes["id"] or "")
    for cell in seen.cells:
        assert not cell.lstrip().startswith(("=", "-", "@")), cell


@settings(max_examples=20)
@given(reports)
def test_no_format_steers_a_terminal_or_a_build_server(report: Report) -> None:
    for name, render in FORMATS.items():
        text = render(report)
        text.encode()
        body = text if not name.endswith(".html") else re.sub(r"(?s)<(style|script)>.*?</\1>", "", text)
        lines = body.split("\n")
        assert all(escape_invisible(line.replace("⚠️", "")) == line.replace("⚠️", "") for line in lines), name
        assert not re.search(r"##(\[|vso|teamcity)", body), name
        if name != "annotations.txt":
            assert not any(line.lstrip().startswith("::") for line in lines), name


@settings(max_examples=30)
@given(reports)
def test_annotations_are_one_line_each(report: Report) -> None:
    lines = FORMATS["annotations.txt"](report).splitlines()
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert found, line
        for value in found[2].split(","):
            assert re.fullmatch(r"(file|line|col|title)=[^\r\n]*", value), line
    levels = Counter(line.split(" ")[0] for line in lines)
    assert all(count <= 10 for count in levels.values())


@settings(max_examples=20)
@given(reports)
def test_documents_have_as_much_in_them_as_the_report(report: Report) -> None:
    cases = ET.fromstring(FORMATS["junit.xml"](report)).iter("testcase")  # noqa: S314 - our own text
    errors = [one for one in report.open_findings if one.level is Level.ERROR and not one.checked]
    told = [plan for plan in report.all_plans if plan.access.callouts or plan.access.access_changes]
    assert sum(1 for _ in cases) == len(report.checks) + len(errors) + len(told)
    (run,) = json.loads(FORMATS["sarif.json"](report))["runs"]
    assert len(run["results"]) == len(report.findings) + len(told)
    for line in FORMATS["events.jsonl"](report).splitlines():
        assert json.loads(line)["specversion"] == "1.0"
    for name in ("report.json", "slack.json", "gitlab-terraform.json", "gitlab-codequality.json"):
        json.loads(FORMATS[name](report))


@given(st.lists(texts, max_size=3))
def test_metrics_have_nothing_but_the_cluster_from_outside(clusters: list[str]) -> None:
    report = Report(looked=tuple((cluster, "live") for cluster in clusters))
    samples = [line for line in FORMATS["metrics.prom"](report).splitlines() if not line.startswith("#")]
    assert len(samples) >= len(set(clusters))
    for sample in samples:
        assert re.fullmatch(r'[a-z_]+\{cluster="(?:[^"\\]|\\.)*"(?:,[a-z]+="[a-z-]+")*\} [0-9.e+]+', sample), sample
