"""From a name to a cluster that can be asked: over the network, or a snapshot file that stands for it.

A cluster is named as ``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.adapters.snapshot import SnapshotCluster, SnapshotError
from reconciler.apply.cleanup import leftovers
from reconciler.manifest import ClusterDeclaration, ManifestError, Manifests, declared_cluster
from reconciler.model import AclBinding, ClusterState, is_reserved, without_bridges
from reconciler.ports import ClusterError, InspectableCluster, ReadRequest
from reconciler.workflow.connections import address_of, read_connections, settings_of
from reconciler.workflow.manifests import load
from reconciler.workflow.options import ConnectionOptions, Tell, ignore
from reconciler.workflow.reasons import (
    AmbiguousClusterError,
    RequestError,
    UndeclaredClusterError,
    WorkflowError,
)

if TYPE_CHECKING:
    from reconciler.adapters.kafka.settings import ClientSettings

SNAPSHOT: Final = "snapshot:"


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster that is open, and its declaration if there is one.

    ``prepare`` says that it will be read again soon, ``unsupported`` why its client cannot carry a binding.
    """

    name: str
    cluster: InspectableCluster
    declaration: ClusterDeclaration | None
    bootstrap_servers: tuple[str, ...] = ()
    settings: "ClientSettings | None" = None
    prepare: Callable[[], None] = lambda: None
    tell: Tell = ignore
    unsupported: Callable[[AclBinding], str | None] = lambda _: None

    def read(self, request: ReadRequest) -> ClusterState:
        """The state without bridges; of what runs left on the cluster, ``tell`` is told."""
        live = self.read_whole(request)
        if any(is_reserved(binding.pattern.name) for binding in live.bindings):
            for leftover in leftovers(live):
                self.tell(leftover)
        return without_bridges(live)

    def read_whole(self, request: ReadRequest) -> ClusterState:
        """The state with everything that the cluster shows; raises a :class:`WorkflowError`."""
        try:
            return self.cluster.read(request)
        except ClusterError as error:
            raise WorkflowError(str(error), error.advice) from error
        except (SnapshotError, OSError) as error:
            raise WorkflowError(f"the snapshot cannot be read: {error}") from error


def split_cluster(wanted: str) -> tuple[str | None, str | None]:
    """``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``, as name and file."""
    if wanted.startswith(SNAPSHOT):
        return None, wanted.removeprefix(SNAPSHOT)
    name, equals, file = wanted.partition(f"={SNAPSHOT}")
    return name, file if equals else None


def declared(manifests: Manifests, wanted: str) -> tuple[ClusterDeclaration, str | None]:
    """The declaration of the cluster that is named, and the snapshot file if one is."""
    name, snapshot = split_cluster(wanted)
    clusters = manifests.clusters
    if name is None and len(clusters) == 1:
        return next(iter(clusters.values())), snapshot
    if name is None:
        raise AmbiguousClusterError(tuple(clusters), snapshot=True)
    try:
        return declared_cluster(manifests, name), snapshot
    except ManifestError as error:
        raise UndeclaredClusterError(error.problems) from error


@contextmanager
def open_declared(
    path: str, cluster: str, connection: ConnectionOptions, tell: Tell = ignore
) -> Iterator[tuple[Manifests, Target]]:
    """The manifests below ``path``, and the cluster of theirs that is named, ready to be asked.

    Where the connections file says how to reach it, the process that lists its ACLs starts while the manifests are
    read.
    """
    name, snapshot = split_cluster(cluster)
    known = connection.connections
    if name is not None and snapshot is None and known is not None and name in read_connections(known):
        with live(name, None, connection, tell) as target:
            manifests = load(path)
            yield manifests, replace(target, declaration=declared(manifests, cluster)[0])
        return
    manifests = load(path)
    declaration, snapshot = declared(manifests, cluster)
    if snapshot is not None:
        yield manifests, Target(declaration.name, SnapshotCluster(Path(snapshot)), declaration, tell=tell)
        return
    with live(declaration.name, declaration, connection, tell) as target:
        yield manifests, target


@contextmanager
def open_any(
    path: str | None, cluster: str, connection: ConnectionOptions, tell: Tell = ignore
) -> Iterator[tuple[Manifests | None, Target]]:
    """The cluster that is named, perhaps one that nobody declared yet, and the manifests where they were read.

    Manifests are read where ``path`` is given, or where nothing else says what the name means.
    """
    if path is None and cluster.startswith(SNAPSHOT):
        file = Path(cluster.removeprefix(SNAPSHOT))
        if not file.is_file():
            raise RequestError(f"there is no snapshot {file}")
        yield None, Target(file.stem, SnapshotCluster(file), None, tell=tell)
        return
    if path is None and connection.connections is not None and cluster in read_connections(connection.connections):
        with live(cluster, None, connection, tell) as target:
            yield None, target
        return
    with open_declared(path or ".", cluster, connection, tell) as found:
        yield found


@contextmanager
def live(
    name: str, declaration: ClusterDeclaration | None, connection: ConnectionOptions, tell: Tell = ignore
) -> Iterator[Target]:
    """A cluster reached over the network: by the connections file, or by its own declaration."""
    # As in connections.settings_of.
    from reconciler.adapters.kafka.bindings import unsupported_by_client  # noqa: PLC0415
    from reconciler.adapters.kafka.cluster import connect  # noqa: PLC0415

    address = address_of(name, declaration, connection)
    settings = settings_of(name, address, connection)
    try:
        cluster = connect(settings)
    except ClusterError as error:
        raise WorkflowError(f"the connection of cluster {name} cannot be used: {error}", error.advice) from error
    with cluster:
        cluster.prepare_listing()
        ready = cluster.prepare_listing
        yield Target(name, cluster, declaration, address.servers, settings, ready, tell, unsupported_by_client)
