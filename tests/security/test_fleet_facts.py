"""Facts and guardrails of many clusters against whoever proposes a change: tasks judge as a single plan does."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.app.apply import apply_plan
from reconciler.app.connections import for_copies
from reconciler.app.manifests import guardrail_sources, read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.records import RecordOptions
from reconciler.app.states import claimed_facts
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.state import ClusterState
from reconciler.parts.evidence.show import usage_lines
from reconciler.parts.evidence.usage.cluster import ClusterUsage, UsageAnalysis, UsageQuestion
from reconciler.parts.evidence.usage.counts import EventCount
from reconciler.parts.evidence.usage.message import Event
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.parts.fleet.app import apply as child_module
from reconciler.parts.fleet.app.apply import ChildResult, ChildTask
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import MemberPlan, PlanTerms, plan_members
from reconciler.parts.fleet.app.runs import wanted
from reconciler.parts.fleet.membership import FleetLimits
from reconciler.parts.fleet.proposal import FleetPlan, fleet_plan_text
from reconciler.results.access import ClaimedFacts
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import bindings

_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: prod}}\nspec: {{{facts}}}\n"
_LIE = "superUsers: [User:mallory], allowEveryoneIfNoAclFound: false"
_HONEST = "superUsers: [User:admin], allowEveryoneIfNoAclFound: false"
_GRANT = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: mine}
spec: {principal: User:mallory, rules: [{allow: READ, topics: [payroll]}]}
"""
_TEST = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guards}
spec:
  tests: [{name: only payroll, onlyReaders: [User:svc-payroll], topics: [payroll]}]
"""


class _Fleet:
    """A fleet of one cluster that a snapshot file stands for."""

    def __init__(self, root: Path) -> None:
        self.root, self.manifests = root, str(root / "manifests")
        self.write("manifests/all.yaml", _CLUSTER.format(facts="vars: {}") + _GRANT)
        self.live("TOPIC:L:payroll User:svc-payroll@* ALLOW READ")

    def live(self, *acls: str) -> None:
        state = ClusterState("prod-id", frozenset(bindings(*acls)))
        self.write("live/prod.json", snapshot_text(state, BrokerFacts(broker_ids=(1,))))

    def write(self, place: str, text: str) -> str:
        (self.root / place).parent.mkdir(exist_ok=True)
        (self.root / place).write_text(text, encoding="utf-8")
        return str(self.root / place)

    def plan(self, connections: str | None = None, guardrails: str | None = None) -> MemberPlan:
        """As a task plans, on a machine where the manifests do not lie."""
        members = MemberConnections(for_copies(self.manifests, ConnectionOptions(connections)), str(self.root / "live"))
        options = PlanOptions(guardrails=guardrails)
        judging = guardrail_sources(self.manifests, guardrails)
        terms = PlanTerms(
            tuple(read_sources(self.manifests)),
            members,
            options,
            None,
            guardrails=None if judging is None else tuple(judging),
        )
        (line,) = plan_members(["prod"], "0", terms=terms)
        return MemberPlan.parse(line)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Fleet:
    monkeypatch.delenv("CI", raising=False)
    return _Fleet(tmp_path)


def test_the_operators_facts_count_in_every_task(fleet: _Fleet) -> None:
    """Whoever approves the fleet's id approves the operator's facts, as in a single plan."""
    plan = json.loads(fleet.plan(fleet.write("operator.yaml", _CLUSTER.format(facts=_HONEST))).text)
    assert plan["facts"]["superUsers"] == ["User:admin"]
    assert plan["facts"]["sources"]["superUsers"] == "operator"


def test_a_connections_file_among_the_manifests_is_the_proposers_in_every_task(fleet: _Fleet) -> None:
    """A proposal brings a connections file with facts of its own: tasks have copies elsewhere, and do not trust it."""
    own = fleet.write("manifests/.operator.yaml", _CLUSTER.format(facts=_LIE))
    plan = json.loads(fleet.plan(own).text)
    assert plan["facts"]["sources"]["superUsers"] == "nobody"


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_fleet_that_contradicts_the_operator_is_refused(
    fleet: _Fleet, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """The proposal states other facts than the operator: a problem with both places, before any cluster is asked."""
    fleet.write(
        "plans/fleet.json", fleet_plan_text(FleetPlan("all", "2026-01-01", (), (), (), FleetLimits(), "0", None))
    )
    fleet.write("manifests/all.yaml", _CLUSTER.format(facts=_LIE) + _GRANT)
    operator = fleet.write("operator.yaml", _CLUSTER.format(facts=_HONEST))
    plans = str(fleet.root / "plans")
    where = [fleet.manifests, "--out", f"{plans}-new"] if command == "plan" else [plans, fleet.manifests, "--yes"]
    assert run(["fleet", command, *where, "--connections", operator]) == Exit.ERROR
    shown = capsys.readouterr().err
    assert "KR086" in shown
    assert "operator.yaml:4:" in shown


def test_guardrails_judge_every_cluster_of_a_fleet(fleet: _Fleet) -> None:
    """A proposal without the access test of the base branch grants what it forbids."""
    assert fleet.plan().failure is None
    base = fleet.write("base/all.yaml", _CLUSTER.format(facts=_HONEST) + _TEST)
    refused = fleet.plan(guardrails=str(Path(base).parent)).failure
    assert refused is not None
    assert refused.code == "disagreed"


def test_guardrails_that_the_proposal_can_edit_are_refused_for_a_fleet(
    fleet: _Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory inside the manifests is no guardrail."""
    fleet.write("manifests/base/all.yaml", _TEST.removeprefix("---\n"))
    options = ["--out", str(fleet.root / "plans"), "--guardrails", f"{fleet.manifests}/base"]
    assert run(["fleet", "plan", fleet.manifests, *options]) == Exit.USAGE
    assert "share files" in capsys.readouterr().err


