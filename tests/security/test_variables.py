"""Variables in names: whoever writes a value for a cluster cannot widen what a reviewer reads in a rule."""

import datetime
import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifest import variables
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import bindings

DAY = datetime.date(2027, 1, 1)
HEAD = "apiVersion: reconciler/v1\n"


def problems(value: str, spec: str, kind: str = "Acls") -> set[str]:
    """The codes of what is wrong with a document where ``vars.v`` has that value."""
    cluster = f"{HEAD}kind: Cluster\nmetadata: {{name: c}}\nspec: {{vars: {{v: {json.dumps(value)}}}}}\n"
    document = f"{HEAD}kind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
    try:
        desired_state(load([Source("a.yaml", document), Source("c.yaml", cluster)]), "c", DAY)
    except ManifestError as error:
        return {problem.code for problem in error.problems}
    return set()


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        ("*", "{principal: 'User:a', rules: [{allow: READ, topics: '${vars.v}'}]}"),
        ("*", "{principal: 'User:a', rules: [{allow: READ, topics: x, hosts: '${vars.v}'}]}"),
        ("*", "{principal: 'User:${vars.v}', rules: [{allow: READ, topics: x}]}"),
        ("User:*", "{principal: '${vars.v}', rules: [{allow: READ, topics: x}]}"),
        ("User", "{principal: '${vars.v}:*', rules: [{allow: READ, topics: x}]}"),
        ("x*", "{principal: 'User:a', rules: [{allow: READ, groups: {literal: ['a${vars.v}']}}]}"),
        ("", "{principal: 'User:a', rules: [{allow: READ, topics: {prefix: 'a${vars.v}'}}]}"),
    ],
)
def test_a_value_is_a_wildcard(value: str, spec: str) -> None:
    """A value of * or nothing, in a name, a principal, a host or a prefix, is refused: it grants more than it shows."""
    assert problems(value, spec) == {"KR031"}


@pytest.mark.parametrize("value", ["User:svc-*", "svc-?", "*"])
def test_a_value_widens_the_exceptions_of_a_claim(value: str) -> None:
    """A value with a glob in the exceptions of an access test, where * means any text, is refused inside a text."""
    test = "{name: t, principals: 'User:*', except: 'User:a-${vars.v}', mustNot: READ, topics: x}"
    assert problems(value, f"{{tests: [{test}]}}", "AccessTests") == {"KR031"}


def test_a_value_is_filled_in_again() -> None:
    """A value that spells another variable, or half of one, is refused: nothing is expanded twice."""
    rule = "{principal: 'User:a', rules: [{allow: READ, groups: 'g${vars.v}{vars.v}'}]}"
    assert problems("$", rule) == {"KR031"}
    assert problems("${vars.v}", rule) == {"KR029"}


def test_a_value_becomes_the_parameter_of_a_role() -> None:
    """A value of $topics in a Role, which would make a fixed name what every use of the role names, is refused."""
    assert problems("$topics", "{rules: [{allow: READ, topics: '${vars.v}'}]}", "Role") == {"KR031"}


def test_a_value_is_code_in_a_policy() -> None:
    """A value with quotes and operators is never put into a condition of a policy: that is refused as it is written."""
    rule = "{name: r, topics: {any: true}, expression: \"name.startsWith('${vars.v}')\"}"
    assert problems("x') || true || ('", f"{{rules: [{rule}]}}", "TopicPolicy") == {"KR029"}


def test_the_characters_of_a_variable_are_no_code_of_a_value() -> None:
    """Escaped, they are text of the expression itself, whatever the values are."""
    rule = "{name: r, topics: {any: true}, expression: \"name != '$${vars.v}'\"}"
    assert problems("x') || true || ('", f"{{rules: [{rule}]}}", "TopicPolicy") == set()


@pytest.mark.parametrize("value", ["a\u202eb", "a\u200bb", "e\u0301"])
def test_a_value_holds_what_nobody_sees(value: str) -> None:
    """A value with characters that a reviewer cannot see or tell is refused in the Cluster document."""
    assert problems(value, "{principal: 'User:${vars.v}', rules: [{allow: READ, topics: x}]}") & {"KR005", "KR015"}


