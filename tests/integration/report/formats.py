"""Every format with what is not the report's own held still: version, moment, place in the repository."""

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from reconciler.report.formats.annotations import annotations
from reconciler.report.formats.cloudevents import cloudevents
from reconciler.report.formats.document import report_json
from reconciler.report.formats.gitlab import code_quality, terraform_counts
from reconciler.report.formats.junit import junit
from reconciler.report.formats.markdown import comment, step_summary
from reconciler.report.formats.prometheus import prometheus
from reconciler.report.formats.sarif import sarif
from reconciler.report.formats.slack import slack_message
from reconciler.report.formats.text import report_lines
from reconciler.report.page import page
from reconciler.report.results import Report, join, read_result

MOMENT: Final = datetime.datetime(2026, 11, 21, 8, 30, tzinfo=datetime.UTC)
VERSION: Final = "1.2.3"
#: By the name of the file that holds what is expected.
FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "text.txt": lambda report: "".join(f"{line}\n" for line in report_lines(report)),
    "comment.md": comment,
    "summary.md": step_summary,
    "annotations.txt": lambda report: annotations(report, "clusters/demo"),
    "sarif.json": lambda report: sarif(report, VERSION, "clusters/demo"),
    "junit.xml": junit,
    "gitlab-terraform.json": terraform_counts,
    "gitlab-codequality.json": lambda report: code_quality(report, "clusters/demo"),
    "events.jsonl": lambda report: cloudevents(report, MOMENT),
    "metrics.prom": lambda report: prometheus(report, MOMENT),
    "page.html": lambda report: page(report, VERSION),
    "report.json": report_json,
    "slack.json": slack_message,
}


def report_of(documents: Iterable[Any]) -> Report:
    """One report of several results."""
    return join(map(read_result, documents))


def bare(html: str) -> str:
    """A page without its style and script, which are files of their own, and their hashes."""
    html = re.sub(r"(?s)(<(style|script)>).*?(</\2>)", r"\1\3", html)
    return re.sub(r"sha256-[A-Za-z0-9+/=]{44}", "sha256-…", html)
