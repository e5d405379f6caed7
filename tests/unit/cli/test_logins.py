"""``access`` and ``explain`` say what is known of a principal's login and quota, and never more."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: Users
metadata: {name: u}
spec:
  users:
    - {name: a, mechanisms: {SCRAM-SHA-512: {}}}
    - {name: off, disabled: true}
    - {name: gone, absent: true}
"""
USERS = [
    ScramUser("a", {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}),
    ScramUser("off", {"SCRAM-SHA-512": DISABLED_ITERATIONS}),
]
QUOTAS = [ClientQuota(QuotaEntity.of("a"), {"request_percentage": 50.0})]
LIVE = ClusterState("c", listings={"users": Listing(frozenset(USERS)), "quotas": Listing(frozenset(QUOTAS))})
NO_USER = "    login: no SCRAM user; any other way to log in is not seen"


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "m.yaml").write_text(MANIFESTS, encoding="utf-8")
    return str(tmp_path)


def asked(path: str, live: ClusterState | None, *words: str) -> list[str]:
    """The command line of a question, of a snapshot or of what is declared."""
    if live is None:
        return [*words, "--path", path]
    file = Path(path, "live.json")
    file.write_text(snapshot_text(live), encoding="utf-8")
    return [*words, "--cluster", f"c=snapshot:{file}", "--path", path]


def test_a_live_user_a_disabled_one_and_one_that_is_not_there(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(asked(path, LIVE, "access", "User:a", "User:off", "User:other", "Group:x")) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("User:a")
    assert lines[start + 1 : start + 4] == [
        "    can do nothing",
        "    login: SCRAM user a with SCRAM-SHA-256 and SCRAM-SHA-512",
        "    quota without a client id: request_percentage = 50% by user a",
    ]
    assert "    login: SCRAM user off is disabled, nobody knows its password" in lines
    assert lines[lines.index("User:other") + 2] == NO_USER
    assert sum("login" in line for line in lines) == 3
    assert run(asked(path, LIVE, "explain", "User:other", "READ", "topic/t")) == 0
    assert NO_USER in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("listing", [Listing(gap="not authorised"), Listing()])
def test_users_that_were_not_read_are_not_absent(
    path: str, listing: "Listing[ScramUser]", capsys: pytest.CaptureFixture[str]
) -> None:
    live = replace(LIVE, listings={"users": listing})
    assert run(asked(path, live, "access", "User:a")) == 0
    out = capsys.readouterr().out
    assert "login:" not in out
    assert ("The SCRAM users could not be read: not authorised" in out) == bool(listing.gap)
    assert run(asked(path, live, "access", "User:a", "--output", "json")) == 0
    (principal,) = json.loads(capsys.readouterr().out)["states"][0]["principals"]
    assert principal["login"]["scramUser"] is None
    assert principal["quota"] is None


def test_manifests_say_nothing_of_users_whom_they_do_not_name(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(asked(path, None, "access", "User:a", "User:gone", "User:other", "--output", "json")) == 0
    found = [one["login"]["scramUser"] for one in json.loads(capsys.readouterr().out)["states"][0]["principals"]]
    assert found == [True, False, None]
    assert run(asked(path, None, "access", "User:a", "User:off", "User:gone", "User:other")) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "login" in line] == [
        "    login: declared SCRAM user a with SCRAM-SHA-512",
        "    login: SCRAM user gone is declared absent",
        "    login: declared SCRAM user off is disabled, nobody knows its password",
    ]


def test_a_plan_that_lets_somebody_in_or_out(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    live = replace(LIVE, listings={**LIVE.listings, "users": Listing(frozenset(USERS[:1]))})
    planned = asked(path, live, "plan", path, "--out", str(plan))[:-2]
    assert run(planned) == 0
    capsys.readouterr()
    assert run(asked(path, live, "access", "User:a", "User:off", "--plan", str(plan))) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("User:off")
    assert lines[start + 2 : -3] == [
        f"  - {NO_USER.strip()}",
        "  + login: SCRAM user off is disabled, nobody knows its password",
    ]
    assert "  + login: SCRAM user a with SCRAM-SHA-512" in lines


def test_whoever_is_no_scram_user_cannot_log_in_where_the_operator_says_so(
    path: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = tmp_path_factory.mktemp("operator") / "connections.yaml"
    text = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {onlyScramLogins: true}\n"
    operator.write_text(text)
    who = ["User:a", "User:off", "User:other", "User:ANONYMOUS"]

    def found(live: ClusterState | None, *words: str, file: Path = operator) -> tuple[list[str], list[object]]:
        assert run([*asked(path, live, "access", *who, *words), "--connections", str(file)]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "log in" in line or "login" in line]
        assert run([*asked(path, live, "access", *who, *words), "--connections", str(file), "-o", "json"]) == 0
        (state,) = json.loads(capsys.readouterr().out)["states"]
        return lines, [one["login"]["canLogIn"] for one in state["principals"]]

    only = "and the operator states that SCRAM is the only way"
    lines, can = found(LIVE)
    assert f"login: cannot log in, because SCRAM user off is disabled {only}" in lines
    assert f"login: cannot log in, because there is no SCRAM user other {only}" in lines
    assert not any("ANONYMOUS" in line for line in lines)
    assert can == [True, False, False, None]
    # Of a cluster without any SCRAM user it is the same; of users that could not be read nothing is known.
    assert found(replace(LIVE, listings={**LIVE.listings, "users": Listing(frozenset())}))[1] == [
        False,
        False,
        False,
        None,
    ]
    assert found(replace(LIVE, listings={"users": Listing(gap="no")}))[1] == [None] * 4
    # What is declared does not say who else there is.
    assert found(None)[1] == [True, False, None, None]
    # It is the operator's word: not that of a file among the manifests, and no field of a manifest.
    proposed = Path(path, "connections.yaml")
    proposed.write_text(text)
    assert found(LIVE, file=proposed)[1] == [True, None, None, None]
    Path(path, "m.yaml").write_text(MANIFESTS.replace("{allowEvery", "{onlyScramLogins: true, allowEvery"))
    assert run([*asked(path, LIVE, "access", *who), "--connections", str(operator)]) != 0
    assert "onlyScramLogins" in capsys.readouterr().err


_RULES = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: r}
spec: {principals: [User:a, User:off, User:other, "User:*"], rules: [{allow: READ, topics: [t]}]}
"""


def test_a_plan_warns_of_access_for_somebody_who_cannot_log_in(
    path: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where the operator states that SCRAM is the only way, and only of users that are known."""
    operator = tmp_path_factory.mktemp("operator") / "connections.yaml"
    text = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {onlyScramLogins: %s}\n"
    Path(path, "m.yaml").write_text(MANIFESTS.partition("---")[0] + _RULES, encoding="utf-8")
    unread = replace(LIVE, listings={"users": Listing(gap="not authorised")})
    for stated, live, warned in (("true", LIVE, True), ("false", LIVE, False), ("true", unread, False)):
        operator.write_text(text % stated)
        assert run([*asked(path, live, "plan", path)[:-2], "--connections", str(operator), "-o", "json"]) == 0
        warnings = json.loads(capsys.readouterr().out)["warnings"]
        assert [one.partition(";")[0] for one in warnings if "log in" in one] == [
            "cannot log in: User:off, User:other"
        ] * warned