def test_a_long_value_is_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long value in many texts ends in a problem, not in more text than a machine holds."""
    monkeypatch.setattr(variables, "MAX_FILLED", 100_000)
    rules = ", ".join(f"{{allow: READ, groups: g{number}, reason: 'x${{vars.v}}'}}" for number in range(20))
    assert problems("a" * 9_000, f"{{principal: 'User:a', rules: [{rules}]}}") == {"KR031"}
    assert problems("a" * 900, f"{{principal: 'User:a', rules: [{rules}]}}") == set()


def test_a_team_reaches_another_team_by_a_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ownership judges the name that results, whatever the rule looks like before its variable has a value."""
    (tmp_path / "teams").mkdir()
    (tmp_path / "cluster.yaml").write_text(
        f"{HEAD}kind: Cluster\nmetadata: {{name: c}}\nspec: {{vars: {{team: ledger}}}}\n---\n"
        f"{HEAD}kind: Ownership\nmetadata: {{name: o}}\nspec:\n  owners:\n"
        "    - {team: ledger, files: ledger.yaml, topics: {prefix: ledger.}}\n"
        "    - {team: orders, files: teams/orders.yaml, topics: {prefix: orders.}}\n",
        encoding="utf-8",
    )
    (tmp_path / "teams" / "orders.yaml").write_text(
        f"{HEAD}kind: Acls\nmetadata: {{name: a}}\nspec:\n  principal: User:svc-orders\n"
        "  rules: [{allow: READ, topics: '${vars.team}.accounts'}]\n",
        encoding="utf-8",
    )
    assert run(["validate", str(tmp_path)]) == 3
    assert "ledger.accounts" in capsys.readouterr().out


OWNERS = f"""{HEAD}kind: Ownership
metadata: {{name: o}}
spec:
  owners:
    - {{team: ledger, files: ledger.yaml, topics: {{prefix: "${{vars.env}}.ledger."}}}}
    - {{team: orders, files: orders.yaml, topics: {{prefix: "${{vars.env}}.orders."}}}}
"""


def judged(tmp_path: Path, cluster: str, env: str) -> int:
    """The status of a proposal that declares a cluster with those vars, held by guardrails that know only ``prod``."""
    names = {"base": ("prod", "prod"), "proposal": (cluster, env)}
    for directory, (name, value) in names.items():
        (tmp_path / directory).mkdir()
        text = f"{HEAD}kind: Cluster\nmetadata: {{name: {name}}}\nspec: {{vars: {{env: {value}}}}}\n---\n{OWNERS}"
        (tmp_path / directory / "c.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "proposal" / "ledger.yaml").write_text("# nothing yet\n", encoding="utf-8")
    (tmp_path / "proposal" / "orders.yaml").write_text(
        f"{HEAD}kind: Acls\nmetadata: {{name: a}}\nspec:\n  principal: User:a\n"
        "  rules: [{allow: READ, topics: prod.ledger.accounts}]\n",
        encoding="utf-8",
    )
    arguments = ["validate", str(tmp_path / "proposal"), "--guardrails", str(tmp_path / "base"), "--fail-on"]
    return run([*arguments, "guardrails"])


def test_a_proposal_moves_the_variables_of_its_guardrails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A proposal that changes vars, so that Ownership is about other names, is judged by those of the base."""
    assert judged(tmp_path, "prod", "other") == 3
    assert "prod.ledger.accounts of ledger" in capsys.readouterr().out


def test_a_proposal_adds_a_cluster_with_variables_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The values of a cluster that the guardrails do not know are the proposal's word: that is said, and fails."""
    assert judged(tmp_path, "prod-2", "other") == 3
    assert "the guardrails do not declare the cluster prod-2" in capsys.readouterr().out


def test_a_value_moves_a_grant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed value in a Cluster document, with every rule as it was, shows as the access that it gives."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(
        f"{HEAD}kind: Cluster\nmetadata: {{name: c}}\n"
        "spec: {superUsers: [], allowEveryoneIfNoAclFound: false, vars: {team: payroll}}\n---\n"
        f"{HEAD}kind: Acls\nmetadata: {{name: a}}\n"
        "spec: {principal: 'User:a', rules: [{allow: READ, topics: '${vars.team}.events'}]}\n",
        encoding="utf-8",
    )
    live = tmp_path / "live.json"
    was = ClusterState("c", frozenset(bindings("TOPIC:L:orders.events User:a@* ALLOW READ")))
    live.write_text(snapshot_text(was, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    arguments = ["plan", str(tmp_path / "m"), "--cluster", f"snapshot:{live}", "--fail-on", "new-access"]
    assert run(arguments) == 3
    assert "+ User:a: READ on topic `payroll.events`" in capsys.readouterr().out
