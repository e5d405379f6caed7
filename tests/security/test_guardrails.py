"""A pull request that loosens what judges it: told, and held, by the guardrails of another directory."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from reconciler.app.access_checks import checks_of
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.reasons import RequestError
from reconciler.app.undo import undo
from reconciler.cli.console import Exit
from reconciler.cli.main import program, run
from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType
from reconciler.model.acl import ResourcePattern as Pattern
from reconciler.model.acl import ResourceType as Type
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import read_result
from reconciler.snapshot.document import BrokerFacts, snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod, labels: {env: prod}}
spec:
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  principal: User:admin
  scope: {include: [{principals: {prefix: "User:svc-"}}, {topics: {prefix: payroll.}}]}
  deleteLimits: {maxDeletes: 1}
  protect: [{topics: [payroll.ledger]}]
  barrier: {wait: 2s}
"""
#: The operator's word, by which the facts are more than a claim of whoever proposes.
_OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: [localhost:1]
  principal: User:admin
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
"""
_GUARD = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guards}
spec:
  clusters: {matchLabels: {env: prod}}
  tests: [{name: only payroll, onlyReaders: [User:svc-payroll], topics: {prefix: payroll.}}]
"""
_OWNERS = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: teams/pay/**, principals: ["User:svc-payroll"], topics: {prefix: payroll.}}
    - {team: web, files: teams/web/**, principals: {prefix: "User:svc-web"}, topics: {prefix: web.}}
"""
_POLICY = """\
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {name: personal}
spec:
  rules: [{name: few, matchLabels: {data: personal}, configs: {retention.ms: {max: 30d}}, message: personal data goes}]
"""
_PAY = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: pay}
spec:
  principal: User:svc-payroll
  rules: [{allow: [READ, WRITE], topics: [payroll.salaries]}]
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: pay}
spec:
  topics: [{name: payroll.salaries, labels: {data: personal}, partitions: 1, configs: {retention.ms: 7d}}]
"""
_ATTACK = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: attack}
spec:
  principal: User:svc-web
  rules: [{allow: [READ, WRITE], topics: [payroll.salaries]}]
"""
_FILES = {
    "cluster.yaml": _CLUSTER,
    "guard.yaml": _GUARD,
    "owners.yaml": _OWNERS,
    "policy.yaml": _POLICY,
    "teams/pay/all.yaml": _PAY,
}


def _binding(principal: str, topic: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        Pattern(Type.TOPIC, topic), AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW)
    )


_LIVE = (
    _binding("User:svc-payroll", "payroll.salaries", AclOperation.READ),
    _binding("User:svc-payroll", "payroll.salaries", AclOperation.WRITE),
)


class PullRequest:
    """A base, a proposal that begins as its copy, and a cluster on which the proposal is planned."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._root, self._capsys = root, capsys
        for directory in ("base", "pr"):
            for path, text in _FILES.items():
                self.write(path, text, directory)
        (root / "operator.yaml").write_text(_OPERATOR, encoding="utf-8")
        self.live(*_LIVE)

    def write(self, path: str, text: str, directory: str = "pr") -> None:
        file = self._root / directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self._root / "pr" / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self._root / "pr" / path).unlink()

    def rename(self, path: str, other: str) -> None:
        (self._root / "pr" / path).rename(self._root / "pr" / other)

    def live(self, *bindings: AclBinding) -> None:
        topic = Topic("payroll.salaries", 1, 1, {"retention.ms": "604800000"})
        state = ClusterState("abc", frozenset(bindings), {topic.name: topic})
        (self._root / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))))

    def run(self, command: str, *more: str) -> tuple[int, str]:
        status = run([command, "pr", *more])
        return status, self._capsys.readouterr().out

    def plan(self, *more: str, rails: bool = True) -> tuple[int, str]:
        cluster = ("--cluster", "prod=snapshot:live.json", "--connections", "operator.yaml")
        return self.run("plan", *cluster, *(("--guardrails", "base", "--base", "base") if rails else ()), *more)

    def report(self, form: str) -> str:
        """What a report of the proposal's plan says in a format."""
        _, result = self.plan("--output", "json")
        if form == "slack":
            return slack_message(read_result(json.loads(result)))
        (self._root / "result.json").write_text(result)
        assert run(["report", "result.json", "-o", form]) in (Exit.OK, Exit.FAILED_CHECK)
        return self._capsys.readouterr().out


@pytest.fixture
def pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> PullRequest:
    monkeypatch.chdir(tmp_path)
    return PullRequest(tmp_path, capsys)


#: How the change that grants svc-web the payroll gets rid of each judge: what each attacker writes.
_ESCAPES: dict[str, Callable[[PullRequest], None]] = {
    "the cluster's label": lambda it: it.edit("cluster.yaml", "env: prod", "env: production"),
    "the test's selector": lambda it: it.edit("guard.yaml", "env: prod", "env: none"),
    "a hidden file": lambda it: it.rename("guard.yaml", ".guard.yaml"),
    "a deleted file": lambda it: it.remove("guard.yaml"),
    "an exception": lambda it: it.edit(
        "guard.yaml",
        "tests: [",
        "exceptions: [{check: only payroll, reason: later, expires: 2099-01-01}]\n  tests: [",
    ),
    "a warning": lambda it: it.edit("guard.yaml", "{name: only payroll,", "{name: only payroll, severity: warning,"),
    "one more reader": lambda it: it.edit("guard.yaml", "[User:svc-payroll]", "[User:svc-payroll, User:svc-web]"),
    "fewer names": lambda it: it.edit("guard.yaml", "{prefix: payroll.}", "[payroll.other]"),
}


@pytest.mark.parametrize("escape", _ESCAPES)
def test_a_grant_whose_access_test_goes_in_the_same_change(pull_request: PullRequest, escape: str) -> None:
    """A pull request grants the payroll and edits the access test that forbids it: the base's test still fails."""
    pull_request.write("attack.yaml", _ATTACK)
    pull_request.remove("owners.yaml")
    _ESCAPES[escape](pull_request)
    # Alone it is judged by its own rules: this is the hole, and why the action gives the base's.
    assert pull_request.plan(rails=False)[0] == Exit.OK
    status, shown = pull_request.plan()
    assert status == Exit.FAILED_CHECK
    assert shown.startswith("prod: The guardrails change. User:svc-web gains access.\n")
    assert re.search(r"failed  only payroll  guardrails://guard\.yaml:6:\d+", shown)
    assert pull_request.run("validate", "--guardrails", "base")[0] == Exit.FAILED_CHECK
    assert pull_request.run("test", "--guardrails", "base")[0] == Exit.FAILED_CHECK


@pytest.mark.parametrize("escape", _ESCAPES)
def test_a_change_of_guardrails_alone_is_not_nothing_to_do(pull_request: PullRequest, escape: str) -> None:
    """A pull request edits only a rule, to use that later: every output for people says so, and CI can stop it."""
    _ESCAPES[escape](pull_request)
    status, shown = pull_request.plan("--fail-on", "guardrails")
    assert (status, shown.startswith("prod: The guardrails change.")) == (Exit.FAILED_CHECK, True)
    for form in ("text", "markdown", "summary", "html", "slack", "github"):
        said = pull_request.report(form)
        assert "Guardrails changed: " in said, form
        assert "✅" not in said, form
        assert "All well" not in said, form


def test_a_change_that_edits_no_rule_says_nothing_of_them(pull_request: PullRequest) -> None:
    """No false alarm: the base and its copy."""
    status, shown = pull_request.plan("--fail-on", "guardrails")
    assert (status, "Guardrails" in shown) == (Exit.OK, False)
    assert "### ✅ Harmless: Nothing to do" in pull_request.report("markdown")


def test_owners_that_a_new_file_adds_to_the_own_team(pull_request: PullRequest) -> None:
    """A new root file gives team web every topic: by the guardrails' Ownership it is still the payroll's."""
    everything = (
        _OWNERS[: _OWNERS.index("    - ")].replace("teams}", "more}") + "    - {team: web, topics: {any: true}}\n"
    )
    pull_request.write("zz.yaml", everything)
    pull_request.edit("guard.yaml", "[User:svc-payroll]", '["User:*"]')
    pull_request.write("teams/web/attack.yaml", _ATTACK)
    assert pull_request.plan(rails=False)[0] == Exit.OK
    status, shown = pull_request.plan()
    assert status == Exit.FAILED_CHECK
    assert (
        "a file of web declares READ, WRITE on topic payroll.salaries of pay (by the guardrails, guardrails://" in shown
    )


def test_a_consent_that_comes_with_its_use(pull_request: PullRequest) -> None:
    """Whoever may write both teams' files cannot consent for the owner in the change that needs it."""
    consent = "[{team: pay, to: web, operations: ALL, topics: [payroll.salaries]}]"
    document = f"apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: c}}\nspec:\n  consents: {consent}\n"
    pull_request.write("teams/pay/consents.yaml", document)
    pull_request.remove("guard.yaml")
    pull_request.write("teams/web/attack.yaml", _ATTACK)
    assert pull_request.plan(rails=False)[0] == Exit.OK
    status, shown = pull_request.plan()
    assert status == Exit.FAILED_CHECK
    assert "merge that before the change that needs it" in shown


def test_a_topic_that_loses_the_label_of_its_policy(pull_request: PullRequest) -> None:
    """A pull request keeps personal data for a year by taking the label away that the policy is about."""
    pull_request.edit("teams/pay/all.yaml", ", labels: {data: personal}", "")
    pull_request.edit("teams/pay/all.yaml", "retention.ms: 7d", "retention.ms: 365d")
    assert pull_request.plan(rails=False)[0] == Exit.OK
    status, shown = pull_request.plan()
    assert status == Exit.FAILED_CHECK
    assert "Topics pay, spec.topics[payroll.salaries].labels" in shown
    assert "personal data goes" in shown


@pytest.mark.parametrize("change", ["remove", "except", "warn"])
def test_a_topic_policy_that_the_change_loosens(pull_request: PullRequest, change: str) -> None:
    """A pull request removes, excepts or turns down the policy that it breaks: the base's is still broken."""
    rule = "{name: few, matchLabels: {data: personal},"
    exception = "exceptions: [{check: few, topics: [payroll.salaries], reason: later, expires: 2099-01-01}]\n  rules:"
    if change == "remove":
        pull_request.remove("policy.yaml")
    else:
        edits = {"except": ("rules:", exception), "warn": (rule, f"{rule} severity: warning,")}
        pull_request.edit("policy.yaml", *edits[change])
    pull_request.edit("teams/pay/all.yaml", "retention.ms: 7d", "retention.ms: 365d")
    assert pull_request.plan(rails=False)[0] == Exit.OK
    assert pull_request.plan()[0] == Exit.FAILED_CHECK


def test_limits_protection_and_their_exception(pull_request: PullRequest) -> None:
    """A pull request deletes two grants: it raises the limit, and accepts it; the base's limit refuses."""
    pull_request.edit("cluster.yaml", "maxDeletes: 1", "maxDeletes: 100")
    pull_request.live(
        *_LIVE, *(_binding("User:svc-old", "old", one) for one in (AclOperation.READ, AclOperation.WRITE))
    )
    assert pull_request.plan("--allow-deletes", rails=False)[0] == Exit.OK
    status, shown = pull_request.plan("--allow-deletes")
    assert (status, "limit" in shown) == (Exit.REFUSED, True)
    accepted = "  exceptions: [{check: limit, object: maxDeletes, reason: because, ticket: SEC-7}]\n"
    pull_request.write("cluster.yaml", _CLUSTER + accepted)
    status, shown = pull_request.plan("--allow-deletes", rails=False)
    assert (status, "SEC-7: because" in shown) == (Exit.OK, True)
    status, shown = pull_request.plan("--allow-deletes")
    assert status == Exit.REFUSED
    assert "the exception of limit for maxDeletes does not count" in shown
    assert "guardrails://cluster.yaml:3:18" in shown


def test_protection_that_the_change_takes_away(pull_request: PullRequest) -> None:
    """A pull request removes protect and grants what it protects."""
    pull_request.edit("cluster.yaml", "  protect: [{topics: [payroll.ledger]}]\n", "")
    pull_request.edit("teams/pay/all.yaml", "[payroll.salaries]}]", "[payroll.salaries, payroll.ledger]}]")
    assert pull_request.plan(rails=False)[0] == Exit.OK
    assert pull_request.plan()[0] == Exit.REFUSED


_WIDER = ("{topics: {prefix: payroll.}}", "{topics: {any: true}}, {principals: {any: true}}")


def test_a_scope_that_the_change_widens(pull_request: PullRequest) -> None:
    """A pull request takes all topics into scope: what it declares there is a problem, with both places."""
    pull_request.edit(
        "cluster.yaml", "{topics: {prefix: payroll.}}", "{topics: {any: true}}, {principals: {any: true}}"
    )
    foreign = _ATTACK.replace("User:svc-web", "User:other").replace("payroll.salaries", "elsewhere")
    pull_request.write("foreign.yaml", foreign)
    assert pull_request.plan(rails=False)[0] == Exit.OK
    status, shown = pull_request.run("validate", "--guardrails", "base", "--output", "json")
    assert status == Exit.ERROR
    [problem] = [one for one in json.loads(shown)["problems"] if one["code"] == "KR080"]
    assert problem["related"] == ["cluster.yaml:3:18", "guardrails://cluster.yaml:3:18"]


def test_what_a_wider_scope_would_delete(pull_request: PullRequest) -> None:
    """Live bindings that only the proposal's scope owns are not for this change to delete."""
    pull_request.live(*_LIVE, _binding("User:other", "elsewhere", AclOperation.READ))
    pull_request.edit(
        "cluster.yaml", "{topics: {prefix: payroll.}}", "{topics: {any: true}}, {principals: {any: true}}"
    )
    assert "- User:other ALLOW READ" in pull_request.plan("--allow-deletes", rails=False)[1]
    shown = pull_request.plan("--allow-deletes")[1]
    assert "- User:other ALLOW READ" not in shown
    assert "the scope of prod is wider than in the guardrails: only what is in both scopes counts" in shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  deleteLimits:", '  ignore: [{principals: {prefix: "User:svc-backdoor"}}]\n  deleteLimits:'),
        ("include: [", 'exclude: [{principals: {prefix: "User:svc-backdoor"}}], include: ['),
        ("{topics: {prefix: payroll.}}", "{topics: {prefix: payroll.x}}"),
    ],
)
def test_what_drift_no_longer_sees(pull_request: PullRequest, old: str, new: str) -> None:
    """A pull request ignores, or no longer includes, what somebody will create by hand: both places are told."""
    pull_request.edit("cluster.yaml", old, new)
    pull_request.edit("teams/pay/all.yaml", "payroll.salaries", "payroll.x.salaries")
    status, shown = pull_request.plan("--fail-on", "guardrails")
    assert status == Exit.FAILED_CHECK
    assert "leaves out what the guardrails have in scope: no drift shows there" in shown
    assert "cluster.yaml:3:18, guardrails://cluster.yaml:3:18" in shown


def test_a_barrier_that_does_not_wait(pull_request: PullRequest) -> None:
    """A pull request sets the barrier to nothing, so that a delete overtakes a create: the base's wait counts."""
    pull_request.edit("cluster.yaml", "wait: 2s", "wait: 0s")
    _, shown = pull_request.plan("--output", "json")
    result = json.loads(shown)
    assert result["terms"]["barrierWaitSeconds"] == 2
    assert [one["field"] for one in result["guardrails"]["changes"]] == ["spec.barrier.wait"]


def test_an_exception_that_lets_a_guard_pass_stands_in_every_output(pull_request: PullRequest) -> None:
    """A pull request that accepts cluster-alter and grants it: reviewers are told, whatever they read."""
    text = _CLUSTER.replace('{prefix: "User:svc-"}}', '{prefix: "User:svc-"}}, {cluster: true}')
    for directory in ("base", "pr"):
        pull_request.write("cluster.yaml", text, directory)
    grant = "{check: cluster-alter, object: User:svc-web, reason: it provisions}"
    pull_request.write("cluster.yaml", f"{text}  exceptions: [{grant}]\n")
    rule = _ATTACK.replace("[READ, WRITE], topics: [payroll.salaries]", "ALTER, cluster: true")
    pull_request.write("attack.yaml", rule)
    pull_request.remove("owners.yaml")
    shown = pull_request.plan()[1]
    assert "Cluster prod, spec.exceptions" in shown
    # Also where it came with an earlier change, and is no difference any more.
    pull_request.write("cluster.yaml", f"{text}  exceptions: [{grant}]\n", "base")
    for form in ("text", "markdown", "summary", "html", "slack"):
        said = pull_request.report(form)
        assert "cluster-alter" in re.sub(r"[\\&#45;]+", "-", said), form


@pytest.mark.parametrize("broken", ["missing", "empty", "unreadable", "hidden only"])
def test_guardrails_that_cannot_be_read_are_no_empty_ones(
    pull_request: PullRequest, tmp_path: Path, broken: str
) -> None:
    """A base that has no manifests, or broken ones, does not judge by nothing."""
    rails = tmp_path / "rails"
    if broken != "missing":
        rails.mkdir()
    if broken == "unreadable":
        (rails / "guard.yaml").write_text(_GUARD.replace("AccessTests", "AccessTest"))
    if broken == "hidden only":
        (rails / ".guard.yaml").write_text(_GUARD)
    for command in ("validate", "test"):
        assert pull_request.run(command, "--guardrails", "rails")[0] in (Exit.ERROR, Exit.USAGE)
    assert pull_request.plan("--guardrails", "rails", rails=False)[0] in (Exit.ERROR, Exit.USAGE)


@pytest.mark.parametrize("rails", ["pr", "pr/teams", "."])
def test_guardrails_that_the_proposal_could_edit(pull_request: PullRequest, rails: str) -> None:
    """A pipeline that takes the guardrails from the proposal itself is told that these judge nothing."""
    assert pull_request.run("validate", "--guardrails", rails)[0] == Exit.USAGE


def test_a_file_that_is_called_like_a_guardrail(pull_request: PullRequest) -> None:
    """No path of the proposal reads as one of the guardrails."""
    pull_request.write("guardrails:/guard.yaml", _GUARD.replace("guards}", "mine}").replace("only payroll", "mine"))
    _, shown = pull_request.run("test", "--all", "--guardrails", "base")
    assert "guardrails:/guard.yaml:6:" in shown
    assert "guardrails://guard.yaml" not in shown


def test_a_plan_made_under_guardrails_is_applied_under_them(pull_request: PullRequest, tmp_path: Path) -> None:
    """A saved plan holds the digest of its guardrails: without them, or under others, it is refused."""
    pull_request.edit("teams/pay/all.yaml", "[READ, WRITE]", "[READ, WRITE, DESCRIBE]")
    assert pull_request.plan("--out", "plan.json")[0] == Exit.OK
    apply = [
        "apply",
        "plan.json",
        "pr",
        "--yes",
        "--cluster",
        "prod=snapshot:live.json",
        "--connections",
        "operator.yaml",
    ]
    assert run(apply) == Exit.USAGE
    guard = tmp_path / "base" / "guard.yaml"
    guard.write_text(_GUARD.replace("{prefix: payroll.}", "[payroll.other]"))
    assert run([*apply, "--guardrails", "base"]) == Exit.STALE
    guard.write_text(_GUARD)
    assert run([*apply, "--guardrails", "base"]) == Exit.OK


def test_an_undo_of_what_guardrails_held_is_held_by_them(pull_request: PullRequest, tmp_path: Path) -> None:
    """Access that goes comes back by an undo, which the manifests alone, without their rule by now, would permit."""
    pull_request.live(*_LIVE, _binding("User:svc-web", "payroll.salaries", AclOperation.READ))
    assert pull_request.plan("--allow-deletes", "--out", "plan.json")[0] == Exit.OK
    live = (tmp_path / "live.json").read_text()
    on = ("pr", "--connections", "operator.yaml", "--guardrails", "base")
    assert run(["apply", "plan.json", *on, "--yes", "--cluster", "prod=snapshot:live.json"]) == Exit.OK
    assert (tmp_path / "live.json").read_text() != live
    pull_request.remove("guard.yaml")
    asked = ("plan.json", "pr", PlanOptions(), ConnectionOptions("operator.yaml"))
    with pytest.raises(RequestError, match="made under guardrails"):
        undo(*asked, cluster="prod=snapshot:live.json")
    back, _ = undo(*asked[:2], PlanOptions(guardrails="base"), asked[3], cluster="prod=snapshot:live.json")
    assert [str(step.change.after) for step in back.plan.steps] == [
        str(_binding("User:svc-web", "payroll.salaries", AclOperation.READ))
    ]
    assert checks_of(back).stops
    assert back.plan.guardrails.digest is not None


def test_every_command_that_plans_takes_guardrails() -> None:
    """A command that accepts what a safety check refuses makes a plan of manifests; a lock is an operator's word."""

    def walk(command: click.Command, name: str, context: click.Context) -> Iterator[tuple[str, set[str]]]:
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                assert found is not None
                yield from walk(found, f"{name} {below}".strip(), click.Context(found, context, below))
        else:
            yield name, {text for option in command.params for text in option.opts}

    commands = dict(walk(program, "", click.Context(program)))
    planning = {name for name, options in commands.items() if "--accept" in options}
    assert {name for name in planning if "--guardrails" not in commands[name]} == {"lock", "fleet lock", "unlock"}
    assert {"plan", "apply", "undo", "fleet plan"} <= planning


def test_access_tests_that_apply_to_no_cluster(pull_request: PullRequest) -> None:
    """Zero of the declared access tests apply: a warning in plan, validate and test."""
    pull_request.edit("guard.yaml", "env: prod", "env: none")
    for shown in (
        pull_request.plan(rails=False)[1],
        pull_request.run("validate")[1],
        pull_request.run("test")[1],
    ):
        assert re.search(r"warning +0 AccessTests apply to prod", shown)


def test_guardrails_that_do_not_declare_the_cluster(pull_request: PullRequest, tmp_path: Path) -> None:
    """Rules of a security team for `env: prod`: they apply by the proposal's label, and that it decides so is told."""
    (tmp_path / "base" / "cluster.yaml").unlink()
    pull_request.write("attack.yaml", _ATTACK)
    pull_request.remove("owners.yaml")
    pull_request.remove("guard.yaml")
    status, shown = pull_request.plan()
    assert status == Exit.FAILED_CHECK
    assert "the guardrails do not declare the cluster prod" in shown
    assert "failed  only payroll  guardrails://guard.yaml" in shown


_OPEN_TOPIC = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: closed}
spec:
  tests: [{name: mallory reads nothing, principals: ["User:mallory"], mustNot: READ, topics: [payroll.open]}]
"""


@pytest.mark.parametrize("said", ["  allowEveryoneIfNoAclFound: false\n", ""])
def test_a_fact_that_the_change_claims(pull_request: PullRequest, said: str) -> None:
    """A pull request says that a topic without ACLs is closed: it counts as unknown."""
    for directory in ("base", "pr"):
        opened = _CLUSTER.replace("Found: false", "Found: true")
        pull_request.write("cluster.yaml", opened, directory)
        pull_request.write("closed.yaml", _OPEN_TOPIC, directory)
    assert pull_request.run("validate", "--guardrails", "base")[0] == Exit.FAILED_CHECK
    pull_request.edit("cluster.yaml", "  allowEveryoneIfNoAclFound: true\n", said)
    if said:
        assert pull_request.run("validate")[0] == Exit.OK
    for command in ("validate", "test"):
        status, shown = pull_request.run(command, "--guardrails", "base")
        assert status == Exit.FAILED_CHECK
        assert "allowEveryoneIfNoAclFound of prod is not what the guardrails say: it counts as unknown" in shown


def test_a_super_user_that_the_change_claims(pull_request: PullRequest) -> None:
    """A pull request names a super user, and what must read reads: it still needs its grants."""
    must = _GUARD.replace("onlyReaders: [User:svc-payroll]", 'principals: ["User:svc-payroll"], must: WRITE')
    for directory in ("base", "pr"):
        pull_request.write("must.yaml", must.replace("{name: guards}", "{name: must}"), directory)
    pull_request.edit("cluster.yaml", "[User:admin]", "[User:admin, User:svc-payroll]")
    assert pull_request.run("validate")[0] == Exit.OK
    status, shown = pull_request.run("validate", "--guardrails", "base", "--fail-on", "guardrails")
    assert status == Exit.FAILED_CHECK
    assert "superUsers of prod is not what the guardrails say: theirs count" in shown
    assert "failed  only payroll" in shown
