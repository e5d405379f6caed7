"""lint by the command line: severities, exceptions, what is only counted, and the smaller set."""

import re
from pathlib import Path

import pytest

from reconciler.access.lint import RULES
from reconciler.cli.console import Exit
from tests.integration.asked import CLUSTER, Place, place

EVERYTHING = (
    "TOPIC:L:pay.orders User:a@10.0.0.1 ALLOW READ",
    "TOPIC:L:pay.orders User:a@* ALLOW READ",
    "TOPIC:L:pay.orders User:b@* ALLOW CREATE",
    "TOPIC:L:pay.orders User:b@* DENY CREATE",
    "TOPIC:L:pay.orders User:c@* DENY DELETE",
    "TOPIC:L:pay.orders User:a@localhost ALLOW READ",
    "TOPIC:L:pay.orders User:team-*@* ALLOW READ",
    "GROUP:L:#odd User:a@* ALLOW READ",
    "TOPIC:L:pay.* User:a@* ALLOW READ",
    "GROUP:L:g User:a@* ALLOW CREATE",
    "TOPIC:L:pay.open User:*@* ALLOW READ",
    "TOPIC:L:* User:a@* ALLOW WRITE",
    "CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER",
    "TOPIC:P:pay User:a@* ALLOW READ",
    "TOPIC:L:gone User:d@* ALLOW READ",
    "TOPIC:L:pay.orders User:D@* ALLOW READ",
    "GROUP:L:* User:e@* DENY READ",
    "GROUP:L:h User:e@* ALLOW READ",
    "TOPIC:L:pay.orders User:svc-pay@* ALLOW READ",
    "TOPIC:L:pay.orders User:svc-p\u0430y@* ALLOW READ",
    "GROUP:L:* User:f@* ALLOW ALL",
)
DATED = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: dated}
spec:
  principal: User:dated
  rules:
    - {allow: READ, topics: [pay.a], expires: 2026-03-01}
    - {allow: READ, topics: [pay.b], expires: 2026-03-20}
    - {allow: READ, groups: [dated]}
"""
USERS = """\
apiVersion: reconciler/v1
kind: Users
metadata: {name: pay}
spec:
  users: [{name: a, mechanisms: {SCRAM-SHA-512: {password: "${env:KAFKA_USER_A}", passwordVersion: 1}}}]
"""


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return place(tmp_path, capsys)


def rules(document: dict[str, list[dict[str, list[dict[str, str]]]]], field: str = "findings") -> set[str]:
    return {finding["rule"] for finding in document["states"][0][field]}


def test_every_rule_is_found_by_the_command(here: Place, tmp_path: Path) -> None:
    here.write("dated.yaml", DATED)
    here.write("users.yaml", USERS)
    here.write("cluster.yaml", CLUSTER.replace("include: [", "include: [{principals: User:a}, "))
    with here.operator.open("a", encoding="utf-8") as operator:
        operator.write("  onlyScramLogins: true\n  userSecrets: {envPrefixes: [KAFKA_USER_]}\n")
    here.live(
        *EVERYTHING,
        "TOPIC:L:pay.b User:dated@* ALLOW READ",
        "GROUP:L:* User:b@10.0.0.7 ALLOW READ",
        "TRANSACTIONAL_ID:L:\tx User:a@* ALLOW WRITE",
        topics=("pay.orders", "payroll"),
        users=("a", "B\u00f6"),
    )
    known = tmp_path / "known.txt"
    known.write_text("User:a\nUser:b\n", encoding="utf-8")
    arguments = (str(here.directory), *here.cluster, "--known-principals", str(known), "--as-of", "2026-03-10")
    assert rules(here.document("lint", *arguments)) == {rule.code for rule in RULES}
    ran = here.bare("lint", *arguments)
    assert ran.status == Exit.FAILED_CHECK
    assert "error KA006 breaks-brokers (2)" in ran.out
    assert "User:a ALLOW READ on GROUP `#odd`" in ran.out
    assert "for example: payroll" in ran.out
    assert "    SCRAM user B\u00f6\n        nobody can log in: brokers refuse" in ran.out
    assert "dated.yaml:7:" in ran.out, ran.out


def test_a_rule_is_explained(here: Place) -> None:
    ran = here.bare("help", "ka012")
    assert ran.status == Exit.OK
    assert ran.out.startswith("KA012: open-prefix  warning\n\nThe prefix ends inside a word")
    ran = here.bare("help", "KA999")
    assert ran.status == Exit.USAGE
    assert "KA001 redundant" in ran.err


def test_declared_acls_have_their_lines(here: Place) -> None:
    here.write("everybody.yaml", ACLS.replace("User:a", '"User:*"'))
    ran = here.bare("lint", str(here.directory))
    assert ran.status == Exit.OK
    assert "warning KA009 everybody (1)" in ran.out
    assert "    User:* ALLOW READ on TOPIC pay.a  everybody.yaml:6:34" in ran.out
    assert here.bare("lint", str(here.directory), "--fail-on", "warning").status == Exit.FAILED_CHECK


ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: more}
spec:
  principal: User:a
  rules: [{allow: READ, topics: [pay.a]}]
"""


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("{check: KA013, reason: r, expires: 2026-03-10}", "excepted"),
        ("{check: KA013, reason: r, expires: 2026-03-09}", "finding"),
        ("{check: KA013, topics: {prefix: pay.}, reason: r, expires: 2026-03-10}", "excepted"),
        ("{check: KA013, topics: [pay.b], reason: r, expires: 2026-03-10}", "idle"),
        ("{check: KA010, reason: r, expires: 2026-03-10}", "idle"),
    ],
)
def test_exceptions(here: Place, accepted: str, expected: str) -> None:
    here.write("more.yaml", f"{ACLS}  exceptions: [{accepted}]\n")
    state = here.document("lint", str(here.directory), "--as-of", "2026-03-10")["states"][0]
    assert (len(state["findings"]), len(state["excepted"]), len(state["idleExceptions"])) == {
        "excepted": (0, 1, 0),
        "finding": (1, 0, 0),
        "idle": (1, 0, 1),
    }[expected]
    out = here.bare("lint", str(here.directory), "--as-of", "2026-03-10").out
    assert ("1 excepted" in out) is (expected == "excepted")
    assert ("matches no finding: remove it" in out) is (expected == "idle")


