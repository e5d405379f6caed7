"""A fleet of any size as text: a few screens, the gravest first, exact numbers, and each cluster with ``expand``."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from reconciler.parts.fleet.cli import fleet as fleet_cli
from reconciler.parts.fleet.cli.plan import fleet_plan_lines, quiet_fleet_plan
from reconciler.parts.fleet.proposal import FleetPlan, Member, PlannedWave, fleet_plan_id
from reconciler.results.fleet_drift import DriftCounts, Failure
from reconciler.show.fleet_report import FleetCluster, FleetDifference, FleetReport, drift_lines, drift_summary

_SCREENS = 120


def _member(number: int, change: int, steps: int = 3, deletes: int = 0) -> Member:
    name = f"site-{number:03}"
    return Member(name, f"plan-{number}", f"change-{change:03}", f"plans/{name}.json", f"file-{number}", steps, deletes)


def _failure(number: int, message: str) -> Failure:
    return Failure(f"site-{number:03}", "timed_out", message, "try again")


def _numbers(pattern: str, text: str) -> int:
    return sum(int(number.replace(",", "")) for number in re.findall(pattern, text))


def _plan(*waves: PlannedWave, failures: tuple[Failure, ...] = ()) -> FleetPlan:
    return FleetPlan("sites", "2026-11-21", waves, failures=failures)


def test_of_very_many_changes_those_with_most_deletions_are_shown_and_the_others_counted() -> None:
    members = [_member(number, number, steps=number % 7 + 1, deletes=number % 5) for number in range(300)]
    waves = [PlannedWave(f"w{first}", tuple(members[first : first + 100])) for first in (0, 100, 200)]
    plan = _plan(*waves)
    lines = list(fleet_plan_lines(plan))
    text = "\n".join(lines)
    assert len(lines) <= _SCREENS
    assert lines[0] == "20 of 300 different changes shown, the gravest first; --expand shows the others"
    assert len(re.findall(r"  site-\d+: \d+ steps?, 4 deletions", text)) == 20
    assert f"300 clusters to change, {sum(one.steps for one in members):,} steps, {plan.deletes:,} deletions" in text
    hidden = _numbers(r"and ([\d,]+) clusters? with", text)
    assert hidden == 280
    assert _numbers(r"other changes?: ([\d,]+) steps?", text) + _numbers(r"  site-\d+: (\d+) steps?", text) == sum(
        one.steps for one in members
    )
    expanded = "\n".join(fleet_plan_lines(plan, expand=True))
    assert all(f"  {one.cluster}: " in expanded and one.change_id in expanded for one in members)
    assert "--expand" not in expanded


def test_clusters_with_one_change_share_a_line_that_names_the_first() -> None:
    plan = _plan(PlannedWave("all", tuple(_member(number, 1) for number in range(300))))
    lines = list(fleet_plan_lines(plan))
    [line] = [line for line in lines if "site-000" in line]
    shown = line.count("site-")
    assert line.endswith(f" and {300 - shown:,} more: 3 steps, 0 deletions")
    assert len(lines) < 10
    assert all(f"site-{number:03}" in "\n".join(fleet_plan_lines(plan, expand=True)) for number in range(300))


def test_very_many_waves_share_lines_but_not_the_one_whose_gate_stays_shut() -> None:
    waves = [PlannedWave(f"w{number}", (_member(number, number, deletes=0),), soak=60.0) for number in range(200)]
    waves[150] = replace(waves[150], unplanned=("gone",))
    waves[190] = replace(waves[190], members=(_member(190, 190, deletes=9),))
    text = "\n".join(fleet_plan_lines(_plan(*waves)))
    assert len(text.splitlines()) <= _SCREENS
    assert "wave w150: 1 cluster\n" in text
    assert "the gate stays shut" in text
    assert "site-190: 3 steps, 9 deletions" in text
    waved = len(re.findall(r"^wave w", text, re.MULTILINE))
    assert waved + _numbers(r"(?m)^([\d,]+) waves?: ", text) == 200


def test_failures_with_one_reason_share_it_and_what_guards_refuse_comes_first() -> None:
    alike = tuple(_failure(number, "no broker answers") for number in range(80))
    refused = Failure("zebra", "refused", "deletes too much")
    text = "\n".join(fleet_plan_lines(_plan(failures=(*alike, refused))))
    assert text.count("no broker answers") == 1
    assert text.index("zebra: refused") < text.index("no broker answers")
    each = tuple(_failure(number, f"no broker answers at {number}") for number in range(80))
    lines = list(fleet_plan_lines(_plan(failures=each)))
    assert len(lines) <= 60
    assert lines[0].startswith("20 of 80 reasons why clusters are not planned shown")
    assert lines[-1].endswith("80 not planned")


def test_a_plan_in_one_line_has_its_counts_and_its_id_unless_it_is_refused() -> None:
    plan = _plan(PlannedWave("all", (_member(1, 1, 5, 2),)))
    counts = "fleet sites: 1 cluster to change, 5 steps, 2 deletions; 0 need nothing, 0 not planned"
    assert quiet_fleet_plan(plan, refused=False) == f"{counts}  {fleet_plan_id(plan)}"
    assert quiet_fleet_plan(plan, refused=True) == counts.replace(": ", ": refused by a limit; ", 1)
    assert "fleet-" not in quiet_fleet_plan(_plan(), refused=False)


def _cluster(number: int, counts: DriftCounts, *texts: str) -> FleetCluster:
    return FleetCluster(
        f"site-{number:03}", counts, differences=tuple(FleetDifference("+", text, "a.yaml:1:1") for text in texts)
    )


def test_a_fleet_that_drifts_everywhere_fits_a_few_screens() -> None:
    clusters = [
        _cluster(number, DriftCounts(9, 9, creates=10, deletes=number), *(f"{number} {n}" for n in range(10)))
        for number in range(1, 101)
    ]
    unknown = FleetCluster("zone", failure=Failure("zone", "timed_out", "no broker answers"))
    report = FleetReport("run", "2026-11-20", (*clusters, unknown))
    lines = list(drift_lines(report))
    text = "\n".join(lines)
    assert len(lines) <= _SCREENS
    assert lines[0].startswith("21 of 101 clusters that differ or are not known shown, the gravest first; --expand")
    assert text.index("zone: not known") < text.index("site-100: ") < text.index("site-099: ")
    left = [one for one in clusters if f"{one.cluster}: " not in text]
    assert f"and {len(left)} clusters more: {10 * len(left)} bindings missing, {sum(range(1, 81)):,} bindings" in text
    assert f"6,050 differences among {len(clusters) * 9} bindings in scope" in text
    expanded = "\n".join(drift_lines(report, expand=True))
    assert all(f"  {one.cluster}: {one.words}" in expanded for one in clusters)
    assert all(f"- {number} {n}  a.yaml:1:1" in expanded for number in range(1, 101) for n in range(10))


def test_clusters_that_are_not_known_do_not_push_out_those_that_differ() -> None:
    unknown = tuple(
        FleetCluster(f"a{n:03}", failure=Failure(f"a{n:03}", "gone", f"no broker at {n}")) for n in range(90)
    )
    open_one = _cluster(1, DriftCounts(9, 9, deletes=1), "way in")
    text = "\n".join(drift_lines(FleetReport("run", "2026-11-20", (*unknown, open_one))))
    assert len(text.splitlines()) <= 60
    assert "way in" in text
    assert text.count(": not known: gone") == 10
    assert "and 80 clusters more: 80 not known" in text


def test_clusters_that_differ_alike_share_a_line_unless_expanded() -> None:
    counts = DriftCounts(9, 9, creates=3)
    clusters = tuple(_cluster(number, counts, "one", "two") for number in range(40))
    other = _cluster(99, counts, "one", "three")
    report = FleetReport("run", "2026-11-20", (*clusters, other))
    text = "\n".join(drift_lines(report))
    assert text.count("- one") == 2
    assert re.search(r"site-000, .* and \d+ more, each: 3 bindings missing\n", text)
    assert "  site-099: 3 bindings missing\n" in text
    assert text.count("… and 1 more") == 2
    assert "\n".join(drift_lines(report, expand=True)).count("- one") == 41
    assert drift_summary(report) == (
        "41 clusters: 0 as declared, 41 differ, 0 not known; 123 differences among 369 bindings in scope"
    )


def test_how_far_tasks_are_is_said_ten_times_in_an_hour_and_a_half(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(fleet_cli, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tick = fleet_cli.Ticker()
    for second in range(5_000):
        now[0] = float(second)
        tick("plan clusters", second, 5_000, {"steps": 3_000, "not planned": second})
    tick("plan clusters", 5_000, 5_000, {})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "plan clusters: 5 of 5,000 done, 5 not planned, 3,000 steps"
    assert len(lines) == 9


def test_of_a_large_fleet_a_table_of_ten_lines_has_the_kinds_of_differences() -> None:
    clusters = [_cluster(number, DriftCounts(9, 9, creates=10, deletes=number, others=1)) for number in range(1, 31)]
    lines = list(drift_lines(FleetReport("run", "2026-11-20", tuple(clusters))))
    first = next(number for number, line in enumerate(lines) if "UNDECLARED" in line)
    table = [re.split(r"\s{2,}", line.strip()) for line in lines[first : lines.index("", first)]]
    assert len(table) == 10
    assert table[0] == ["CLUSTER", "MISSING", "UNDECLARED", "TOPICS AND OTHERS", "NO PLAN REMOVES"]
    assert table[1] == ["site-030", "10", "30", "1", "0"]
    assert table[9][0] == "and 22 clusters more"
    for column, whole in ((1, 300), (2, sum(range(1, 31))), (3, 30), (4, 0)):
        assert sum(int(row[column].replace(",", "")) for row in table[1:]) == whole
    assert not any("UNDECLARED" in line for line in drift_lines(FleetReport("run", "2026-11-20", tuple(clusters[:8]))))
