"""Facts against whoever proposes a change and would also state the facts by which it is judged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.judge import Witness
from tests.worlds import binding, bindings, step_words

_HONEST = "superUsers: [User:admin, User:reconciler], allowEveryoneIfNoAclFound: false"
_LIE = "superUsers: [User:admin, User:reconciler, User:mallory], allowEveryoneIfNoAclFound: false"
_OPEN = (
    "superUsers: [User:admin, User:reconciler], allowEveryoneIfNoAclFound: true, "
    "exceptions: [{check: closed-by-default, object: TOPIC hr.reviews, reason: needed}]"
)
_NOTHING = "vars: {}"
_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: prod}}\nspec: {{{facts}}}\n"
_PAYROLL = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: payroll}
spec:
  principal: User:svc-payroll
  rules: [{allow: [READ, WRITE], topics: [payroll.salaries]}]
"""
_TEST = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guards}
spec:
  tests: [{name: only payroll, onlyReaders: [User:svc-payroll], topics: [payroll.salaries]}]
"""
_GRANT = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: mine}}
spec: {{principal: User:mallory, rules: [{rule}]}}
"""
_SALARIES = _GRANT.format(rule="{allow: [READ, WRITE], topics: [payroll.salaries]}")
_ALTER = _GRANT.format(rule="{allow: ALTER, cluster: true}")
_REVIEWS = _GRANT.format(rule="{allow: ALL, topics: [hr.reviews]}")
_PAYROLL_LIVE = tuple(f"TOPIC:L:payroll.salaries User:svc-payroll@* ALLOW {name}" for name in ("READ", "WRITE"))


