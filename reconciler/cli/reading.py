"""Reaching a cluster that may not be described yet: by the connections file alone, or by its declaration."""

from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import Reach
from reconciler.cli.wiring import SNAPSHOT, Target, live, opened, read_connections


@contextmanager
def reached(path: str | None, cluster: str, reach: Reach) -> Iterator[Target]:
    """The cluster that ``--cluster`` names. Manifests are read where PATH is given or nothing else names it."""
    if path is None and cluster.startswith(SNAPSHOT):
        with _snapshot_alone(cluster.removeprefix(SNAPSHOT)) as target:
            yield target
        return
    if path is None and reach.connections is not None and cluster in read_connections(reach.connections):
        with live(cluster, None, reach) as target:
            yield target
        return
    with opened(path or ".", cluster, reach) as (_, target):
        yield target


@contextmanager
def _snapshot_alone(file: str) -> Iterator[Target]:
    from pathlib import Path

    from reconciler.adapters.snapshot import SnapshotCluster

    if not Path(file).is_file():
        raise CommandError(f"there is no snapshot {file}", status=Exit.USAGE)
    yield Target(Path(file).stem, SnapshotCluster(Path(file)), None)
