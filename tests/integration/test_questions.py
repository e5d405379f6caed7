"""can-i, who-can, explain and access, by the command line: of what is declared, of a snapshot, around a plan, live."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.cli.console import Exit
from reconciler.cli.questions import ResourceArgument
from reconciler.model.acl import OpaqueBinding, PatternType, ResourcePattern, ResourceType
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.results.access import AccessView, Basis
from reconciler.show.access import access_lines, holdings
from tests.integration.asked import Place, place
from tests.integration.main_job import job
from tests.worlds import bindings


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return place(tmp_path, capsys)


@pytest.mark.parametrize(
    ("question", "status", "word"),
    [
        (["User:pay", "READ", "topic/pay.orders"], Exit.OK, "yes"),
        (["User:pay", "describe", "TOPIC/pay.orders"], Exit.OK, "yes"),
        (["User:pay", "DELETE", "topic/pay.orders"], Exit.FAILED_CHECK, "no"),
        (["User:pay", "READ", "topic/pay.*"], Exit.FAILED_CHECK, "depends on the name"),
        (["User:other", "READ", "topic/pay.*"], Exit.FAILED_CHECK, "no"),
        (["User:admin", "ALTER", "cluster"], Exit.OK, "yes"),
        (["User:*", "READ", "topic/*"], Exit.FAILED_CHECK, "no"),
        (["User:pay", "READ", "group/pay", "--host", "10.0.0.7"], Exit.OK, "yes"),
    ],
)
def test_can_i_of_what_is_declared(here: Place, question: list[str], status: Exit, word: str) -> None:
    ran = here.ask("can-i", *question)
    assert ran.status == status
    assert ran.out.startswith(f"{word}  ")
    assert "As declared for cluster prod" in ran.out
    assert json.loads(here.ask("can-i", *question, "--output", "json").out)["allowed"] is (status == Exit.OK)


def test_can_i_points_at_the_line(here: Place) -> None:
    assert "pay.yaml:7:39" in here.ask("can-i", "User:pay", "READ", "topic/pay.orders").out
    live = here.ask("can-i", "User:pay", "READ", "topic/pay.orders", *here.cluster).out
    assert "pay.yaml:7:39" in live
    assert "Snapshot of cluster prod." in live


def test_can_i_says_which_host_and_name_speak_against(here: Place) -> None:
    here.live("TOPIC:P:pay. User:pay@* ALLOW READ", "TOPIC:L:pay.audit User:pay@10.0.0.7 DENY READ")
    ran = here.ask("can-i", "User:pay", "READ", "topic/pay.*", *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert ran.out.startswith(
        "depends on the name and the client's address  User:pay can READ some topic starting with pay. from some host\n"
    )
    assert "    no         topic `pay.audit` from 10.0.0.7\n" in ran.out
    assert "for example, User:pay cannot READ topic pay.audit from 10.0.0.7" in ran.out
    assert "declared in no manifest" not in ran.out


def test_a_live_acl_that_no_manifest_declares_is_said_to_be_one(here: Place) -> None:
    here.live("TOPIC:L:pay.orders User:pay@* ALLOW READ", "TOPIC:L:other User:x@* ALLOW READ")
    assert "declared in no manifest" in here.ask("can-i", "User:x", "READ", "topic/other", *here.cluster).out


@pytest.mark.parametrize("setting", ["true", "false", "unknown"])
def test_default_allow_is_taken_into_account(here: Place, setting: str) -> None:
    text = (here.directory / "cluster.yaml").read_text()
    here.write(
        "cluster.yaml", text.replace("allowEveryoneIfNoAclFound: false", f"allowEveryoneIfNoAclFound: {setting}")
    )
    allowed = here.ask("can-i", "User:x", "READ", "topic/uncovered", "--output", "json")
    assert json.loads(allowed.out)["allowed"] is {"true": True, "false": False, "unknown": None}[setting]
    assert allowed.status == (Exit.OK if setting == "true" else Exit.FAILED_CHECK)


def test_a_snapshot_alone_needs_no_manifests(here: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    ran = here.bare("can-i", "User:pay", "READ", "topic/pay.orders", "--cluster", "snapshot:live.json")
    assert ran.status == Exit.OK
    ran = here.bare("can-i", "User:x", "READ", "topic/uncovered", "--cluster", "snapshot:live.json")
    assert ran.out.startswith("undecided")


def test_a_listing_that_may_not_be_whole_answers_nothing(here: Place) -> None:
    here.live(gap="a part of it was refused")
    ran = here.ask("can-i", "User:pay", "READ", "topic/pay.orders", *here.cluster)
    assert (ran.status, ran.out) == (Exit.ERROR, "")
    assert "a part of it was refused" in ran.err


def test_what_an_entry_that_cannot_be_read_could_change_is_undecided(here: Place) -> None:
    entry = OpaqueBinding("pay.orders", "User:x", "*", 2, 3, None, None)
    here.live(opaque=(entry,))
    assert here.ask("can-i", "User:x", "READ", "topic/pay.orders", *here.cluster).out.startswith("undecided")


def test_a_grant_on_a_reserved_name_counts_and_is_told(here: Place) -> None:
    here.live("TOPIC:L:__kr.run.1 User:probe@* ALLOW READ")
    ran = here.ask("can-i", "User:probe", "READ", "topic/__kr.run.1", *here.cluster)
    assert ran.status == Exit.OK
    assert "counted: 1 binding on reserved names of run run; that run is over" in ran.err
    assert "User:probe" in here.ask("access", *here.cluster).out


def test_sentinels_permit_nobody_anything(here: Place) -> None:
    probe = ("User:probe@* ALLOW DESCRIBE_CONFIGS", "User:probe@* ALLOW ALTER_CONFIGS")
    here.live(*(f"TOPIC:P:__kr.run. {entry}" for entry in probe))
    ran = here.ask("can-i", "User:probe", "ALTER_CONFIGS", "topic/__kr.run.1", *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert "User:probe" not in here.ask("access", *here.cluster).out


def test_explain_lists_every_acl_on_the_name(here: Place) -> None:
    here.live(
        "TOPIC:P:pay. User:pay@* ALLOW READ",
        "TOPIC:L:pay.orders User:pay@10.0.0.7 DENY READ",
        "TOPIC:L:pay.orders User:other@* ALLOW READ",
        "TOPIC:L:pay.orders User:pay@* ALLOW CREATE",
        "TOPIC:L:elsewhere User:pay@* ALLOW READ",
    )
    ran = here.ask("explain", "User:pay", "READ", "topic/pay.orders", "--host", "10.0.0.7", *here.cluster)
    assert ran.status == Exit.OK
    assert ran.out.startswith("no  User:pay cannot READ topic pay.orders from 10.0.0.7\n    an ACL denies it\n")
    standing = {line.strip().split("  ")[0] for line in ran.out.splitlines() if " on TOPIC " in line}
    assert {"decides", "applies", "other operation"} <= standing
    assert "1 ACL of other principals" in ran.out
    assert "no ALLOW helps while this DENY is there" in ran.out
    assert "elsewhere" not in ran.out


def test_explain_proposes_the_rule_to_write_and_invents_no_address(here: Place) -> None:
    here.live("TOPIC:L:pay.orders User:other@* ALLOW READ")
    question = ("User:new", "READ", "topic/pay.orders")
    ran = here.ask("explain", *question, *here.cluster)
    assert ran.out.startswith("no  User:new cannot READ topic pay.orders from any host\n")
    assert "      principal: User:new\n      rules: [{allow: READ, topics: [pay.orders]}]\n" in ran.out
    asked = here.ask("explain", *question, "--host", "192.0.2.1", *here.cluster)
    assert asked.out.startswith("no  User:new cannot READ topic pay.orders from 192.0.2.1\n")
    here.live("GROUP:P:pay User:*@192.0.2.9 ALLOW READ")
    assert "User:new cannot READ group pay from any host that no ACL names" in (
        here.ask("can-i", "User:new", "READ", "group/pay*", *here.cluster).out
    )


@pytest.mark.parametrize(
    ("held", "answer"),
    [
        (("* ALLOW", "10.0.0.7 DENY"), "depends on the client's address: yes, except from 10.0.0.7  "),
        (("10.0.0.7 ALLOW",), "depends on the client's address: yes, only from 10.0.0.7  "),
        (("* ALLOW", "10.0.0.7 ALLOW"), "yes  User:a can READ topic t from every host\n"),
        (("* DENY", "10.0.0.7 ALLOW"), "no  User:a cannot READ topic t from any host\n"),
    ],
)
def test_can_i_and_explain_begin_alike_and_say_which_address_decides(
    here: Place, held: tuple[str, ...], answer: str
) -> None:
    here.live(*(f"TOPIC:L:t User:a@{one} READ" for one in held))
    question = ("User:a", "READ", "topic/t", *here.cluster)
    can_i, explain = (here.ask(command, *question).out for command in ("can-i", "explain"))
    assert can_i.startswith(answer)
    assert can_i.splitlines()[0] == explain.splitlines()[0]
    said = [here.document(command, *question, "--path", str(here.directory)) for command in ("can-i", "explain")]
    assert said[0]["allowed"] is said[1]["allowed"] is answer.startswith("yes")
    assert said[0]["answers"][0]["parts"] == said[1]["answers"][0]["parts"]
    assert ("User:a " in here.ask("who-can", "READ", "topic/t", *here.cluster).out) is not answer.startswith("no")


def test_who_can_names_the_acl_and_its_line(here: Place) -> None:
    out = here.ask("who-can", "READ", "topic/pay.orders").out
    heading, columns, row = out.splitlines()[:3]
    assert heading == "2 principals can READ topic pay.orders"
    assert columns.split() == ["PRINCIPAL", "ON", "BY", "DECLARED"]
    cells = ["User:pay", "topic `pay.orders`", "ALLOW READ on TOPIC pay.orders"]
    assert re.split(" {2,}", row)[:3] == cells
    assert re.split(" {2,}", row)[3].startswith("pay.yaml:")
    assert out.splitlines()[-1].startswith(
        "As declared for cluster prod; the cluster itself was not read. This holds if "
    )


def test_some_is_never_said_to_be_every(here: Place) -> None:
    here.live("TOPIC:L:pay.x User:b@* ALLOW WRITE", "TOPIC:L:pay.y User:c@* ALLOW WRITE")
    out = here.ask("who-can", "WRITE", "topic/*", *here.cluster).out
    assert out.startswith("3 principals can WRITE some topic\n")
    assert "every topic" not in out
    ran = here.ask("can-i", "User:b", "WRITE", "topic/*", *here.cluster)
    assert ran.out.startswith("depends on the name  User:b can WRITE some topic from every host\n")
    assert "    yes        topic `pay.x`\n    no         all topics except `pay.x`\n" in ran.out


def test_explain_says_whom_to_ask(here: Place) -> None:
    here.write(
        "owners.yaml",
        "apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: teams}\nspec:\n  owners:\n"
        "    - {team: pay, files: '*', topics: {prefix: pay.}, principals: [User:pay]}\n"
        "    - {team: ledger, files: ledger/*, topics: {prefix: ledger.}}\n",
    )
    for state in (here.cluster, (), ("--offline", "--cluster", "prod")):
        ran = here.ask("explain", "User:new", "READ", "topic/ledger.v2", *state)
        assert ran.out.startswith("no  ")
        assert "topic ledger.v2 is owned by ledger: ask ledger for access" in ran.out
        assert "owned by" not in here.ask("explain", "User:new", "READ", "topic/other", *state).out
    ran = here.ask("explain", "User:new", "READ", "topic/ledger.v2", "--output", "json")
    assert json.loads(ran.out)["answers"][0]["owners"] == ["ledger"]


def test_explain_says_what_brokers_are_content_with(here: Place) -> None:
    here.live("CLUSTER:L:kafka-cluster User:pay@* ALLOW CREATE", "TOPIC:L:pay.new User:pay@* DENY CREATE")
    ran = here.ask("explain", "User:pay", "CREATE", "topic/pay.new", *here.cluster)
    assert ran.out.startswith("yes")
    assert "brokers accept CREATE on the cluster" in ran.out


def test_who_can(here: Place) -> None:
    here.live(
        "TOPIC:P:pay. User:a@* ALLOW READ",
        "TOPIC:L:* User:*@* ALLOW READ",
        "TOPIC:L:pay.x User:b@* DENY READ",
        "CLUSTER:L:kafka-cluster User:c@* ALLOW ALTER",
    )
    out = here.ask("who-can", "READ", "topic/pay.*", *here.cluster).out
    assert out.startswith("2 principals and everybody else can READ some topic starting with pay.\n")
    assert re.search("everybody else +topics starting with `pay.`", out)
    _, lacking = out.split("Cannot, although everybody else can\n")
    assert "User:b" in lacking.splitlines()[0]
    assert "Can ALTER the cluster, and so grant it to itself\n    User:c: the cluster" in out
    assert "User:admin" in out
    document = json.loads(here.ask("who-can", "READ", "topic/pay.*", *here.cluster, "--output", "json").out)
    assert document["states"][0]["superUsers"] == ["User:admin"]
    assert [row["principal"] for row in document["states"][0]["clusterAdmins"]] == ["User:c"]


def test_nobody_is_said(here: Place) -> None:
    here.write("cluster.yaml", (here.directory / "cluster.yaml").read_text().replace("  superUsers", "  # superUsers"))
    assert here.ask("who-can", "DELETE", "topic/*").out.startswith("Nobody can DELETE any topic\n")


def test_access_lists_everybody_and_everybody_else(here: Place) -> None:
    out = here.ask("access").out
    assert "everybody else\n    can do nothing" in out
    assert "User:admin\n    can do anything: it is a super user" in out
    assert "User:pay\n    READ, WRITE, DESCRIBE on topic `pay.orders`" in out
    assert "READ, DESCRIBE on group `pay`" in out
    assert "group" not in here.ask("access", "User:pay", "--type", "topic").out


def test_what_everybody_may_do_is_listed_once(here: Place) -> None:
    here.live(
        "TOPIC:P:pay. User:a@* ALLOW READ",
        "TOPIC:L:news User:*@* ALLOW READ",
        "TOPIC:L:news User:b@* DENY ALL",
        "CLUSTER:L:kafka-cluster User:c@* ALLOW CREATE",
        "TOPIC:L:own User:c@* ALLOW WRITE",
    )
    # A snapshot alone does not say whether everyone is allowed on resources without ACLs.
    snapshot = f"snapshot:{here.directory.parent / 'live.json'}"
    out = here.bare("access", "--cluster", snapshot, "--type", "topic").out
    sections = {part.splitlines()[0]: part.splitlines()[1:] for part in out.split("\n\n")}
    assert sections["User:a"] == ["    READ, DESCRIBE on topics starting with `pay.`", ELSEWHERE]
    assert sections["User:b"] == ["    nothing on topic `news`", ELSEWHERE]
    assert sections["User:c"][:2] == ["    CREATE on all topics", "    WRITE, CREATE, DESCRIBE on topic `own`"]
    assert "    READ, DESCRIBE on topic `news`" in sections["everybody else"]
    assert any("on all topics except" in line and "perhaps" in line for line in sections["everybody else"])
    principals = json.loads(here.bare("access", "--cluster", snapshot, "-o", "json").out)["states"][0]["principals"]
    alike = {one["principal"]: one["likeEverybodyElse"] for one in principals}
    assert alike == {None: False, "User:a": True, "User:b": True, "User:c": True}
    denied = [(row["names"], row["certain"]) for row in principals[2]["access"] if not row["operations"]]
    assert denied == [("topic `news`", True)]
    table = here.bare("access", "--cluster", snapshot, "--type", "topic", "-o", "table").out.splitlines()
    assert any(re.fullmatch(r"User:b +nothing +topic `news` +any host", row) for row in table)
    assert sum("what everybody else can do" in row for row in table) == 3
    rows = list(csv.DictReader(here.bare("access", "--cluster", snapshot, "-o", "csv").out.splitlines()))
    assert {row["likeEverybodyElse"] for row in rows if row["principal"].startswith("User:")} == {"true"}
    # Asked about alone, it has all of it.
    alone = here.bare("access", "User:b", "--cluster", snapshot, "--type", "topic").out
    assert "on all topics except" in alone
    assert "news" in alone
    assert "everybody" not in alone


def test_what_both_defaults_permit_is_no_perhaps(here: Place) -> None:
    here.live("TOPIC:P:pay. User:a@* ALLOW READ")
    snapshot = f"snapshot:{here.directory.parent / 'live.json'}"
    # Where no ACL is on the cluster, everybody may perhaps create and delete topics there.
    perhaps = "  (perhaps: depends on what is unknown about the cluster)"
    lines = here.bare("access", "--cluster", snapshot, "--type", "topic").out.partition("User:a\n")[2].splitlines()
    assert lines[:2] == [
        "    READ, DESCRIBE on topics starting with `pay.`",
        f"    CREATE, DELETE on topics starting with `pay.`{perhaps}",
    ]
    matrix = here.bare("access", "--cluster", snapshot, "--matrix").out
    assert re.search(r"^pay\.… +\? +R\?$", matrix, re.M), matrix
    here.live("GROUP:L:x User:a@* ALLOW READ")
    assert "nobody may do anything for certain" in here.bare("access", "--cluster", snapshot, "--matrix").out


def test_what_everybody_may_do_is_no_worth_of_a_stolen_credential(here: Place) -> None:
    here.live(
        "USER:L:User:b User:a@* ALLOW CREATE_TOKENS",
        "TOPIC:L:ledger User:b@* ALLOW READ",
        "TOPIC:L:news User:*@* ALLOW READ",
    )
    identities = here.document("reach", "User:a", *here.cluster, "--path", str(here.directory))["states"][0][
        "identities"
    ]
    itself, other = identities
    assert (itself["likeEverybodyElse"], other["likeEverybodyElse"]) == (False, True)
    assert "topic `news`" in [row["names"] for row in itself["access"]]
    assert [row["names"] for row in other["access"]] == ["topic `ledger`"]
    assert ELSEWHERE in here.ask("reach", "User:a", *here.cluster).out.splitlines()


def compared(before: list[str], after: list[str], default_allow: bool | None) -> list[str]:
    """The lines of the section of User:a, before and after a change."""
    authorizers = (Authorizer(bindings(*acls), (), default_allow, (4, 4)) for acls in (before, after))
    views = [
        AccessView("prod", basis, one) for basis, one in zip((Basis.LIVE, Basis.PLANNED), authorizers, strict=True)
    ]
    lines = list(access_lines([(view, holdings(view, (), ResourceType.TOPIC, views)) for view in views]))
    start = lines.index("User:a")
    return lines[start + 1 : lines.index("", start)]


OF_ALL = ["TOPIC:L:x User:*@* ALLOW READ", "CLUSTER:L:kafka-cluster User:ops@* ALLOW ALTER"]
ELSEWHERE = "    what everybody else can do on names that no ACL of its own covers"


@pytest.mark.parametrize("default_allow", [False, True, None])
@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        # An ACL of its own goes, and what it grants stays.
        (["TOPIC:L:x User:a@* ALLOW READ"], [], ["    READ, DESCRIBE on topic `x`"]),
        ([], ["TOPIC:L:x User:a@* ALLOW READ"], ["    READ, DESCRIBE on topic `x`"]),
        # A DENY comes or goes.
        (
            [],
            ["TOPIC:L:x User:a@* DENY READ", "TOPIC:L:x User:a@* DENY DESCRIBE"],
            ["  - READ, DESCRIBE on topic `x`", "  + nothing on topic `x`"],
        ),
        (
            ["TOPIC:L:x User:a@* DENY ALL"],
            [],
            ["  - nothing on topic `x`", "  + READ, DESCRIBE on topic `x`"],
        ),
    ],
)
def test_what_a_change_does_to_a_principal_is_marked_whoever_else_may(
    before: list[str], after: list[str], lines: list[str], default_allow: bool | None
) -> None:
    assert compared(OF_ALL + before, OF_ALL + after, default_allow) == [*lines, ELSEWHERE]


def test_access_as_a_matrix(here: Place) -> None:
    here.live(
        "TOPIC:P:pay. User:a@* ALLOW READ",
        "TOPIC:L:pay.x User:b@10.0.0.7 ALLOW WRITE",
        "TOPIC:L:* User:*@* ALLOW DESCRIBE",
    )
    out = here.ask("access", "User:a", "User:b", "--matrix", *here.cluster).out
    rows = {line.split("  ")[0]: line.split()[-2:] for line in out.splitlines() if line.startswith(("pay.", "any"))}
    assert rows == {"pay.x": ["R", "wDs"], "pay.…": ["R", "Ds"], "any other topic": ["Ds", "Ds"]}
    assert "W=WRITE" in out
    matrix = json.loads(here.ask("access", "--matrix", *here.cluster, "--output", "json").out)["states"][0]
    assert matrix["principals"] == ["everybody else", "User:a", "User:admin", "User:b"]
    assert matrix["rows"][0]["cells"][3] == {
        "certain": True,
        "fromSomeHosts": ["WRITE"],
        "operations": ["DESCRIBE"],
    }


def test_the_matrix_has_a_row_for_every_topic_that_exists(here: Place) -> None:
    here.live("TOPIC:P:pay. User:a@* ALLOW READ", topics=("pay.old", "zzz"))
    states = here.document("access", "--matrix", *here.cluster, "--path", str(here.directory))["states"]
    assert [row["label"] for row in states[0]["rows"]] == ["pay.old", "zzz", "pay.…", "any other topic"]


@pytest.mark.parametrize(
    ("more", "labels"),
    [
        ((), ["*x…", "*…", "any other group"]),
        (("GROUP:P:* User:b@* ALLOW READ",), ["*", "*x…", "*…", "any other group"]),
    ],
)
def test_the_matrix_has_a_row_for_names_that_the_wildcard_misses(
    here: Place, more: tuple[str, ...], labels: list[str]
) -> None:
    here.live("GROUP:L:* User:a@* ALLOW READ", "GROUP:P:*x User:b@* ALLOW READ", *more)
    matrix = here.document(
        "access", "User:a", "--matrix", "--type", "group", *here.cluster, "--path", str(here.directory)
    )["states"][0]
    rows = {row["label"]: row["cells"][0]["operations"] for row in matrix["rows"]}
    assert sorted(rows) == labels
    assert (rows["*…"], rows["any other group"]) == ([], ["DESCRIBE", "READ"])


def planned(here: Place, tmp_path: Path) -> str:
    here.live("TOPIC:L:pay.orders User:pay@* ALLOW READ", "TOPIC:L:pay.old User:pay@* ALLOW READ")
    file = str(tmp_path / "plan.json")
    ran = here.bare("plan", str(here.directory), *here.cluster, "--allow-deletes", "--out", file)
    assert ran.status == Exit.OK, ran.err
    return file


def test_before_and_after_a_plan(here: Place, tmp_path: Path) -> None:
    plan = ("--plan", planned(here, tmp_path), *here.cluster)
    gained = here.ask("can-i", "User:pay", "WRITE", "topic/pay.orders", *plan)
    assert gained.status == Exit.OK
    assert gained.out.startswith("before: no  ")
    assert "\nafter:  yes  " in gained.out
    assert "pay.yaml:7:" in gained.out.split("after:")[1]
    lost = here.ask("can-i", "User:pay", "READ", "topic/pay.old", *plan)
    assert lost.status == Exit.FAILED_CHECK
    out = here.ask("access", "User:pay", *plan).out
    assert "  - READ, DESCRIBE on topic `pay.old`" in out
    assert "  + READ, WRITE, DESCRIBE on topic `pay.orders`" in out
    assert re.search("\n- User:pay +topic `pay.old`", here.ask("who-can", "READ", "topic/*", *plan).out)
    assert here.ask("explain", "User:pay", "READ", "topic/pay.old", *plan).out.startswith("before: yes")


def test_a_plan_is_shown_on_its_own_cluster_only(here: Place, tmp_path: Path) -> None:
    file = planned(here, tmp_path)
    assert here.ask("access", "--plan", file).status == Exit.USAGE
    other = here.snapshot.read_text().replace("prod-id", "other-id")
    here.snapshot.write_text(other)
    assert here.ask("access", "--plan", file, *here.cluster).status == Exit.STALE


@pytest.mark.parametrize("question", ["can-i", "explain"])
def test_an_address_in_another_spelling_does_not_pass_by_a_deny(here: Place, question: str) -> None:
    here.live("TOPIC:L:a User:pay@* ALLOW READ", "TOPIC:L:a User:pay@0:0:0:0:0:0:0:1 DENY READ")
    ran = here.ask(question, "User:pay", "READ", "topic/a", "--host", "::1", *here.cluster)
    assert (ran.status, ran.out) == (Exit.USAGE, "")
    assert "write 0:0:0:0:0:0:0:1" in ran.err
    ran = here.ask(question, "User:pay", "READ", "topic/a", "--host", "0:0:0:0:0:0:0:1", *here.cluster)
    assert ran.out.startswith("no  ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["can-i", "pay", "READ", "topic/a"],
        ["can-i", "User:pay", "FLY", "topic/a"],
        ["can-i", "User:pay", "WRITE", "group/a"],
        ["can-i", "User:pay", "READ", "topic"],
        ["can-i", "User:pay", "READ", "topic", "a"],
        ["can-i", "User:pay", "READ", "topic/"],
        ["can-i", "User:pay", "READ", "topic/p*y"],
        ["can-i", "User:pay", "READ", "pay.orders"],
        ["explain", "User:pay", "READ", "topic/pay.*"],
        ["can-i", "User:pay", "ALTER", "cluster/mine"],
        ["can-i", "User:pay", "READ", "table/a"],
        ["can-i", "User:pay", "READ", "topic/a", "--host", "*"],
        ["can-i", "User:pay", "READ", "topic/a", "--host", ""],
        ["can-i", "User:pay", "READ", "topic/a", "--host", "localhost"],
        ["explain", "User:pay", "READ", "topic/a", "--host", "10.0.0.0/8"],
        ["explain", "User:*", "READ", "topic/a"],
        ["access", "User:*"],
    ],
    ids=" ".join,
)
def test_a_wrong_question_exits_64(here: Place, arguments: list[str]) -> None:
    ran = here.ask(*arguments)
    assert (ran.status, ran.out) == (Exit.USAGE, "")


def test_with_several_clusters_one_has_to_be_named(here: Place) -> None:
    here.write("second.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: test}\nspec: {}\n")
    assert here.ask("access").status == Exit.USAGE
    assert "cluster test" in here.ask("access", "--cluster", "test", "--offline").out


def test_hostile_names_are_shown_by_their_codes(here: Place) -> None:
    here.live("GROUP:L:g User:\x1b[2J\u202eevil@* ALLOW READ")
    for question in (["who-can", "READ", "group/*"], ["access"], ["access", "--matrix", "--type", "group"]):
        out = here.ask(*question, *here.cluster).out
        assert "\\u001b[2J\\u202eevil" in out
        assert "\x1b" not in out


@pytest.mark.broker
def test_questions_of_a_live_cluster(tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    live = job(tmp_path, broker, "asked.", capsys)
    live.write(
        "acls.yaml",
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:asked\n"
        "  rules: [{allow: READ, topics: {prefix: '@'}}]\n",
    )
    assert live.run("apply", "--yes").status == Exit.OK
    state = ("--path", str(live.directory), "--cluster", "it", "--connections", str(live.connections))
    yes = live.bare("can-i", "User:asked", "READ", "topic/asked.*", *state)
    assert yes.status == Exit.OK, yes.err
    assert "Cluster it, as seen by one broker." in yes.out
    assert live.bare("can-i", "User:asked", "WRITE", "topic/asked.a", *state).status == Exit.FAILED_CHECK
    assert "acls.yaml:6:42" in live.bare("explain", "User:asked", "READ", "topic/asked.a", *state).out
    assert re.search("User:asked +topic `asked.a`", live.bare("who-can", "READ", "topic/asked.a", *state).out)
    assert live.run("test", "--as-is").status == Exit.OK


@pytest.mark.parametrize(
    ("typed", "pattern"),
    [
        ("topic/pay.orders", ResourcePattern(ResourceType.TOPIC, "pay.orders")),
        ("topics/pay.orders", ResourcePattern(ResourceType.TOPIC, "pay.orders")),
        ("TOPIC/pay.*", ResourcePattern(ResourceType.TOPIC, "pay.", PatternType.PREFIXED)),
        ("topic/*", ResourcePattern(ResourceType.TOPIC, "*")),
        ("group/a/b", ResourcePattern(ResourceType.GROUP, "a/b")),
        ("group/a\\*", ResourcePattern(ResourceType.GROUP, "a*")),
        ("group/a**", ResourcePattern(ResourceType.GROUP, "a*", PatternType.PREFIXED)),
        ("transactional-id/x", ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x")),
        ("cluster", ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")),
        ("cluster/kafka-cluster", ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")),
    ],
)
def test_a_resource_is_one_word(typed: str, pattern: ResourcePattern) -> None:
    assert ResourceArgument().convert(typed, None, None) == pattern


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("can-i User:a READ topic orders", "write topic/NAME, 'topic/PREFIX*' or 'topic/*', with the slash"),
        ("can-i User:a READ orders", "write topic/orders, or group/orders and so on"),
        ("who-can READ queue/orders", "types are: topic, group"),
        ("who-can READ 'topic/or*ders'", "topic/PREFIX* is every name that begins so"),
        ("who-can READ 'group/\\*'", "write 'group/*' for every name"),
        ("explain User:a READ 'topic/orders.*'", "give its name, or ask can-i"),
        ("who-can ALTER cluster/prod", "write cluster"),
        ("history topic/a topic/b -c c --store s", "ask for each by itself"),
        ("history group/a -c c --store s", "write topic/NAME"),
    ],
)
def test_what_is_no_resource_is_answered_by_what_to_write(here: Place, words: str, advice: str) -> None:
    ran = here.bare(*shlex.split(words))
    assert (ran.status, ran.out) == (Exit.USAGE, "")
    assert advice in ran.err
