"""The members of a fleet as tasks meet them: picklable ways to read a cluster, by connection or snapshot file."""

import datetime
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from reconciler.adapters.snapshot import SnapshotCluster, SnapshotError
from reconciler.adapters.spark.collecting import SnapshotSource
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.manifest import ClusterDeclaration, ManifestError, Manifests, TopicsDeclaration, desired_state
from reconciler.model import ClusterState, Scope
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.clusters import Target, live, refuse_another_time
from reconciler.workflow.flavors import cure, told, unstated
from reconciler.workflow.options import ConnectionOptions, Tell, ignore
from reconciler.workflow.reasons import RequestError, WorkflowError


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
            name, cluster.scope, partial(read_live, cluster, members, topic_names(manifests, cluster, as_of))
        )
        for name in clusters
        for cluster in [manifests.clusters[name]]
    ]


def file_readers(manifests: Manifests | None, files: Iterable[str]) -> list[SnapshotSource]:
    """Snapshot files as clusters: ``NAME=FILE``, or ``FILE`` for the cluster of its stem."""
    found: dict[str, SnapshotSource] = {}
    for text in files:
        name, equals, file = text.partition("=")
        if not equals or "/" in name:
            name, file = Path(text).stem, text
        if name in found:
            raise RequestError(f"two files are given for cluster {name}")
        declaration = manifests.clusters.get(name) if manifests else None
        scope = declaration.scope if declaration else Scope()
        found[name] = SnapshotSource(name, scope, partial(read_file, str(Path(file).resolve())))
    return list(found.values())


def topic_names(manifests: Manifests, cluster: ClusterDeclaration, as_of: datetime.date) -> tuple[str, ...]:
    """The declared topics: where a listing is partial, each is asked for by name."""
    if any(item.heading.kind == "Topics" and item.heading.applies_to(cluster.labels) for item in manifests.templates):
        try:
            return tuple(desired_state(manifests, cluster.name, as_of).topics)
        except ManifestError:
            return ()  # drift and plan say so; what was read is none the worse
    return tuple(
        topic.topic.name
        for declared in manifests.of(TopicsDeclaration)
        if declared.heading.applies_to(cluster.labels)
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
        yield Target(declaration.name, SnapshotCluster(Path(file)), declaration)
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
        raise ClusterError("flavor_unstated", told(shown), cure(shown))
    return state


def read_file(file: str) -> ClusterState:
    """The state in a snapshot file; raises :class:`ClusterError`."""
    try:
        return SnapshotCluster(Path(file)).read(ReadRequest(listings=LISTED))
    except SnapshotError as error:
        raise ClusterError("invalid_snapshot", f"{Path(file).name}: {error}") from error
