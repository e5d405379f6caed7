"""Least privilege from the logs of a fleet: evidence and proof by cluster on Spark, and one edit of the manifests.

A rule that serves several clusters is narrowed by what was seen on all of them, if the logs of each are evidence
enough, nothing holds it on any, and the result is proven on each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from pyspark.sql import SparkSession

from reconciler.adapters.spark.compiling import compile_desired
from reconciler.adapters.spark.log_counting import CountedLogs, counted_logs
from reconciler.adapters.spark.log_files import LogPart
from reconciler.adapters.spark.log_reading import LoggedCluster
from reconciler.dataclass import dataclass
from reconciler.edit import Book
from reconciler.edit.pages import read
from reconciler.edit.rights import declared_rights
from reconciler.fleet import FleetRun
from reconciler.fleet.store import FleetStore
from reconciler.fleet.tighten import Held, Narrowing, suggest, thin_evidence
from reconciler.fleet.tighten.sharing import SharedRights
from reconciler.fleet.usage import Summary
from reconciler.model.expiry import instant_of
from reconciler.report.access_view import Basis
from reconciler.workflow.declared_then import DeclaredThen
from reconciler.workflow.editing import ManifestEdit, texts_of
from reconciler.workflow.fleet.logs import subjects_of
from reconciler.workflow.fleet.runs import Wanted
from reconciler.workflow.fleet.tighten_tasks import SeenOnCluster, TightenTask, proven_on, seen_on
from reconciler.workflow.manifests import desired as desired_state
from reconciler.workflow.manifests import sound
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.tightening.holding import holder
from reconciler.workflow.tightening.proposal import DEFAULTS, Tightening, TightenOptions
from reconciler.workflow.tightening.rewriting import RoleGrant, as_plain, broken_roles, edited
from reconciler.workflow.tightening.state import TightenScope, scope_of


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
    session: SparkSession,
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
    compiled = compile_desired(session, store, given.sources, clusters, given.as_of)
    subjects, unknown = subjects_of(given.manifests, run, compiled, clusters)
    failed = {one.cluster: one.failure for one in unknown}
    task = TightenTask(
        store.files,
        options.window,
        options.bounds.hosts,
        session.sparkContext.broadcast(given.manifests),
        given.as_of,
    )
    ids = [(one.cluster, one.cluster_id) for one in subjects]
    counted = counted_logs(session, logs, ids, options.window, by_day=True)
    with counted.kept():
        seen, unassigned = counted.ask(subjects, partial(seen_on, task=task))
        failed |= {one.cluster: one.failure for one in seen if one.failure}
        with sound():
            book = read(texts_of(given.manifests))
        fleet = _Fleet(given, book, path, connection, options, counted, task, subjects, run is not None)
        found, edit = fleet.narrowed([one for one in seen if not one.failure])
    failed |= fleet.failed
    judged = tuple(one for one in sorted(found, key=lambda one: one.cluster) if one.cluster not in failed)
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
        scopes = {one.cluster: self._scope(one.cluster) for one in seen}
        found = {
            one.cluster: Tightening(
                one.cluster,
                Basis.DESIRED if self.live else Basis.DECLARED,
                one.usage.period,
                one.summary,
                none,
                one.decisions,
                tuple(thin_evidence(one.usage.period, one.summary, self.options.bounds, day)),
                places=scopes[one.cluster].desired.bindings,
            )
            for one in seen
        }
        judged = {one.cluster: one for one in seen if not found[one.cluster].thin}
        shared = SharedRights(
            {
                name: [(one.binding, one.place) for one in declared_rights(self.book, name)]
                for name in self.book.clusters
            }
        )
        edit = self._proposed({name: scopes[name] for name in judged}, judged, shared, found)
        return [replace(one, edit=edit) for one in found.values()], edit

    def _scope(self, name: str) -> TightenScope:
        wanted = desired_state(self.given.manifests, name, self.given.as_of)
        declaration = self.given.manifests.clusters[name]
        subject = next(one for one in self.subjects if one.cluster == name)
        return scope_of(self.book, declaration, wanted, subject.super_users - subject.claimed.super_users)

    def _proposed(
        self,
        scopes: Mapping[str, TightenScope],
        seen: Mapping[str, SeenOnCluster],
        shared: SharedRights,
        found: dict[str, Tightening],
    ) -> ManifestEdit:
        """The edit; what is narrowed and held is written into ``found``."""
        usages = shared.seen_by_all({name: one.usage for name, one in seen.items()})
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
            proven, held, replayed = self._proven({n: one.narrowings for n, one in suggested.items()}, shared)
            made = edited(self.path, texts_of(self.given.manifests), proven, self.given.as_of, self.connection)
            if made.files:
                after = read(made.after)
                more = frozenset(
                    one for name in scopes for one in broken_roles(after, name, rights[name], proven.get(name, ()))
                )
            else:
                more = frozenset()
            if not more:
                break
            broken |= more
            rights = {name: as_plain(scope.rights, broken) for name, scope in scopes.items()}
        for name, one in suggested.items():
            stays = tuple(sorted({*one.held, *held.get(name, ())}))
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
            asked = [(one, tuple(agreed.get(one.cluster, ()))) for one in self.subjects]
            results, _ = self.counted.ask(asked, partial(proven_on, task=self.task))
            self.failed |= {one.cluster: one.failure for one in results if one.failure}
            _keep(held, {one.cluster: one.held for one in results})
            wanted = {one.cluster: one.narrowings for one in results}
            if all(len(wanted[name]) == len(found) for name, found in agreed.items()):
                return agreed, held, {one.cluster: one.replayed for one in results}


def _keep(held: dict[str, list[Held]], more: Mapping[str, Sequence[Held]]) -> None:
    for name, found in more.items():
        held.setdefault(name, []).extend(found)
