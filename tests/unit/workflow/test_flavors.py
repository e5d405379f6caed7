"""A cluster that shows a flavor which nobody states, and one that is not what somebody states."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.apply import apply
from reconciler.app.options import ConnectionOptions, Note, PlanOptions, StateRequest, UnstatedFlavor
from reconciler.app.plan import drift, plan
from reconciler.app.reasons import PlanRefusedError, WorkflowError
from reconciler.app.states import access_views, live_access
from reconciler.cli.main import run
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import Origin
from reconciler.model.flavor import FLAVORS
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.parts.fleet.app.members import MemberConnections, read_live
from reconciler.ports import ClusterError
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec:\n  vars: {a: b}\n"
ACLS = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec:
  principal: User:sa-abc123
  rules: [{allow: READ, topics: [orders]}]
"""


def written(tmp_path: Path, cluster_id: str, *live: str, spec: str = "", acls: str = ACLS) -> tuple[str, str]:
    """The manifests, and a snapshot of the cluster as their cluster."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(CLUSTER + spec + acls, encoding="utf-8")
    state = ClusterState(cluster_id, frozenset(map(binding, live)), kafka_version=(4, 3))
    (tmp_path / "live.json").write_text(snapshot_text(state), encoding="utf-8")
    return str(tmp_path / "m"), f"prod=snapshot:{tmp_path / 'live.json'}"


@pytest.mark.parametrize(
    ("cluster_id", "sign"),
    [("lkc-9gz21", "the cluster id is lkc-9gz21"), ("x", "ACLs name both User:1234 and User:sa-old1")],
)
@pytest.mark.parametrize("deletes", [True, False])
def test_a_plan_on_acls_is_refused_with_the_sign_and_the_cure(
    tmp_path: Path, cluster_id: str, sign: str, deletes: bool
) -> None:
    old = ["User:1234 ALLOW READ on TOPIC orders", "User:sa-old1 ALLOW READ on TOPIC orders"]
    path, cluster = written(tmp_path, cluster_id, *old)
    with pytest.raises(PlanRefusedError) as caught:
        plan(path, cluster, PlanOptions(allow_deletes=deletes))
    assert "Confluent Cloud" in caught.value.message
    assert sign in caught.value.message
    assert "flavor: confluent-cloud" in caught.value.advice


def test_so_are_apply_and_drift(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "lkc-9gz21", "User:1234 ALLOW READ on TOPIC orders")
    before = (tmp_path / "live.json").read_bytes()
    with pytest.raises(PlanRefusedError, match="Confluent Cloud"):
        apply(path, cluster)
    with pytest.raises(PlanRefusedError, match="Confluent Cloud"):
        drift(path, cluster)
    assert (tmp_path / "live.json").read_bytes() == before


def test_what_a_group_may_give_a_user_is_undecided_in_every_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At Redpanda nobody knows who is in Group:devs; at Apache Kafka no principal of a user is."""
    documents = [
        "kind: Acls\nmetadata: {name: a}\nspec: {principal: 'Group:devs', rules: [{allow: READ, topics: [t]}]}",
        "kind: AccessTests\nmetadata: {name: a}\n"
        "spec: {tests: [{name: n, mustNot: READ, principals: 'User:a', topics: [t]}]}",
    ]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    answers = {}
    of_user = [["access", "User:a"], ["explain", "User:a", "READ", "topic/t"]]
    for flavor in ("redpanda", "apache"):
        facts = f"{{flavor: {flavor}, allowEveryoneIfNoAclFound: false, kafkaVersion: '4.4'}}"
        cluster = f"kind: Cluster\nmetadata: {{name: c}}\nspec: {facts}"
        text = "".join(f"---\napiVersion: reconciler/v1\n{item}\n" for item in (cluster, *documents))
        (tmp_path / "manifests" / "m.yaml").write_text(text, encoding="utf-8")
        found = []
        for command in (["can-i", "User:a", "READ", "topic/t"], ["who-can", "READ", "topic/t"], ["test"], *of_user):
            run(command)
            found.append(capsys.readouterr().out)
        answers[flavor] = found
    can_i, who_can, tests, access, explain = answers["redpanda"]
    assert can_i.startswith("undecided")
    assert "who is in a role or group" in can_i
    assert "perhaps everybody can READ topic t" in who_can
    assert "1 claim about access: 1 undecided" in tests
    assert "READ, DESCRIBE on topic `t`  (perhaps: depends on what is unknown about the cluster)" in access
    assert explain.startswith("undecided")
    can_i, who_can, tests, access, explain = answers["apache"]
    assert can_i.startswith("no")
    assert "perhaps" not in who_can.partition("\n")[0]
    assert "1 undecided" not in tests
    assert "can do nothing" in access
    assert explain.startswith("no")


