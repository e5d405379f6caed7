"""Which steps must not be performed because another one was not.

A step that failed, is unknown, blocked or left out holds back only what would be unsafe without it (design:
"Order"): an ALLOW its DENY, a revocation the grants that replace it, a lifted DENY the revocations after it, a
topic the bindings that reach it. Under default-allow, what covers a resource waits for what shall cover it instead.
Topic steps never hold back ACL steps: one team's rejected topic must not hold up an urgent revocation. The one
exception is a binding that waits for a topic to go, which exists for that topic only.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from reconciler.model import AclBinding, AclPermissionType, Change, Create, Delete, ResourceType
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_binding
from reconciler.plan.kinds.topic import created_topics, deleted_topics
from reconciler.plan.overlap import OverlapIndex
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

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
