"""What the logs of a fleet show: its usage, and least privilege from it.

Log files by cluster are read and judged by states and plans. Evidence and proof are by cluster on Spark, and what comes
of them is one edit of the manifests. A rule that serves several clusters is narrowed by what was seen on all of them,
if the logs of each are evidence enough, nothing holds it on any, and the result is proven on each.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.app.connections import declared_version, version_of
from reconciler.app.manifests import desired, sound
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import RequestError, StaleError, WorkflowError
from reconciler.app.records import saved_plan
from reconciler.app.states import DeclaredThen, claimed_facts
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.write.pages import Book, declared_rights, read
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.desired import instant_of
from reconciler.model.flavor import KafkaVersion
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import standing_bridges
from reconciler.parts.edit.app.editing import ManifestEdit, texts_of
from reconciler.parts.evidence.app import tighten
from reconciler.parts.evidence.proof import prove
from reconciler.parts.evidence.suggestion import (
    Held,
    Narrowing,
    SharedRights,
    SharedUsage,
    suggest,
    thin_evidence,
)
from reconciler.parts.evidence.usage.cluster import ClusterUsage, UsageQuestion, doubted
from reconciler.parts.evidence.usage.counts import BindingUsage, UsageEvidence, period_of
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.parts.fleet.app.runs import FLEET_FILE, Wanted, read_fleet_plan
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.store import FleetStore, StoreFiles
from reconciler.parts.fleet.tasks.comparing import compile_desired
from reconciler.parts.fleet.tasks.logs import (
    Counted,
    CountedLogs,
    LogFindings,
    LoggedCluster,
    LogPart,
    counted_logs,
    desired_bindings,
    directories,
    find_parts,
    live_bindings,
    read_logs,
    trouble,
)
from reconciler.plan.file import parse_plan
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.proposal import Plan
from reconciler.results.access import Basis
from reconciler.results.fleet_drift import FleetRun, Reading
from reconciler.results.tightened import FailedClusterEntry, FleetTightenOutput

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
                parts.update(find_parts(_cluster_name(name, clusters), place))
            else:
                parts.update(_by_directory(text, clusters))
        except OSError as error:
            raise WorkflowError(f"the logs {text}: {error}") from error
    return sorted(parts)


def _cluster_name(name: str, clusters: Sequence[str]) -> str:
    if name not in clusters:
        raise RequestError(
            f"the logs are named for {name!r}, which is not a cluster of the fleet",
            f"clusters are: {', '.join(clusters)}",
        )
    return name


def _by_directory(place: str, clusters: Sequence[str]) -> list[LogPart]:
    """``PLACE/NAME/…`` for cluster NAME; files of PLACE itself are of the clusters that their events name."""
    parts = find_parts("", place, deep=False)
    for name in directories(place) if not parts or parts[0].file.rstrip("/") != place.rstrip("/") else ():
        if not name.startswith("."):
            parts += find_parts(_cluster_name(name, clusters), f"{place.rstrip('/')}/{name}")
    if not parts:
        raise RequestError(f"there are no logs in {place}", "it holds a directory for each cluster")
    return parts


def planned_changes(place: str, run: FleetRun) -> Changes:
    """What a saved plan, or each one of a fleet's, adds and removes; refuses a plan for another cluster."""
    if Path(place).is_dir():
        if not (Path(place) / FLEET_FILE).is_file():
            raise RequestError(f"there is no {FLEET_FILE} in {place}", "planning the fleet writes it")
        plans = [parse_plan(text) for text in read_fleet_plan(Path(place)).texts.values()]
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
    findings = read_logs(engine, store.files, logs.parts, tried, logs.question)
    usages = sorted((*findings.clusters, *failed), key=lambda usage: usage.cluster)
    return LogFindings(tuple(usages), findings.unassigned)


def subjects_of(
    manifests: Manifests, run: FleetRun | None, desired: FleetRun, clusters: Sequence[str]
) -> tuple[list[LoggedCluster], list[ClusterUsage]]:
    """The clusters that can be judged, by a run or what is declared where there is none; and the others, with why."""
    subjects, failed = [], []
    failures = {item.cluster: item for fleet_run in (desired, run) if fleet_run for item in fleet_run.failures}
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
                claimed=claimed_facts(declaration),
            )
            subjects.append(subject if reading is None else replace(subject, cluster_id=reading.cluster_id))
    return subjects, failed


