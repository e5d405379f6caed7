"""The members of a fleet as tasks meet them: picklable ways to read a cluster, by connection or snapshot file."""

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from reconciler.app.connections import cure, flavor_words, unstated
from reconciler.app.options import ConnectionOptions, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.session import Target, live, refuse_another_time, snapshot_cluster
from reconciler.app.terms import stated_facts
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.topics import TopicsDeclaration
from reconciler.manifest.manifests import Manifests, declared_acls, desired_state
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import Origin
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.differences import changes_of
from reconciler.parts.fleet.readings import SnapshotSource
from reconciler.parts.fleet.store import FleetStore
from reconciler.plan.kinds.acl import touched_binding
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.fleet_drift import FleetDrift
from reconciler.snapshot.document import SnapshotError
from reconciler.snapshot.file import SnapshotCluster


@dataclass(frozen=True, slots=True)
class MemberConnections:
    """How clusters are reached: as ``connection`` says, or where the directory ``snapshots`` is given, by its files.

    Paths are made absolute: they mean the same wherever a task runs.
    """

    connection: ConnectionOptions
    snapshots: str | None = None

    def __post_init__(self) -> None:
        """Make paths absolute."""
        object.__setattr__(self, "connection", everywhere(self.connection))
        if self.snapshots is not None:
            object.__setattr__(self, "snapshots", str(Path(self.snapshots).resolve()))

    def file_of(self, cluster: str) -> str | None:
        """The snapshot file that stands for a cluster."""
        return None if self.snapshots is None else str(Path(self.snapshots, f"{cluster}.json"))

    def refuse_past(self, at: datetime.date | None) -> None:
        """Raise :class:`PastTimeError` where clusters would have to be read as they were then."""
        if self.snapshots is None:
            refuse_another_time(None, at)


def live_readers(
    manifests: Manifests, clusters: Iterable[str], members: MemberConnections, as_of: datetime.date
) -> list[SnapshotSource]:
    """One way to read for each cluster."""
    return [
        SnapshotSource(
            name,
            cluster.scope,
            partial(read_live, cluster, members, topic_names(manifests, cluster, as_of)),
            stated_facts(cluster),
        )
        for name in clusters
        for cluster in [manifests.clusters[name]]
    ]


def file_readers(manifests: Manifests | None, files: Iterable[str]) -> list[SnapshotSource]:
    """Snapshot files as clusters: ``NAME=FILE``, or ``FILE`` for the cluster of its stem."""
    sources: dict[str, SnapshotSource] = {}
    for text in files:
        name, equals, file = text.partition("=")
        if not equals or "/" in name:
            name, file = Path(text).stem, text
        if name in sources:
            raise RequestError(f"two files are given for cluster {name}")
        declaration = manifests.clusters.get(name) if manifests else None
        scope = declaration.scope if declaration else Scope()
        stated = stated_facts(declaration) if declaration else None
        sources[name] = SnapshotSource(name, scope, partial(read_file, str(Path(file).resolve())), stated)
    return list(sources.values())


def topic_names(manifests: Manifests, cluster: ClusterDeclaration, as_of: datetime.date) -> tuple[str, ...]:
    """The declared topics: where a listing is partial, each is asked for by name."""
    if any(item.heading.kind == "Topics" for item in manifests.chosen_templates(cluster.labels)):
        try:
            return tuple(desired_state(manifests, cluster.name, as_of).topics)
        except ManifestError:
            return ()  # drift and plan say so; what was read is none the worse
    return tuple(
        topic.topic.name
        for declared in manifests.chosen(cluster.labels)
        if isinstance(declared, TopicsDeclaration)
        for topic in declared.topics
    )


def everywhere(connection: ConnectionOptions) -> ConnectionOptions:
    """Paths that mean the same wherever a task runs."""
    connections = None if connection.connections is None else str(Path(connection.connections).resolve())
    places = tuple(str(Path(place).resolve()) for place in connection.secrets_dirs)
    return replace(connection, connections=connections, secrets_dirs=places)


@contextmanager
def opened_member(declaration: ClusterDeclaration, members: MemberConnections, tell: Tell = ignore) -> Iterator[Target]:
    """One cluster, ready to be asked."""
    file = members.file_of(declaration.name)
    if file is not None:
        yield Target(declaration.name, snapshot_cluster(file), declaration)
        return
    with live(declaration.name, declaration, members.connection, tell) as target:
        yield target


def read_live(declaration: ClusterDeclaration, members: MemberConnections, names: tuple[str, ...]) -> ClusterState:
    """Everything of one cluster, also what runs have there for their own use; raises :class:`ClusterError`."""
    request = ReadRequest(
        topic_names=names, principal=declaration.principal, super_users=declaration.super_users, listings=LISTED
    )
    try:
        with opened_member(declaration, members) as target:
            state = target.cluster.read(request)
            if target.settings is not None and (news := target.settings.first_contact.news()):
                state = replace(state, notes=(news,))
    except WorkflowError as error:
        raise ClusterError("connection_unusable", error.message, error.advice) from error
    # What the store keeps, nobody looks at with the cluster at hand: names that mean others must not get into it.
    if (shown := unstated(declaration, state)) is not None:
        raise ClusterError("flavor_unstated", flavor_words(shown), cure(shown))
    return state


def read_file(file: str) -> ClusterState:
    """The state in a snapshot file; raises :class:`ClusterError`."""
    try:
        return SnapshotCluster(Path(file)).read(ReadRequest(listings=LISTED))
    except SnapshotError as error:
        raise ClusterError("invalid_snapshot", f"{Path(file).name}: {error}") from error


# Whose differences they are: the ``team`` label of the manifests that declare a principal or a topic.

NOBODY: Final = "(nobody)"


def differences_by_team(drift: FleetDrift, store: FleetStore, manifests: Manifests) -> dict[str, Mapping[str, int]]:
    """Differences of each cluster by team; what no manifest with a team speaks of is nobody's."""
    files = _teams(manifests)
    counts: dict[str, Mapping[str, int]] = {}
    for item in drift.differing:
        principals = _principals(manifests, item.cluster)
        changes = changes_of(store.files, item.files, item.cluster)[0]
        counts[item.cluster] = Counter(_team(change.change, change.origin, files, principals) for change in changes)
    return counts


def _teams(manifests: Manifests) -> dict[str, str]:
    """Teams by file."""
    files: dict[str, str] = {}
    acls, topics = manifests.of(AclsDeclaration), manifests.of(TopicsDeclaration)
    headings = [*(item.heading for item in acls), *(item.heading for item in topics)]
    for heading in (*headings, *(item.heading for item in manifests.templates)):
        if team := heading.labels.get("team"):
            files.setdefault(heading.origin.file, team)
    return files


def _principals(manifests: Manifests, cluster: str) -> dict[str, str]:
    """Teams by principal, whose names may come from the cluster's variables."""
    declaration = manifests.clusters.get(cluster)
    principals: dict[str, str] = {}
    for item in manifests.of(AclsDeclaration) if declaration is None else declared_acls(manifests, declaration):
        if team := item.heading.labels.get("team"):
            principals |= {name: team for rule in item.rules for name in rule.principals}
    return principals


def _team(change: Change, origin: Origin | None, files: Mapping[str, str], principals: Mapping[str, str]) -> str:
    if origin is not None and origin.file in files:
        return files[origin.file]
    if (binding := touched_binding(change)) is not None:
        return principals.get(binding.entry.principal, NOBODY)
    return NOBODY