@dataclass
class _Attack:
    """Manifests, an operator's file and a snapshot in ``root``; plans by command line, as a pipeline does."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def propose(self, facts: str, *documents: str) -> None:
        (self.root / "manifests").mkdir(exist_ok=True)
        text = "".join((_CLUSTER.format(facts=facts), *documents))
        (self.root / "manifests" / "all.yaml").write_text(text, encoding="utf-8")

    def operator(self, facts: str, place: str = "operator.yaml") -> tuple[str, ...]:
        (self.root / place).write_text(_CLUSTER.format(facts=facts), encoding="utf-8")
        return "--connections", str(self.root / place)

    def live(self, *acls: str) -> None:
        topics = {name: Topic(name, 1, 1) for name in ("payroll.salaries", "hr.reviews")}
        state = ClusterState("prod-id", frozenset(bindings(*acls)), topics)
        (self.root / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")

    def run(self, command: str, *options: str) -> tuple[int, str]:
        self.capsys.readouterr()
        cluster = f"prod=snapshot:{self.root / 'live.json'}"
        status = run([command, str(self.root / "manifests"), "--cluster", cluster, *options])
        shown = self.capsys.readouterr()
        return status, shown.out + shown.err

    def document(self, command: str, *options: str) -> Any:
        _, out = self.run(command, *options, "--output", "json")
        return json.loads(out[: out.rindex("}") + 1])

    def comment(self, *options: str) -> str:
        result = self.root / "result.json"
        self.capsys.readouterr()
        cluster = f"prod=snapshot:{self.root / 'live.json'}"
        run(["plan", str(self.root / "manifests"), "--cluster", cluster, "--output", "json", *options])
        result.write_text(self.capsys.readouterr().out, encoding="utf-8")
        run(["report", str(result), "-o", "markdown"])
        return self.capsys.readouterr().out


@pytest.fixture
def attack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Attack:
    found = _Attack(tmp_path, capsys)
    found.live(*_PAYROLL_LIVE)
    return found


def test_a_grant_to_a_self_declared_super_user_is_a_gain(attack: _Attack) -> None:
    """One change adds its principal to superUsers and grants it a topic: the grant is shown, and stops the pipeline."""
    attack.propose(_LIE, _PAYROLL, _SALARIES)
    status, shown = attack.run("plan", "--fail-on", "new-access")
    assert status == Exit.FAILED_CHECK
    assert "nobody gains or loses anything" not in shown
    assert "[no effect]" not in shown
    assert "[grant]" in shown
    assert "+ User:mallory: READ, WRITE on topic `payroll.salaries`  (without effect only while the brokers' " in shown
    assert "super.users holds it, which only the manifests say)" in shown
    assert "only the manifests state superUsers (User:admin, User:reconciler, User:mallory)" in shown
    assert attack.document("plan")["accessChange"] in ("widening", "mixed")


def test_the_comment_of_that_change_is_not_calm(attack: _Attack) -> None:
    """The reviewer reads the comment alone: it begins with a warning and names what is gained."""
    attack.propose(_LIE, _PAYROLL, _SALARIES)
    comment = attack.comment()
    assert "Nobody's access changes" not in comment
    assert "✅" not in comment.splitlines()[0] + comment.splitlines()[1]
    assert "mallory" in comment
    assert "super.users" in comment


def test_access_tests_judge_a_self_declared_super_user_as_anybody(attack: _Attack) -> None:
    """The lie keeps the test that forbids the grant from seeing it: it fails in plan, test and validate."""
    attack.propose(_LIE, _PAYROLL, _TEST, _SALARIES)
    status, shown = attack.run("plan")
    assert (status, "User:mallory may READ topic payroll.salaries" in shown) == (Exit.FAILED_CHECK, True)
    status, shown = attack.run("test")
    assert (status, "User:mallory may READ topic payroll.salaries" in shown) == (Exit.FAILED_CHECK, True)
    assert run(["validate", str(attack.root / "manifests")]) == Exit.FAILED_CHECK


def test_a_must_does_not_hold_by_a_super_user_that_only_the_manifests_declare(attack: _Attack) -> None:
    """A test demands access of mallory, who has none: declared a super user, she would make it pass."""
    must = _TEST.replace("onlyReaders: [User:svc-payroll]", "principals: [User:mallory], must: [READ]")
    attack.propose(_LIE, _PAYROLL, must)
    status, shown = attack.run("plan")
    assert status == Exit.FAILED_CHECK
    assert "it holds only if User:mallory is a super user, which only the manifests say" in shown
    attack.propose(_NOTHING, _PAYROLL, must)
    status, _ = attack.run("plan", *attack.operator(_LIE))
    assert status == Exit.OK


def test_alter_on_the_cluster_for_a_self_declared_super_user_is_refused(attack: _Attack) -> None:
    """ALTER on the cluster is everything: the guard refuses, whoever says that it has no effect."""
    attack.propose(_LIE, _PAYROLL, _ALTER)
    status, shown = attack.run("plan")
    assert status == Exit.REFUSED
    assert "cluster-alter: User:mallory would gain ALTER on the cluster" in shown
    attack.propose(_NOTHING, _PAYROLL, _ALTER)
    status, shown = attack.run("plan", *attack.operator(_LIE))
    assert (status, "[no effect]" in shown) == (Exit.REFUSED, False)


def test_a_false_default_allow_does_not_make_a_grant_a_narrowing(attack: _Attack) -> None:
    """Declared open, a grant would only take from everybody else; accepted in the same change, no guard is left."""
    attack.propose(_OPEN, _PAYROLL, _REVIEWS)
    status, shown = attack.run("plan", "--fail-on", "new-access")
    assert status == Exit.FAILED_CHECK
    assert "+ User:mallory: everything on topic `hr.reviews`" in shown
    assert "[narrows]" not in shown
    assert attack.document("plan")["accessChange"] == "mixed"
    assert "### ✅" not in attack.comment()


def test_a_false_default_deny_does_not_hide_what_the_last_binding_opens(attack: _Attack) -> None:
    """Declared closed, deleting the last ACL of a topic would only take: where brokers are open, it opens the topic."""
    attack.live(*_PAYROLL_LIVE, "TOPIC:L:hr.reviews User:hr@* ALLOW READ")
    attack.propose(_HONEST, _PAYROLL)
    status, shown = attack.run("plan", "--allow-deletes", "--fail-on", "new-access")
    assert status == Exit.FAILED_CHECK
    assert "+ everybody else: READ, WRITE, ALTER, ALTER_CONFIGS on topic `hr.reviews`  (perhaps)" in shown
    assert f"- {step_words(binding('TOPIC:L:hr.reviews User:hr@* ALLOW READ'))}  [widens]" in shown
    assert "Loses its last ACL: open to everybody if default-allow is on" in shown


def test_access_tests_do_not_pass_by_a_default_allow_that_only_the_manifests_state(attack: _Attack) -> None:
    """Without ACLs the topic is closed only if the brokers are: a test of it is undecided until the operator says."""
    closed = _TEST.replace("payroll.salaries", "hr.reviews")
    attack.propose(_HONEST, _PAYROLL, closed)
    status, shown = attack.run("plan")
    assert (status, "1 undecided" in shown) == (Exit.FAILED_CHECK, True)
    status, _ = attack.run("plan", *attack.operator(_HONEST))
    assert status == Exit.OK


@pytest.mark.parametrize("facts", [_LIE, _OPEN])
def test_a_change_of_facts_alone_is_not_calm(attack: _Attack, facts: str) -> None:
    """First the facts, later the grant: the first step says whose word they are, in plan, drift and comment."""
    attack.propose(facts, _PAYROLL)
    status, shown = attack.run("plan")
    assert (status, "only the manifests state" in shown) == (Exit.OK, True)
    status, shown = attack.run("drift")
    assert (status, "only the manifests state" in shown) == (Exit.OK, True)
    comment = attack.comment()
    assert "### ✅" not in comment
    assert "only the manifests state" in comment


def test_the_ids_differ_with_and_without_the_lie(attack: _Attack) -> None:
    """Whoever approved the honest plan did not approve the one with other facts."""
    documents = []
    for facts in (_HONEST, _LIE):
        attack.propose(facts, _PAYROLL, _SALARIES)
        documents.append(attack.document("plan"))
    honest, lie = documents
    assert honest["facts"]["superUsers"] != lie["facts"]["superUsers"]
    assert {"superUsers": "manifests"}.items() <= lie["facts"]["sources"].items()
    assert honest["changeId"] != lie["changeId"]
    assert honest["planId"] != lie["planId"]


@pytest.mark.parametrize(
    ("stated", "lie"),
    [
        (_HONEST, _LIE),
        ("superUsers: []", _LIE),
        ("allowEveryoneIfNoAclFound: false", _OPEN),
        ("exceptions: []", _OPEN),
        ("deleteLimits: {maxDeletes: 1}", "deleteLimits: {maxDeletes: 100}"),
        ("barrier: {wait: 2s}", "barrier: {wait: 0s}"),
        ("principal: User:reconciler", "principal: User:other"),
        ("brokers: [1, 2, 3]", "brokers: [1]"),
    ],
)
def test_a_manifest_that_contradicts_the_operator_is_refused(attack: _Attack, stated: str, lie: str) -> None:
    """The operator's file states a fact and the proposal another: a problem with both places, and no plan."""
    attack.propose(lie, _PAYROLL)
    status, shown = attack.run("plan", *attack.operator(stated))
    assert status == Exit.ERROR
    assert "KR086" in shown
    assert "operator.yaml:4:" in shown
    assert "Access\n" not in shown


