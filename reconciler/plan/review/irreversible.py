"""What no undo brings back: it is said before anybody agrees."""

from collections.abc import Iterable, Iterator

from reconciler.plan.kinds import kind_of
from reconciler.plan.step import Step


def irreversible(steps: Iterable[Step]) -> Iterator[str]:
    """A sentence for each step that is not reversible (:attr:`Step.reversible`), in their order."""
    for step in steps:
        if (sentence := kind_of(step.change).irreversible(step.change)) is not None:
            yield sentence