def _version(reading: Reading | None, declaration: ClusterDeclaration) -> KafkaVersion | None:
    if reading is None:
        return declared_version(declaration)
    return version_of(reading.kafka_version, reading.kafka_version_gap, declaration)


def _changed(subject: LoggedCluster, plans: Changes | None) -> LoggedCluster:
    plan = (plans or {}).get(subject.cluster)
    return subject if plan is None else replace(subject, planned=True, added=plan[0], removed=plan[1])


# What a task does for one cluster of a fleet that is tightened: gathers what was seen, and proves a suggestion.


@dataclass(frozen=True, slots=True)
class TightenTask:
    """What every task needs: the store, the window, how many hosts count, the manifests, the time."""

    files: StoreFiles
    window: Window
    hosts: int
    manifests: Manifests
    at: datetime.date


@dataclass(frozen=True, slots=True)
class SeenOnCluster:
    """What the logs show of one cluster's rights; ``failure`` says why that is not known."""

    cluster: str
    failure: str = ""
    summary: Summary = field(default_factory=Summary)
    usage: SharedUsage = field(default_factory=SharedUsage)
    decisions: int = 0


@dataclass(frozen=True, slots=True)
class ProvenOnCluster:
    """The narrowings that hold on one cluster, and those rights that do not let go."""

    cluster: str
    failure: str = ""
    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()
    replayed: int = 0


def seen_on(subject: LoggedCluster, counted: Iterable[Counted], *, task: TightenTask) -> SeenOnCluster:
    """Gather; no single access leaves the task."""
    try:
        rights = [item for item in _declared(subject, task) if item.entry.permission_type is AclPermissionType.ALLOW]
        evidence, summary = _evidence(subject, rights, counted, task)
    except Exception as error:  # one cluster's trouble must not hide the others
        return SeenOnCluster(subject.cluster, trouble(error))
    theirs = {right.entry.principal for right in rights}
    for usage in evidence.usage.values():
        _only_countable(usage, task.hosts)
    return SeenOnCluster(
        subject.cluster,
        summary=summary,
        usage=SharedUsage(
            evidence.period,
            evidence.usage,
            {name: days for name, days in evidence.principals.items() if name in theirs},
            {name: frozenset(created) for name, created in evidence.creates.items() if name in theirs},
        ),
        decisions=evidence.decisions,
    )


def proven_on(
    asked: tuple[LoggedCluster, tuple[Narrowing, ...]], counted: Iterable[Counted], *, task: TightenTask
) -> ProvenOnCluster:
    """Prove a suggestion on the state of one cluster, by every access that was seen there."""
    subject, narrowings = asked
    if not narrowings:
        return ProvenOnCluster(subject.cluster)
    try:
        rights = _authorizer(subject, task)
        evidence, _ = _evidence(subject, rights.bindings, counted, task)
        live, held = subject.live is not None, _locked(subject)
        holds = tighten.tests_hold(task.manifests, subject.cluster, rights, task.at, live=live, held=held)
        wanted = desired(task.manifests, subject.cluster, task.at)
        proven = prove(rights, narrowings, evidence, tighten.later_too(holds, rights, wanted, narrowings, task.at))
    except Exception as error:  # what is not proven on this cluster is not proposed for it
        return ProvenOnCluster(subject.cluster, trouble(error))
    return ProvenOnCluster(subject.cluster, "", proven.narrowings, proven.held, proven.replayed)


def _declared(subject: LoggedCluster, task: TightenTask) -> Iterable[AclBinding]:
    return desired_bindings(task.files, subject.desired) if subject.desired else ()


def _authorizer(subject: LoggedCluster, task: TightenTask) -> Authorizer:
    """The rights as declared; of a cluster that was read, with what is out of scope as it is there."""
    live, opaque = live_bindings(subject, task.files)
    ours = standing_bridges(frozenset(subject.live.leftovers)) if subject.live is not None else ()
    kept = {item for item in live or () if not subject.scope.owns(item) or item in ours} - _locked(subject)
    bindings = kept.union(_declared(subject, task))
    rights = Authorizer(bindings, subject.super_users, subject.default_allow, subject.kafka_version, opaque=opaque)
    return doubted(subject.claimed, rights)


