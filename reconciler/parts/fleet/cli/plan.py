"""``reconciler fleet plan``, ``approve``, ``apply``: a saved plan for every cluster that differs, one for the fleet.

They are performed wave by wave, each wave gated on the one before.
"""

import datetime
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, TypeVar

import click

from reconciler.app.approvals import NAMESPACE, sign_plan
from reconciler.app.connections import as_operator_says, for_copies, refuse_proposed_secrets
from reconciler.app.manifests import checked, guardrail_sources, read_sources, repeated_warnings
from reconciler.app.options import ConnectionOptions, MoveOptions, PlanOptions
from reconciler.app.records import RecordOptions, source_commit
from reconciler.cli import change_options
from reconciler.cli.console import (
    CommandError,
    Exit,
    error,
    info,
    info_lines,
    out,
    out_json,
    progress,
    settings,
    status_of,
    style_for,
    worst,
)
from reconciler.cli.notes import info_note
from reconciler.cli.options import connection_options, output_option, path_argument
from reconciler.cli.terminal import stoppable
from reconciler.model.characters import Style, counted, plain, safe
from reconciler.parts.fleet.app.apply import AT_ONCE, ApplyTerms, BatchBegun, FleetApply, FleetEvent, GateClosed
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlanLimits, plan_fleet
from reconciler.parts.fleet.app.runs import FLEET_FILE, check_new, save_fleet_plan, wanted
from reconciler.parts.fleet.cli import fleet
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.proposal import (
    ApplyRecord,
    FleetPlan,
    Member,
    PlannedWave,
    fleet_plan_document,
    fleet_plan_id,
    not_covered,
)
from reconciler.results import OutputKind
from reconciler.results.fleet_drift import Failure
from reconciler.show.document import FEW, first_lines, lines_shown
from reconciler.show.fleet_report import cluster_names
from reconciler.show.verdicts import ReviewWord

T = TypeVar("T")
#: What a cluster without a plan means; anything else is an error.
_STATUS: Final = {"refused": Exit.REFUSED, "disagreed": Exit.FAILED_CHECK}


@click.command("plan", short_help="Plan every cluster and save the fleet's plan")
@path_argument
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="Save the plans to this new directory.",
)
@fleet.fleet_option
@fleet.snapshots_option
@fleet.at_once_option
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for one cluster.")
@change_options.planning_options
@connection_options
@fleet.spark_options
@output_option
def command(
    *,
    path: str,
    directory: str,
    fleet_name: str | None,
    snapshots: str | None,
    at_once: int,
    timeout: float,
    planning: PlanOptions,
    connection: ConnectionOptions,
    spark: fleet.SparkOptions,
    output: str,
) -> int:
    """Compare every cluster of the fleet with the manifests below PATH and save the plans.

    Nothing is written to a cluster. DIR receives one plan per cluster that differs, as `reconciler plan` saves it,
    and fleet.json, which lists them all. A cluster that cannot be planned is listed with the reason; the others are
    planned, and the command exits with 1, or with 5 if a safety check refused. What a safety check refuses about single
    changes is left out of a cluster's plan, and the command exits with 5 as well.
    """
    check_new(Path(directory))
    if snapshots is None:
        refuse_proposed_secrets(path, connection)
    members = MemberConnections(for_copies(path, connection), snapshots)
    members.refuse_past(planning.as_of)
    with fleet.engine_for(spark, connection=None if snapshots else connection) as engine:
        given = wanted(path, fleet_name, planning.as_of, connection, planning.guardrails)
        guardrails = guardrail_sources(path, planning.guardrails)
        engine.computes()
        fleet.info_unassigned(given.fleet)
        for problem in repeated_warnings(given.manifests):
            info_note(problem)
        planned = plan_fleet(
            engine(),
            given.sources,
            given.fleet,
            members,
            replace(planning, as_of=given.as_of),
            commit=source_commit(path),
            limits=PlanLimits(at_once, timeout),
            guardrails=guardrails,
        )
    plan = planned.plan
    for text, names in _alike((text, name) for name, text in planned.notes.items()).items():
        info(f"note: {cluster_names(names, expand=settings.expand)}: {safe(text)}")
    if output == "json":
        out_json(
            OutputKind.FLEET_PLAN,
            {**fleet_plan_document(plan), **({"notes": dict(planned.notes)} if planned.notes else {})},
        )
    else:
        style = style_for(sys.stdout)
        refused = bool(planned.refusals)
        out(
            [quiet_fleet_plan(plan, refused=refused)]
            if settings.quiet
            else fleet_plan_lines(plan, style, expand=settings.expand)
        )
    if planned.refusals:
        for text in planned.refusals:
            error(text)
        error("a limit of the fleet refuses this plan: it was not saved")
        return Exit.REFUSED
    save_fleet_plan(planned, Path(directory))
    progress(f"saved {directory}: {len(plan.members)} plans and {FLEET_FILE}")
    return worst(left_out(plan), *map(status_unplanned, plan.failures))


