"""What stands between phases: a fixed wait, or a proof (``proof.py``) of what every node enforces."""

from collections.abc import Sequence
from typing import Final, Protocol

from reconciler.apply.run import Run, StoppedError
from reconciler.apply.sending import ATTEMPTS, pause
from reconciler.model import AclBinding, ClusterState
from reconciler.ports import AnswerStatus, ClusterError

#: Seconds after which a person who asks to stop is heard.
_PATIENCE: Final = 0.5


class UnprovenError(Exception):
    """What the declaration says of the cluster or of us is not so; ``advice`` says what a person can do."""

    def __init__(self, message: str, advice: str = "") -> None:
        """``str()`` is the message."""
        super().__init__(message)
        self.advice = advice


class Barrier(Protocol):
    """What stands between phases."""

    placed: list[AclBinding]

    def begin(self) -> None:
        """Prepare; raises :class:`UnprovenError` or ``StoppedError``."""
        ...

    def trust(self, live: ClusterState) -> None:
        """Raise :class:`UnprovenError` where bindings make its answers worthless."""
        ...

    def stand(self) -> None:
        """Return once every node enforces what was sent; raises ``StoppedError`` naming those that do not."""
        ...

    def end(self) -> tuple[AclBinding, ...]:
        """Take away what this put there; what could not be taken away is returned."""
        ...


class FixedWait:
    """Hopes that a fixed time is enough."""

    def __init__(self, run: Run) -> None:
        """Nothing happens yet."""
        self._run = run
        self.placed: list[AclBinding] = []

    def begin(self) -> None:
        """Nothing to prepare."""

    def trust(self, live: ClusterState) -> None:
        """Nothing could be less certain."""

    def stand(self) -> None:
        """Wait, unless a person asks to stop."""
        environment, seconds = self._run.environment, self._run.plan.terms.barrier_wait
        environment.progress.barrier(seconds)
        end = environment.clock.monotonic() + seconds
        while not environment.interrupted() and (left := end - environment.clock.monotonic()) > 0:
            environment.clock.sleep(min(left, _PATIENCE))

    def end(self) -> tuple[AclBinding, ...]:
        """Nothing was put there."""
        return ()


def put(run: Run, bindings: Sequence[AclBinding], what: str) -> None:
    """Create bindings of the run's own; raises :class:`StoppedError` where they could not all be created."""
    clock = run.environment.clock
    for attempt in range(ATTEMPTS):
        try:
            answers = run.environment.cluster.create_acls(bindings)
            if all(answer.status in (AnswerStatus.DONE, AnswerStatus.ALREADY) for answer in answers):
                return
            failed = next(
                answer for answer in answers if answer.status not in (AnswerStatus.DONE, AnswerStatus.ALREADY)
            )
            why = f"{failed.code}: {failed.message}"
        except ClusterError as error:
            why = str(error)
        clock.sleep(pause(attempt, clock))
    raise StoppedError(f"{what} could not be created: {why}")


def remove(run: Run, bindings: Sequence[AclBinding]) -> tuple[AclBinding, ...]:
    """Delete bindings of the run's own; those that may still be there are returned."""
    left = tuple(bindings)
    clock = run.environment.clock
    for attempt in range(ATTEMPTS):
        if not left:
            break
        try:
            answers = run.environment.cluster.delete_acls(left)
        except ClusterError:
            clock.sleep(pause(attempt, clock))
            continue
        gone = (AnswerStatus.DONE, AnswerStatus.ALREADY)
        left = tuple(binding for binding, answer in zip(left, answers, strict=True) if answer.status not in gone)
        if left:
            clock.sleep(pause(attempt, clock))
    return left
