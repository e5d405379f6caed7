"""A fleet's plan and its apply as text: wave by wave, one line for clusters that get the same change."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from reconciler.fleet import ApplyRecord, FleetPlan, Member, PlannedWave, fleet_plan_id
from reconciler.report.style import Style, counted, plain, safe

_SHOWN = 12


def fleet_plan_lines(plan: FleetPlan, style: Style = plain) -> Iterator[str]:
    """Yield the lines."""
    yield style("title", f"Plan for fleet {safe(plan.name)}") + style("dim", f"  as of {plan.as_of}")
    for number, wave in enumerate(plan.waves):
        yield ""
        yield style("title", f"wave {safe(wave.name)}: {counted(len(wave.members), 'cluster')}")
        yield from _changes(wave, style)
        if number + 1 < len(plan.waves) and (wave.members or wave.unplanned):
            yield style("dim", f"── gate: {_gate(wave)} ──")
        if number + 1 < len(plan.waves) and len(wave.unplanned) > wave.max_failures:
            yield style("error", f"  {counted(len(wave.unplanned), 'cluster')} not planned: the gate stays shut")
    for failure in plan.failures:
        yield style("error", f"  not planned: {safe(failure.cluster)}: {safe(failure.code)}: {safe(failure.message)}")
        if failure.advice:
            yield f"      {safe(failure.advice)}"
    yield ""
    steps = sum(member.steps for member in plan.members)
    yield style(
        "title",
        f"{counted(len(plan.members), 'cluster')} to change, {counted(steps, 'step')}, "
        f"{counted(plan.deletes, 'deletion')}; "
        f"{len(plan.unchanged):,} need nothing, {len(plan.failures):,} not planned",
    )
    if plan.members:
        yield style("dim", fleet_plan_id(plan))


def _changes(wave: PlannedWave, style: Style) -> Iterator[str]:
    """Clusters that get the same change stand together, under the id that approves all of them."""
    members = sorted(wave.members, key=lambda item: (item.change_id, item.cluster))
    for change, group in groupby(members, key=lambda item: item.change_id):
        same = list(group)
        size = f"{counted(same[0].steps, 'step')}, {counted(same[0].deletes, 'deletion')}"
        yield f"  {_names(same)}: {size}"
        yield style("dim", f"      {change}")


def _names(members: Sequence[Member]) -> str:
    shown = ", ".join(safe(member.cluster) for member in members[:_SHOWN])
    return shown if len(members) <= _SHOWN else f"{shown} and {len(members) - _SHOWN:,} more"


def _gate(wave: PlannedWave) -> str:
    failures = f"at most {counted(wave.max_failures, 'failure')}" if wave.max_failures else "no failure"
    return failures + (f", then wait {duration(wave.soak)}" if wave.soak else "")


def duration(seconds: float) -> str:
    """``90m``, ``2h``, ``1d``: in the largest unit that divides it."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def fleet_result_lines(
    plan: FleetPlan, records: Mapping[tuple[str, str], ApplyRecord], style: Style = plain
) -> Iterator[str]:
    """How far the fleet is: what failed by name, the rest counted by wave."""
    for wave in plan.waves:
        found = [records.get((member.cluster, member.plan_id)) for member in wave.members]
        done = sum(1 for item in found if item is not None and item.succeeded)
        for item in found:
            if item is not None and not item.succeeded:
                yield style("error", f"  {safe(item.cluster)}: {safe(item.reason)}: {safe(item.message)}")
        waiting = sum(1 for item in found if item is None)
        yield (
            f"wave {safe(wave.name)}: {done:,} of {counted(len(wave.members), 'cluster')} as planned, "
            f"{len(found) - done - waiting:,} failed, {waiting:,} not begun"
            + (f", {len(wave.unplanned):,} not planned" if wave.unplanned else "")
        )
