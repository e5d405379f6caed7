"""What becomes of results: checks and their standing, findings and their places, the verdict on all of it."""

import datetime
import html
import json
from dataclasses import replace
from typing import Any

import pytest

from reconciler.model.desired import Origin
from reconciler.plan.file import plan_to_json
from reconciler.results import OutputKind, output
from reconciler.results.findings import CheckStatus, Finding, Level
from reconciler.show.formats import FORMATS, FormatOptions, format_named, junit, sarif
from reconciler.show.formats.document import FittedSection, fitted
from reconciler.show.formats.markdown import default_marker, marker_problem
from reconciler.show.formats.sarif import fingerprint, location, manifests_problem
from reconciler.show.plan import plan_report
from reconciler.show.reading import Report, ResultError, join, read_result
from reconciler.show.verdicts import Tone, verdict
from tests.unit.report.test_lines import plan
from tests.worlds import binding

OPTIONS = FormatOptions("1", datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))
_WAIVER = {"reason": "until it moved", "expires": "2027-01-31", "ticket": "SEC-1"}
_POLICY = {
    "rule": "KT002",
    "name": "partitions",
    "severity": "error",
    "standing": "broken",
    "stops": True,
    "topic": "orders",
    "place": "topics.yaml:3:5",
    "policy": "production",
    "policyRule": "size",
    "message": "partitions is 100; wanted: at most 12",
    "reason": "production topics are small",
    "advice": "declare partitions",
    "exception": None,
}
_CLAIM = {
    "test": "only billing",
    "document": "guardrails",
    "claim": "mustNot",
    "place": "guardrails.yaml:7:5",
    "severity": "error",
    "standing": "failed",
    "stops": True,
    "words": "User:* must not have READ on topic pii",
}


def _validated(**agreed: Any) -> Report:
    cluster = {"bindings": 1, "topics": 1, "expired": 0, "claims": [], "breaches": [], **agreed}
    policies = agreed.get("policies") or {"findings": []}
    stops = any(one["stops"] for one in (*cluster["claims"], *policies["findings"]))
    return read_result(
        {"kind": "Validate", "valid": not (stops or cluster["breaches"]), "clusters": {"prod": cluster}, "problems": []}
    )


@pytest.mark.parametrize(
    ("changed", "standing", "tone"),
    [
        ({}, CheckStatus.FAILED, Tone.STOP),
        ({"standing": "undecided", "reason": "default-allow is not known"}, CheckStatus.UNDECIDED, Tone.STOP),
        ({"severity": "warning", "stops": False}, CheckStatus.WARNED, Tone.CAUTION),
        ({"standing": "undecided", "severity": "warning", "stops": False}, CheckStatus.WARNED, Tone.CAUTION),
        ({"standing": "excepted", "stops": False, "exception": _WAIVER}, CheckStatus.EXCEPTED, Tone.CALM),
        ({"standing": "passed", "stops": False}, CheckStatus.PASSED, Tone.CALM),
    ],
)
def test_a_claim_and_its_standing(changed: dict[str, Any], standing: CheckStatus, tone: Tone) -> None:
    report = _validated(claims=[{**_CLAIM, **changed}])
    claim = next(check for check in report.checks if check.group == "AccessTests")
    assert (claim.standing, claim.where, claim.place) == (
        standing,
        "prod, declared",
        Origin("guardrails.yaml", 7, 5),
    )
    assert verdict(report).tone is tone
    assert len(report.findings) == (0 if standing is CheckStatus.PASSED else 1)
    assert len(report.excepted_findings) == (1 if standing is CheckStatus.EXCEPTED else 0)


def test_a_breach_of_ownership_fails() -> None:
    breach = {"place": "teams/a.yaml:3:5", "kind": "resource", "message": "names what is b's", "advice": "ask b"}
    report = _validated(breaches=[{**breach, "teams": ["a"], "owners": ["b"]}])
    (check,) = report.checks
    assert (check.name, check.standing, check.lines) == (
        "ownership at teams/a.yaml:3:5",
        CheckStatus.FAILED,
        ("ask b",),
    )
    (finding,) = report.findings
    assert (finding.rule, finding.level) == ("ownership-resource", Level.ERROR)
    assert verdict(report).words == "1 check failed"


