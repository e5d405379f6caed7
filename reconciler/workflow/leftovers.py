"""What an apply that was cut off left on a cluster: found, and removed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from reconciler.adapters.clock import SystemClock
from reconciler.apply import LeaseClaim
from reconciler.apply.cleanup import Leftover, clean_up, holding, leftovers
from reconciler.apply.lease import time_of
from reconciler.model import AclBinding
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.clusters import Target, open_any
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import WorkflowError


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What runs left on an open cluster, but for those that still hold the lease, whose claims are ``held``."""

    target: Target
    leftovers: tuple[Leftover, ...]
    held: tuple[LeaseClaim, ...]

    def remove(self) -> tuple[AclBinding, ...]:
        """Remove all of it; what could not be removed. Raises a :class:`WorkflowError` where that is not known."""
        if not self.leftovers:
            return ()
        try:
            return clean_up(self.target.cluster, self.leftovers, SystemClock())
        except ClusterError as error:
            raise WorkflowError(f"whether all is gone is not known: {error}", error.advice) from error


@contextmanager
def cleanup(
    path: str | None, cluster: str, connection: ConnectionOptions = ConnectionOptions(), *, run: str | None = None
) -> Iterator[Cleanup]:
    """Find what runs left on a cluster, or what ``run`` left, even if it holds the lease.

    Nothing is removed before :meth:`Cleanup.remove`. Raises a :class:`WorkflowError`.
    """
    with open_any(path, cluster, connection) as (_, target):
        found = leftovers(target.read_whole(ReadRequest(all_topics=False)))
        wanted = [leftover for leftover in found if run in (None, leftover.run)]
        held = () if run else tuple(_held(wanted))
        runs = {claim.run for claim in held}
        yield Cleanup(target, tuple(leftover for leftover in wanted if leftover.run not in runs), held)


def _held(found: Sequence[Leftover]) -> Iterator[LeaseClaim]:
    now = time_of(SystemClock())
    return (claim for leftover in found if (claim := holding(leftover, now)))