def test_a_exception_of_the_cluster_reaches_what_nobody_declares(here: Place) -> None:
    here.live("TOPIC:L:other User:x@* ALLOW READ")
    assert rules(here.document("lint", str(here.directory), *here.cluster)) == {"KA013", "KA014"}
    text = (here.directory / "cluster.yaml").read_text()
    exception = "{check: KA013, principals: User:x, reason: r, expires: 2099-01-01}"
    here.write("cluster.yaml", f"{text}  exceptions: [{exception}]\n")
    document = here.document("lint", str(here.directory), *here.cluster)
    assert (rules(document), rules(document, "excepted")) == ({"KA014"}, {"KA013"})


def test_what_somebody_else_manages_is_only_counted(here: Place) -> None:
    here.live("GROUP:L:g User:sa-1@* ALLOW CREATE")
    state = here.document("lint", str(here.directory), *here.cluster)["states"][0]
    assert (state["findings"], state["ignored"]) == ([], 1)


def test_a_describe_that_is_spelled_out_is_only_counted(here: Place) -> None:
    here.write("pay.yaml", ACLS.replace("READ", "[WRITE, DESCRIBE]"))
    state = here.document("lint", str(here.directory))["states"][0]
    assert (state["findings"], state["implied"]) == ([], 1)


def test_the_smaller_set(here: Place) -> None:
    here.live("TOPIC:P:pay. User:a@* ALLOW READ", "TOPIC:L:pay.x User:a@* ALLOW READ", "TOPIC:L:o User:b@* ALLOW ALL")
    ran = here.bare("lint", str(here.directory), *here.cluster, "--simplify")
    assert ran.status == Exit.OK
    assert "  - User:a ALLOW READ on TOPIC pay.x" in ran.out
    assert "User:a ALLOW READ on TOPIC PREFIXED pay. says it already" in ran.out
    assert "1 binding of 3 can go; access stays exactly as it is" in ran.out
    state = here.document("lint", str(here.directory), *here.cluster, "--simplify")["states"][0]
    assert [binding["name"] for binding in state["kept"]] == ["o", "pay."]
    assert [removal["binding"]["name"] for removal in state["removed"]] == ["pay.x"]
    here.live("TOPIC:L:x User:a@10.0.0.1 ALLOW WRITE", "TOPIC:L:x User:*@* DENY ALL", "TOPIC:P:x User:b@* ALLOW READ")
    assert (
        "User:* DENY ALL on TOPIC x denies it anyway"
        in here.bare("lint", str(here.directory), *here.cluster, "--simplify").out
    )


def test_a_named_snapshot_needs_no_manifest_of_a_directory_that_does_not_declare_it(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        here.write(
            f"charts/{number}.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {text: 'kind: Cluster, name: other'}\n"
        )
    monkeypatch.chdir(here.directory)
    ran = here.bare("lint", "--cluster", f"other=snapshot:{here.snapshot}")
    assert (ran.status, ran.err) == (Exit.OK, "")
    assert "Snapshot of cluster other." in ran.out
    ran = here.bare("lint", "--cluster", f"prod=snapshot:{here.snapshot}")
    assert ran.status == Exit.ERROR, "it is declared here, so its manifests count"


def test_in_a_directory_of_other_programs_problems_are_folded(here: Place) -> None:
    for number in range(200):
        here.write(f"charts/{number}.yaml", "a: &x 1\nb: *x\nname: chart\n")
    here.write(
        "zz.yaml", "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec: {topics: [{name: ..}]}\n"
    )
    ran = here.bare("lint", str(here.directory))
    assert ran.status == Exit.ERROR
    heading, _, cause, *lines = ran.err.splitlines()
    assert re.fullmatch(r"error: [\d,]+ problems in the manifests", heading)
    assert cause.startswith("Likely cause: this is not a directory of manifests (200 files of other programs)")
    assert len(lines) < 120
    assert "and 190 more; reconciler validate --expand shows each" in ran.err
    assert ran.err.count("error KR043") == 1, "what is rare is not hidden by what is frequent"
    assert len(here.bare("lint", str(here.directory), "--expand").err.splitlines()) > 800


def test_a_snapshot_alone(here: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ran = here.bare("lint", "--cluster", "snapshot:live.json")
    assert ran.status == Exit.OK
    assert "warning KA014 unknown-topic (" in ran.out
    assert "    User:pay ALLOW READ" in ran.out
