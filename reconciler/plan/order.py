"""Changes to ordered steps. The order itself is the list in ``phase.py``; here is who goes where, and why."""

from collections.abc import Collection, Iterable

from reconciler.diff import DeclaredChange
from reconciler.model import AclBinding, AclPermissionType, Change, ResourcePattern
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.kinds.interface import PhaseContext
from reconciler.plan.kinds.topic import deleted_topics
from reconciler.plan.overlap import TopicReach
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

_ALLOW = AclPermissionType.ALLOW


def ordered(
    changes: Iterable[DeclaredChange],
    after: Iterable[ResourcePattern],
    *,
    default_allow: bool | None,
    lockout_protection: Collection[AclBinding] = (),
) -> tuple[Step, ...]:
    """Give each change its phase and sort; any input order gives the same steps.

    ``after`` are the patterns of every binding that exists after the plan; ``default_allow`` is the broker's
    ``allow.everyone.if.no.acl.found``, ``None`` where nobody declared it; ``lockout_protection`` are bindings that are
    created before, or deleted after, everything else (``default_allow/lockout_protection.py``).
    """
    found = list(changes)
    bare = [item.change for item in found]
    vanishing = (binding for binding in deleted_bindings(bare) if binding.entry.permission_type is _ALLOW)
    reached = TopicReach(binding.pattern for binding in vanishing)
    # Not known counts as on: a revocation that waits for its topic to go costs little, an open topic may cost much.
    opened = () if default_allow is False else _uncovered_topics(bare, after)
    context = PhaseContext(lockout_protection, reached, opened)
    steps = [_step(item, kind_of(item.change).phase(item.change, context)) for item in found]
    # Sorted to the last field: ids are over the steps as they stand, so equal plans must list them alike.
    return tuple(sorted(steps, key=lambda step: (step.phase, kind_of(step.change).key(step.change))))


def _step(found: DeclaredChange, phase: Phase) -> Step:
    change, declared = found
    if declared is None:
        return Step(phase, change)
    # A deletion has no end: that of an old declaration is why the binding goes.
    expires = None if change.after is None else declared.expires
    return Step(phase, change, declared.origin, expires, declared.reason, declared.ticket, declared.role)


def _uncovered_topics(changes: Iterable[Change], after: Iterable[ResourcePattern]) -> tuple[str, ...]:
    """Topics that the plan deletes and that no binding will cover any more once it is through.

    With default-allow such a topic would be open to everyone between the last revocation and its own deletion.
    """
    deleted = [topic.name for topic in deleted_topics(changes)]
    if not deleted:
        return ()
    covered = TopicReach(after)
    return tuple(name for name in deleted if not covered.reaches(name))
