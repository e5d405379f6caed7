"""Limits hold, whatever the plan: comments, summaries, annotations, SARIF; and what is left out is counted."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from reconciler.plan.file import plan_id
from reconciler.show.access_lines import access_lines
from reconciler.show.formats.markdown import COMMENT_LIMIT, SUMMARY_LIMIT
from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS
from tests.integration.report.large import large_report

#: More than any of these formats shows, but for findings in SARIF, which has room for 25,000.
_ROWS = _STEPS = 6_000
_FINDINGS = 8_001


@pytest.fixture(scope="module")
def large() -> Report:
    return large_report(steps=_STEPS, rows=_ROWS, findings=_FINDINGS)


def test_a_comment_says_something_of_everything(large: Report) -> None:
    text = FORMATS["comment.md"](large)
    assert COMMENT_LIMIT * 0.9 < len(text) <= COMMENT_LIMIT
    assert text.startswith("<!-- reconciler:big -->\n### 🛑 Refused: 2,000 checks failed")
    assert "5,940 ACLs to create, 60 ACLs to delete" in text
    for heading in ("What stands out", "Access", "Checks that did not pass", "<summary>Findings", "in order</summary>"):
        assert heading in text
    assert f"`{plan_id(large.plans[0])}`" in text
    assert text.count("<details>") == text.count("</details>")
    _nothing_is_lost(text, large)


@pytest.mark.parametrize(
    "signs", ["`|<@", "\U0001f600", *(pytest.param(one, marks=pytest.mark.long) for one in ("\u4e2d", "a", "\u202e"))]
)
def test_many_plans_of_long_names_fit(signs: str) -> None:
    plan = large_report(steps=20, rows=20, principals=3).plans[0]
    terms = [replace(plan.terms, cluster=f"{number} {signs * 20_000}") for number in range(60)]
    report = Report(tuple(replace(plan, terms=one, source_commit=signs * 9_000) for one in terms[:30]))
    report = replace(report, drifts=tuple(replace(plan, terms=one) for one in terms[30:]))
    text = FORMATS["comment.md"](report)
    assert len(text.encode("utf-16-le")) // 2 <= COMMENT_LIMIT
    assert "40 plans more, which the full report has" in text
    assert text.count("<details>") == text.count("</details>")


def test_a_summary_has_more_room(large: Report) -> None:
    text = FORMATS["summary.md"](large)
    assert SUMMARY_LIMIT * 0.9 < len(text.encode()) <= SUMMARY_LIMIT
    _nothing_is_lost(text, large)


def test_annotations_stay_few(large: Report) -> None:
    lines = FORMATS["annotations.txt"](large).splitlines()
    assert Counter(line.split()[0] for line in lines) == {"::error": 1, "::warning": 9}
    assert "7,993 findings more of this level" in lines[-1]


def test_sarif_stays_within_what_code_scanning_takes() -> None:
    (run,) = json.loads(FORMATS["sarif.json"](large_report(steps=100, rows=100, findings=25_001)))["runs"]
    assert len(run["results"]) == 25_000
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("2 more")
    schema = json.loads((Path(__file__).parents[2] / "schemas/sarif-2.1.0.json").read_text(encoding="utf-8"))
    few = {**run, "results": run["results"][:50]}
    jsonschema.Draft4Validator(schema).validate({"version": "2.1.0", "runs": [few]})


def test_a_message_stays_short(large: Report) -> None:
    header, section, access = (block["text"]["text"] for block in json.loads(FORMATS["slack.json"](large))["blocks"])
    assert len(header) <= 150
    assert len(section) <= 3000
    assert len(access) <= 3000
    assert re.match(r"\d+ of [\d,]+ rows of access shown", access)
    assert "more warnings about access" in access


def test_events_are_all_there(large: Report) -> None:
    types = Counter(json.loads(line)["type"] for line in FORMATS["events.jsonl"](large).splitlines())
    assert types == {
        "reconciler.plan.v1": 1,
        "reconciler.plan.access.v1": _ROWS,
        "reconciler.plan.step.v1": _STEPS,
        "reconciler.finding.v1": _FINDINGS,
        "reconciler.check.v1": 2_000,
    }


def _nothing_is_lost(text: str, report: Report) -> None:
    """Rows that are there and rows that are counted are all rows."""
    shown = {
        "row": text.count("\n| <code>User") + text.count("\n| `User"),
        "grant": text.count("\n- **wildcard**"),
        "check": text.count("\n- 🛑 failed"),
        "finding": text.count("\n| ⚠️ warning"),
    }
    rows = sum(1 for _ in access_lines(report.plans[0].access.access_changes))
    total = {"row": rows, "grant": 500, "check": 2_000, "finding": _FINDINGS}
    for what, count in shown.items():
        found = re.search(rf"\*([\d,]+) {what}[a-z ]* more;", text)
        left_out = int(found[1].replace(",", "")) if found else 0
        assert count > 0, what
        assert count + left_out == total[what], what
