"""Reaching a cluster that may not be described yet: by the connections file alone, or by its declaration."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach
from reconciler.cli.wiring import SNAPSHOT, Target, live, opened, read_connections

if TYPE_CHECKING:
    from reconciler.manifest import Manifests


@contextmanager
def reached(path: str | None, cluster: str, reach: Reach) -> Iterator[Target]:
    """The cluster that ``--cluster`` names. Manifests are read where PATH is given or nothing else names it."""
    with reached_with_manifests(path, cluster, reach) as (_, target):
        yield target


@contextmanager
def reached_with_manifests(path: str | None, cluster: str, reach: Reach) -> "Iterator[tuple[Manifests | None, Target]]":
    """The cluster that ``--cluster`` names, and the manifests where they were read."""
    if path is None and cluster.startswith(SNAPSHOT):
        with _snapshot_alone(cluster.removeprefix(SNAPSHOT)) as target:
            yield None, target
        return
    if path is None and reach.connections is not None and cluster in read_connections(reach.connections):
        with live(cluster, None, reach) as target:
            yield None, target
        return
    with opened(path or ".", cluster, reach) as found:
        yield found


@contextmanager
def _snapshot_alone(file: str) -> Iterator[Target]:
    from pathlib import Path

    from reconciler.adapters.snapshot import SnapshotCluster

    if not Path(file).is_file():
        raise CommandError(f"there is no snapshot {file}", status=Exit.USAGE)
    yield Target(Path(file).stem, SnapshotCluster(Path(file)), None)