def test_a_member_planned_under_guardrails_is_not_applied_without(
    fleet: _Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that was judged is performed under the same rules, or not at all."""
    base = str(Path(fleet.write("base/all.yaml", _CLUSTER.format(facts=_HONEST) + _TEST)).parent)
    fleet.write("manifests/all.yaml", _CLUSTER.format(facts=_HONEST) + _GRANT.replace("mallory", "svc-payroll"))
    fleet.live()
    operator = fleet.write("operator.yaml", _CLUSTER.format(facts=_HONEST))
    made = fleet.plan(operator, base)
    assert made.failure is None
    assert made.member is not None
    assert made.member.steps == 1
    plan_id = made.member.plan_id
    plan = fleet.write("plan.json", made.text)
    place = f"prod=snapshot:{fleet.root / 'live' / 'prod.json'}"

    def on_snapshot(file: str, path: str, _: None, *others: Any, **more: Any) -> Any:
        return apply_plan(file, path, place, *others, **more)

    monkeypatch.setattr(child_module, "apply_plan", on_snapshot)

    def ended(guardrails: str | None) -> ChildResult:
        result = str(fleet.root / "result")
        task = ChildTask(
            plan,
            fleet.manifests,
            result,
            plan_id,
            RecordOptions(operator="op"),
            ConnectionOptions(operator),
            guardrails=guardrails,
        )
        monkeypatch.setattr("sys.stdin", io.StringIO(task.text()))
        child_module.main()
        return ChildResult.parse(Path(result).read_text(encoding="utf-8"))

    assert "made under guardrails" in ended(None).message
    assert ended(base).done == 1


def _usage(claimed: ClaimedFacts) -> ClusterUsage:
    """A READ by mallory that the log shows, replayed after the loss of the topic's only binding."""
    access = AccessRequest("User:mallory", "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "payroll")
    now = Authorizer(bindings("TOPIC:L:payroll User:mallory@* ALLOW READ"), ["User:mallory"], True)
    judge = UsageAnalysis("prod", UsageQuestion(), now, now.with_changes((), now.bindings), claimed)
    judge.see(Event(access, True), EventCount(3, "2026-01-01", "2026-01-01"))
    return judge.result({})


def test_usage_does_not_rely_on_facts_that_only_the_manifests_state() -> None:
    """Whoever removes a grant claims a super user and default-allow, by which nobody would miss it."""
    believed = _usage(ClaimedFacts()).replay
    assert believed is not None
    assert (believed.fails, believed.unclear) == (0, 0)
    doubted = _usage(ClaimedFacts(frozenset({"User:mallory"}), True))
    assert doubted.replay is not None
    assert (doubted.replay.fails, doubted.replay.unclear) == (0, 1)
    said = "\n".join(usage_lines("use", [doubted], Summary()))
    assert "only the manifests state super.users=User:mallory and allow.everyone.if.no.acl.found=true" in said


def test_the_tasks_of_usage_know_whose_word_a_fact_is(fleet: _Fleet) -> None:
    """The same facts by the proposal and by the operator: only the first are claims."""
    fleet.write("manifests/all.yaml", _CLUSTER.format(facts=_LIE) + _GRANT)
    operator = fleet.write("operator.yaml", _CLUSTER.format(facts=_LIE))
    own, given = (wanted(fleet.manifests, connection=ConnectionOptions(file)) for file in (None, operator))
    assert claimed_facts(own.manifests.clusters["prod"]).super_users == {"User:mallory"}
    assert claimed_facts(given.manifests.clusters["prod"]) == ClaimedFacts()


def test_a_fleet_snapshot_that_contradicts_the_operator_is_refused(
    fleet: _Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its principal and super users a proposal would decide whether a listing of ACLs counts as whole."""
    fleet.write("manifests/all.yaml", _CLUSTER.format(facts=_LIE) + _GRANT)
    operator = fleet.write("operator.yaml", _CLUSTER.format(facts=_HONEST))
    store = str(fleet.root / "store")
    assert run(["fleet", "snapshot", fleet.manifests, "--store", store, "--connections", operator]) == Exit.ERROR
    assert "KR086" in capsys.readouterr().err


def test_a_fleet_snapshot_by_connections_of_the_proposal_is_refused(
    fleet: _Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """A connections file among the manifests names secrets, and so where they go."""
    login = 'bootstrapServers: [localhost:1], client: {sasl.password: "${env:KAFKA_PASSWORD}"}'
    own = fleet.write("manifests/.connections.yaml", _CLUSTER.format(facts=login))
    store = str(fleet.root / "store")
    assert run(["fleet", "snapshot", fleet.manifests, "--store", store, "--connections", own]) == Exit.ERROR
    assert "lies inside the manifests" in capsys.readouterr().err


def test_guardrails_hold_waves_and_limits_of_a_fleet_plan(tmp_path: Path) -> None:
    """A proposal that takes the fleet's document away is planned in the waves that the guardrails have."""
    cluster = _CLUSTER.format(facts="vars: {}")
    world = "apiVersion: reconciler/v1\nkind: Fleet\nmetadata: {name: world}\nspec:\n"
    world += "  waves: [{name: last, clusters: {matchLabels: {}}, gate: {soak: 1h}}]\n  limits: {maxDeletes: 1}\n"
    for name, text in (("manifests", cluster), ("judges", f"{cluster}---\n{world}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.yaml").write_text(text)
    path, judges = str(tmp_path / "manifests"), str(tmp_path / "judges")
    assert wanted(path).fleet.limits == FleetLimits()
    fleet = wanted(path, guardrails=judges).fleet
    assert fleet.limits == FleetLimits(max_deletes=1)
    assert [(wave.name, wave.soak) for wave in fleet.waves] == [("last", 3600.0)]
