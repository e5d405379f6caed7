"""Bindings that a run creates for itself, which no plan names: sentinels, bridges and their markers, its lease.

A creation without an answer is sent again, which is safe by itself: to create a binding twice is the same as once. But
the first request may still be on its way, and arrive after the run has removed what it created. A bridge that comes so
late opens a resource for good, so the run keeps such bindings in mind and does not end well.
"""

from collections.abc import Sequence

from reconciler.apply.run import Run, StoppedError
from reconciler.model import AclBinding, Create, Delete, is_reserved
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.retry import attempts


def create(run: Run, bindings: Sequence[AclBinding], what: str) -> None:
    """Create ``bindings``, in order; raises :class:`StoppedError` where they could not all be created."""
    why = ""
    for _ in attempts(run.environment.clock):
        try:
            answers = _sent(run, [Create(binding) for binding in bindings])
        except ClusterError as error:
            # No answer is no refusal: the brokers may have created them all, and cleanup must know where to look.
            run.in_doubt.update(dict.fromkeys(bindings))
            why = str(error)
            continue
        found = zip(bindings, answers, strict=True)
        run.in_doubt.update((binding, None) for binding, answer in found if answer.status is AnswerStatus.UNKNOWN)
        failed = next((answer for answer in answers if not answer.good), None)
        if failed is None:
            return
        why = f"{failed.code}: {failed.message}"
    raise StoppedError(f"{what} could not be created: {why}")


def _sent(run: Run, changes: Sequence[Create[AclBinding]]) -> Sequence[Answer]:
    """One answer for each change."""
    answers = run.environment.cluster.send(changes)
    if len(answers) != len(changes):
        raise ClusterError("answers_do_not_match", f"{len(answers)} answers for {len(changes)} bindings")
    return answers


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


def doubts(run: Run) -> tuple[str, ...]:
    """What may still arrive after the end of the run, in a sentence; empty where every creation was answered."""
    if not run.in_doubt:
        return ()
    cluster, name = run.plan.terms.cluster, run.environment.identity.run
    bridge = next((b for b in sorted(run.in_doubt) if not is_reserved(b.pattern.name)), None)
    danger = "" if bridge is None else f"; among them {bridge}, which would let everybody do everything there"
    return (
        f"no answer came to a request that creates {len(run.in_doubt):,} bindings of this run's own, so it may still "
        f"arrive{danger}: in some minutes look with “reconciler cleanup --cluster {cluster} --run {name}”, which "
        "removes what came; until then “reconciler drift” tells of it once it is ten minutes old",
    )
