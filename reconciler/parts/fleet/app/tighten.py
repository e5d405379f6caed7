"""Least privilege from the logs of a fleet: evidence and proof by cluster on Spark, and one edit of the manifests.

A rule that serves several clusters is narrowed by what was seen on all of them, if the logs of each are evidence
enough, nothing holds it on any, and the result is proven on each.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from reconciler.access.authorizer import Authorizer
from reconciler.app.manifests import desired, sound
from reconciler.app.manifests import desired as desired_state
from reconciler.app.options import ConnectionOptions
from reconciler.app.states import DeclaredThen
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.write.pages import Book, declared_rights, read
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.desired import instant_of
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import standing_bridges
from reconciler.parts.edit.app.editing import ManifestEdit, texts_of
from reconciler.parts.evidence.app.tighten import (
    DEFAULTS,
    RoleGrant,
    Tightening,
    TightenOptions,
    TightenScope,
    as_plain,
    broken_roles,
    edited,
    holder,
    later_too,
    scope_of,
    tests_hold,
    tighten_output,
)
from reconciler.parts.evidence.tighten.proof import prove
from reconciler.parts.evidence.tighten.suggestion import (
    Held,
    Narrowing,
    SharedRights,
    SharedUsage,
    suggest,
    thin_evidence,
)
from reconciler.parts.evidence.usage.counts import BindingUsage, UsageEvidence, period_of
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.parts.fleet.app.logs import subjects_of
from reconciler.parts.fleet.app.runs import Wanted
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.store import FleetStore, StoreFiles
from reconciler.parts.fleet.tasks.comparing import compile_desired
from reconciler.parts.fleet.tasks.logs import (
    Counted,
    CountedLogs,
    LoggedCluster,
    LogPart,
    counted_logs,
    desired_bindings,
    live_bindings,
    trouble,
)
from reconciler.results.access import Basis
from reconciler.results.fleet_drift import FleetRun
from reconciler.results.tightened import FailedClusterEntry, FleetTightenOutput

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
            {name: frozenset(found) for name, found in evidence.creates.items() if name in theirs},
        ),
        decisions=sum(item.tally.times for found in evidence.accesses.values() for item in found),
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
        holds = tests_hold(task.manifests, subject.cluster, rights, task.at, live=live, held=held)
        wanted = desired(task.manifests, subject.cluster, task.at)
        proven = prove(rights, narrowings, evidence, later_too(holds, rights, wanted, narrowings, task.at))
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
    return subject.claimed.doubted(rights)


def _locked(subject: LoggedCluster) -> frozenset[AclBinding]:
    """The DENYs of locks, which take nothing from what somebody may do after an unlock."""
    return denials_of_locks(subject.live.leftovers) if subject.live is not None else frozenset()


def _evidence(
    subject: LoggedCluster, bindings: Iterable[AclBinding], counted: Iterable[Counted], task: TightenTask
) -> tuple[UsageEvidence, Summary]:
    version = Authorizer((), kafka_version=subject.kafka_version).kafka_version
    evidence, summary = UsageEvidence(bindings, version), Summary()
    for event, found in counted:
        if event is None:
            summary += found
        else:
            evidence.see(event, found.tally, found.days)
    evidence.period = period_of(summary.days, task.window.since, task.window.until)
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

    clusters: tuple[Tightening, ...]
    edit: ManifestEdit
    failed: Mapping[str, str] = field(default_factory=dict)
    unassigned: Summary = field(default_factory=Summary)


def tighten_fleet(
    engine: Engine,
    store: FleetStore,
    given: Wanted,
    logs: Sequence[LogPart],
    options: TightenOptions = DEFAULTS,
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
        found, edit = fleet.narrowed([item for item in seen if not item.failure])
    failed |= fleet.failed
    judged = tuple(item for item in sorted(found, key=lambda item: item.cluster) if item.cluster not in failed)
    return FleetTightening(judged, edit, dict(sorted(failed.items())), unassigned)


@dataclass(slots=True)
class _Fleet:
    """The clusters of a fleet while they are tightened."""

    given: Wanted
    book: Book
    path: str
    connection: ConnectionOptions
    options: TightenOptions
    counted: CountedLogs
    task: TightenTask
    subjects: Sequence[LoggedCluster]
    live: bool
    failed: dict[str, str] = field(default_factory=dict)

    def narrowed(self, seen: Sequence[SeenOnCluster]) -> tuple[list[Tightening], ManifestEdit]:
        """What is proven on every cluster that it concerns, and the edit."""
        day = instant_of(self.given.as_of).date()
        none = ManifestEdit(self.path, texts_of(self.given.manifests))
        scopes = {item.cluster: self._scope(item.cluster) for item in seen}
        found = {
            item.cluster: Tightening(
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
        judged = {item.cluster: item for item in seen if not found[item.cluster].thin}
        shared = SharedRights(
            {
                name: [(right.binding, right.place) for right in declared_rights(self.book, name)]
                for name in self.book.clusters
            }
        )
        edit = self._proposed({name: scopes[name] for name in judged}, judged, shared, found)
        return [replace(item, edit=edit) for item in found.values()], edit

    def _scope(self, name: str) -> TightenScope:
        wanted = desired_state(self.given.manifests, name, self.given.as_of)
        declaration = self.given.manifests.clusters[name]
        subject = next(item for item in self.subjects if item.cluster == name)
        return scope_of(self.book, declaration, wanted, subject.super_users - subject.claimed.super_users)

    def _proposed(
        self,
        scopes: Mapping[str, TightenScope],
        seen: Mapping[str, SeenOnCluster],
        shared: SharedRights,
        found: dict[str, Tightening],
    ) -> ManifestEdit:
        """The edit; what is narrowed and held is written into ``found``."""
        usages = shared.seen_by_all({name: item.usage for name, item in seen.items()})
        then = DeclaredThen(self.path, self.connection)
        rights, broken = {name: scope.rights for name, scope in scopes.items()}, frozenset[RoleGrant]()
        holds = {}
        for name, scope in scopes.items():
            first = usages[name].period.first
            history = None if self.options.any_age else (None if first is None else then.of(name, first), first)
            # Other clusters have a say below, whether or not the logs are about them.
            holds[name] = holder(scope, history, {})
        while True:
            suggested = {name: suggest(rights[name], usages[name], self.options.bounds, holds[name]) for name in scopes}
            proven, held, replayed = self._proven({n: item.narrowings for n, item in suggested.items()}, shared)
            made = edited(self.path, texts_of(self.given.manifests), proven, self.given.as_of, self.connection)
            if made.files:
                after = read(made.after)
                more = frozenset(
                    role for name in scopes for role in broken_roles(after, name, rights[name], proven.get(name, ()))
                )
            else:
                more = frozenset()
            if not more:
                break
            broken |= more
            rights = {name: as_plain(scope.rights, broken) for name, scope in scopes.items()}
        for name, item in suggested.items():
            stays = tuple(sorted({*item.held, *held.get(name, ())}))
            found[name] = replace(
                found[name], narrowings=tuple(proven.get(name, ())), held=stays, replayed=replayed.get(name, 0)
            )
        return made

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
            if all(len(wanted[name]) == len(found) for name, found in agreed.items()):
                return agreed, held, {result.cluster: result.replayed for result in results}


def _keep(held: dict[str, list[Held]], more: Mapping[str, Sequence[Held]]) -> None:
    for name, found in more.items():
        held.setdefault(name, []).extend(found)


def fleet_tighten_output(found: FleetTightening) -> FleetTightenOutput:
    """What was found on each cluster, and of which nothing is known."""
    failed = tuple(FailedClusterEntry(name, why) for name, why in found.failed.items())
    return FleetTightenOutput(tuple(map(tighten_output, found.clusters)), failed)
