"""Topics that somebody makes next to the declared ones: a topic in scope that no manifest declares is never silent."""

import json
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.kinds import listed_types
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {allowEveryoneIfNoAclFound: false, %s}
"""
_TOPICS = """\
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: payments}
spec: {topics: [{name: payments.orders, partitions: 1}]}
"""
_ACLS = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: payments}
spec: {principal: User:svc, rules: [{deny: READ, topics: [payments.never]}]}
"""
_SCOPE = "scope: {include: [{topics: {prefix: payments.}}]}"


@pytest.fixture
def drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> "_Drift":
    return _Drift(tmp_path, capsys)


class _Drift:
    """Writes manifests and the topics that a cluster has, runs a command, gives the status and what was printed."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._root, self._capsys = root, capsys

    def __call__(self, spec: str, *live: str, command: str = "drift", documents: str = _TOPICS) -> tuple[int, str]:
        (self._root / "all.yaml").write_text(_CLUSTER % spec + documents)
        topics = {name: Topic(name, 1, 1) for name in live}
        (self._root / "live.json").write_text(snapshot_text(ClusterState("c", frozenset(), topics)))
        where = [] if command == "validate" else ["--cluster", f"prod=snapshot:{self._root / 'live.json'}"]
        self._capsys.readouterr()
        status = run([command, str(self._root / "all.yaml"), *where])
        shown = self._capsys.readouterr()
        return status, shown.out + shown.err


def test_a_topic_beside_the_declared_ones_is_drift(drift: _Drift) -> None:
    """Somebody makes ``payments.exfiltrated`` in a scope that holds ``payments.``: drift exits 2 and names it."""
    status, shown = drift(_SCOPE, "payments.orders", "payments.exfiltrated")
    assert status == Exit.DIFFERENT
    assert "payments.exfiltrated" in shown
    assert "no manifest declares it" in shown


def test_it_is_never_planned_for_deletion_without_prune_topics(drift: _Drift) -> None:
    """A plan lists it and has no step for it."""
    status, shown = drift(_SCOPE, "payments.orders", "payments.exfiltrated", command="plan")
    assert status == Exit.OK
    assert "Skipped (1)" in shown
    assert "delete topic" not in shown


@pytest.mark.parametrize(
    ("spec", "live"),
    [
        ("scope: {include: [{topics: {prefix: payments.}}]}", "ledger.other"),
        ("scope: {include: [{topics: {prefix: payments.}}], exclude: [{topics: [payments.tmp]}]}", "payments.tmp"),
        ("scope: {include: [{topics: {prefix: payments.}}]}, ignore: [{topics: [payments.tmp]}]", "payments.tmp"),
        ("scope: {include: [{topics: {any: true}}]}", "__consumer_offsets"),
        ("scope: {include: [{topics: [payments.orders]}, {principals: [User:a], topics: {any: true}}]}", "payments.b"),
        ("superUsers: [User:admin]", "payments.exfiltrated"),
    ],
)
def test_what_the_scope_does_not_hold_is_no_drift(drift: _Drift, spec: str, live: str) -> None:
    """Other teams' topics, ignored ones, Kafka's own, and all that a directory without a scope does not declare."""
    status, shown = drift(spec, "payments.orders", live)
    assert (status, "no plan removes" in shown) == (Exit.OK, False), shown


def test_manifests_of_acls_alone_do_not_answer_for_topics(drift: _Drift) -> None:
    """``topics`` in a scope limits ACLs too: without a declared topic no live one is drift."""
    _, shown = drift(_SCOPE, "payments.exfiltrated", documents=_ACLS)
    assert "payments.exfiltrated" not in shown


def test_pruning_without_topics_in_scope_is_a_problem(drift: _Drift) -> None:
    """``prune: [topics]`` that would silently do nothing does not validate."""
    status, shown = drift("prune: [topics]", command="validate")
    assert status == Exit.ERROR
    assert "KR089" in shown
    assert drift(f"prune: [topics], {_SCOPE}", command="validate")[0] == Exit.OK


@pytest.mark.parametrize("kind", [Topic.KIND, *(one.KIND for one in listed_types())])
def test_pruning_of_any_kind_without_a_scope_is_a_problem(drift: _Drift, kind: str) -> None:
    """Without ``include`` nothing that is undeclared goes, nor is any of it reported, whatever the kind."""
    status, shown = drift(f"prune: [{kind}]", command="validate")
    assert (status, "KR089" in shown, kind in shown) == (Exit.ERROR, True, True)
    named = "scope: {include: [{topics: {any: true}}, {principals: {any: true}}, {groups: {any: true}}]}"
    assert drift(f"prune: [{kind}], {named}", command="validate")[0] == Exit.OK


def test_the_finding_is_in_json(drift: _Drift, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs see it too."""
    drift(_SCOPE, "payments.orders", "payments.exfiltrated")
    where = ["--cluster", f"prod=snapshot:{tmp_path / 'live.json'}"]
    assert run(["drift", str(tmp_path / "all.yaml"), *where, "--output", "json"]) == Exit.DIFFERENT
    (left,) = json.loads(capsys.readouterr().out)["left"]
    assert (left["reason"], left["subject"]) == ("undeclared", "topic payments.exfiltrated")