def test_a_rule_of_a_policy_is_one_check() -> None:
    excepted = {**_POLICY, "policyRule": "names", "standing": "excepted", "stops": False, "exception": _WAIVER}
    found = [_POLICY, {**_POLICY, "topic": "refunds"}, excepted]
    report = _validated(policies={"rules": 5, "topics": 9, "findings": found, "idleExceptions": ["topics.yaml:9:1"]})
    checks = {check.name: check for check in report.checks if check.group == "TopicPolicy"}
    assert {name: check.standing for name, check in checks.items()} == {
        "production/size": CheckStatus.FAILED,
        "production/names": CheckStatus.EXCEPTED,
        "the other rules": CheckStatus.PASSED,
    }
    assert len(checks["production/size"].lines) == 2
    assert checks["the other rules"].message == "9 topics against 3 rules"
    assert [one.rule for one in report.findings] == ["KT002", "KT002", "KT002", "idle-exception"]


def test_a_problem_in_a_manifest_stops() -> None:
    problem = {
        "code": "KR012",
        "severity": "error",
        "file": "a.yaml",
        "line": 3,
        "column": 4,
        "message": "unknown field",
        "advice": "",
        "related": ["b.yaml:1:1"],
    }
    report = read_result({"kind": "Validate", "valid": False, "clusters": {}, "problems": [problem]})
    assert verdict(report).words == "1 error"
    assert verdict(report).tone is Tone.STOP
    (finding,) = report.findings
    assert location(finding, "clusters/prod") == ("clusters/prod/a.yaml", 3, 4)


def test_results_are_joined_and_nothing_is_said_twice() -> None:
    report = _validated(claims=[_CLAIM])
    assert join([report, report]) == report
    assert verdict(join([])).words == "Nothing was found"
    assert verdict(_validated()).words == "Every check holds"


@pytest.mark.parametrize("file", ["/etc/passwd", "../../x", "a/../../x", "", "a\x00b"])
def test_a_place_outside_of_the_manifests_is_no_file(file: str) -> None:
    finding = Finding("KA001", "redundant", Level.WARNING, "x", cluster="a b/..", place=Origin(file, 1, 1))
    assert location(finding, "clusters") == ("live-cluster/a%20b%2F..", 1, 1)
    (run,) = json.loads(sarif.write(Report(findings=(finding,)), replace(OPTIONS, manifests="clusters")))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "live-cluster/a%20b%2F.."}


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Validate", "valid": False, "clusters": {}, "problems": []},
        {"kind": "Test", "passed": False, "clusters": [{"cluster": "prod", "basis": "live", "claims": []}]},
    ],
)
def test_a_result_that_lost_what_is_wrong_is_refused(document: object) -> None:
    with pytest.raises(ResultError, match="holds nothing that is"):
        read_result(document)


def test_an_error_that_no_check_says_fails_the_tests() -> None:
    problem = {"code": "KR001", "severity": "error", "file": "a.yaml", "line": 1, "column": 1, "message": "not YAML"}
    report = read_result({"kind": "Validate", "valid": False, "clusters": {}, "problems": [{**problem, "advice": ""}]})
    assert 'tests="1" failures="1"' in junit.write(report, OPTIONS)
    assert 'name="KR001 a.yaml:1:1"' in junit.write(report, OPTIONS)


def test_a_command_without_a_result_stops_and_says_nothing_of_the_cluster() -> None:
    failed = read_result({"kind": "Failed", "failed": "plan", "status": 1, "cluster": "prod"})
    report = join([failed, _validated()])
    assert verdict(report).tone is Tone.STOP
    (finding,) = report.findings
    assert (finding.rule, finding.cluster, finding.subject) == ("run-failed", "prod", "plan")
    assert failed.clusters == ()


def test_logs_of_two_clusters_are_of_two_categories() -> None:
    # Of GitHub's documentation: what stands behind the last slash belongs to the single run, not to the category.
    report = _validated()
    logs = [json.loads(sarif.write(report, replace(OPTIONS, marker=name))) for name in ("", "a", "b")]
    ids = [log["runs"][0]["automationDetails"]["id"] for log in logs]
    assert [text.rpartition("/")[0] for text in ids] == ["reconciler/prod", "reconciler/a", "reconciler/b"]


def test_a_fingerprint_survives_lines_that_move() -> None:
    there = Finding("KA001", "redundant", Level.WARNING, "x", "y", "prod", "User:a", Origin("a.yaml", 1, 1))
    moved = Finding("KA001", "redundant", Level.WARNING, "x", "z", "prod", "User:a", Origin("b.yaml", 9, 1))
    other = Finding("KA001", "redundant", Level.WARNING, "x", "y", "prod", "User:b", Origin("a.yaml", 1, 1))
    assert fingerprint(there) == fingerprint(moved) != fingerprint(other)


