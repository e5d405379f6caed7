"""What a run that was cut off left on the cluster: bindings on reserved names, and the bridges that those mark.

A bridge is removed only if its marker exists, and before it; one that another run marks too stays for that run.
"""

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from reconciler.apply.barriers.sentinels import PREFIX
from reconciler.apply.kinds.acl import delete_batch
from reconciler.apply.lease import LEASE_PREFIX, LeaseClaim, lease_claims
from reconciler.model import AclBinding, ClusterState, Delete, is_reserved, markers, standing_bridges
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest
from reconciler.retry import attempts


@dataclass(frozen=True, slots=True)
class Leftover:
    """What one run left; ``run`` is its name, which begins with the time at which it began.

    ``bindings`` are those on reserved names, ``bridges`` the others, which keep a resource open to everyone.
    """

    run: str
    bindings: tuple[AclBinding, ...]
    bridges: tuple[AclBinding, ...] = ()

    def began(self) -> datetime.datetime | None:
        """When the run began, as its name says; ``None`` where it does not."""
        try:
            return datetime.datetime.strptime(self.run.partition("-")[0], "%Y%m%dT%H%M%S%z")
        except ValueError:
            return None


def leftovers(live: ClusterState) -> tuple[Leftover, ...]:
    """Bindings on reserved names, by the run that put them there, oldest first."""
    runs: dict[str, list[AclBinding]] = {}
    for binding in sorted(live.bindings):
        if is_reserved(binding.pattern.name):
            runs.setdefault(_run(binding.pattern.name), []).append(binding)
    return tuple(
        Leftover(run, tuple(bindings), tuple(sorted(_bridges(bindings, live.bindings))))
        for run, bindings in sorted(runs.items())
    )


def holding(leftover: Leftover, now: datetime.datetime) -> LeaseClaim | None:
    """The lease of a run that may still be going on; ``None`` once it has expired."""
    return next((claim for claim in lease_claims(leftover.bindings) if not claim.expired(now)), None)


def clean_up(cluster: Cluster, wanted: Iterable[Leftover], clock: Clock) -> tuple[AclBinding, ...]:
    """Delete what the runs left and is still there; what could not be deleted is returned.

    Raises :class:`ClusterError` where the cluster cannot be read again.
    """
    asked = {binding for leftover in wanted for binding in leftover.bindings}
    for _ in attempts(clock):
        live = _read(cluster)
        marks = asked & live
        if not marks:
            return ()
        if bridges := _bridges(marks, live):
            _delete(cluster, sorted(bridges), len(live))
            # A bridge without a marker could not be recognised any more: keep the marker until the bridge is gone.
            standing = _bridges(marks, _read(cluster))
            marks -= {mark for mark, marker in markers(marks).items() if marker.bridge in standing}
        _delete(cluster, sorted(marks), len(live))
    live = _read(cluster)
    return tuple(sorted((asked & live) | _bridges(asked & live, live)))


def _read(cluster: Cluster) -> frozenset[AclBinding]:
    return cluster.read(ReadRequest(all_topics=False)).bindings


def _bridges(marks: Collection[AclBinding], live: frozenset[AclBinding]) -> frozenset[AclBinding]:
    """The live bridges that only these markers mark."""
    return (standing_bridges(live) - standing_bridges(live.difference(marks))) & {
        marker.bridge for marker in markers(marks).values()
    }


def _delete(cluster: Cluster, bindings: Sequence[AclBinding], live: int) -> None:
    """One attempt; what it did not delete shows when the cluster is read again."""
    most = delete_batch(live)
    for start in range(0, len(bindings), most):
        try:
            cluster.send([Delete(binding) for binding in bindings[start : start + most]])
        except ClusterError:  # the next reading shows what is left
            continue


def _run(name: str) -> str:
    if name.startswith(LEASE_PREFIX):
        return name.removeprefix(LEASE_PREFIX).rpartition(".")[0].rpartition(".")[2] or name
    return name.removeprefix(PREFIX).removeprefix("__kr-flag.").partition(".")[0] or name
