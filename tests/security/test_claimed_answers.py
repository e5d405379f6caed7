"""Questions about access against whoever writes the facts by which they are answered."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.app import session as clusters
from reconciler.app.session import Target
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster

_FACTS = "superUsers: [User:mallory], allowEveryoneIfNoAclFound: {open}"
_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: prod}}\nspec: {{{facts}}}\n"
_ACLS = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: User:svc, rules: [{allow: READ, topics: [orders]}, {deny: WRITE, topics: [orders]}]}
"""
_MALLORY = "if User:mallory is a super user, as only the manifests say"
_CLOSED = "if allow.everyone.if.no.acl.found is false, as only the manifests say"
_OPEN = "if allow.everyone.if.no.acl.found is true, as only the manifests say"


class _Asked:
    """A directory of manifests and an operator's file beside it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.capsys = root, capsys
        (root / "manifests").mkdir()

    def propose(self, facts: str) -> None:
        (self.root / "manifests" / "all.yaml").write_text(_CLUSTER.format(facts=facts) + _ACLS, encoding="utf-8")

    def operator(self, facts: str) -> tuple[str, ...]:
        (self.root / "operator.yaml").write_text(_CLUSTER.format(facts=facts), encoding="utf-8")
        return "--connections", str(self.root / "operator.yaml")

    def text(self, *words: str) -> tuple[int, str]:
        self.capsys.readouterr()
        where = [str(self.root / "manifests")] if words[0] == "lint" else ["--path", str(self.root / "manifests")]
        status = run([*words, *where])
        return status, self.capsys.readouterr().out

    def document(self, *words: str) -> Any:
        return json.loads(self.text(*words, "--output", "json")[1])


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Asked:
    return _Asked(tmp_path, capsys)


@pytest.mark.parametrize(
    ("question", "default_allow", "answer", "status", "condition"),
    [
        ("User:mallory READ topic/orders", "false", "yes", Exit.OK, _MALLORY),
        ("User:svc READ topic/other", "false", "no", Exit.FAILED_CHECK, _CLOSED),
        ("User:svc READ topic/other", "true", "yes", Exit.OK, _OPEN),
        ("User:svc READ topic/orders", "false", "yes", Exit.OK, ""),
        ("User:svc WRITE topic/orders", "false", "no", Exit.FAILED_CHECK, ""),
        ("User:eve READ topic/orders", "true", "no", Exit.FAILED_CHECK, ""),
    ],
)
@pytest.mark.parametrize("command", ["can-i", "explain"])
def test_an_answer_by_a_claimed_fact_says_its_condition(  # noqa: PLR0917 - a table
    asked: _Asked, command: str, question: str, default_allow: str, answer: str, status: Exit, condition: str
) -> None:
    """A proposal states the facts itself: what rests on them is no calm yes or no, and what does not is."""
    asked.propose(_FACTS.format(open=default_allow))
    words = (command, *question.split())
    ended, shown = asked.text(*words)
    first = shown.splitlines()[0]
    assert ended == (status if command == "can-i" else Exit.OK)
    assert first.startswith(f"{answer}  ")
    assert first.endswith(f", {condition}") if condition else "only the manifests" not in shown
    (document,) = asked.document(*words)["answers"]
    assert (document["allowed"], document["condition"]) == (answer == "yes", condition or None)


def test_two_claims_that_each_would_do_are_both_named(asked: _Asked) -> None:
    """As a super user or by default-allow: without either the answer stays, without both it does not."""
    asked.propose(_FACTS.format(open="true"))
    (document,) = asked.document("can-i", "User:mallory", "READ", "topic/other")["answers"]
    assert document["condition"] == (
        "if User:mallory is a super user or allow.everyone.if.no.acl.found is true, as only the manifests say"
    )


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        (
            ("who-can", "ALTER", "cluster"),
            "if User:mallory is a super user and allow.everyone.if.no.acl.found is false",
        ),
        (("who-can", "READ", "topic/other"), "allow.everyone.if.no.acl.found is false, as only the manifests say"),
        (("access", "User:svc"), _CLOSED),
        (("access", "User:mallory"), _MALLORY),
        (("access", "--matrix"), _CLOSED.removeprefix("if ")),
        (("lint",), _CLOSED),
        (("lint", "--simplify"), _CLOSED),
    ],
)
def test_a_listing_says_its_condition(asked: _Asked, words: tuple[str, ...], condition: str) -> None:
    """A listing without the access that the brokers may give is calm on the proposer's word, unless it says so."""
    asked.propose(_FACTS.format(open="false"))
    _, shown = asked.text(*words)
    assert condition in shown
    (state,) = asked.document(*words)["states"]
    assert condition in state["condition"]


@pytest.mark.parametrize(
    "words",
    [
        ("can-i", "User:svc", "READ", "topic/other"),
        ("explain", "User:mallory", "READ", "topic/orders"),
        ("who-can", "READ", "topic/other"),
        ("access",),
        ("access", "--matrix"),
        ("lint",),
    ],
)
def test_the_operators_word_needs_no_condition(asked: _Asked, words: tuple[str, ...]) -> None:
    """The same facts from the operator's file, which counts where nothing connects, too."""
    asked.propose(_FACTS.format(open="false"))
    operator = asked.operator(_FACTS.format(open="false"))
    assert "only the manifests" in asked.text(*words)[1]
    assert "only the manifests" not in asked.text(*words, *operator)[1]


def test_a_question_about_manifests_that_contradict_the_operator_is_refused(asked: _Asked) -> None:
    """The proposal declares the brokers closed, the operator knows better: there is no answer, but a problem."""
    asked.propose(_FACTS.format(open="false"))
    operator = asked.operator(_FACTS.format(open="true"))
    status, shown = asked.text("can-i", "User:svc", "READ", "topic/other", *operator)
    assert (status, shown) == (Exit.ERROR, "")


def test_a_name_cannot_write_the_condition(asked: _Asked) -> None:
    """A super user called like the end of the sentence is a name, marked as one."""
    asked.propose('superUsers: ["User:a, as the operator says"]')
    (document,) = asked.document("can-i", "User:a, as the operator says", "READ", "topic/other")["answers"]
    assert document["condition"].startswith("if `User:a, as the operator says` is a super user")


def test_without_manifests_the_operators_facts_count(
    asked: _Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question to a cluster that only the operator's file names: it says who its super users are, so they may."""

    @contextmanager
    def live(name: str, declaration: ClusterDeclaration | None, *_: object) -> Iterator[Target]:
        yield Target(name, SnapshotCluster(asked.root / "live.json"), declaration)

    monkeypatch.setattr(clusters, "live", live)
    (asked.root / "live.json").write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    operator = asked.operator(_FACTS.format(open="false"))
    for who, answer in (("User:mallory", "yes"), ("User:eve", "no")):
        run(["can-i", who, "READ", "topic/orders", "--cluster", "prod", *operator])
        assert answer in capsys.readouterr().out.split("\n")[0]
