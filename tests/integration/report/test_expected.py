"""Every format of the same results, byte for byte as it was looked at."""

import datetime
import html
import re
from dataclasses import replace
from typing import Any

import pytest

from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.results import OutputKind, output
from reconciler.show.plan import plan_report
from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS, report_of
from tests.integration.report.written import EXPECTED, written
from tests.worlds import binding


@pytest.mark.parametrize("name", FORMATS)
def test_the_examples(name: str, report: Report) -> None:
    assert written(name, report) == _expected("example", name)


@pytest.mark.parametrize("name", FORMATS)
def test_drift_and_validation(name: str, documents: dict[str, Any]) -> None:
    assert written(name, report_of([documents["drift"], documents["validate"]])) == _expected("drift", name)


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_names(name: str, hostile: Report) -> None:
    assert written(name, hostile) == _expected("hostile", name)


def _expected(kind: str, name: str) -> str:
    """Written again by: python -m tests.integration.report.written."""
    return (EXPECTED / kind / name).read_text(encoding="utf-8")


#: What has room for numbers alone: GitLab's widget takes three, whose report of code quality names what is refused.
_NUMBERS = {"metrics.prom": 'reconciler_left{cluster="c",reason="refused"} 2.0', "gitlab-terraform.json": '"create": 1'}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_refused_is_named_before_anything_calm_is_said(name: str) -> None:
    """The step, what waits for it, guard and remedy; the verdict says so though the rest is one grant."""
    text = FORMATS[name](report_of([output(OutputKind.PLAN, plan_report(_partly_refused()))]))
    if name in _NUMBERS:
        assert _NUMBERS[name] in text
        return
    plain = re.sub(r"[\\`*]|<[^>]+>", "", html.unescape(text))
    for word in ("topic-delete", "gone", "data-loss"):
        assert word in plain, word
    if name in ("comment.md", "summary.md", "page.html", "report.json", "slack.json"):
        told = "Refused: 2 objects that a safety check protects, and 2 changes left out. The rest: access widens"
        assert told in plain
    if name == "text.txt":
        assert text.index("Skipped (2)\n  refused: ") < text.index("2 changes are refused") < text.index("Approve with")


def _partly_refused() -> Plan:
    """One grant, and two topics of which a safety check refuses what is declared."""
    place = Origin("t.yaml", 1, 1)
    topics = {name: Topic(name, 1, 1, {"retention.ms": "1000"}) for name in ("gone", "less")}
    less = replace(topics["less"], configs={"retention.ms": "1"})
    wanted = {"gone": DesiredTopic(topics["gone"], place, absent=True), "less": DesiredTopic(less, place)}
    desired = DesiredState({binding("User:a ALLOW READ on TOPIC kept"): Declaration(place)}, wanted)
    request = Request(datetime.date(2026, 11, 21), Options(allow_deletes=True))
    return propose(desired, ClusterState("id", topics=topics), Terms("c", default_allow=False), request)
