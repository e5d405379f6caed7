"""Removing what a run that was cut off left on the cluster: bindings on reserved names, and the bridges they mark.

A bridge is removed only if its marker exists, and before it; one that another run marks too stays for that run.
A mark of break-glass access stays while that access is there or may still arrive, whoever asks.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.barrier import FLAG_PREFIX, PREFIX
from reconciler.apply.kinds.acl import delete_batch
from reconciler.apply.lease import GRACE, LEASE_PREFIX, lease_claims, time_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Delete
from reconciler.model.locks import lock_marks, unlock_marks
from reconciler.model.markers import break_glass_marks, markers, marks_that_stay, standing_bridges
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest
from reconciler.retry import attempts

# What runs put on a cluster for their own use, by run, and whether that run may still be going on.
#
# A run that is going on has its bridges, probe ACLs and lease there for a reason, and they go by themselves. What is
# there without such a run is drift: either a run was cut off, or somebody wrote what only looks like ours.

#: Seconds after its beginning for which a run without a lease is taken to be going on: few last longer.
YOUNG: Final = 600.0


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

    def going_on(self, now: datetime.datetime) -> bool:
        """Whether its run holds a lease that counts, or began so lately that it need not have one.

        A name is anybody's to choose: one without a time, or with a time to come, proves nothing.
        """
        if any(claim.counts(now) for claim in lease_claims(self.bindings)):
            return True
        began = self.began()
        return began is not None and -GRACE <= (now - began).total_seconds() <= YOUNG


def leftovers(live: ClusterState, now: datetime.datetime | None = None) -> tuple[Leftover, ...]:
    """Bindings on reserved names, by the run that put them there, oldest first.

    A mark of break-glass access is there until that access is gone and over; without ``now`` nothing is. That of a lock
    is there until ``unlock`` removes it.
    """
    runs: dict[str, list[AclBinding]] = {}
    # A mark says when somebody's access ends: it goes after that access, and not before.
    needed = break_glass_marks(live.bindings, now) | lock_marks(live.bindings) | unlock_marks(live.bindings, now)
    for binding in sorted(on_reserved_names(live.bindings) - needed):
        runs.setdefault(_run(binding), []).append(binding)
    # In one pass: whoever may alter ACLs can write markers of as many runs as bindings.
    marking: dict[AclBinding, set[str]] = {}
    for mark, marker in markers(live.bindings).items():
        if marker.bridge in live.bindings:
            marking.setdefault(marker.bridge, set()).add(_run(mark))
    bridges: dict[str, list[AclBinding]] = {}
    for bridge, marked_by in marking.items():
        if len(marked_by) == 1:  # a bridge that several runs mark goes with the last of them
            (only,) = marked_by
            bridges.setdefault(only, []).append(bridge)
    return tuple(
        Leftover(run, tuple(bindings), tuple(sorted(bridges.get(run, ())))) for run, bindings in sorted(runs.items())
    )


def removable(leftovers: Iterable[Leftover], live: ClusterState, now: datetime.datetime) -> tuple[Leftover, ...]:
    """The same without marks whose access is there or may still arrive: a mark that does not count is not removed."""
    stays = marks_that_stay(live.bindings, now)
    trimmed = (
        replace(item, bindings=tuple(binding for binding in item.bindings if binding not in stays))
        for item in leftovers
    )
    return tuple(item for item in trimmed if item.bindings)


def going_on(live: ClusterState, now: datetime.datetime) -> tuple[Leftover, ...]:
    """What runs have there that may be going on."""
    return tuple(leftover for leftover in leftovers(live, now) if leftover.going_on(now))


def without_live_bridges(live: ClusterState, runs: Iterable[Leftover], *, default_allow: bool | None) -> ClusterState:
    """The state without the bridges of ``runs``, which are going on; default-allow is as it is declared.

    Where it is not declared on, no run puts up bridges, and what looks like one is a grant to everyone.
    """
    marks = markers(binding for leftover in runs for binding in leftover.bindings)
    bridges = frozenset(marker.bridge for marker in marks.values()) & live.bindings
    return replace(live, bindings=live.bindings - bridges) if bridges and default_allow is True else live


def marked_bridges(marks: Collection[AclBinding], live: frozenset[AclBinding]) -> frozenset[AclBinding]:
    """The live bridges that only these markers mark."""
    return (standing_bridges(live) - standing_bridges(live.difference(marks))) & {
        marker.bridge for marker in markers(marks).values()
    }


def _run(binding: AclBinding) -> str:
    """The run that a binding on a reserved name says it belongs to; the name itself where it says none."""
    name = binding.pattern.name
    if name.startswith(LEASE_PREFIX):
        return next((claim.run for claim in lease_claims([binding])), name)
    return name.removeprefix(FLAG_PREFIX).removeprefix(PREFIX).partition(".")[0] or name


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
        if marked := bridges(marks, live):
            _delete(cluster, sorted(marked), len(live))
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