def test_a_connections_file_inside_the_manifests_is_the_proposers(attack: _Attack) -> None:
    """The proposal brings a connections file of its own, hidden among the manifests: its facts are only claims."""
    attack.propose(_NOTHING, _PAYROLL, _SALARIES)
    own = attack.operator(_LIE, "manifests/.operator.yaml")
    document = attack.document("plan", *own)
    assert document["facts"]["sources"]["superUsers"] == "nobody"
    assert document["accessChange"] in ("widening", "mixed")


def test_an_established_super_user_is_shown_more_calmly_and_still_as_a_gain(attack: _Attack) -> None:
    """The operator says that mallory is a super user: her grant is a gain all the same, and gates see it."""
    attack.propose(_NOTHING, _PAYROLL, _SALARIES)
    status, shown = attack.run("plan", "--fail-on", "new-access", *attack.operator(_LIE))
    assert status == Exit.FAILED_CHECK
    assert "(without effect only while the brokers' super.users holds it)" in shown
    assert "[no effect]" not in shown
    assert "only the manifests" not in shown


def test_with_the_operators_word_a_calm_verdict_is_calm(attack: _Attack) -> None:
    """What narrows narrows, and nothing to do is nothing to do, once the facts are the operator's."""
    operator = attack.operator(_HONEST)
    attack.propose(_NOTHING, _PAYROLL)
    assert "### ✅ Harmless: Nothing to do" in attack.comment(*operator)
    attack.live(*_PAYROLL_LIVE, "TOPIC:L:payroll.salaries User:bob@* ALLOW READ")
    document = attack.document("plan", "--allow-deletes", *operator)
    assert (document["accessChange"], document["warnings"]) == ("narrowing", [])


