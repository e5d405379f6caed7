"""AccessTests and Ownership by the command line: validate and test, offline and on a cluster."""

from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from tests.integration.asked import PAY, Place, place

TESTS = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guardrails}
spec:
  tests:
"""


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return place(tmp_path, capsys)


def guard(here: Place, *tests: str) -> str:
    here.write("guardrails.yaml", TESTS + "".join(f"    - {test}\n" for test in tests))
    return str(here.directory)


HOLD = [
    "{name: t, principals: User:pay, must: [READ, WRITE], topics: pay.orders}",
    "{name: t, principals: User:admin, must: ALL, topics: {any: true}, cluster: true}",
    '{name: t, principals: "User:p*", must: READ, groups: pay}',
    '{name: t, principals: "User:*", except: User:pay, mustNot: ALL, topics: {any: true}}',
    "{name: t, principals: User:x, mustNot: [READ, WRITE], topics: {prefix: pay.}}",
    "{name: t, onlyReaders: User:pay, topics: {any: true}, groups: {any: true}}",
    '{name: t, onlyWriters: "User:p*", topics: {prefix: pay.}}',
    "{name: t, onlyAdmins: [], topics: {any: true}}".replace("[]", "User:nobody"),
]
BREAK = [
    (
        "{name: t, principals: User:pay, must: DELETE, topics: pay.orders}",
        "create User:pay ALLOW DELETE on TOPIC pay.ord",
    ),
    (
        "{name: t, principals: User:pay, must: READ, topics: {prefix: pay.}}",
        "create User:pay ALLOW READ on TOPIC PREFIX",
    ),
    ('{name: t, principals: "User:*", must: READ, topics: pay.orders}', "User:anyone-else"),
    (
        '{name: t, principals: "User:p*", mustNot: READ, topics: {any: true}}',
        "delete User:pay ALLOW READ on TOPIC pay.o",
    ),
    ("{name: t, onlyReaders: User:x, groups: {prefix: p}}", "delete User:pay ALLOW READ on GROUP pay"),
    ("{name: t, onlyAdmins: User:x, topics: {any: true}, includeSuperUsers: true}", "because it is a super user"),
]


@pytest.mark.parametrize("test", HOLD)
def test_claims_that_hold(here: Place, test: str) -> None:
    ran = here.bare("test", guard(here, test), "--all")
    assert ran.status == Exit.OK, ran.out
    assert "passed  t  guardrails.yaml:6:" in ran.out
    assert "As declared for cluster prod" in ran.out


@pytest.mark.parametrize(("test", "expected"), BREAK)
def test_claims_that_do_not_hold(here: Place, test: str, expected: str) -> None:
    ran = here.bare("test", guard(here, test))
    assert ran.status == Exit.FAILED_CHECK
    assert ran.out.count("failed  t  guardrails.yaml:6:") == 1
    assert expected in ran.out
    assert here.bare("validate", str(here.directory)).status == Exit.FAILED_CHECK


def test_a_failure_names_the_request_the_binding_and_its_line(here: Place) -> None:
    directory = guard(here, "{name: private, onlyReaders: User:x, topics: {prefix: pay.}}")
    claim = here.document("test", directory)["clusters"][0]["claims"][0]
    assert claim["standing"] == "failed"
    witness = claim["witness"]
    assert (witness["principal"], witness["operation"], witness["resourceName"]) == ("User:pay", "READ", "pay.orders")
    assert witness["bindings"][0]["name"] == "pay.orders"
    assert witness["origins"] == ["pay.yaml:7:39"]
    assert [binding["operation"] for binding in claim["mending"]["delete"]] == ["READ"]


def test_several_causes_are_mended_together(here: Place) -> None:
    here.live(
        "TOPIC:P:pay. User:a@* ALLOW READ",
        "TOPIC:L:pay.x User:b@* ALLOW ALL",
        "CLUSTER:L:kafka-cluster User:c@* ALLOW ALTER",
    )
    directory = guard(here, "{name: t, onlyReaders: User:x, topics: {prefix: pay.}}")
    out = here.bare("test", directory, *here.cluster, "--as-is").out
    assert "it would hold after all of:" in out
    for line in ("delete User:a ALLOW READ", "delete User:b ALLOW ALL", "delete User:c ALLOW ALTER"):
        assert line in out


def test_on_a_cluster_what_is_in_scope_is_as_declared(here: Place) -> None:
    directory = guard(here, "{name: t, onlyReaders: User:pay, topics: {any: true}}")
    inside, outside = "TOPIC:L:pay.x User:a@* ALLOW READ", "TOPIC:L:other User:b@* ALLOW READ"
    here.live(inside)
    assert here.bare("test", directory, *here.cluster).status == Exit.OK
    assert here.bare("test", directory, *here.cluster, "--as-is").status == Exit.FAILED_CHECK
    here.live(outside)
    ran = here.bare("test", directory, *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert "User:b may READ topic other" in ran.out
    assert here.bare("test", directory, *here.cluster, "--offline").status == Exit.OK


def test_a_plan_that_breaks_a_claim_is_neither_saved_nor_applied(here: Place, tmp_path: Path) -> None:
    """Decided on the state that the plan makes: what the manifests do not declare, and the plan leaves, counts."""
    here.live("TOPIC:L:pay.x User:a@* ALLOW READ")
    directory = guard(here, "{name: t, onlyReaders: User:pay, topics: {any: true}}")
    saved = tmp_path / "plan.json"
    ran = here.bare("plan", directory, *here.cluster, "--out", str(saved))
    assert ran.status == Exit.FAILED_CHECK
    assert "User:a may READ topic pay.x" in ran.out
    assert "policy checks failed: the plan was not saved" in ran.err
    assert not saved.exists()
    document = here.document("plan", directory, *here.cluster)
    assert [claim["standing"] for claim in document["claims"]] == ["failed"]
    ran = here.bare("apply", directory, *here.cluster, "--yes")
    assert ran.status == Exit.FAILED_CHECK
    assert "nothing was sent" in ran.err
    ran = here.bare("plan", directory, *here.cluster, "--allow-deletes", "--out", str(saved))
    assert ran.status == Exit.OK
    assert "1 claim about access: 1 passed" in ran.out
    assert here.bare("apply", directory, *here.cluster, "--allow-deletes", "--yes").status == Exit.OK


def test_apply_decides_the_claims_again(here: Place, tmp_path: Path) -> None:
    """What was agreed after a plan was saved counts, too."""
    here.live("TOPIC:L:pay.orders User:pay@* ALLOW READ")
    saved = tmp_path / "plan.json"
    assert here.bare("plan", str(here.directory), *here.cluster, "--out", str(saved)).status == Exit.OK
    guard(here, "{name: t, onlyWriters: User:x, topics: {any: true}}")
    ran = here.bare("apply", str(saved), str(here.directory), *here.cluster, "--yes")
    assert ran.status == Exit.FAILED_CHECK, ran.err
    assert "User:pay may WRITE topic pay.orders" in ran.err
    assert "nothing was sent" in ran.err


def test_new_access_can_fail_a_pipeline(here: Place) -> None:
    here.live("TOPIC:L:pay.orders User:pay@* ALLOW READ", "GROUP:L:pay User:pay@* ALLOW READ")
    arguments = ("plan", str(here.directory), *here.cluster)
    assert here.document(*arguments)["accessChange"] == "widening"
    ran = here.bare(*arguments, "--fail-on", "new-access")
    assert ran.status == Exit.FAILED_CHECK
    assert "+ User:pay: WRITE on topic `pay.orders`" in ran.out
    here.live("TOPIC:L:pay.orders User:pay@* ALLOW ALL", "GROUP:L:pay User:pay@* ALLOW READ")
    ran = here.bare(*arguments, "--allow-deletes", "--fail-on", "new-access")
    assert ran.status == Exit.OK
    assert "User:pay loses access" in ran.out


def test_what_is_unknown_is_undecided_and_no_pass(here: Place) -> None:
    text = (here.directory / "cluster.yaml").read_text()
    here.write("cluster.yaml", text.replace("  allowEveryoneIfNoAclFound: false\n", ""))
    ran = here.bare("test", guard(here, "{name: t, onlyReaders: User:pay, topics: {any: true}}"))
    assert ran.status == Exit.FAILED_CHECK
    assert "undecided  t" in ran.out
    assert "allowEveryoneIfNoAclFound" in ran.out


DUTIES = "{name: two, principals: 'User:*', separate: [{can: READ, topics: pay.orders}, {can: READ, groups: pay}]}"


def test_duties_that_somebody_holds_together_fail_with_each_way(here: Place) -> None:
    ran = here.bare("test", guard(here, DUTIES))
    assert ran.status == Exit.FAILED_CHECK
    assert "claimed: User:* must not be able to do both READ on topic pay.orders and READ on group pay" in ran.out
    assert "User:pay could do both: READ topic pay.orders (pay.yaml:7:39); READ group pay (pay.yaml:8:30)" in ran.out
    assert "it would hold after: delete User:pay ALLOW READ on " in ran.out
    assert "perhaps" not in ran.out
    (breaking,) = here.document("test", str(here.directory))["clusters"][0]["claims"][0]["breaking"]
    assert (breaking["principal"], breaking["certain"]) == ("User:pay", True)


def test_who_holds_duties_only_perhaps_is_said_with_the_reason(here: Place) -> None:
    text = (here.directory / "cluster.yaml").read_text()
    here.write("cluster.yaml", text.replace("  allowEveryoneIfNoAclFound: false\n", ""))
    ran = here.bare("test", guard(here, DUTIES))
    assert "failed  two" in ran.out
    assert "User:pay could do both" in ran.out
    assert "everybody whom no ACL names could perhaps do both" in ran.out
    assert "perhaps: it depends on allow.everyone.if.no.acl.found" in ran.out
    assert "undecided" not in ran.out


def test_a_claim_about_nobody_is_undecided(here: Place) -> None:
    ran = here.bare("test", guard(here, '{name: t, principals: "User:team-*", must: READ, topics: a}'))
    assert ran.status == Exit.FAILED_CHECK
    assert "no known principal matches User:team-*" in ran.out
    assert here.bare("test", guard(here, '{name: t, principals: "User:team-*", mustNot: READ, topics: a}')).status == 0


def test_a_warning_stops_nothing(here: Place) -> None:
    ran = here.bare("validate", guard(here, "{name: t, onlyReaders: User:x, topics: pay.orders, severity: warning}"))
    assert ran.status == Exit.OK
    assert "failed (warning)  t" in ran.out
    assert "1 claim about access: 1 failed" in ran.out


@pytest.mark.parametrize(("day", "status"), [("2027-01-31", Exit.OK), ("2027-02-01", Exit.FAILED_CHECK)])
def test_an_exception_accepts_a_failure_until_its_last_day(here: Place, day: str, status: Exit) -> None:
    exception = "  exceptions: [{check: t, reason: soon gone, expires: 2027-01-31}]"
    directory = guard(here, f"{{name: t, onlyReaders: User:x, topics: pay.orders}}\n{exception}")
    ran = here.bare("validate", directory, "--as-of", day)
    assert ran.status == status
    assert ("1 excepted" in ran.out) is (status == Exit.OK)
    assert "soon gone" in ran.out
    assert ("warning KR083" in ran.out) is (status == Exit.FAILED_CHECK)


def test_expired_exceptions_are_said(here: Place) -> None:
    text = (here.directory / "cluster.yaml").read_text()
    exception = "  exceptions: [{check: lockout, object: User:x, reason: r, expires: 2026-01-01}]\n"
    here.write("cluster.yaml", text + exception)
    ran = here.bare("validate", str(here.directory), "--as-of", "2026-01-02")
    assert ran.status == Exit.OK
    assert "warning KR083" in ran.out
    found = here.document("validate", str(here.directory), "--as-of", "2026-01-02")
    assert [problem["code"] for problem in found["problems"]] == ["KR083"]


def test_a_plan_says_what_has_expired(here: Place) -> None:
    here.write(
        "pay.yaml", PAY.replace("  rules:", "  exceptions: [{check: KA013, reason: r, expires: 2026-01-01}]\n  rules:")
    )
    ran = here.bare("plan", str(here.directory), *here.cluster, "--as-of", "2026-01-02")
    assert ran.status == Exit.OK
    assert "warning KR083" in ran.err
    assert "KR083" not in here.bare("plan", str(here.directory), *here.cluster, "--as-of", "2026-01-01").err


def test_documents_are_for_some_clusters(here: Place) -> None:
    here.write(
        "guardrails.yaml",
        TESTS.replace("  tests:", "  clusters: {matchLabels: {env: test}}\n  tests:") + "    - " + HOLD[0],
    )
    assert "0 claims about access" in here.bare("test", str(here.directory)).out


OWNERS = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: pay.yaml, principals: [User:pay], topics: {prefix: pay.o}, groups: {any: true}}
    - {team: data, files: data/**, topics: {prefix: pay.}}
"""


