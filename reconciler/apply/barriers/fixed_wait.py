"""A barrier that waits for a fixed time, and cannot verify that it was enough."""

from typing import Final

from reconciler.apply.barriers.interface import DefaultAllow
from reconciler.apply.run import Run
from reconciler.model import AclBinding, ClusterState

#: Seconds after which you are heard when you ask to stop.
_INTERRUPT_SECONDS: Final = 0.5


class FixedWait:
    """Waits ``barrier.wait`` seconds; implements :class:`~reconciler.apply.barriers.interface.Barrier`."""

    placed: tuple[AclBinding, ...] = ()
    verifies = False

    def __init__(self, run: Run) -> None:
        """Nothing happens yet."""
        self._run = run

    def start(self) -> None:
        """Nothing to prepare."""

    def check(self, live: ClusterState) -> None:
        """No binding can make a wait less certain than it is."""

    def observe_default_allow(self, live: ClusterState) -> DefaultAllow:
        """A wait sees nothing."""
        return DefaultAllow.UNSEEN

    def wait(self) -> None:
        """Wait, unless you ask to stop."""
        environment, seconds = self._run.environment, self._run.plan.terms.barrier_wait
        environment.progress.barrier(seconds)
        end = environment.clock.monotonic() + seconds
        while not environment.interrupted() and (left := end - environment.clock.monotonic()) > 0:
            environment.clock.sleep(min(left, _INTERRUPT_SECONDS))

    def end(self) -> tuple[AclBinding, ...]:
        """Nothing was put there."""
        return ()
