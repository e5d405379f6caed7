"""A fleet's plan and its apply as text: wave by wave, one line for clusters that get the same change."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from reconciler.model.characters import Style, counted, plain, safe
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, Member, PlannedWave, fleet_plan_id
from reconciler.results.fleet_drift import Failure
from reconciler.show.document import FEW, first_lines, lines_shown
from reconciler.show.fleet_report import cluster_names

#: Reasons why a cluster has no plan that are about the change and not about reaching the cluster come first.
_JUDGED: Final = ("refused", "disagreed")


def fleet_plan_lines(plan: FleetPlan, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """Yield the lines; with ``expand`` every change and every cluster, otherwise the gravest changes of the fleet.

    The gravest are those with the most deletions, then those with the most steps. What is left out is counted.
    """
    changes = sorted((group for wave in plan.waves for group in _changes(wave)), key=_plan_gravity)
    shown = changes[: lines_shown(len(changes), expand=expand)]
    failures = list(_failures(plan.failures, style, expand=expand))
    if cut := _cut_words((len(shown), len(changes)), (lines_shown(len(failures), expand=expand), len(failures))):
        yield style("warn", f"{cut}, the gravest first; --expand shows the others")
    yield style("title", f"Plan for fleet {safe(plan.name)}") + style("dim", f"  as of {plan.as_of}")
    yield from _waves(plan, {item[0].cluster for item in shown}, style, expand=expand)
    for text in first_lines(failures, expand=expand):
        yield from text.split("\n")
    for text in first_lines(list(_refused(plan, style, expand=expand)), expand=expand):
        yield text
    yield ""
    yield style("title", fleet_summary(plan))
    if plan.members:
        yield style("dim", fleet_plan_id(plan))


def fleet_summary(plan: FleetPlan) -> str:
    """``2 clusters to change, 9 steps, 0 deletions; 97 need nothing, 1 not planned``."""
    refused = sum(item.refused for item in plan.refused)
    left = f", {counted(refused, 'change')} refused in {counted(len(plan.refused), 'cluster')}" if refused else ""
    return (
        f"{counted(len(plan.members), 'cluster')} to change, {_size(plan.members)}{left}; "
        f"{len(plan.unchanged):,} need nothing, {len(plan.failures):,} not planned"
    )


def quiet_fleet_plan(plan: FleetPlan, *, refused: bool) -> str:
    """A plan in one line: what it does, and the id that approves it, unless a limit refuses it."""
    approved_by = "" if refused or not plan.members else f"  {fleet_plan_id(plan)}"
    return f"fleet {safe(plan.name)}: {'refused by a limit; ' if refused else ''}{fleet_summary(plan)}{approved_by}"


def _cut_words(changes: tuple[int, int], failures: tuple[int, int]) -> str:
    parts: list[str] = []
    for (some, whole), what in ((changes, "different changes"), (failures, "reasons why clusters are not planned")):
        if some < whole:
            parts.append(f"{some:,} of {whole:,} {what}{'' if parts else ' shown'}")
    return ", ".join(parts)


def _waves(plan: FleetPlan, shown: Collection[str], style: Style, *, expand: bool) -> Iterator[str]:
    """Every wave; of very many, those that have none of the changes ``shown`` share a line with their neighbours."""
    shut = next((number for number, wave in enumerate(plan.waves[:-1]) if _stays_shut(wave)), None)

    def folded(number: int) -> bool:
        found = any(member.cluster in shown for member in plan.waves[number].members)
        return not (expand or found or number == shut or len(plan.waves) <= FEW)

    for fold, run in groupby(range(len(plan.waves)), key=folded):
        numbers = list(run)
        yield ""
        if fold:
            members = [member for number in numbers for member in plan.waves[number].members]
            unplanned = sum(len(plan.waves[number].unplanned) for number in numbers)
            yield style("title", f"{counted(len(numbers), 'wave')}: {counted(len(members), 'cluster')}") + (
                f", {_size(members)}, {unplanned:,} not planned"
            )
            continue
        for number in numbers:
            if number != numbers[0]:
                yield ""
            yield from _wave(plan.waves[number], shown, style, last=number + 1 == len(plan.waves), expand=expand)


def _wave(wave: PlannedWave, shown: Collection[str], style: Style, *, last: bool, expand: bool) -> Iterator[str]:
    yield style("title", f"wave {safe(wave.name)}: {counted(len(wave.members), 'cluster')}")
    others: list[Member] = []
    hidden = 0
    for same in sorted(_changes(wave), key=_plan_gravity):
        if same[0].cluster not in shown:
            others += same
            hidden += 1
            continue
        size = f"{counted(same[0].steps, 'step')}, {counted(same[0].deletes, 'deletion')}"
        yield f"  {cluster_names([item.cluster for item in same], expand=expand)}: {size}"
        yield style("dim", f"      {same[0].change_id}")
    if others:
        yield f"  and {counted(len(others), 'cluster')} with {hidden:,} other changes: {_size(others)}"
    if not last and (wave.members or wave.unplanned):
        yield style("dim", f"── gate: {_gate(wave)} ──")
    if not last and _stays_shut(wave):
        yield style("error", f"  {counted(len(wave.unplanned), 'cluster')} not planned: the gate stays shut")


def _stays_shut(wave: PlannedWave) -> bool:
    return len(wave.unplanned) > wave.max_failures


def _failures(failures: Sequence[Failure], style: Style, *, expand: bool) -> Iterator[str]:
    """Why clusters have no plan; those with one reason share it."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for failure in sorted(failures, key=lambda item: item.code not in _JUDGED):
        alike.setdefault((failure.code, failure.message, failure.advice), []).append(failure.cluster)
    for (code, message, advice), names in alike.items():
        said = f"  not planned: {cluster_names(names, expand=expand)}: {safe(code)}: {safe(message)}"
        yield style("error", said) + (f"\n      {safe(advice)}" if advice else "")


def _refused(plan: FleetPlan, style: Style, *, expand: bool) -> Iterator[str]:
    """Clusters of whose changes guards left out some; those with as many share a line."""
    alike: dict[int, list[str]] = {}
    for item in sorted(plan.refused, key=lambda item: -item.refused):
        alike.setdefault(item.refused, []).append(item.cluster)
    for refused, names in alike.items():
        said = f"{counted(refused, 'change')} refused, and not in the plan: reconciler show names them"
        yield style("error", f"  {cluster_names(names, expand=expand)}: {said}")


def _size(members: Collection[Member]) -> str:
    steps, deletes = sum(member.steps for member in members), sum(member.deletes for member in members)
    return f"{counted(steps, 'step')}, {counted(deletes, 'deletion')}"


def _changes(wave: PlannedWave) -> Iterator[list[Member]]:
    """Clusters that get the same change stand together, under the id that approves all of them."""
    members = sorted(wave.members, key=lambda item: (item.change_id, item.cluster))
    for _, group in groupby(members, key=lambda item: item.change_id):
        yield list(group)


def _plan_gravity(same: Sequence[Member]) -> tuple[int, int, str]:
    return -sum(item.deletes for item in same), -sum(item.steps for item in same), same[0].cluster


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
