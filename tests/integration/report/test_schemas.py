"""Reports are what their readers expect: SARIF, CloudEvents and JUnit by their schemas, the rest by documentation."""

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from prometheus_client.parser import text_string_to_metric_families

from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS, MOMENT, report_of

_SCHEMAS = Path(__file__).parents[2] / "schemas"


@pytest.fixture(params=["examples", "hostile", "everything", "nothing"])
def any_report(request: pytest.FixtureRequest, documents: dict[str, Any], report: Report, hostile: Report) -> Report:
    everything = report_of(documents.values())
    return {"examples": report, "hostile": hostile, "everything": everything, "nothing": Report()}[str(request.param)]


def test_sarif(any_report: Report) -> None:
    log = json.loads(FORMATS["sarif.json"](any_report))
    schema = json.loads((_SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER).validate(log)
    (run,) = log["runs"]
    moving = [plan for plan in any_report.all_plans if plan.access.access_changes or plan.access.callouts]
    assert len(run["results"]) == len(any_report.findings) + len(moving)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(clusters/demo|live-cluster)/[A-Za-z0-9._~%/-]+", uri)
        assert ".." not in uri.split("/")
        assert re.fullmatch("[0-9a-f]{64}", result["partialFingerprints"]["reconcilerSubject/v1"])


def test_cloudevents(any_report: Report) -> None:
    schema = json.loads((_SCHEMAS / "cloudevents-1.0.json").read_text(encoding="utf-8"))
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    validator = jsonschema.Draft7Validator(schema, format_checker=checker)
    events = [json.loads(line) for line in FORMATS["events.jsonl"](any_report).splitlines()]
    for event in events:
        validator.validate(event)
        assert event["time"] == "2026-11-21T08:30:00Z"
    assert len({event["id"] for event in events}) == len(events)
    steps = sum(len(plan.steps) for plan in any_report.all_plans)
    assert sum(event["type"].endswith(".step.v1") for event in events) == steps


def test_junit(any_report: Report) -> None:
    text = FORMATS["junit.xml"](any_report)
    xmlschema.XMLSchema(_SCHEMAS / "junit-10.xsd").validate(io.StringIO(text))
    moving = [plan for plan in any_report.all_plans if plan.access.access_changes or plan.access.callouts]
    assert text.count("<testcase") == len(any_report.checks) + len(moving)
    assert text.count("<failure") == sum(check.standing.stops for check in any_report.checks)


def test_prometheus(any_report: Report) -> None:
    families = {found.name: found for found in text_string_to_metric_families(FORMATS["metrics.prom"](any_report))}
    for family in families.values():
        assert family.documentation
        labels = {name for sample in family.samples for name in sample.labels}
        assert labels <= {"cluster", "kind", "action", "reason", "change", "level", "standing", "difference"}
    last = families["reconciler_last_success_timestamp_seconds"].samples
    assert {sample.labels["cluster"]: sample.value for sample in last} == dict.fromkeys(
        any_report.clusters, MOMENT.timestamp()
    )
    if any_report.drifts:
        drift = families["reconciler_drift"].samples
        assert sum(sample.value for sample in drift) == sum(len(plan.steps) for plan in any_report.drifts)


def test_gitlab(any_report: Report) -> None:
    counts = json.loads(FORMATS["gitlab-terraform.json"](any_report))
    assert set(counts) == {"create", "update", "delete"}
    assert sum(counts.values()) == sum(len(plan.steps) for plan in any_report.all_plans)
    issues = json.loads(FORMATS["gitlab-codequality.json"](any_report))
    assert {issue["check_name"] for issue in issues} == {one.rule for one in any_report.open_findings}
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_slack(any_report: Report) -> None:
    message = json.loads(FORMATS["slack.json"](any_report))
    assert set(message) == {"text", "blocks"}
    header, *sections = (block["text"] for block in message["blocks"])
    assert len(header["text"]) <= 150
    assert 0 < len(sections) <= 2
    assert all(0 < len(section["text"]) <= 3000 for section in sections)
    assert {part["type"] for part in (header, *sections)} == {"plain_text"}
    assert not re.search(r"[<>]|&(?!amp;|lt;|gt;)", message["text"])
