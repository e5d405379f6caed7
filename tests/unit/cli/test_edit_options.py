"""Each option of the commands that edit manifests, by what is in the files, the patch or the repository afterwards."""

import json
import subprocess
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo, labels: {env: demo}}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec:
  principal: User:orders
  rules:
    - {allow: [READ, DESCRIBE], topics: [orders]}
    - {allow: READ, topics: [orders], hosts: [10.0.0.7]}
    - {allow: WRITE, topics: [paid]}
"""
_RULES = ACLS.partition("rules:\n")[2]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "m" / "acls.yaml").write_text(ACLS, encoding="utf-8")
    return tmp_path / "m"


def _run(place: Path, *words: str) -> int:
    return run([*words, *(() if words[0] == "adopt" else ("--path", str(place)))])


_READ = ("grant", "User:orders", "READ", "topic/new")
_RULE = "    - {allow: READ, topics: [new]}\n"


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (_READ, _RULES + _RULE),
        (("grant", "User:orders", "READ,WRITE", "topic/new"), _RULES + _RULE.replace("READ", "[READ, WRITE]")),
        ((*_READ, "--host", "10.0.0.8"), _RULES + _RULE.replace("}", ", hosts: [10.0.0.8]}")),
        ((*_READ, "--until", "2099-01-31"), _RULES + _RULE.replace("}", ", expires: 2099-01-31}")),
        ((*_READ, "--reason", "audit"), _RULES + _RULE.replace("}", ", reason: audit}")),
        ((*_READ, "--ticket", "SEC-1"), _RULES + _RULE.replace("}", ", ticket: SEC-1}")),
        ((*_READ, "--cluster", "demo"), _RULES + _RULE),
        # From every host, or from the one that is named.
        (
            ("revoke", "User:orders", "READ", "topic/orders"),
            "    - {allow: [DESCRIBE], topics: [orders]}\n    - {allow: WRITE, topics: [paid]}\n",
        ),
        (
            ("revoke", "User:orders", "READ", "topic/orders", "--host", "10.0.0.7"),
            "    - {allow: [READ, DESCRIBE], topics: [orders]}\n    - {allow: WRITE, topics: [paid]}\n",
        ),
        (
            ("revoke", "User:orders", "READ,DESCRIBE", "topic/orders"),
            "    - {allow: WRITE, topics: [paid]}\n",
        ),
    ],
)
def test_what_is_asked_is_written(place: Path, words: tuple[str, ...], rules: str) -> None:
    assert _run(place, *words, "--write") == Exit.OK
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS.replace(_RULES, rules)


def test_only_write_writes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(place, *_READ) == Exit.OK
    shown = capsys.readouterr()
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS
    assert f"\n+{_RULE}" in shown.out
    assert "Nothing was written: --write writes the files, --branch NAME commits them." in shown.err
    assert "gains" in shown.err
    assert _run(place, *_READ, "--write") == Exit.OK
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "wrote acls.yaml" in shown.err.replace(f"{place}/", "")
    assert "Nothing was written" not in shown.err
    assert _run(place, *_READ) == Exit.OK
    shown = capsys.readouterr()
    assert (shown.out, "Nothing to change." in shown.err) == ("", True)


def test_files_and_a_branch_are_not_both_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(place, *_READ, "--write", "--branch", "more") == Exit.USAGE
    assert "--write and --branch exclude each other" in capsys.readouterr().err
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS


def test_json_has_the_patch_and_the_files_of_each_edit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, files in ((_READ, ["acls.yaml"]), (("rename", "User:orders", "User:new"), ["acls.yaml"])):
        assert _run(place, *words, "-o", "json") == Exit.OK
        found = json.loads(capsys.readouterr().out)
        assert list(found["files"]) == files
        assert found["patch"].startswith("--- a/")
    assert _run(place, "grant", "User:orders", "READ", "topic/orders", "-o", "json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["patch"], found["files"]) == ("", {})


def _git(place: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True, text=True)  # noqa: S607
    return done.stdout


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        (_READ, "Grant User:orders READ on TOPIC new"),
        (("revoke", "User:orders", "WRITE", "topic/paid"), "Revoke WRITE on TOPIC paid of User:orders"),
        (("revoke", "User:orders"), "Revoke everything of User:orders"),
        (("rename", "User:orders", "User:new"), "Grant User:new what User:orders has"),
        (("rename", "User:orders", "User:new", "--finish"), "Take everything from User:orders, now User:new"),
    ],
)
def test_a_branch_has_the_edit_and_says_what_it_is(
    place: Path, words: tuple[str, ...], subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        _git(place, *command)
    assert _run(place, *words, "--branch", "edit") == Exit.OK
    shown = capsys.readouterr()
    assert (shown.out, "on the new branch edit" in shown.err) == ("", True)
    assert _git(place, "log", "-1", "--format=%s", "edit").strip() == subject
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS
    assert _run(place, *words, "--branch", "edit", "--write") == Exit.USAGE
    assert "exclude each other" in capsys.readouterr().err


def test_of_many_clusters_the_first_five_are_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def declared(count: int) -> str:
        return "---\n".join(CLUSTER.replace("name: demo", f"name: c{number}") for number in range(count))

    for count in (1, 2, 5, 6):
        (place / "cluster.yaml").write_text(declared(count), encoding="utf-8")
        assert _run(place, "rename", "User:orders", "User:new") == Exit.OK
        shown = capsys.readouterr().err
        titles = [line for line in shown.splitlines() if line.strip() in {f"c{number}" for number in range(count)}]
        assert len(titles) == (0 if count == 1 else min(count, 5))
        assert ("access of 1 more clusters" in shown) is (count == 6)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("revoke", "User:orders", "READ"), "READ on what?"),
        ((*_READ, "--cluster", "other"), "there is no cluster 'other'"),
        (("revoke", "User:nobody"), "no manifest declares that for User:nobody"),
        (("rename", "User:nobody", "User:b"), "no manifest grants User:nobody anything"),
        ((*_READ, "--until", "2001-01-01"), "2001-01-01 is over"),
        ((*_READ, "--reason", "a\nb"), "cannot be written"),
        ((*_READ, "--ticket", "a\u200bb"), "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(
    place: Path, words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(place, *words, "--write") != Exit.OK
    assert why in capsys.readouterr().err
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS


@pytest.mark.parametrize("operation", ["READ", "DESCRIBE"])
def test_what_still_grants_some_of_it_is_named(place: Path, operation: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By a prefix, by ALL, or of everybody; not what another has, what is denied, or another operation."""
    more = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: more}