@pytest.mark.parametrize("marker", ["", "a--b", "-a", "a>", "a b", "ä", "x" * 201])
def test_markers_that_could_end_a_comment_are_none(marker: str) -> None:
    assert marker_problem(marker) is not None


def test_the_default_marker_is_the_clusters_or_a_digest() -> None:
    assert default_marker(Report(looked=(("prod-eu", "live"), ("prod-us", "live")))) == "prod-eu-prod-us"
    assert len(default_marker(Report(looked=(("--><script>", "live"),)))) == 16
    assert default_marker(Report()) == "manifests"


@pytest.mark.parametrize(("manifests", "fine"), [("", True), ("a/b", True), ("/a", False), ("a/../..", False)])
def test_where_manifests_may_stand(manifests: str, *, fine: bool) -> None:
    assert (manifests_problem(manifests) is None) is fine


def test_sections_share_what_room_there_is() -> None:
    def left_out(number: int) -> str:
        return f"({number} more)"

    many = FittedSection("A", ["a" * 10] * 100, left_out, weight=3)
    few = FittedSection("B", ["b" * 10] * 3, left_out)
    more = FittedSection("C", ["c" * 10] * 100, left_out)
    text = fitted("head ", [many, few, more], " tail", 500)[0]
    assert len(text) <= 500
    assert text.startswith("head A")
    assert text.endswith(" tail")
    assert text.count("b" * 10) == 3
    shown = text.count("a" * 10), text.count("c" * 10)
    assert shown[0] > 2 * shown[1] > 0
    assert f"({100 - shown[0]} more)" in text
    assert fitted("head ", [many], " tail", 30)[0] == "head A(100 more) tail"
    titles = [replace(many, heading="title" * 10) for _ in range(9)]
    text = fitted("head ", titles, " tail", 300)[0]
    assert len(text) <= 300
    assert text.count("title" * 10) == 4
    assert text.endswith("*5 sections more; the full report has them.*\n tail")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_an_empty_report(name: str) -> None:
    assert isinstance(format_named(name)(Report(), OPTIONS), str)


def test_pages_and_comments_say_where_a_cluster_was_reached_and_no_plan_file_does() -> None:
    made = plan([], [binding("TOPIC:L:orders User:a@* ALLOW READ")])
    hostile = ["broker-1.example:9093", "<b>`\u202eevil:9092", "c:1", "d:1"]
    document = json.loads(json.dumps(output(OutputKind.PLAN, plan_report(made, servers=hostile))))
    assert "broker-1" not in json.dumps(plan_to_json(made))
    page, comment = (format_named(name)(read_result(document), OPTIONS) for name in ("html", "markdown"))
    assert "at <code>broker-1.example:9093, " in page
    comment = html.unescape(comment)
    assert ", at <code>broker-1.example:9093, " in comment
    for text in (html.unescape(page.partition("<main")[0]), comment):
        assert made.cluster_id in text
        assert "c:1 and 1 more" in text
        assert "\u202e" not in text
    assert "<b>`" not in page
    bare = json.loads(json.dumps(output(OutputKind.PLAN, plan_report(made))))
    assert "bootstrapServers" not in bare
    assert ", at " not in format_named("markdown")(read_result(bare), OPTIONS).splitlines()[3]
    document["bootstrapServers"] = "broker"
    with pytest.raises(ResultError, match="an array"):
        read_result(document)


def test_a_test_that_fails_as_declared_and_after_the_plan_is_told_once() -> None:
    excepted = {**_CLAIM, "test": "audited", "standing": "excepted", "stops": False, "exception": _WAIVER}
    claims = [_CLAIM, excepted, {**_CLAIM, "test": "kept", "standing": "passed", "stops": False}]
    planned = read_result({**output(OutputKind.PLAN, plan_report(plan([], []))), "claims": claims, "breaches": []})
    report = join([_validated(claims=claims), planned])
    cluster = planned.clusters[0]
    both = replace(report, checks=tuple(replace(check, cluster=cluster) for check in report.checks))
    text = format_named("markdown")(both, OPTIONS)
    assert text.count("only billing") == text.count("audited") == 1
    assert f"on {cluster}, declared and after the plan" in text.replace("`", "")
    assert "1 check failed" in text
    # The tests of two clusters are two, and each state is a case of its own for a CI system.
    other = tuple(replace(check, cluster="other") for check in both.checks)
    assert format_named("markdown")(replace(both, checks=(*both.checks, *other)), OPTIONS).count("only billing") == 2
    assert format_named("junit")(both, OPTIONS).count('name="only billing') == 2