def test_a_breach_names_the_owner_and_the_consent_to_ask_for(here: Place) -> None:
    here.write("ownership.yaml", OWNERS)
    here.write("data/readme.yaml", "")
    assert here.bare("validate", str(here.directory)).status == Exit.OK
    here.write("ownership.yaml", OWNERS.replace("pay.o}", "other.}"))
    ran = here.bare("validate", str(here.directory))
    assert ran.status == Exit.FAILED_CHECK
    assert "not yours  pay.yaml:7:39: a file of pay declares READ, WRITE on topic pay.orders of data" in ran.out
    assert "{team: data, to: pay, operations: [READ, WRITE], topics: [pay.orders]}" in ran.out
    document = here.document("validate", str(here.directory))
    assert not document["valid"]
    assert [breach["owners"] for breach in document["clusters"]["prod"]["breaches"]] == [["data"]]


def test_a_breach_ends_a_plan_and_an_apply(here: Place) -> None:
    here.live()
    here.write("ownership.yaml", OWNERS.replace("pay.o}", "other.}"))
    for arguments in (("plan",), ("apply", "--yes")):
        ran = here.bare(arguments[0], str(here.directory), *here.cluster, *arguments[1:])
        assert ran.status == Exit.FAILED_CHECK
        assert "not yours  pay.yaml:7:39" in ran.out + ran.err


def test_the_consent_that_is_asked_for_is_enough(here: Place) -> None:
    here.write("ownership.yaml", OWNERS.replace("pay.o}", "other.}"))
    advice = here.document("validate", str(here.directory))["clusters"]["prod"]["breaches"][0]["advice"]
    consent = advice[advice.index("{team:") :].partition("`")[0]
    here.write(
        "data/consents.yaml",
        f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: given}}\nspec:\n  consents:\n    - {consent}\n",
    )
    assert here.bare("validate", str(here.directory)).status == Exit.OK


def test_as_is_needs_a_cluster(here: Place) -> None:
    assert here.bare("test", str(here.directory), "--as-is").status == Exit.USAGE
