"""Clusters that answer with one id are one, whatever their names: none of their connections is believed."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.reasons import StaleError
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.fleet.app.plan import member_of
from reconciler.parts.fleet.app.runs import read_fleet_plan
from reconciler.parts.fleet.membership import same_cluster, without_duplicates
from reconciler.parts.fleet.proposal import FleetPlan, PlannedWave, fleet_plan_text
from reconciler.plan.file import plan_text
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.results.fleet_drift import Failure, FleetRun, Reading
from tests.property.transitions import DAY


def reading(cluster: str, cluster_id: str) -> Reading:
    return Reading(cluster, cluster_id, "2026-01-01T00:00:00Z", "1", "", ())


def test_each_of_them_is_a_failure_that_names_the_others() -> None:
    found = same_cluster({"a": "1", "b": "2", "c": "1", "d": "", "e": "", "f": "1"})
    assert sorted(found) == ["a", "c", "f"]
    assert found["c"].code == "same_cluster"
    assert found["c"].message == "answers with the id 1, as a, f: both connect to one cluster"
    assert "correct the address" in found["c"].advice


def test_many_others_are_counted() -> None:
    found = same_cluster({f"c{number}": "1" for number in range(1_000)})
    assert found["c0"].message == "answers with the id 1, as c1, c10, c100 and 996 more: both connect to one cluster"


def test_a_run_keeps_what_can_be_told_apart() -> None:
    gone = Failure("d", "timed_out", "no answer")
    run = FleetRun("r", "t", (reading("a", "1"), reading("b", "2"), reading("c", "1")), (gone,))
    found = without_duplicates(run)
    assert [item.cluster for item in found.readings] == ["b"]
    assert [(item.cluster, item.code) for item in found.failures] == [
        ("a", "same_cluster"),
        ("c", "same_cluster"),
        ("d", "timed_out"),
    ]
    assert without_duplicates(found) == found


def planned(cluster: str, cluster_id: str) -> Plan:
    topic = DesiredTopic(Topic("t", 1, 1), Origin("t.yaml", 1, 1))
    return propose(DesiredState({}, {"t": topic}), ClusterState(cluster_id), Terms(cluster), Request(DAY))


def saved(directory: Path, *plans: Plan) -> None:
    members = []
    for plan in plans:
        name, text = plan.terms.cluster, plan_text(plan)
        members.append(replace(member_of(name, plan, text), file=f"{name}.json"))
        (directory / f"{name}.json").write_text(text)
    fleet = FleetPlan("all", "2026-01-01", (PlannedWave("all", tuple(members)),))
    (directory / "fleet.json").write_text(fleet_plan_text(fleet))


def test_a_saved_plan_of_one_cluster_under_two_names_is_not_applied(tmp_path: Path) -> None:
    """Such as one that was put together from two plans."""
    saved(tmp_path, planned("a", "1"), planned("b", "2"))
    assert sorted(read_fleet_plan(tmp_path).texts) == ["a", "b"]
    saved(tmp_path, planned("a", "1"), replace(planned("b", "2"), cluster_id="1"))
    with pytest.raises(StaleError, match="a answers with the id 1, as b: both connect to one cluster"):
        read_fleet_plan(tmp_path)
