"""What a fleet's usage is read from and judged by: log files by cluster, states and plans."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from reconciler.app.connections import declared_version, version_of
from reconciler.app.reasons import RequestError, StaleError, WorkflowError
from reconciler.app.records import saved_plan
from reconciler.app.states import claimed_facts
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import AclBinding
from reconciler.model.flavor import KafkaVersion
from reconciler.parts.evidence.usage.cluster import ClaimedUsageFacts, ClusterUsage, UsageQuestion
from reconciler.parts.fleet.app.runs import FLEET_FILE, Wanted, read_fleet_plan
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tasks.comparing import compile_desired
from reconciler.parts.fleet.tasks.logs import LogFindings, LoggedCluster, LogPart, directories, find_parts, read_logs
from reconciler.plan.file.document import parse_plan
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.results.fleet_drift import FleetRun, Reading

#: Bindings that a plan adds, and those that it takes away, by cluster.
Changes: TypeAlias = dict[str, tuple[tuple[AclBinding, ...], tuple[AclBinding, ...]]]


@dataclass(frozen=True, slots=True)
class Logs:
    """Files in the parts in which they are read, and what is asked of them."""

    parts: Sequence[LogPart]
    question: UsageQuestion


def log_parts(places: Sequence[str], clusters: Sequence[str]) -> list[LogPart]:
    """The files that ``places`` name, in the parts in which they are read; ``[NAME=]PLACE`` each."""
    parts: set[LogPart] = set()
    for text in places:
        name, equals, place = text.partition("=")
        try:
            if equals and "/" not in name:
                parts.update(find_parts(_known(name, clusters), place))
            else:
                parts.update(_by_directory(text, clusters))
        except OSError as error:
            raise WorkflowError(f"the logs {text}: {error}") from error
    return sorted(parts)


def _known(name: str, clusters: Sequence[str]) -> str:
    if name not in clusters:
        raise RequestError(
            f"the logs are named for {name!r}, which is not a cluster of the fleet",
            f"clusters are: {', '.join(clusters)}",
        )
    return name


def _by_directory(place: str, clusters: Sequence[str]) -> list[LogPart]:
    """``PLACE/NAME/…`` for cluster NAME; files of PLACE itself are of the clusters that their events name."""
    found = find_parts("", place, deep=False)
    for name in directories(place) if not found or found[0].file.rstrip("/") != place.rstrip("/") else ():
        if not name.startswith("."):
            found += find_parts(_known(name, clusters), f"{place.rstrip('/')}/{name}")
    if not found:
        raise RequestError(f"there are no logs in {place}", "it holds a directory for each cluster")
    return found


def planned_changes(place: str, run: FleetRun) -> Changes:
    """What a saved plan, or each one of a fleet's, adds and removes; refuses a plan for another cluster."""
    if Path(place).is_dir():
        if not (Path(place) / FLEET_FILE).is_file():
            raise RequestError(f"there is no {FLEET_FILE} in {place}", "planning the fleet writes it")
        plans = [parse_plan(text) for text in read_fleet_plan(Path(place))[1].values()]
    else:
        plans = [saved_plan(place)[0]]
    for plan in plans:
        reading = run.reading(plan.terms.cluster)
        if reading is None:
            raise WorkflowError(f"the plan is for {plan.terms.cluster}, which was not read in run {run.id}")
        if reading.cluster_id != plan.cluster_id:
            raise StaleError(
                f"the plan is for the cluster {plan.cluster_id}, {plan.terms.cluster} is {reading.cluster_id}"
            )
    return {plan.terms.cluster: _bindings(plan) for plan in plans}


def _bindings(plan: Plan) -> tuple[tuple[AclBinding, ...], tuple[AclBinding, ...]]:
    changes = [step.change for step in plan.steps]
    return (
        tuple(created_bindings(changes)),
        tuple(deleted_bindings(changes)),
    )


def fleet_usage(
    engine: Engine,
    store: FleetStore,
    given: Wanted,
    logs: Logs,
    run: FleetRun | None = None,
    *,
    plans: Changes | None = None,
    replay: bool = False,
) -> LogFindings:
    """What logs show of the bindings of a run, or of what is declared where there is none.

    ``plans``, or with ``replay`` what the manifests would change, are tried on the accesses that were seen. A cluster
    that cannot be judged is there with the reason.
    """
    clusters = given.fleet.clusters
    desired = compile_desired(engine, store, given.sources, clusters, given.as_of)
    subjects, failed = subjects_of(given.manifests, run, desired, clusters)
    tried = [_changed(replace(subject, to_desired=replay), plans) for subject in subjects]
    told = read_logs(engine, store.files, logs.parts, tried, logs.question)
    usages = sorted((*told.clusters, *failed), key=lambda usage: usage.cluster)
    return LogFindings(tuple(usages), told.unassigned)


def subjects_of(
    manifests: Manifests, run: FleetRun | None, desired: FleetRun, clusters: Sequence[str]
) -> tuple[list[LoggedCluster], list[ClusterUsage]]:
    """The clusters that can be judged, by a run or what is declared where there is none; and the others, with why."""
    subjects, failed = [], []
    failures = {item.cluster: item for found in (desired, run) if found for item in found.failures}
    for name in clusters:
        reading = run.reading(name) if run else None
        if name in failures:
            failed.append(ClusterUsage(name, f"{failures[name].code}: {failures[name].message}"))
        elif run is not None and reading is None:
            failed.append(ClusterUsage(name, f"it is not in snapshot {run.id}"))
        # An ACL that was not listed would look unused by whoever used it.
        elif reading is not None and reading.acl_gap:
            failed.append(ClusterUsage(name, f"its ACL listing may not be whole: {reading.acl_gap}"))
        else:
            declaration = manifests.clusters[name]
            try:
                version = _version(reading, declaration)
            except WorkflowError as error:
                failed.append(ClusterUsage(name, error.message))
                continue
            subject = LoggedCluster(
                name,
                live=reading,
                desired=desired.reading(name),
                scope=declaration.scope,
                super_users=frozenset(declaration.super_users),
                default_allow=declaration.allow_everyone_if_no_acl_found,
                kafka_version=version,
                claimed=claimed_usage_facts(declaration),
            )
            subjects.append(subject if reading is None else replace(subject, cluster_id=reading.cluster_id))
    return subjects, failed


def _version(reading: Reading | None, declaration: ClusterDeclaration) -> KafkaVersion | None:
    if reading is None:
        return declared_version(declaration)
    return version_of(reading.kafka_version, reading.kafka_version_gap, declaration)


def claimed_usage_facts(declaration: ClusterDeclaration) -> ClaimedUsageFacts:
    """The facts of a cluster that only its manifests state."""
    claimed = claimed_facts(declaration)
    return ClaimedUsageFacts(claimed.super_users, claimed.default_allow)


def _changed(subject: LoggedCluster, plans: Changes | None) -> LoggedCluster:
    plan = (plans or {}).get(subject.cluster)
    return subject if plan is None else replace(subject, planned=True, added=plan[0], removed=plan[1])