def status_unplanned(failure: Failure) -> Exit:
    """What a cluster without a plan means for the command that planned, and for the one that performs the others."""
    return _STATUS.get(failure.code, Exit.ERROR)


def left_out(plan: FleetPlan) -> Exit:
    """Say that guards refuse some of the changes, which keeps no other one from being saved and performed."""
    if not plan.refused:
        return Exit.OK
    error(f"safety checks refuse changes of {len(plan.refused):,} of the clusters: their plans are the rest")
    return Exit.REFUSED


@click.command("approve", short_help="Sign a fleet's plan as its approver")
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@change_options.key_option
@click.option("--out", "file", metavar="FILE", help="Write the signature here.  [default: DIR/fleet.json.KEY.sig]")
@output_option
def approve_command(*, directory: str, key: str, file: str | None, output: str) -> int:
    """Approve the plans in DIR: sign fleet.json, which names each cluster's plan by its digest.

    Read the plans first, with `reconciler show DIR/plans/NAME.json`. OpenSSH makes the same signature:

    \b
    ssh-keygen -Y sign -n kafka-reconciler-plan -f KEY DIR/fleet.json

    `reconciler fleet apply --require-approvals N --allowed-signers FILE` counts the people who signed.
    """
    saved = FleetApply.saved(Path(directory))
    signature, fingerprint = sign_plan(saved.file, saved.digest, key, file)
    name = fleet_plan_id(saved.plan)
    if output == "json":
        signed = {"fleetId": name, "file": signature, "key": fingerprint, "namespace": NAMESPACE}
        out_json(OutputKind.FLEET_APPROVE, signed)
        return Exit.OK
    out([f"Approved: {fleet_summary(saved.plan)}", name])
    progress(f"wrote {signature}, signed with {fingerprint}")
    return Exit.OK


@click.command("apply", short_help="Apply a fleet's plans, wave by wave")
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@path_argument
@change_options.yes_option
@click.option(
    "--require-id",
    "ids",
    multiple=True,
    metavar="ID",
    type=change_options.PlanId("fleet", "change", "plan"),
    help="Refuse any other plan: the fleet-… id, or change-… and plan-… ids that cover every cluster, or their first "
    "8 digits or more; repeatable.",
)
@click.option("--wait", is_flag=True, help="Wait at each gate until its soak time has passed.")
@click.option(
    "--at-once", type=click.IntRange(1, 512), default=AT_ONCE, show_default=True, help="Clusters to apply at once."
)
@click.option("--timeout", type=float, default=3600.0, show_default=True, help="Seconds to wait for one cluster.")
@click.option(
    "--lease/--no-lease",
    default=True,
    show_default=True,
    help="Hold the lease of each cluster: other applies exit with status 6 meanwhile.",
)
@click.option(
    "--break-lease",
    multiple=True,
    metavar="HOLDER",
    help="Take over leases of HOLDER. Use it only if that run is dead; repeatable.",
)
@change_options.approval_options
@change_options.record_options
@change_options.move_options
@change_options.guardrails_option
@connection_options
@fleet.spark_options
@output_option
def apply_command(
    *,
    directory: str,
    path: str,
    yes: bool,
    ids: tuple[str, ...],
    wait: bool,
    at_once: int,
    timeout: float,
    lease: bool,
    break_lease: tuple[str, ...],
    max_age: datetime.timedelta | None,
    require_approvals: int | None,
    allowed_signers: str | None,
    not_author: tuple[str, ...],
    records: RecordOptions,
    moves: MoveOptions,
    guardrails: str | None,
    connection: ConnectionOptions,
    spark: fleet.SparkOptions,
    output: str,
) -> int:
    """Apply the plans that `reconciler fleet plan` saved in DIR, connecting as PATH's Cluster documents say.

    To continue after a failure, an interruption or a gate, run the same command again: DIR/record.jsonl records
    finished clusters, and finished steps are recognised. Exit 2 if clusters remain after a gate that is not open
    yet. Exit 5 if safety checks left changes out of the plans, whatever remains besides. If all else is done, clusters
    that could not be planned give the status that they gave `reconciler fleet plan`.
    """
    fleet.refuse_second_attempt()
    saved = FleetApply.saved(Path(directory))
    plan = saved.plan
    rule = change_options.approval_rule(require_approvals, allowed_signers, not_author)
    approved = saved.check_signed(rule)
    # Without a terminal the signatures are the agreement.
    _check_consent(plan, ids, yes=yes or (rule is not None and not sys.stdin.isatty()), expand=settings.expand)
    sources = read_sources(path)
    as_operator_says(checked(sources), path, connection)
    refuse_proposed_secrets(path, connection)
    judging = guardrail_sources(path, guardrails)
    statuses = [Exit.OK]
    if not saved.finished:
        held = None if judging is None else tuple(judging)
        reach = for_copies(path, connection)
        terms = ApplyTerms(reach, at_once, timeout, records, held, moves, lease, break_lease, max_age, approved)
        with (
            fleet.engine_for(spark, connection=connection, passwords=True, once=at_once) as engine,
            stoppable("clusters") as interrupted,
        ):
            engine.sized(len(plan.members), CLUSTERS_IN_A_TASK)
            statuses += map(_report_event, saved.perform(engine(), sources, terms, wait=wait, interrupted=interrupted))
            statuses.append(Exit.INTERRUPTED if interrupted() else Exit.OK)
        statuses += [status_of(record.reason) for record in saved.records.values()]
    if output == "json":
        out_json(OutputKind.FLEET_APPLY, _document(plan, saved.records))
    else:
        out(fleet_result_lines(plan, saved.records, style_for(sys.stdout)))
    ended = worst(left_out(plan), *statuses)
    # What could not be planned is not as declared, but first comes whatever is left to do of the rest.
    return ended if ended is not Exit.OK else worst(*map(status_unplanned, plan.failures))


