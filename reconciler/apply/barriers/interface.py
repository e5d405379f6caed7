"""What every barrier promises. A new one is one module here, and whoever builds it puts it into the environment."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from reconciler.model import AclBinding, ClusterState

if TYPE_CHECKING:  # a run has an environment, and that has a barrier
    from reconciler.apply.run import Run


class UnprovenError(Exception):
    """What the declaration says of the cluster or of us is not so; ``advice`` says what you can do."""

    def __init__(self, message: str, advice: str = "") -> None:
        """``str()`` is the message."""
        super().__init__(message)
        self.advice = advice


class DefaultAllow(StrEnum):
    """What ``allow.everyone.if.no.acl.found`` was seen to be on every broker; ``UNSEEN`` where nothing shows it."""

    ON = "true"
    OFF = "false"
    UNSEEN = "unseen"


class Barrier(Protocol):
    """What a run does between phases, so that every node enforces what was sent before more is sent.

    Order of the calls: ``start``, ``check``, ``observe_default_allow``, ``wait`` as often as needed, ``end`` always.
    """

    @property
    def placed(self) -> Sequence[AclBinding]:
        """Bindings that this put on the cluster: a reading that lacks one of them is old."""
        ...

    @property
    def verifies(self) -> bool:
        """Whether it verifies what nodes enforce; then the plan is checked again after ``start``, on a new reading."""
        ...

    def start(self) -> None:
        """Prepare; raises :class:`UnprovenError` or ``StoppedError``."""
        ...

    def check(self, live: ClusterState) -> None:
        """Raise :class:`UnprovenError` where bindings make its answers worthless."""
        ...

    def observe_default_allow(self, live: ClusterState) -> DefaultAllow:
        """What brokers do with a resource that no binding covers; ``live`` still has bridges and sentinels."""
        ...

    def wait(self) -> None:
        """Return once every node enforces what was sent; raises ``StoppedError`` naming those that do not."""
        ...

    def end(self) -> tuple[AclBinding, ...]:
        """Remove what this put there; what could not be removed is returned."""
        ...


#: Makes the barrier of one run.
BarrierFactory: TypeAlias = Callable[["Run"], Barrier]
