"""Reading a cluster's state, or ending the command with what the cluster said."""

from typing import TYPE_CHECKING

from reconciler.cli.exits import CommandError

if TYPE_CHECKING:
    from reconciler.model import ClusterState
    from reconciler.ports import Cluster, ReadRequest


def read_cluster(cluster: "Cluster", request: "ReadRequest") -> "ClusterState":
    """Read everything but bridges, which it says; or end the command with what the cluster said."""
    from reconciler.cli.leftovers import tell_leftovers
    from reconciler.model import without_bridges

    live = read_raw(cluster, request)
    tell_leftovers(live)
    return without_bridges(live)


def read_raw(cluster: "Cluster", request: "ReadRequest") -> "ClusterState":
    """The same with bridges and without a word about them."""
    from reconciler.adapters.snapshot import SnapshotError
    from reconciler.ports import ClusterError

    try:
        return cluster.read(request)
    except ClusterError as error:
        raise CommandError(str(error), error.advice) from error
    except (SnapshotError, OSError) as error:
        raise CommandError(f"the snapshot cannot be read: {error}") from error