def test_the_gain_that_the_lie_hid_is_real(broker: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a broker that knows no such super user: ALTER is refused, and once it is accepted the access is there."""
    mallory, topic = "facts-mallory", "facts.salaries"
    grant = (
        f"---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: mine}}\nspec:\n  principal: User:{mallory}\n"
        f"  rules: [{{allow: [WRITE, DESCRIBE], topics: [{topic}]}}, {{allow: ALTER, cluster: true}}]\n"
    )
    declared = (
        f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {broker.name}}}\nspec:\n"
        f"  superUsers: [User:admin, User:reconciler, User:{mallory}]\n"
        f"  scope: {{include: [{{principals: [User:{mallory}]}}, {{topics: [{topic}]}}]}}\n"
        f"---\napiVersion: reconciler/v1\nkind: Topics\nmetadata: {{name: t}}\nspec:\n"
        f"  topics: [{{name: {topic}, partitions: 1, replicationFactor: 1}}]\n"
    )
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(declared + grant, encoding="utf-8")
    operator = tmp_path / "operator.yaml"
    connection = broker.connections.read_text(encoding="utf-8")
    reach = [str(tmp_path / "manifests"), "--cluster", broker.name, "--connections", str(operator)]
    reach += ["--secrets-dir", str(broker.directory)]
    silent = [line for line in connection.splitlines() if not line.startswith(("  superUsers:", "  allowEveryone"))]
    operator.write_text("\n".join([*silent, "  allowEveryoneIfNoAclFound: false", ""]), encoding="utf-8")

    assert run(["plan", *reach]) == Exit.REFUSED
    shown = capsys.readouterr().out
    assert f"cluster-alter: User:{mallory} would gain ALTER on the cluster" in shown
    assert "[no effect]" not in shown
    assert run(["apply", *reach, "--yes"]) == Exit.REFUSED
    # What nobody refused is there; the plan of what is left is the refused grant alone.
    assert "1 change refused, and not performed" in capsys.readouterr().out
    assert run(["plan", *reach]) == Exit.REFUSED
    assert "Nothing that this plan is allowed to do." in capsys.readouterr().out

    assert run(["apply", *reach, "--yes", "--accept", f"cluster-alter=User:{mallory}"]) == Exit.OK
    try:
        assert Witness(broker.settings(mallory, "OAUTHBEARER")).produces(topic) is True
    finally:
        (tmp_path / "manifests" / "all.yaml").write_text(declared, encoding="utf-8")
        assert run(["apply", *reach, "--yes", "--allow-deletes", "--accept", f"empty-desired={broker.name}"]) == Exit.OK
