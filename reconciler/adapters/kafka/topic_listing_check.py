"""Whether a listing of all topics is complete.

A broker silently omits every topic that the caller may not DESCRIBE. The check assumes that
``allow.everyone.if.no.acl.found`` is off, so that its answer is right for either value.
"""

from collections.abc import Collection, Iterable
from typing import Final

from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourceType,
)
from reconciler.model.naming import as_name, binding_name

#: ALLOW of one of these permits DESCRIBE (``AclEntry``/``StandardAuthorizerData``: implied operations).
_IMPLIES_DESCRIBE: Final = frozenset(
    {
        AclOperation.ALL,
        AclOperation.DESCRIBE,
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
    }
)
#: DENY of one of these forbids DESCRIBE; a denied READ does not.
_DENIES_DESCRIBE: Final = frozenset({AclOperation.ALL, AclOperation.DESCRIBE})


def topic_listing_gap(
    bindings: Iterable[AclBinding],
    opaque: Iterable[OpaqueBinding],
    principal: str | None,
    super_users: Collection[str],
) -> str | None:
    """``None`` if no topic can be hidden from ``principal``, else a sentence that says why and what to do."""
    if principal is None:
        return "The topic listing may be partial: declare your own principal in spec.principal."
    # No ACL hides anything from a super user.
    if principal in super_users:
        return None
    topic_bindings = [b for b in bindings if b.pattern.resource_type is ResourceType.TOPIC]
    ours = [b for b in topic_bindings if b.entry.principal in (principal, WILDCARD_PRINCIPAL)]
    for binding in sorted(ours):
        if binding.entry.permission_type is AclPermissionType.DENY and binding.entry.operation in _DENIES_DESCRIBE:
            return (
                f"The topic listing may be partial: {binding_name(binding)} can hide topics from {as_name(principal)}."
            )
    for entry in opaque:
        if _may_hide(entry, principal):
            unread = f"an ACL that cannot be read, on {as_name(entry.name)}"
            return f"The topic listing may be partial: {unread}, may hide topics."
    if not any(_shows_every_topic(binding) for binding in ours):
        return (
            f"The topic listing may be partial: {as_name(principal)} has no ALLOW DESCRIBE on TOPIC '*' "
            "(LITERAL, host '*'); grant it, or declare the principal in spec.superUsers if it is a super user."
        )
    return None


def _shows_every_topic(binding: AclBinding) -> bool:
    entry = binding.entry
    return (
        entry.permission_type is AclPermissionType.ALLOW
        and entry.operation in _IMPLIES_DESCRIBE
        and entry.host == WILDCARD
        and binding.pattern.is_wildcard
    )


def _may_hide(entry: OpaqueBinding, principal: str) -> bool:
    """Whether an opaque entry may deny us DESCRIBE on topics.

    A known code can rule it out; a code that the reader lost rules nothing out.
    """
    return (
        entry.principal in (principal, WILDCARD_PRINCIPAL)
        and entry.resource_type in (None, ResourceType.TOPIC)
        and entry.permission_type in (None, AclPermissionType.DENY)
        and (entry.operation is None or entry.operation in _DENIES_DESCRIBE)
    )
