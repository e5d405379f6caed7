"""Every format with what is not the report's own held still: version, moment, place in the repository."""

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from reconciler.show.formats import FormatOptions, format_named
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import Report, join, read_result

MOMENT: Final = datetime.datetime(2026, 11, 21, 8, 30, tzinfo=datetime.UTC)
VERSION: Final = "1.2.3"
_OPTIONS: Final = FormatOptions(VERSION, MOMENT, "clusters/demo")


def _format(name: str) -> Callable[[Report], str]:
    return lambda report: format_named(name)(report, _OPTIONS)


#: By the name of the file that holds what is expected.
FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "text.txt": _format("text"),
    "comment.md": _format("markdown"),
    "summary.md": _format("summary"),
    "annotations.txt": _format("github"),
    "sarif.json": _format("sarif"),
    "junit.xml": _format("junit"),
    "gitlab-terraform.json": _format("gitlab-terraform"),
    "gitlab-codequality.json": _format("gitlab-codequality"),
    "events.jsonl": _format("cloudevents"),
    "metrics.prom": _format("prometheus"),
    "page.html": _format("html"),
    "report.json": _format("json"),
    "slack.json": slack_message,
}


def report_of(documents: Iterable[Any]) -> Report:
    """One report of several results."""
    return join(map(read_result, documents))


def bare(html: str) -> str:
    """A page without its style and script, which are files of their own, and their hashes."""
    html = re.sub(r"(?s)(<(style|script)>).*?(</\2>)", r"\1\3", html)
    return re.sub(r"sha256-[A-Za-z0-9+/=]{44}", "sha256-…", html)
