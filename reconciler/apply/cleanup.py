"""Removing what a run that was cut off left on the cluster: bindings on reserved names, and the bridges they mark.

A bridge is removed only if its marker exists, and before it; one that another run marks too stays for that run.
A mark of break-glass access stays while that access is there or may still arrive, whoever asks.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from reconciler.apply.kinds.acl import delete_batch
from reconciler.apply.lease_markers import time_of
from reconciler.apply.leftovers import Leftover, marked_bridges
from reconciler.model import AclBinding, Delete, markers, marks_that_stay
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest
from reconciler.retry import attempts


def clean_up(
    cluster: Cluster,
    wanted: Iterable[Leftover],
    clock: Clock,
    keep: Callable[[AclBinding], bool] = lambda bridge: False,
) -> tuple[AclBinding, ...]:
    """Delete what the runs left and is still there; what could not be deleted is returned.

    Bridges that ``keep`` names stay and lose their markers: somebody means them. Raises :class:`ClusterError` where the
    cluster cannot be read again.
    """
    asked = {binding for leftover in wanted for binding in leftover.bindings}

    def bridges(marks: Collection[AclBinding], live: frozenset[AclBinding]) -> set[AclBinding]:
        return {bridge for bridge in marked_bridges(marks, live) if not keep(bridge)}

    for _ in attempts(clock):
        live = _read(cluster)
        # Looked at again: the access may have come since its mark was taken for a leftover.
        asked -= marks_that_stay(live, time_of(clock))
        marks = asked & live
        if not marks:
            return ()
        if found := bridges(marks, live):
            _delete(cluster, sorted(found), len(live))
            # A bridge without a marker could not be recognised any more: keep the marker until the bridge is gone.
            standing = bridges(marks, _read(cluster))
            marks -= {mark for mark, marker in markers(marks).items() if marker.bridge in standing}
        _delete(cluster, sorted(marks), len(live))
    live = _read(cluster)
    asked -= marks_that_stay(live, time_of(clock))
    return tuple(sorted((asked & live) | bridges(asked & live, live)))


def _read(cluster: Cluster) -> frozenset[AclBinding]:
    return cluster.read(ReadRequest(all_topics=False)).bindings


def _delete(cluster: Cluster, bindings: Sequence[AclBinding], live: int) -> None:
    """One attempt; what it did not delete shows when the cluster is read again."""
    most = delete_batch(live)
    for start in range(0, len(bindings), most):
        try:
            cluster.send([Delete(binding) for binding in bindings[start : start + most]])
        except ClusterError:  # the next reading shows what is left
            continue