spec:
  principals: [PRINCIPAL]
  rules: [{RULE}]
"""
    for principal, rule, named in (
        ("User:orders", "allow: READ, topics: {prefix: ord}", operation == "READ"),
        ("User:orders", "allow: ALL, topics: {any: true}", True),
        ('"User:*"', "allow: READ, topics: {prefix: ord}", operation == "READ"),
        ("User:other", "allow: READ, topics: {prefix: ord}", False),
        ("User:orders", "deny: READ, topics: {prefix: ord}", False),
        ("User:orders", "allow: READ, topics: {prefix: other}", False),
        ("User:orders", "allow: READ, groups: {prefix: ord}", False),
    ):
        text = more.replace("PRINCIPAL", principal).replace("RULE", rule)
        (place / "more.yaml").write_text(text.removeprefix("---\n"), encoding="utf-8")
        assert _run(place, "revoke", "User:orders", operation, "topic/orders") == Exit.OK
        assert ("still granted by" in capsys.readouterr().err) is named, (principal, rule)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--require-approvals", "1"), "people approve saved plans"),
        (("--override", "a test"), "over a failed test, people approve a saved plan"),
    ],
)
def test_access_at_once_that_people_approve_is_saved_first(
    place: Path, more: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("break-glass", "grant", "User:orders", "READ", "topic/new", "--until", "1h", "--reason", "outage", "--yes")
    assert _run(place, *words, *more) != Exit.OK
    assert why in capsys.readouterr().err
    assert (place / "acls.yaml").read_text(encoding="utf-8") == ACLS


def test_access_at_once_is_ended_by_whoever_agrees(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    for words in (
        ("break-glass", "revoke", "User:orders"),
        ("break-glass", "grant", "User:orders", "READ", "topic/new", "--until", "1h", "--reason", "outage"),
    ):
        assert _run(place, *words) == Exit.USAGE
        assert "no terminal to ask on" in capsys.readouterr().err
