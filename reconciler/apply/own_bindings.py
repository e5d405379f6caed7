"""Bindings that a run creates for itself, which no plan names: sentinels, bridges and their markers, its lease."""

from collections.abc import Sequence

from reconciler.apply.run import Run, StoppedError
from reconciler.model import AclBinding, Create, Delete
from reconciler.ports import ClusterError
from reconciler.retry import attempts


def create(run: Run, bindings: Sequence[AclBinding], what: str) -> None:
    """Create ``bindings``, in order; raises :class:`StoppedError` where they could not all be created."""
    why = ""
    for _ in attempts(run.environment.clock):
        try:
            answers = run.environment.cluster.send([Create(binding) for binding in bindings])
        except ClusterError as error:  # sent again blindly: to create a binding twice is the same as once
            why = str(error)
            continue
        failed = next((answer for answer in answers if not answer.good), None)
        if failed is None:
            return
        why = f"{failed.code}: {failed.message}"
    raise StoppedError(f"{what} could not be created: {why}")


def remove(run: Run, bindings: Sequence[AclBinding]) -> tuple[AclBinding, ...]:
    """Delete ``bindings``; those that may still be there are returned."""
    left = tuple(bindings)
    # Nothing raises here: this runs while other errors are on their way to the caller.
    for _ in attempts(run.environment.clock):
        if not left:
            break
        try:
            answers = run.environment.cluster.send([Delete(binding) for binding in left])
            left = tuple(binding for binding, answer in zip(left, answers, strict=True) if not answer.good)
        except Exception:  # noqa: S112 - what may still be there is returned
            continue
    return left
