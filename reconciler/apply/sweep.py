"""What a run that was cut off left on the cluster: bindings on reserved names, found by their names alone."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reconciler.apply.lease import LEASE_PREFIX, Claim, claims
from reconciler.apply.sending import ATTEMPTS, pause
from reconciler.apply.sentinels import PREFIX
from reconciler.model import AclBinding, ClusterState, is_reserved
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest, Verdict


@dataclass(frozen=True, slots=True)
class Leftover:
    """What one run left; ``run`` is its name, which begins with the time at which it began."""

    run: str
    bindings: tuple[AclBinding, ...]


def leftovers(live: ClusterState) -> tuple[Leftover, ...]:
    """Bindings on reserved names, by the run that put them there, oldest first."""
    runs: dict[str, list[AclBinding]] = {}
    for binding in sorted(live.bindings):
        if is_reserved(binding.pattern.name):
            runs.setdefault(_run(binding.pattern.name), []).append(binding)
    return tuple(Leftover(run, tuple(bindings)) for run, bindings in sorted(runs.items()))


def holding(leftover: Leftover, now: datetime.datetime) -> Claim | None:
    """The lease by which the run says that it is still going on, unless that has expired."""
    return next((claim for claim in claims(leftover.bindings) if not claim.expired(now)), None)


def sweep(cluster: Cluster, wanted: Iterable[Leftover], clock: Clock) -> tuple[AclBinding, ...]:
    """Delete what the runs left and is still there; what could not be deleted is returned.

    Raises :class:`ClusterError` where the cluster cannot be read again.
    """
    asked = {binding for leftover in wanted for binding in leftover.bindings}
    for attempt in range(ATTEMPTS):
        there = tuple(sorted(asked & cluster.read(ReadRequest(all_topics=False)).bindings))
        if not there:
            return ()
        if attempt:
            clock.sleep(pause(attempt, clock))
        _delete(cluster, there)
    return tuple(sorted(asked & cluster.read(ReadRequest(all_topics=False)).bindings))


def _delete(cluster: Cluster, bindings: Sequence[AclBinding]) -> bool:
    try:
        return all(answer.verdict is Verdict.DONE for answer in cluster.delete_acls(bindings))
    except ClusterError:
        return False


def _run(name: str) -> str:
    if name.startswith(LEASE_PREFIX):
        return name.removeprefix(LEASE_PREFIX).rpartition(".")[0].rpartition(".")[2] or name
    return name.removeprefix(PREFIX).removeprefix("__kr-flag.").partition(".")[0] or name