def _report_event(event: FleetEvent) -> Exit:
    """Say what happens, and the status that it means."""
    match event:
        case BatchBegun():
            progress(f"wave {event.wave}: {', '.join(event.clusters)}")
        case ApplyRecord() if not event.succeeded:
            error(f"cluster {event.cluster}: {event.reason}: {event.message}")
        case ApplyRecord():
            progress(f"cluster {event.cluster}: as planned")
        case GateClosed(wave, gate) if gate.shut:
            names = ", ".join((*gate.failed, *gate.unfinished, *(f"{name} (not planned)" for name in gate.unplanned)))
            advice = "plan again" if gate.unplanned else "fix what failed, then run the same command"
            error(f"the gate after wave {wave} stays closed: {names}", advice)
            return Exit.ERROR
        case GateClosed(wave, gate):
            opens = datetime.datetime.fromtimestamp(gate.opens, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            info(f"the gate after wave {wave} opens at {opens}; run the same command then, or pass --wait")
            return Exit.DIFFERENT
    return Exit.OK


def _check_consent(plan: FleetPlan, ids: tuple[str, ...], *, yes: bool, expand: bool) -> None:
    if ids:
        if unapproved := not_covered(plan, ids):
            names = [f"{member.cluster}: {member.change_id}" for member in unapproved]
            raise CommandError(
                f"nobody approved the plans of {len(names)} clusters; the fleet's id is\n  {fleet_plan_id(plan)}\n  "
                + "\n  ".join(names),
                "name every change with --require-id, or plan again; nothing was sent",
                Exit.STALE,
            )
        return
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "no terminal to ask on",
            "give --require-id with the fleet's id or those of the reviewed changes, --require-approvals, or --yes",
            Exit.USAGE,
        )
    info_lines(fleet_plan_lines(plan, style_for(sys.stderr), expand=expand))
    if not click.confirm("Perform these plans?", err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)


def _document(plan: FleetPlan, records: dict[tuple[str, str], ApplyRecord]) -> dict[str, object]:
    return {
        "fleetId": fleet_plan_id(plan),
        "waves": [
            {
                "name": wave.name,
                "clusters": [
                    {
                        "cluster": member.cluster,
                        "planId": member.plan_id,
                        "status": None if record is None else int(status_of(record.reason)),
                        "message": "" if record is None else record.message,
                        "done": 0 if record is None else record.done,
                        "already": 0 if record is None else record.already,
                    }
                    for member in wave.members
                    for record in [records.get((member.cluster, member.plan_id))]
                ],
                "notPlanned": list(wave.unplanned),
            }
            for wave in plan.waves
        ],
    }


#: Reasons why a cluster has no plan that are about the change and not about reaching the cluster come first.
_JUDGED: Final = ("refused", "disagreed")


