"""A fleet's plan as a value, its limits and approvals, and how its gates read the record."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.parts.fleet.cli.plan import fleet_plan_lines, left_out, quiet_fleet_plan
from reconciler.parts.fleet.membership import FleetLimits
from reconciler.parts.fleet.proposal import (
    ApplyRecord,
    FleetPlan,
    FleetPlanError,
    Member,
    PlannedWave,
    apply_record_text,
    failures_exceeded,
    fleet_plan_id,
    fleet_plan_text,
    gate_after,
    latest,
    limit_refusals,
    not_covered,
    parse_apply_records,
    parse_fleet_plan,
    pending,
)
from reconciler.plan.file import whole_id
from reconciler.results.fleet_drift import Failure


def member(name: str, change: str = "change-1", deletes: int = 0) -> Member:
    return Member(name, f"plan-{name}", change, f"plans/{name}.json", f"file-{name}", 3, deletes, 1.5)


WAVE = PlannedWave("canary", (member("a"), member("b")), soak=60.0)
PLAN = FleetPlan(
    "world",
    "2026-11-21",
    (WAVE, PlannedWave("rest", (member("c", "change-2", deletes=4),))),
    ("d",),
    (Failure("e", "not_planned", "gone"),),
    FleetLimits(60, 4),
    "1.0",
    "abc",
)


def ended(name: str, reason: str, finished: float = 100.0) -> ApplyRecord:
    return ApplyRecord(name, f"plan-{name}", reason, finished)


def test_a_plan_reads_back_equal() -> None:
    assert parse_fleet_plan(fleet_plan_text(PLAN)) == PLAN


@pytest.mark.parametrize(
    ("old", "new"), [("plan-c", "plan-x"), ('"soak": 60.0', '"soak": 0.0'), ('"max_deletes": 4', '"max_deletes": 9')]
)
def test_what_was_agreed_to_cannot_be_altered(old: str, new: str) -> None:
    with pytest.raises(FleetPlanError, match="altered"):
        parse_fleet_plan(fleet_plan_text(PLAN).replace(old, new))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"formatVersion":"2.0"}'])
def test_another_text_is_no_plan(text: str) -> None:
    with pytest.raises(FleetPlanError):
        parse_fleet_plan(text)


def test_the_id_knows_plans_waves_gates_and_limits_only() -> None:
    assert fleet_plan_id(replace(PLAN, as_of="2027-01-01", source_commit=None, tool_version="2")) == fleet_plan_id(PLAN)
    assert fleet_plan_id(replace(PLAN, waves=PLAN.waves[:1])) != fleet_plan_id(PLAN)
    assert fleet_plan_id(replace(PLAN, limits=FleetLimits())) != fleet_plan_id(PLAN)


def test_limits_are_of_the_whole_fleet() -> None:
    assert limit_refusals(PLAN) == ()
    assert limit_refusals(replace(PLAN, limits=FleetLimits(59, 3))) == (
        "3 of 5 clusters would change, but limits.maxChangedClustersPercent is 59",
        "4 deletions in all clusters together, but limits.maxDeletes is 3",
    )


def test_one_approval_covers_all_clusters_with_the_same_change() -> None:
    assert [item.cluster for item in not_covered(PLAN, ["change-1"])] == ["c"]
    assert not_covered(PLAN, ["change-1", "plan-c"]) == ()
    assert not_covered(PLAN, [fleet_plan_id(PLAN)]) == ()
    assert len(not_covered(PLAN, ["change-9"])) == 3


def test_eight_digits_of_an_id_stand_for_it_where_they_are_of_one_only() -> None:
    assert not_covered(PLAN, [fleet_plan_id(PLAN)[: len("fleet-") + 8]]) == ()
    assert len(not_covered(PLAN, [fleet_plan_id(PLAN)[: len("fleet-") + 7]])) == 3
    known = {f"change-{'a' * 60}0000", f"change-{'a' * 60}0001", f"plan-{'a' * 64}"}
    assert whole_id("plan-aaaaaaaa", known) == f"plan-{'a' * 64}"
    for unclear in ("change-aaaaaaaa", "plan-aaaaaaa", "plan-", "", "aaaaaaaa", "plan-AAAAAAAA", "plan-aaaaaaaa%"):
        assert whole_id(unclear, known) == unclear


def test_a_gate_opens_when_the_last_cluster_has_stood_long_enough() -> None:
    gate = gate_after(WAVE, latest([ended("a", "", 100.0), ended("b", "", 250.0)]))
    assert not gate.shut
    assert gate.opens == 310.0


def test_a_cluster_that_fails_again_without_a_step_does_not_begin_the_wait_anew() -> None:
    first = [ended("a", "error", 100.0), ended("b", "", 250.0)]
    wave = replace(WAVE, max_failures=1)
    assert gate_after(wave, latest([*first, ended("a", "error", 900.0), ended("a", "error", 990.0)])).opens == 310.0
    # Whatever may have changed the cluster begins it.
    for later in (ended("a", "", 900.0), ended("a", "unknown", 900.0), replace(ended("a", "error", 900.0), done=1)):
        assert gate_after(wave, latest([*first, later])).opens == 960.0
    once = gate_after(wave, latest([ended("b", "", 250.0), ended("a", "error", 900.0)]))
    assert once.opens == 960.0, "its first attempt"


def test_failures_and_what_was_not_begun_shut_a_gate() -> None:
    assert gate_after(WAVE, latest([ended("a", "")])).unfinished == ("b",)
    assert gate_after(WAVE, latest([ended("a", "")])).shut
    failed = latest([ended("a", ""), ended("b", "failed")])
    assert gate_after(WAVE, failed).failed == ("b",)
    assert gate_after(WAVE, failed).shut
    assert failures_exceeded(WAVE, failed)
    assert not gate_after(replace(WAVE, max_failures=1), failed).shut


def test_a_cluster_without_a_plan_counts_as_a_failure_of_its_wave() -> None:
    wave = PlannedWave("canary", (), unplanned=("a", "b"))
    assert gate_after(wave, {}).shut
    assert gate_after(replace(wave, max_failures=1), {}).shut
    assert not gate_after(replace(wave, max_failures=2), {}).shut
    plan = replace(PLAN, waves=(wave, *PLAN.waves[1:]))
    assert parse_fleet_plan(fleet_plan_text(plan)) == plan
    assert fleet_plan_id(plan) != fleet_plan_id(replace(PLAN, waves=(replace(wave, unplanned=()), *PLAN.waves[1:])))


def test_the_last_ending_counts_and_only_of_this_plan() -> None:
    records = latest([ended("a", "failed"), ended("a", "", 200.0), ApplyRecord("b", "plan-of-yesterday", "", 1.0)])
    assert [item.cluster for item in pending(WAVE, records)] == ["b"]


@pytest.mark.parametrize(
    ("code", "status"), [("refused", Exit.REFUSED), ("disagreed", Exit.FAILED_CHECK), ("not_planned", Exit.ERROR)]
)
def test_a_plan_of_nothing_is_not_performed_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, status: Exit
) -> None:
    """Nothing could be planned anywhere: the apply that follows in a pipeline is no success."""
    wave = PlannedWave("all", (), unplanned=("a",))
    plan = FleetPlan("world", "2026-11-21", (wave,), failures=(Failure("a", code, "why"),))
    (tmp_path / "fleet.json").write_text(fleet_plan_text(plan), encoding="utf-8")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "c.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: a}\nspec: {}\n", encoding="utf-8"
    )
    monkeypatch.delenv("CI", raising=False)
    assert run(["fleet", "apply", str(tmp_path), str(tmp_path / "m"), "--yes"]) == status
    assert "1 not planned" in capsys.readouterr().out


def test_a_wave_without_members_is_no_obstacle() -> None:
    assert not gate_after(PlannedWave("empty", ()), {}).shut


def test_a_record_reads_back_without_a_line_cut_off_by_a_crash() -> None:
    text = "".join(f"{apply_record_text(item)}\n" for item in (ended("a", ""), ended("zz", ""), ended("b", "stale")))
    assert parse_apply_records(text + '{"cluster":"c","pl', PLAN) == [ended("a", ""), ended("b", "stale")]
    with pytest.raises(ValueError, match="line 1"):
        parse_apply_records('{"cluster\n' + text, PLAN)


def test_what_guards_left_out_of_a_cluster_s_plan_is_counted_and_keeps_the_status() -> None:
    partly = replace(member("a"), refused=2)
    plan = replace(PLAN, waves=(replace(WAVE, members=(partly, member("b"))), PLAN.waves[1]))
    assert parse_fleet_plan(fleet_plan_text(plan)) == plan
    assert [one.cluster for one in plan.refused] == ["a"]
    text = list(fleet_plan_lines(plan))
    assert "  a: 2 changes refused, and not in the plan: reconciler show names them" in text
    assert "2 changes refused in 1 cluster; " in text[-2]
    assert "2 changes refused in 1 cluster" in quiet_fleet_plan(plan, refused=False)
    assert (left_out(plan), left_out(PLAN)) == (Exit.REFUSED, Exit.OK)
    assert not gate_after(plan.waves[0], latest([ended("a", ""), ended("b", "")])).shut
