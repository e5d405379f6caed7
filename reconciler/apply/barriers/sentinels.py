"""Bindings by which a run tells what each node enforces: only its own DENY can turn the answer.

Under ``__kr.<run>.`` the probe's principal is permitted by a prefix and refused, name by name, by a DENY. The prefix
makes coverage irrelevant, so the pair works with ``allow.everyone.if.no.acl.found`` on and off.
"""

from collections.abc import Collection, Iterable
from typing import Final

from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

PREFIX: Final = "__kr."
#: A name under it is covered by nothing but a run: so the run learns whether default-allow is on.
FLAG_PREFIX: Final = "__kr-flag."
#: Brokers are asked by the one, the controller by the other.
_OPERATIONS: Final = (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def start_name(run: str) -> str:
    """A name that is permitted as soon as a node enforces the run's first sentinels, and stays so."""
    return f"{PREFIX}{run}.start"


def barrier_name(run: str, number: int) -> str:
    """A name that is refused as soon as a node enforces everything before the ``number``-th barrier."""
    return f"{PREFIX}{run}.{number}"


def own_name(run: str) -> str:
    """A name that is refused to ourselves, if we are who the declaration says."""
    return f"{PREFIX}{run}.self"


def canary_name(run: str) -> str:
    """A name that is refused to the probe from the start on, if ACLs decide anything."""
    return f"{PREFIX}{run}.canary"


def start_sentinels(run: str, principal: str) -> tuple[AclBinding, ...]:
    """Permit ``principal`` every name of this run."""
    pattern = ResourcePattern(ResourceType.TOPIC, f"{PREFIX}{run}.", PatternType.PREFIXED)
    return tuple(AclBinding(pattern, _entry(principal, operation, _ALLOW)) for operation in _OPERATIONS)


def deny_sentinels(name: str, principal: str) -> tuple[AclBinding, ...]:
    """Refuse ``principal`` one name."""
    pattern = ResourcePattern(ResourceType.TOPIC, name)
    return tuple(AclBinding(pattern, _entry(principal, operation, _DENY)) for operation in _OPERATIONS)


def interfering(bindings: Iterable[AclBinding], principals: Collection[str]) -> tuple[AclBinding, ...]:
    """DENYs that would turn an answer themselves: of these principals or everyone, on names under ``__kr.``."""
    ours = ResourcePattern(ResourceType.TOPIC, PREFIX, PatternType.PREFIXED)
    who = {*principals, WILDCARD_PRINCIPAL}
    return tuple(
        sorted(
            binding
            for binding in bindings
            if binding.entry.permission_type is _DENY
            and binding.entry.principal in who
            and binding.pattern.overlaps(ours)
            and not ours.contains(binding.pattern)
        )
    )


def _entry(principal: str, operation: AclOperation, permission: AclPermissionType) -> AccessControlEntry:
    return AccessControlEntry(principal, WILDCARD, operation, permission)