def fleet_plan_lines(plan: FleetPlan, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """Yield the lines; with ``expand`` every change and every cluster, otherwise the gravest changes of the fleet.

    The gravest are told by what they do, then by their deletions and steps. What is left out is counted.
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
    for text in first_lines(list(_unmoved(plan, style, expand=expand)), expand=expand):
        yield text
    yield ""
    yield style("title", fleet_summary(plan))
    if plan.members:
        yield style("dim", fleet_plan_id(plan))


def fleet_summary(plan: FleetPlan) -> str:
    """``2 clusters to change, 9 steps, 0 deletions, widens in 1; 97 need nothing, 1 not planned``."""
    refused = sum(item.refused for item in plan.refused)
    refusals = f", {counted(refused, 'change')} refused in {counted(len(plan.refused), 'cluster')}" if refused else ""
    doubt = f"{len(plan.unmoved):,} to look at, " if plan.unmoved else ""
    return (
        f"{counted(len(plan.members), 'cluster')} to change, {_size(plan.members)}{_counted_effects(plan)}{refusals}; "
        f"{len(plan.unchanged):,} need nothing, {doubt}{len(plan.failures):,} not planned"
    )


#: What is said of a plan, the gravest first.
_EFFECTS: Final = tuple(map(str, ReviewWord))


def _effects(members: Iterable[Member]) -> list[str]:
    """What any of these plans does, the gravest first; a cluster's own access decides, so equal changes may differ."""
    words = {word for member in members for word in member.review}
    return sorted(words, key=_gravity_of)


def _gravity_of(word: str) -> int:
    return _EFFECTS.index(word) if word in _EFFECTS else -1


def _counted_effects(plan: FleetPlan) -> str:
    counts = Counter(word for member in plan.members for word in member.review if word != ReviewWord.HARMLESS)
    return "".join(f", {word.lower()} in {counts[word]:,}" for word in sorted(counts, key=_gravity_of))


def _skipped(number: int) -> str:
    return f", {counted(number, 'difference')} skipped" if number else ""


def _alike(pairs: Iterable[tuple[T, str]]) -> dict[T, list[str]]:
    """The clusters of which the same is said."""
    alike: dict[T, list[str]] = {}
    for what, cluster in pairs:
        alike.setdefault(what, []).append(cluster)
    return alike


def _unmoved(plan: FleetPlan, style: Style, *, expand: bool) -> Iterator[str]:
    """Clusters without a step that are to be looked at; those of which the same is said share a line."""
    for words, names in _alike((item.words, item.cluster) for item in plan.unmoved).items():
        yield style("warn", f"  {cluster_names(names, expand=expand)}: {safe(words)}")


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
        has_shown = any(member.cluster in shown for member in plan.waves[number].members)
        return not (expand or has_shown or number == shut or len(plan.waves) <= FEW)

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
        size += _skipped(sum(item.skipped for item in same))
        effect = ", ".join(word.lower() for word in _effects(same))
        yield f"  {cluster_names([item.cluster for item in same], expand=expand)}: {size}" + (effect and f": {effect}")
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
    ordered = sorted(failures, key=lambda item: item.code not in _JUDGED)
    reasons = (((item.code, item.message, item.advice), item.cluster) for item in ordered)
    for (code, message, advice), names in _alike(reasons).items():
        text = f"  not planned: {cluster_names(names, expand=expand)}: {safe(code)}: {safe(message)}"
        yield style("error", text) + (f"\n      {safe(advice)}" if advice else "")


def _refused(plan: FleetPlan, style: Style, *, expand: bool) -> Iterator[str]:
    """Clusters of whose changes guards left out some; those with as many share a line."""
    ordered = sorted(plan.refused, key=lambda item: -item.refused)
    for refused, names in _alike((item.refused, item.cluster) for item in ordered).items():
        text = f"{counted(refused, 'change')} refused, and not in the plan: reconciler show names them"
        yield style("error", f"  {cluster_names(names, expand=expand)}: {text}")


def _size(members: Collection[Member]) -> str:
    steps, deletes = sum(member.steps for member in members), sum(member.deletes for member in members)
    return f"{counted(steps, 'step')}, {counted(deletes, 'deletion')}"


def _changes(wave: PlannedWave) -> Iterator[list[Member]]:
    """Clusters that get the same change stand together, under the id that approves all of them."""
    members = sorted(wave.members, key=lambda item: (item.change_id, item.cluster))
    for _, group in groupby(members, key=lambda item: item.change_id):
        yield list(group)


def _plan_gravity(same: Sequence[Member]) -> tuple[int, int, int, str]:
    """First what is gravest of what it does: a short change may open what a long one does not."""
    gravest = min(map(_gravity_of, _effects(same)), default=-1)
    return gravest, -sum(item.deletes for item in same), -sum(item.steps for item in same), same[0].cluster


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
        outcomes = [records.get((member.cluster, member.plan_id)) for member in wave.members]
        done = sum(1 for item in outcomes if item is not None and item.succeeded)
        for item in outcomes:
            if item is not None and not item.succeeded:
                yield style("error", f"  {safe(item.cluster)}: {safe(item.reason)}: {safe(item.message)}")
        waiting = sum(1 for item in outcomes if item is None)
        yield (
            f"wave {safe(wave.name)}: {done:,} of {counted(len(wave.members), 'cluster')} as planned, "
            f"{len(outcomes) - done - waiting:,} failed, {waiting:,} not begun"
            + (f", {len(wave.unplanned):,} not planned" if wave.unplanned else "")
        )
