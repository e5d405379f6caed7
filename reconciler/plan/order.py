"""Changes to ordered steps. The order itself is the list in ``phase.py``; here is who goes where, and why."""

from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from reconciler.model.acl import AclBinding, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.listing import Change, Create, Delete
from reconciler.plan.difference import DeclaredChange
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_binding
from reconciler.plan.kinds.interface import PhaseContext
from reconciler.plan.kinds.topic import created_topics, deleted_topics
from reconciler.plan.overlap import OverlapIndex, TopicReach
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


# Which steps must not be performed because another one was not.
#
# A step that failed, is unknown, blocked or left out holds back only what would be unsafe without it (design:
# "Order"): an ALLOW its DENY, a revocation the grants that replace it, a lifted DENY the revocations after it, a
# topic the bindings that reach it. Under default-allow, what covers a resource waits for what shall cover it instead.
# Topic steps never hold back ACL steps: one team's rejected topic must not hold up an urgent revocation. The one
# exception is a binding that waits for a topic to go, which exists for that topic only.

_Operation: TypeAlias = type[Create[Any]] | type[Delete[Any]]
_Kinds: TypeAlias = dict[Phase, tuple[tuple[_Operation, AclPermissionType], ...]]

_WAITS_FOR: _Kinds = {
    # A grant without the DENY that narrows it permits what neither state permits.
    Phase.CREATE_ALLOW: ((Create, AclPermissionType.DENY),),
    # A revocation before the grant that replaces it interrupts whoever both states permit.
    Phase.DELETE_ALLOW: ((Create, AclPermissionType.ALLOW),),
    Phase.DELETE_WAITING_ALLOW: ((Create, AclPermissionType.ALLOW),),
    # A DENY that goes lets old grants through, and what the DENY that replaces it is to hold back.
    Phase.DELETE_DENY: ((Delete, AclPermissionType.ALLOW), (Create, AclPermissionType.DENY)),
    # On the cluster: while anybody's binding covers it, ours must exist.
    Phase.DELETE_LAST: (
        (Delete, AclPermissionType.DENY),
        (Delete, AclPermissionType.ALLOW),
        (Create, AclPermissionType.ALLOW),
    ),
}

#: Where an uncovered resource is open to everyone, what still covers it waits for whatever shall cover it instead.
_COVERS_UNTIL: _Kinds = {
    Phase.DELETE_ALLOW: ((Create, AclPermissionType.DENY),),
    Phase.DELETE_WAITING_ALLOW: ((Create, AclPermissionType.DENY),),
    Phase.DELETE_DENY: ((Create, AclPermissionType.ALLOW),),
}


class Blockers:
    """Changes that were not performed, asked for the first one that holds a step back."""

    def __init__(self, changes: Iterable[Change], *, default_allow: bool | None) -> None:
        """Unless default-allow is known to be off, bindings of different principals and hosts hold each other back."""
        found = list(changes)
        # Under default-allow the last binding on a pattern opens it to all: other principals' bindings matter too.
        self._covering = default_allow is not False
        self._topics = {topic.name: Create(topic) for topic in created_topics(found)} | {
            topic.name: Delete(topic) for topic in deleted_topics(found)
        }
        acls: dict[tuple[_Operation, AclPermissionType], list[AclBinding]] = {}
        both: tuple[tuple[_Operation, list[AclBinding]], ...] = (
            (Create, created_bindings(found)),
            (Delete, deleted_bindings(found)),
        )
        for operation, bindings in both:
            for binding in bindings:
                acls.setdefault((operation, binding.entry.permission_type), []).append(binding)
        self._bindings = acls
        self._index = {kind: OverlapIndex(found, any_entry=default_allow is not False) for kind, found in acls.items()}

    def blocking(self, step: Step, phase: Phase | None = None) -> Change | None:
        """The change that was not performed and that ``step`` has to wait for, or ``None``.

        ``phase`` is the phase that it was moved to, if it was.
        """
        phase = step.phase if phase is None else phase
        if (binding := touched_binding(step.change)) is not None:
            return self._acl(phase, binding)
        # A new topic waits for every binding on it: a producer that finds it without its DENYs may write at once.
        for topic in created_topics([step.change]):
            return self._reaching(topic.name, Create, None) or self._waiting(phase, topic.name)
        for topic in deleted_topics([step.change]):
            return self._reaching(topic.name, Delete, AclPermissionType.ALLOW)
        return None

    def _acl(self, phase: Phase, binding: AclBinding) -> Change | None:
        covering = _COVERS_UNTIL.get(phase, ()) if self._covering else ()
        for kind, permission_type in (*_WAITS_FOR.get(phase, ()), *covering):
            index = self._index.get((kind, permission_type))
            if index is not None and (other := index.first(binding)) is not None:
                return kind(other)
        if phase is Phase.DELETE_WAITING_ALLOW:
            return next((c for n, c in self._topics.items() if binding.pattern.matches(n)), None)
        return None

    def _waiting(self, phase: Phase, name: str) -> Change | None:
        if phase is not Phase.CREATE_WAITING_TOPIC:
            return None
        return self._reaching(name, Delete, AclPermissionType.ALLOW)

    def _reaching(self, name: str, kind: _Operation, permission_type: AclPermissionType | None) -> Change | None:
        permissions = (permission_type,) if permission_type else (AclPermissionType.DENY, AclPermissionType.ALLOW)
        for permission in permissions:
            for binding in self._bindings.get((kind, permission), ()):
                if binding.pattern.resource_type is ResourceType.TOPIC and binding.pattern.matches(name):
                    return kind(binding)
        return None
