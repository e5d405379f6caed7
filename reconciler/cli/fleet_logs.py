"""What ``fleet usage`` reads and judges: log files by cluster, states and plans, as the command line names them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from reconciler.adapters.spark.log_files import LogPart, directories, find_parts
from reconciler.adapters.spark.log_reading import LoggedCluster
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_saved import FLEET_FILE, read_fleet_plan
from reconciler.fleet import FleetRun
from reconciler.fleet.usage import ClusterUsage
from reconciler.manifest import Manifests
from reconciler.model import AclBinding
from reconciler.plan import Plan, created_bindings, deleted_bindings, parse_plan
from reconciler.workflow.planning import saved_plan

#: Bindings that a plan adds, and those that it takes away, by cluster.
Changes: TypeAlias = dict[str, tuple[tuple[AclBinding, ...], tuple[AclBinding, ...]]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged: a snapshot, or what is declared where there is none; and under which change."""

    manifests: Manifests
    run: FleetRun | None
    desired: FleetRun
    plans: Changes | None
    replay: bool


def log_parts(places: Sequence[str], clusters: Sequence[str]) -> list[LogPart]:
    """The files that ``--logs`` names, in the parts in which they are read, or the end of the command."""
    parts: set[LogPart] = set()
    for text in places:
        name, equals, place = text.partition("=")
        try:
            if equals and "/" not in name:
                parts.update(find_parts(_known(name, clusters), place))
            else:
                parts.update(_by_directory(text, clusters))
        except OSError as error:
            raise CommandError(f"--logs {text}: {error}") from error
    return sorted(parts)


def _known(name: str, clusters: Sequence[str]) -> str:
    if name not in clusters:
        raise CommandError(
            f"--logs names {name!r}, which is no cluster of the fleet",
            f"clusters are: {', '.join(clusters)}",
            Exit.USAGE,
        )
    return name


def _by_directory(place: str, clusters: Sequence[str]) -> list[LogPart]:
    """``PLACE/NAME/…`` for cluster NAME; files of PLACE itself are of the clusters that their events name."""
    found = find_parts("", place, deep=False)
    for name in directories(place) if not found or found[0].file.rstrip("/") != place.rstrip("/") else ():
        if not name.startswith("."):
            found += find_parts(_known(name, clusters), f"{place.rstrip('/')}/{name}")
    if not found:
        raise CommandError(f"there are no logs in {place}", "it holds a directory for each cluster", Exit.USAGE)
    return found


def planned_changes(place: str, run: FleetRun) -> Changes:
    """What a saved plan, or each one of a fleet's, adds and removes; refuses a plan for another cluster."""
    if Path(place).is_dir():
        if not (Path(place) / FLEET_FILE).is_file():
            raise CommandError(f"there is no {FLEET_FILE} in {place}", "`reconciler fleet plan` writes it", Exit.USAGE)
        plans = [parse_plan(text) for text in read_fleet_plan(Path(place))[1].values()]
    else:
        plans = [saved_plan(place)[0]]
    for plan in plans:
        reading = run.reading(plan.terms.cluster)
        if reading is None:
            raise CommandError(f"the plan is for {plan.terms.cluster}, which was not read in run {run.id}")
        if reading.cluster_id != plan.cluster_id:
            raise CommandError(
                f"the plan is for the cluster {plan.cluster_id}, {plan.terms.cluster} is {reading.cluster_id}",
                status=Exit.STALE,
            )
    return {plan.terms.cluster: _bindings(plan) for plan in plans}


def _bindings(plan: Plan) -> tuple[tuple[AclBinding, ...], tuple[AclBinding, ...]]:
    changes = [step.change for step in plan.steps]
    return (
        tuple(created_bindings(changes)),
        tuple(deleted_bindings(changes)),
    )


def subjects_of(judged: Judged, clusters: Sequence[str]) -> tuple[list[LoggedCluster], list[ClusterUsage]]:
    """The clusters that can be judged, and those that cannot, with the reason."""
    subjects, failed = [], []
    failures = {item.cluster: item for run in (judged.desired, judged.run) if run for item in run.failures}
    for name in clusters:
        reading = judged.run.reading(name) if judged.run else None
        if name in failures:
            failed.append(ClusterUsage(name, f"{failures[name].code}: {failures[name].message}"))
        elif judged.run is not None and reading is None:
            failed.append(ClusterUsage(name, f"it is not in snapshot {judged.run.id}"))
        elif reading is not None and reading.acl_gap:
            failed.append(ClusterUsage(name, f"its ACL listing may not be whole: {reading.acl_gap}"))
        else:
            declaration = judged.manifests.clusters[name]
            subject = LoggedCluster(
                name,
                live=reading,
                desired=judged.desired.reading(name),
                scope=declaration.scope,
                super_users=frozenset(declaration.super_users),
                default_allow=declaration.allow_everyone_if_no_acl_found,
                to_desired=judged.replay,
            )
            subjects.append(
                _changed(subject if reading is None else replace(subject, cluster_id=reading.cluster_id), judged)
            )
    return subjects, failed


def _changed(subject: LoggedCluster, judged: Judged) -> LoggedCluster:
    plan = (judged.plans or {}).get(subject.cluster)
    return subject if plan is None else replace(subject, planned=True, added=plan[0], removed=plan[1])