def _locked(subject: LoggedCluster) -> frozenset[AclBinding]:
    """The DENYs of locks, which take nothing from what somebody may do after an unlock."""
    return denials_of_locks(subject.live.leftovers) if subject.live is not None else frozenset()


def _evidence(
    subject: LoggedCluster, bindings: Iterable[AclBinding], counted: Iterable[Counted], task: TightenTask
) -> tuple[UsageEvidence, Summary]:
    version = Authorizer((), kafka_version=subject.kafka_version).kafka_version
    evidence, summary = UsageEvidence(bindings, version), Summary()
    for event, counts in counted:
        if event is None:
            summary += counts
        else:
            evidence.see(event, counts.tally, counts.days)
    evidence.period = period_of(summary.days, task.window)
    return evidence, summary


def _only_countable(usage: BindingUsage, hosts: int) -> None:
    """Leave out hosts beyond the number that counts: one more says that there are too many."""
    for host in sorted(usage.hosts)[hosts + 1 :]:
        del usage.hosts[host]


@dataclass(frozen=True, slots=True)
class FleetTightening:
    """What to narrow on each cluster, by name, and the one edit; ``failed`` are clusters of which nothing is known.

    ``unassigned`` is what lines of no known cluster came to.
    """

    clusters: tuple[tighten.Tightening, ...]
    edit: ManifestEdit
    failed: Mapping[str, str] = field(default_factory=dict)
    unassigned: Summary = field(default_factory=Summary)


def tighten_fleet(
    engine: Engine,
    store: FleetStore,
    given: Wanted,
    logs: Sequence[LogPart],
    options: tighten.TightenOptions = tighten.DEFAULTS,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    path: str,
    run: FleetRun | None = None,
) -> FleetTightening:
    """What the logs of a fleet show unused among the rights that the manifests below ``path`` declare.

    Rights are those of the declared state, or with a ``run`` those of its clusters with everything in scope as
    declared. Raises a :class:`WorkflowError`, also where the proven proposal cannot be written.
    """
    clusters = given.fleet.clusters
    compiled = compile_desired(engine, store, given.sources, clusters, given.as_of)
    subjects, unknown = subjects_of(given.manifests, run, compiled, clusters)
    failed = {item.cluster: item.failure for item in unknown}
    task = TightenTask(
        store.files,
        options.window,
        options.bounds.hosts,
        given.manifests,
        given.as_of,
    )
    ids = [(subject.cluster, subject.cluster_id) for subject in subjects]
    counted = counted_logs(engine, logs, ids, options.window, by_day=True)
    with counted.kept():
        seen, unassigned = counted.ask(subjects, partial(seen_on, task=task))
        failed |= {item.cluster: item.failure for item in seen if item.failure}
        with sound():
            book = read(texts_of(given.manifests))
        fleet = _Fleet(given, book, path, connection, options, counted, task, subjects, run is not None)
        tightenings, edit = fleet.narrowed([item for item in seen if not item.failure])
    failed |= fleet.failed
    judged = tuple(item for item in sorted(tightenings, key=lambda item: item.cluster) if item.cluster not in failed)
    return FleetTightening(judged, edit, dict(sorted(failed.items())), unassigned)


