"""What an AccessTest claims, and the verdict on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reconciler.access.decision import AccessRequest
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    Origin,
    ResourcePattern,
    ResourceType,
)

_O = AclOperation

#: What ``onlyAdmins`` reserves, by resource type.
ADMIN_OPERATIONS: Final = {
    ResourceType.TOPIC: frozenset({_O.CREATE, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS}),
    ResourceType.GROUP: frozenset({_O.DELETE, _O.ALTER_CONFIGS}),
    ResourceType.CLUSTER: frozenset({_O.ALTER, _O.ALTER_CONFIGS, _O.CREATE, _O.CLUSTER_ACTION}),
    ResourceType.TRANSACTIONAL_ID: frozenset({_O.TWO_PHASE_COMMIT}),
    ResourceType.DELEGATION_TOKEN: frozenset[AclOperation](),
    ResourceType.USER: frozenset({_O.CREATE_TOKENS}),
}


class AssertionKind(StrEnum):
    """Whether the operations have to be permitted, or must not be."""

    MUST = "must"
    MUST_NOT = "mustNot"


class AssertionOutcome(StrEnum):
    """``undecided`` is never a pass: something unknown about the cluster could change the verdict."""

    PASS = "pass"  # noqa: S105 - an outcome, no password
    FAIL = "fail"
    UNDECIDED = "undecided"


class Via(StrEnum):
    """By what a forbidden operation is permitted."""

    BINDING = "binding"
    DEFAULT_ALLOW = "default_allow"
    #: CREATE or DELETE on CLUSTER, or WRITE on some topic for an idempotent producer.
    OTHER_RESOURCE = "other_resource"
    #: ALTER on CLUSTER: it may grant itself anything.
    CLUSTER_ALTER = "cluster_alter"
    SUPER_USER = "super_user"


@dataclass(frozen=True, slots=True)
class Assertion:
    """A claim about all principals, hosts and names that it speaks of; universal, also over names yet to come.

    ``principals``: texts as they are, ``User:*`` for every principal there is or could be, and globs with ``*`` and
    ``?``, which range over the known principals; ``excluded`` likewise. ``hosts``: addresses, or ``*`` for any.
    Super users are left out unless ``include_super_users``; those who must be able to do something may be super users.
    """

    name: str
    claim: AssertionKind
    operations: frozenset[AclOperation]
    patterns: tuple[ResourcePattern, ...]
    principals: tuple[str, ...] = (WILDCARD_PRINCIPAL,)
    excluded: tuple[str, ...] = ()
    hosts: tuple[str, ...] = (WILDCARD,)
    include_super_users: bool = False


def only(
    name: str, patterns: Iterable[ResourcePattern], operations: Iterable[AclOperation], allowed: Iterable[str]
) -> Assertion:
    """Nobody but ``allowed`` may do any of the operations."""
    return Assertion(name, AssertionKind.MUST_NOT, frozenset(operations), tuple(patterns), excluded=tuple(allowed))


def only_readers(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> Assertion:
    """``onlyReaders``: nobody else may READ."""
    return only(name, patterns, [_O.READ], allowed)


def only_writers(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> Assertion:
    """``onlyWriters``: nobody else may WRITE."""
    return only(name, patterns, [_O.WRITE], allowed)


def only_admins(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> list[Assertion]:
    """``onlyAdmins``: nobody else may do what changes the resources themselves; one assertion a resource type."""
    by_type: dict[ResourceType, list[ResourcePattern]] = {}
    for pattern in patterns:
        by_type.setdefault(pattern.resource_type, []).append(pattern)
    allowed = tuple(allowed)
    return [only(name, found, ADMIN_OPERATIONS[kind], allowed) for kind, found in by_type.items()]


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """What came of an assertion. A failure shows a shortest request that breaks it, and what permits or denies it.

    ``bindings`` are those that decide the request, ``origins`` their manifest lines where known; empty where no
    binding does (a missing grant, default-allow). ``reason`` says why a verdict is undecided.
    """

    assertion: Assertion
    outcome: AssertionOutcome
    witness: AccessRequest | None = None
    via: Via | None = None
    bindings: tuple[AclBinding, ...] = ()
    origins: tuple[Origin, ...] = ()
    reason: str | None = None
