"""How much goes into one request: what a broker takes without harm, as each kind knows, and no more than asked for."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.apply.kinds import kind_of
from reconciler.model import ClusterState
from reconciler.plan import Phase, Step

#: What we and the brokers need on the cluster goes in one request, however small others are to be.
_UNDIVIDED: Final = frozenset({Phase.CREATE_FIRST, Phase.DELETE_LAST})


def batches(
    phase: Phase, steps: Sequence[Step], live: ClusterState, most: int | None = None
) -> Iterator[Sequence[Step]]:
    """Cut the steps of one phase into requests of one action each and at most ``most`` steps, order kept."""
    # Inside a phase steps are sorted by action, so equal actions are next to each other.
    for _, group in groupby(steps, key=lambda step: step.action):
        alike = list(group)
        for batch in kind_of(alike[0].change).batches(alike, live):
            size = len(batch) if most is None or phase in _UNDIVIDED else most
            yield from (batch[start : start + size] for start in range(0, len(batch), size))