@dataclass(slots=True)
class _Fleet:
    """The clusters of a fleet while they are tightened."""

    given: Wanted
    book: Book
    path: str
    connection: ConnectionOptions
    options: tighten.TightenOptions
    counted: CountedLogs
    task: TightenTask
    subjects: Sequence[LoggedCluster]
    live: bool
    failed: dict[str, str] = field(default_factory=dict)

    def narrowed(self, seen: Sequence[SeenOnCluster]) -> tuple[list[tighten.Tightening], ManifestEdit]:
        """What is proven on every cluster that it concerns, and the edit."""
        day = instant_of(self.given.as_of).date()
        none = ManifestEdit(self.path, texts_of(self.given.manifests))
        scopes = {item.cluster: self._scope(item.cluster) for item in seen}
        tightenings = {
            item.cluster: tighten.Tightening(
                item.cluster,
                Basis.DESIRED if self.live else Basis.DECLARED,
                item.usage.period,
                item.summary,
                none,
                item.decisions,
                tuple(thin_evidence(item.usage.period, item.summary, self.options.bounds, day)),
                places=scopes[item.cluster].desired.bindings,
            )
            for item in seen
        }
        judged = {item.cluster: item for item in seen if not tightenings[item.cluster].thin}
        shared = SharedRights(
            {
                name: [(right.binding, right.place) for right in declared_rights(self.book, name)]
                for name in self.book.clusters
            }
        )
        edit = self._proposed({name: scopes[name] for name in judged}, judged, shared, tightenings)
        return [replace(item, edit=edit) for item in tightenings.values()], edit

    def _scope(self, name: str) -> tighten.TightenScope:
        wanted = desired(self.given.manifests, name, self.given.as_of)
        declaration = self.given.manifests.clusters[name]
        subject = next(item for item in self.subjects if item.cluster == name)
        return tighten.scope_of(self.book, declaration, wanted, subject.super_users - subject.claimed.super_users)

    def _proposed(
        self,
        scopes: Mapping[str, tighten.TightenScope],
        seen: Mapping[str, SeenOnCluster],
        shared: SharedRights,
        tightenings: dict[str, tighten.Tightening],
    ) -> ManifestEdit:
        """The edit; what is narrowed and held is written into ``tightenings``."""
        usages = shared.seen_by_all({name: item.usage for name, item in seen.items()})
        then = DeclaredThen(self.path, self.connection)
        rights, broken = {name: scope.rights for name, scope in scopes.items()}, frozenset[tighten.RoleGrant]()
        holds = {}
        for name, scope in scopes.items():
            first = usages[name].period.first
            history = None if self.options.any_age else (None if first is None else then.of(name, first), first)
            # Other clusters have a say below, whether or not the logs are about them.
            holds[name] = tighten.holder(scope, history, {})
        while True:
            suggested = {name: suggest(rights[name], usages[name], self.options.bounds, holds[name]) for name in scopes}
            proven, held, replayed = self._proven({n: item.narrowings for n, item in suggested.items()}, shared)
            edit = tighten.edited(self.path, texts_of(self.given.manifests), proven, self.given.as_of, self.connection)
            if edit.files:
                after = read(edit.after)
                more = frozenset(
                    role
                    for name in scopes
                    for role in tighten.broken_roles(after, name, rights[name], proven.get(name, ()))
                )
            else:
                more = frozenset()
            if not more:
                break
            broken |= more
            rights = {name: tighten.as_plain(scope.rights, broken) for name, scope in scopes.items()}
        for name, item in suggested.items():
            stays = tuple(sorted({*item.held, *held.get(name, ())}))
            tightenings[name] = replace(
                tightenings[name], narrowings=tuple(proven.get(name, ())), held=stays, replayed=replayed.get(name, 0)
            )
        return edit

    def _proven(
        self, suggested: Mapping[str, Sequence[Narrowing]], shared: SharedRights
    ) -> tuple[dict[str, list[Narrowing]], dict[str, list[Held]], dict[str, int]]:
        """What holds on every cluster; what was left out on one is proven again without it on all the others."""
        held: dict[str, list[Held]] = {}
        wanted: Mapping[str, Sequence[Narrowing]] = suggested
        while True:
            agreed, more = shared.agreed(wanted)
            _keep(held, more)
            if not any(agreed.values()):
                return {}, held, {}
            asked = [(subject, tuple(agreed.get(subject.cluster, ()))) for subject in self.subjects]
            results, _ = self.counted.ask(asked, partial(proven_on, task=self.task))
            self.failed |= {result.cluster: result.failure for result in results if result.failure}
            _keep(held, {result.cluster: result.held for result in results})
            wanted = {result.cluster: result.narrowings for result in results}
            if all(len(wanted[name]) == len(narrowings) for name, narrowings in agreed.items()):
                return agreed, held, {result.cluster: result.replayed for result in results}


def _keep(held: dict[str, list[Held]], more: Mapping[str, Sequence[Held]]) -> None:
    for name, additions in more.items():
        held.setdefault(name, []).extend(additions)


def fleet_tighten_output(tightening: FleetTightening) -> FleetTightenOutput:
    """What was found on each cluster, and of which nothing is known."""
    failed = tuple(FailedClusterEntry(name, why) for name, why in tightening.failed.items())
    return FleetTightenOutput(tuple(map(tighten.tighten_output, tightening.clusters)), failed)