def test_with_the_flavor_it_is_planned(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "lkc-9gz21", spec="  flavor: confluent-cloud\n")
    assert len(plan(path, cluster).plan.steps) == 1


def test_what_does_not_touch_acls_is_planned_and_told(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "lkc-9gz21", "User:1234 ALLOW READ on TOPIC orders", acls="")
    told: list[Note] = []
    assert plan(path, cluster, tell=told.append).plan.steps == ()
    assert [type(note) for note in told] == [UnstatedFlavor]


def test_an_answer_about_access_is_told_too(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "lkc-9gz21", "User:1234 ALLOW READ on TOPIC orders")
    told: list[Note] = []
    live_access(StateRequest(path, cluster), ConnectionOptions(), tell=told.append)
    assert [type(note) for note in told] == [UnstatedFlavor]


@pytest.mark.parametrize(("flavor", "cluster_id"), [("apache", "lkc-9gz21"), ("confluent-cloud", "WnRHF1yr")])
def test_a_flavor_that_the_cluster_contradicts_is_a_problem_with_both_facts(
    tmp_path: Path, flavor: str, cluster_id: str
) -> None:
    path, cluster = written(tmp_path, cluster_id, spec=f"  flavor: {flavor}\n")
    with pytest.raises(WorkflowError) as caught:
        plan(path, cluster)
    assert f"flavor is {flavor}" in caught.value.message
    assert cluster_id in caught.value.message


def test_integers_alone_are_users_of_any_kafka(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "WnRHF1yr", "User:1234 ALLOW READ on TOPIC orders")
    assert len(plan(path, cluster, PlanOptions(allow_deletes=True)).plan.steps) == 2


@pytest.mark.parametrize("offline", [True, False])
def test_every_answer_about_access_says_what_is_not_seen(tmp_path: Path, offline: bool) -> None:
    path, cluster = written(tmp_path, "lkc-9gz21", spec="  flavor: confluent-cloud\n")
    (view,) = access_views(StateRequest(path, None if offline else cluster), ConnectionOptions())
    assert "Not seen: role bindings (RBAC) grant access too" in view.words
    assert view.document()["unseen"]


def test_a_fleet_does_not_store_names_that_mean_others(tmp_path: Path) -> None:
    written(tmp_path, "lkc-9gz21", "User:1234 ALLOW READ on TOPIC orders")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "live.json").rename(tmp_path / "snapshots" / "prod.json")
    members = MemberConnections(ConnectionOptions(), str(tmp_path / "snapshots"))
    bare = ClusterDeclaration("prod", Origin("all.yaml", 1, 1))
    with pytest.raises(ClusterError, match="flavor unstated: this is Confluent Cloud"):
        read_live(bare, members, ())
    stated = replace(bare, flavor=FLAVORS["confluent-cloud"], sources=FactSources(flavor=FactSource.OPERATOR))
    assert len(read_live(stated, members, ()).bindings) == 1


def test_a_vendors_default_is_told_as_such(tmp_path: Path) -> None:
    path, cluster = written(tmp_path, "WnRHF1yr", spec="  flavor: msk\n")
    made = plan(path, cluster).plan
    assert any("which is true at Amazon MSK unless changed:" in text for text in made.warnings)
    assert not any("only the manifests state" in text for text in made.warnings)
    assert made.terms.established_default_allow is None
