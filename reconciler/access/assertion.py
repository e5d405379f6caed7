"""What an AccessTest asserts, and the result of checking it."""

from bisect import bisect_left
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.access.authorizer import AccessRequest
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.scope import name_glob

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
    """Whether the operations must be permitted, or must not be."""

    MUST = "must"
    MUST_NOT = "mustNot"


class AssertionOutcome(StrEnum):
    """``undecided`` is not a pass: something unknown about the cluster could change the result."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    UNDECIDED = "undecided"


class Via(StrEnum):
    """What permits an operation that must not be permitted."""

    BINDING = "binding"
    DEFAULT_ALLOW = "default_allow"
    #: CREATE or DELETE on CLUSTER, or WRITE on some topic for an idempotent producer.
    OTHER_RESOURCE = "other_resource"
    #: ALTER on CLUSTER: it may grant itself anything.
    CLUSTER_ALTER = "cluster_alter"
    SUPER_USER = "super_user"


@dataclass(frozen=True, slots=True)
class Assertion:
    """A statement about every principal, host and name it covers, including names that do not exist yet.

    ``principals`` and ``excluded`` hold exact principals, ``User:*`` for every possible principal, and globs with ``*``
    and ``?``, which match known principals only. ``hosts`` holds addresses, or ``*`` for any host. Super users are
    exempt from a ``mustNot`` unless ``include_super_users`` is set; a super user always meets a ``must``.
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
    """Only ``allowed`` may do any of the operations."""
    return Assertion(name, AssertionKind.MUST_NOT, frozenset(operations), tuple(patterns), excluded=tuple(allowed))


def only_readers(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> Assertion:
    """``onlyReaders``: nobody else may READ."""
    return only(name, patterns, [_O.READ], allowed)


def only_writers(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> Assertion:
    """``onlyWriters``: nobody else may WRITE."""
    return only(name, patterns, [_O.WRITE], allowed)


def only_admins(name: str, patterns: Iterable[ResourcePattern], allowed: Iterable[str]) -> list[Assertion]:
    """``onlyAdmins``: nobody else may change the resources themselves; one assertion for each resource type."""
    by_type: dict[ResourceType, list[ResourcePattern]] = {}
    for pattern in patterns:
        by_type.setdefault(pattern.resource_type, []).append(pattern)
    allowed = tuple(allowed)
    return [only(name, of_type, ADMIN_OPERATIONS[kind], allowed) for kind, of_type in by_type.items()]


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """The result of an assertion. A failure carries a shortest request that breaks it, and what permits or denies it.

    ``bindings`` decide that request and ``origins`` are their manifest lines, where known; both are empty if no binding
    decides it (a missing grant, default-allow). ``reason`` says why a result is undecided.
    """

    assertion: Assertion
    outcome: AssertionOutcome
    witness: AccessRequest | None = None
    via: Via | None = None
    bindings: tuple[AclBinding, ...] = ()
    origins: tuple[Origin, ...] = ()
    reason: str | None = None


# Which principals an assertion covers: every possible principal, or some known ones.

#: What makes a glob of a text.
_WILDCARDS: Final = "*?"


class PrincipalSelection(NamedTuple):
    """``named=None`` is every possible principal; ``exempt`` principals are never included."""

    named: frozenset[str] | None
    exempt: frozenset[str]

    def includes(self, principal: str) -> bool:
        """Whether the assertion covers this principal."""
        return principal not in self.exempt and (self.named is None or principal in self.named)


def is_glob(text: str) -> bool:
    """Whether a text selects the known principals that match it, rather than itself."""
    return any(letter in text for letter in _WILDCARDS)


class Principals:
    """The known principals, and which of them a glob selects."""

    __slots__ = ("_globs", "_ordered", "known")

    def __init__(self, principals: Iterable[str]) -> None:
        """Sort them; ``User:*`` is not a principal of a connection."""
        self.known = frozenset(principals) - {WILDCARD_PRINCIPAL}
        self._ordered = sorted(self.known)
        self._globs: dict[str, frozenset[str]] = {}

    def matching(self, text: str) -> frozenset[str]:
        """The principal itself, or the known principals that a glob matches."""
        if not is_glob(text):
            return frozenset({text})
        if text not in self._globs:
            self._globs[text] = frozenset(self._matching(text))
        return self._globs[text]

    def _matching(self, glob: str) -> list[str]:
        stem = glob[:-1]
        if glob.endswith("*") and not is_glob(stem):
            start, end = (bisect_left(self._ordered, text) for text in (stem, stem + "\U0010ffff"))
            return [name for name in self._ordered[start : end + 1] if name.startswith(stem)]
        return list(filter(name_glob(glob), self._ordered))

    def selected(self, assertion: Assertion, super_users: frozenset[str]) -> PrincipalSelection:
        """The principals of an assertion; super users are exempt, callers handle them separately."""
        exempt = frozenset().union(super_users, *map(self.matching, assertion.excluded))
        if WILDCARD_PRINCIPAL in assertion.principals:
            return PrincipalSelection(None, exempt)
        return PrincipalSelection(frozenset().union(*map(self.matching, assertion.principals)) - exempt, exempt)
