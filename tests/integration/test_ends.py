"""Ends that manifests declare, judged before they come: by plan, validate, test and every report of a plan."""

from pathlib import Path
from typing import Final

import pytest

from reconciler.cli.main import run as reconciler
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import binding

_CLUSTER: Final = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
_ACLS: Final = """apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:mallory
  rules: [%s]
"""
_TESTS: Final = """apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec: {tests: [%s]}
"""
_ALLOW: Final = "{allow: READ, topics: payroll.salaries}"
_DENY: Final = "{deny: ALL, topics: payroll.salaries, expires: 2027-02-22}"
_MUST_NOT: Final = '{name: only payroll, principals: ["User:*"], mustNot: READ, topics: {prefix: payroll.}'
_WHEN: Final = "on 2027-02-23, when a DENY ends"
_AT: Final = ("--cluster", "c=snapshot:live.json", "--connections", "operator.yaml", "--as-of", "2026-11-26")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "c.yaml").write_text(_CLUSTER, encoding="utf-8")
    (tmp_path / "operator.yaml").write_text(_CLUSTER, encoding="utf-8")
    return tmp_path


def write(place: Path, *rules: str, tests: str = "", live: tuple[str, ...] = ()) -> None:
    (place / "m" / "a.yaml").write_text(_ACLS % ", ".join(rules), encoding="utf-8")
    (place / "m" / "t.yaml").write_text(_TESTS % tests if tests else "", encoding="utf-8")
    state = ClusterState("c", frozenset(map(binding, live)))
    (place / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")


def test_a_grant_behind_a_deny_that_ends_is_new_access(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, _ALLOW, _DENY)
    assert reconciler(["plan", "m", *_AT, "--fail-on", "new-access"]) == 3
    said = capsys.readouterr().out
    assert f"User:mallory gains access {_WHEN}" in said
    assert f"+ User:mallory: READ on topic `payroll.salaries`  ({_WHEN})" in said
    reconciler(["plan", "m", *_AT, "-q"])
    assert f"Access widens {_WHEN}" in capsys.readouterr().out


def test_an_end_that_is_put_on_a_live_deny_is_new_access_though_there_is_nothing_to_do(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = ("User:mallory ALLOW READ on TOPIC payroll.salaries", "User:mallory DENY ALL on TOPIC payroll.salaries")
    write(place, _ALLOW, _DENY.replace(", expires: 2027-02-22", ""), live=live)
    assert reconciler(["plan", "m", *_AT, "--fail-on", "new-access"]) == 0
    assert "gains" not in capsys.readouterr().out
    write(place, _ALLOW, _DENY, live=live)
    assert reconciler(["plan", "m", *_AT, "--fail-on", "new-access"]) == 3
    said = capsys.readouterr().out
    assert "Nothing to do." in said
    assert f"User:mallory gains access {_WHEN}" in said


@pytest.mark.parametrize("output", ["markdown", "html", "json"])
def test_every_report_shows_the_end(place: Path, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, _ALLOW, _DENY)
    assert reconciler(["plan", "m", *_AT, "--output", "json"]) == 0
    (place / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert reconciler(["report", "plan.json", "-o", output]) == 0
    said = capsys.readouterr().out.replace("`", "")
    assert "Nobody's access changes" not in said
    # A page begins with who gains it.
    assert f"{'User:mallory gains access' if output == 'html' else 'Access widens'} {_WHEN}" in said
    assert ("2027-02-23" if output == "json" else _WHEN) in said


@pytest.mark.parametrize("command", ["plan", "validate", "test"])
def test_a_claim_that_an_end_breaks_fails_before(place: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, _ALLOW, _DENY, tests=f"{_MUST_NOT}}}")
    arguments = _AT if command == "plan" else _AT[-2:]
    assert reconciler([command, "m", *arguments]) == 3
    assert f"it holds now, and no longer {_WHEN}:" in capsys.readouterr().out
    accepted = "{check: only payroll, reason: r, expires: 2027-01-31}"
    write(place, _ALLOW, _DENY, tests=f"{_MUST_NOT}}}], exceptions: [{accepted}")
    assert reconciler([command, "m", *arguments]) == 0
    assert "accepted until 2027-01-31" in capsys.readouterr().out
    write(place, _ALLOW, _DENY.replace(", expires: 2027-02-22", ""), tests=f"{_MUST_NOT}}}")
    assert reconciler([command, "m", *arguments]) == 0


def test_what_is_demanded_of_access_that_ends_fails_before(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    must = "{name: flow, principals: [User:mallory], must: READ, topics: payroll.salaries}"
    write(place, _ALLOW.replace("}", ", expires: 2027-02-22}"), tests=must)
    assert reconciler(["validate", "m", *_AT[-2:]]) == 3
    assert "it holds now, and no longer on 2027-02-23, when an ALLOW ends:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("end", "goes_on"), [("", True), (", expires: 2027-02-01", True), (", expires: 2027-01-31", False)]
)
def test_what_goes_on_when_a_consent_ends_is_said_with_the_day(
    place: Path, end: str, *, goes_on: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "m" / "owners.yaml").write_text(
        """apiVersion: reconciler/v1
kind: Ownership
metadata: {name: o}
spec:
  owners:
    - {team: web, files: a.yaml, principals: User:mallory}
    - team: pay
      files: pay.yaml
      topics: {prefix: payroll.}
      consents: [{to: web, operations: READ, topics: payroll.salaries, expires: 2027-01-31}]
""",
        encoding="utf-8",
    )
    write(place, _ALLOW.replace("}", f"{end}}}"))
    assert reconciler(["validate", "m", *_AT[-2:]]) == 0
    said = "it ends 2027-01-31, and then the rule at a.yaml:6:33 is a breach"
    assert (said in capsys.readouterr().out) is goes_on


def test_a_guard_refuses_power_over_the_cluster_that_a_deny_holds_back_for_a_while(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(place, "{allow: ALTER, cluster: true}", "{deny: ALL, cluster: true, expires: 2027-02-22}")
    assert reconciler(["plan", "m", *_AT]) == 5
    assert f"the right to change every ACL, {_WHEN}" in capsys.readouterr().out
    assert reconciler(["plan", "m", *_AT, "--accept", "cluster-alter=User:mallory"]) == 0
