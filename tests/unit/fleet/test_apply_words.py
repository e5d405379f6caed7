"""What ``fleet apply`` says while it goes on and at its end, the status that it means, and who has agreed."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.cli.console import CommandError, Exit
from reconciler.cli.main import run
from reconciler.parts.fleet.app.apply import BatchBegun, FleetEvent, GateClosed
from reconciler.parts.fleet.cli.plan import (
    _check_consent,
    _report_event,
    duration,
    fleet_plan_lines,
    fleet_result_lines,
    fleet_summary,
    quiet_fleet_plan,
    status_unplanned,
)
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, Gate, Member, PlannedWave, fleet_plan_id
from reconciler.results.fleet_drift import Failure
from tests.unit.fleet.test_local_fleet import DECLARED, READ, Fleet, fleet

__all__ = ["fleet"]


def _record(cluster: str, reason: str = "", done: int = 0) -> ApplyRecord:
    return ApplyRecord(cluster, f"plan-{cluster}", reason, 0.0, "why" if reason else "", done)


@pytest.mark.parametrize(
    ("event", "status", "words"),
    [
        (BatchBegun("first", ("a", "b")), Exit.OK, ["wave first: a, b"]),
        (_record("a"), Exit.OK, ["cluster a: as planned"]),
        (_record("a", "failed"), Exit.OK, ["cluster a: failed: why"]),
        (
            GateClosed("first", Gate("first", ("a",), ("b",), unplanned=("c",))),
            Exit.ERROR,
            ["the gate after wave first stays closed: a, b, c (not planned)", "plan again"],
        ),
        (
            GateClosed("first", Gate("first", ("a",))),
            Exit.ERROR,
            ["the gate after wave first stays closed: a", "fix what failed, then run the same command"],
        ),
        (
            GateClosed("first", Gate("first", opens=1_790_000_000.0)),
            Exit.DIFFERENT,
            ["the gate after wave first opens at 2026-09-21T14:13:20Z", "pass --wait"],
        ),
    ],
)
def test_each_event_is_told_with_its_status(
    event: FleetEvent, status: Exit, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report_event(event) is status
    shown = capsys.readouterr()
    assert [text for text in words if text not in shown.err] == []
    assert shown.out == ""


@pytest.mark.parametrize(
    ("gate", "shut"),
    [
        (Gate("w"), False),
        (Gate("w", ("a",)), True),
        (Gate("w", ("a",), allowed_failures=1), False),
        (Gate("w", ("a",), unplanned=("b",), allowed_failures=1), True),
        (Gate("w", ("a",), unplanned=("b",), allowed_failures=2), False),
        (Gate("w", unfinished=("a",), allowed_failures=9), True),
    ],
)
def test_a_gate_is_shut_by_more_failures_than_it_allows_and_by_what_was_never_tried(gate: Gate, shut: bool) -> None:
    assert gate.shut is shut


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "1s"),
        (59, "59s"),
        (60, "1m"),
        (90, "90s"),
        (5400, "90m"),
        (3600, "1h"),
        (7200, "2h"),
        (86_400, "1d"),
        (0.5, "0.5s"),
    ],
)
def test_a_time_is_in_the_largest_unit_that_divides_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def _member(cluster: str, change: str, steps: int = 1, deletes: int = 0, refused: int = 0) -> Member:
    return Member(cluster, f"plan-{cluster}", f"change-{change}", f"file-{cluster}", "", steps, deletes, 1.0, refused)


def test_a_plan_shows_the_gravest_changes_and_counts_the_others() -> None:
    members = tuple(_member(f"c{number:02}", f"{number:02}", number + 1) for number in range(40))
    waves = (
        PlannedWave("first", members[:1], 0.0, 1),
        PlannedWave("rest", (*members[1:], _member("gone", "x", 1, 1)), 0.0, 0, ("lost",)),
    )
    failure = Failure("lost", "unreachable", "no broker", attempts=1, advice="look")
    plan = FleetPlan("world", "2026-11-27", waves, ("same",), (failure,))
    lines = [*fleet_plan_lines(plan)]
    shown = [line.split(":")[0].strip() for line in lines if line.startswith(("  c", "  gone"))]
    # Deletions first, then the most steps; by wave.
    assert set(shown) == {"gone", *(f"c{number:02}" for number in range(40 - len(shown) + 1, 40))}
    assert f"{len(shown):,} of 41 different changes shown, the gravest first; --expand shows the others" in lines[0]
    assert "  not planned: lost: unreachable: no broker" in lines
    assert lines[lines.index("  not planned: lost: unreachable: no broker") + 1].strip() == "look"
    assert "── gate: at most 1 failure ──" in lines
    assert fleet_summary(plan) in lines
    assert fleet_summary(plan) == "41 clusters to change, 821 steps, 1 deletion; 1 need nothing, 1 not planned"
    expanded = [*fleet_plan_lines(plan, expand=True)]
    assert sum("step" in line and line.startswith(("  c", "  gone")) for line in expanded) == 41
    assert quiet_fleet_plan(plan, refused=False).startswith("fleet world: 41 clusters")
    assert "fleet-" in quiet_fleet_plan(plan, refused=False)
    assert "fleet-" not in quiet_fleet_plan(plan, refused=True)
    assert "refused by a limit; 41" in quiet_fleet_plan(plan, refused=True)


def test_a_gate_stands_between_waves_and_a_cluster_that_is_not_planned_says_what_to_do() -> None:
    waves = (
        PlannedWave("empty", (), 0.0, 0),
        PlannedWave("first", (_member("a", "1"),), 3600.0, 0, ("lost",)),
        PlannedWave("rest", (_member("b", "2"),), 60.0, 0),
    )
    failures = (
        Failure("lost", "unreachable", "no broker", attempts=1, advice="look"),
        Failure("zone", "timed_out", "no answer", attempts=1),
    )
    plan = FleetPlan("world", "2026-11-27", waves, (), failures)
    assert [line for line in fleet_plan_lines(plan) if line][1:-2] == [
        "wave empty: 0 clusters",
        "wave first: 1 cluster",
        "  a: 1 step, 0 deletions",
        "      change-1",
        "── gate: no failure, then wait 1h ──",
        "  1 cluster not planned: the gate stays shut",
        "wave rest: 1 cluster",
        "  b: 1 step, 0 deletions",
        "      change-2",
        "  not planned: lost: unreachable: no broker",
        "      look",
        "  not planned: zone: timed_out: no answer",
    ]


def test_what_a_change_does_comes_before_how_long_it_is() -> None:
    """Forty long changes that open nothing do not hide a short one that does, nor one that is for good."""
    harmless = tuple(replace(_member(f"c{n:02}", f"{n:02}", 500 + n), review=("Harmless",)) for n in range(40))
    grave = (
        replace(_member("opens", "x"), review=("Widens", "Narrows")),
        replace(_member("ends", "y"), review=("Destroys",)),
    )
    plan = FleetPlan("world", "2026-11-27", (PlannedWave("all", (*harmless, *grave)),))
    shown = [line.strip() for line in fleet_plan_lines(plan)]
    assert [line for line in shown if ": 1 step" in line] == [
        "ends: 1 step, 0 deletions: destroys",
        "opens: 1 step, 0 deletions: widens, narrows",
    ]
    assert ", destroys in 1, widens in 1, narrows in 1; " in fleet_summary(plan)
    assert ", destroys in 1, widens in 1, narrows in 1; " in quiet_fleet_plan(plan, refused=False)


def test_at_the_end_each_wave_is_counted_and_what_failed_is_named() -> None:
    members = tuple(_member(name, name) for name in "abcd")
    plan = FleetPlan(
        "world", "2026-11-27", (PlannedWave("w", members, 0.0, 0, ("lost",)), PlannedWave("x", (), 0.0, 0))
    )
    records = {(one.cluster, one.plan_id): one for one in (_record("a"), _record("b", "failed"), _record("c"))}
    assert [*fleet_result_lines(plan, records)] == [
        "  b: failed: why",
        "wave w: 2 of 4 clusters as planned, 1 failed, 1 not begun, 1 not planned",
        "wave x: 0 of 0 clusters as planned, 0 failed, 0 not begun",
    ]


@pytest.mark.parametrize(
    ("code", "status"), [("refused", Exit.REFUSED), ("disagreed", Exit.FAILED_CHECK), ("unreachable", Exit.ERROR)]
)
def test_a_cluster_without_a_plan_means_what_its_reason_means(code: str, status: Exit) -> None:
    assert status_unplanned(Failure("c", code, "why", attempts=1)) is status


def test_nobody_applies_what_nobody_has_agreed_to(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    fleet.put("c1", DECLARED - {READ})
    assert fleet.plan()[0] == Exit.OK
    words = ["fleet", "apply", str(fleet.plans), str(fleet.root / "m"), "--engine", "local"]
    assert run(words) == Exit.USAGE
    assert "no terminal to ask on" in fleet.capsys.readouterr().err
    for some in (f"change-{'0' * 64}", f"fleet-{'0' * 64}"):
        assert run([*words, "--require-id", some]) == Exit.STALE
        said = fleet.capsys.readouterr().err
        assert "nobody approved the plans of 1 clusters" in said
        assert "c1: change-" in said
    assert not (fleet.plans / "record.jsonl").exists()


def test_what_was_agreed_to_by_its_id_is_asked_about_no_more() -> None:
    plan = FleetPlan("world", "2026-11-27", (PlannedWave("all", (_member("a", "1"), _member("b", "2"))),))
    for ids in ((fleet_plan_id(plan),), ("change-1", "change-2"), ("change-1", "plan-b")):
        _check_consent(plan, ids, yes=False, expand=False)
    _check_consent(plan, (), yes=True, expand=False)
    with pytest.raises(CommandError, match="nobody approved the plans of 1 clusters") as refused:
        _check_consent(plan, ("change-1",), yes=True, expand=False)
    assert refused.value.status == Exit.STALE


def test_nobody_locks_a_fleet_whom_nobody_asked(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    from reconciler.parts.fleet.cli import lock

    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    tried = list[str]()
    failure = WorkflowError("no broker answers")

    def locked(_terms: object, _records: object, _connection: object, name: str) -> WorkflowError:
        tried.append(name)
        return failure

    monkeypatch.setattr(lock, "_lock", locked)
    words = ["fleet", "lock", "User:svc", "--reason", "stolen", "--connections", str(fleet.root / "operator.yaml")]
    assert run(words) == Exit.USAGE
    assert tried == []
    assert run([*words, "--yes"]) == Exit.ERROR
    assert sorted(tried) == ["c0", "c1", "c2", "c3", "c4"]
    assert fleet.capsys.readouterr().out.count("not locked: no broker answers") == 5
