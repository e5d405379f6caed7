"""A run of which only its journal is left."""

from dataclasses import field

from reconciler.apply.outcome import Outcome
from reconciler.dataclass import dataclass


@dataclass(slots=True)
class PastRun:
    """A run as its journal tells it.

    ``steps`` maps a step's id to its outcome; ``None``: it was sent, and no more is known. ``identities`` maps it to
    the id that Kafka gave to what it created.
    """

    run: str
    plan_id: str
    cluster_id: str
    operator: str
    commit: str | None
    time: str
    steps: dict[str, Outcome | None] = field(default_factory=dict)
    ended: bool = False
    identities: dict[str, str] = field(default_factory=dict)

    @property
    def performed(self) -> frozenset[str]:
        """Steps that this run is known to have performed."""
        return frozenset(step for step, outcome in self.steps.items() if outcome is Outcome.DONE)

    @property
    def doubtful(self) -> frozenset[str]:
        """Steps that this run sent without learning what became of them."""
        return frozenset(step for step, outcome in self.steps.items() if outcome in (None, Outcome.UNKNOWN))
