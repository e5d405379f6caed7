"""Smaller changes with a proof: what repairs a failed assertion, and fewer ACLs with the same access."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome, AssertionResult
from reconciler.access.assertions import check
from reconciler.access.authorizer import AccessRequest, Authorizer, host_matches
from reconciler.access.difference import compare_access
from reconciler.access.hosts import is_dead
from reconciler.access.index import Index
from reconciler.access.lint.covering import Covering, IdleDenies
from reconciler.access.names import has_names, names_of
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.flavor import ASSUMED_VERSION, supported

#: After so many rounds without success a person has to look at the assertion.
_ROUNDS: Final = 8
#: Up to so many changes are each tested for being needed.
_TRIED: Final = 16


class Remediation(NamedTuple):
    """Bindings to create and to delete; with them the assertion passes."""

    create: tuple[AclBinding, ...] = ()
    delete: tuple[AclBinding, ...] = ()


def suggest_fix(verdict: AssertionResult, authorizer: Authorizer) -> Remediation | None:
    """What would make a failed assertion pass; ``None`` if a few changed bindings do not.

    Each round removes the bindings that decide the counterexample, or grants what is missing, then checks again.
    Bindings cannot fix what no binding permits (default-allow, a super user). Globs match the principals of bindings.
    """
    principals = {principal for _, principal in authorizer.interpretations.certain.group_keys()}
    # Each round checks the assertion again; with only the relevant bindings this stays fast on large clusters.
    authorizer = _bearing_on(verdict.assertion, authorizer)
    create: list[AclBinding] = []
    delete: list[AclBinding] = []
    for _ in range(_ROUNDS):
        if verdict.outcome is AssertionOutcome.PASS:
            return _least(Remediation(tuple(create), tuple(delete)), verdict.assertion, authorizer, principals)
        if verdict.outcome is AssertionOutcome.UNDECIDED or verdict.witness is None:
            return None
        added, removed = _step(verdict, verdict.witness, authorizer, principals)
        if not added and not removed:
            return None
        create += added
        delete += removed
        authorizer = authorizer.with_changes(added, removed)
        verdict = check(verdict.assertion, authorizer, principals)
    return None


def _least(proposed: Remediation, assertion: Assertion, mended: Authorizer, principals: Iterable[str]) -> Remediation:
    """The same without changes that turn out not to be needed: a later change may make an earlier one redundant."""
    create, delete = list(proposed.create), list(proposed.delete)
    if 1 < len(create) + len(delete) <= _TRIED:
        for changes, put_back in ((create, False), (delete, True)):
            for binding in tuple(changes):
                alone = [binding]
                fewer = mended.with_changes(alone if put_back else (), () if put_back else alone)
                if check(assertion, fewer, principals).outcome is AssertionOutcome.PASS:
                    changes.remove(binding)
                    mended = fewer
    return Remediation(tuple(create), tuple(delete))


def _bearing_on(assertion: Assertion, authorizer: Authorizer) -> Authorizer:
    """The same with only the bindings relevant to the assertion: those on its names, and on the cluster.

    An assertion about the cluster keeps all bindings: WRITE on any topic permits to start an idempotent producer. So
    does a cluster whose version, and with it what a host means, is not known.
    """
    kinds = {pattern.resource_type for pattern in assertion.patterns}
    if ResourceType.CLUSTER in kinds or authorizer.interpretations.doubtful:
        return authorizer
    least, most = (interpretation.default_allow for interpretation in authorizer.interpretations.both)
    return Authorizer(
        _meeting(assertion.patterns, authorizer.interpretations.certain),
        authorizer.super_users,
        least if least is most else None,
        authorizer.kafka_version,
        opaque=authorizer.sources.opaque,
    )


def _meeting(patterns: Iterable[ResourcePattern], index: Index) -> set[AclBinding]:
    """The bindings on CLUSTER, and those that match some name of the patterns."""
    meeting = {
        binding
        for kind, principal in index.group_keys()
        if kind is ResourceType.CLUSTER or ":" not in principal
        for binding in index.bindings(kind, principal)
    }
    for pattern in patterns:
        for principal in index.principals(pattern.resource_type, [names_of(pattern)]):
            own = index.bindings(pattern.resource_type, principal)
            meeting.update(binding for binding in own if binding.pattern.overlaps(pattern))
    return meeting


def _step(
    verdict: AssertionResult, request: AccessRequest, authorizer: Authorizer, principals: Collection[str]
) -> tuple[list[AclBinding], list[AclBinding]]:
    """What to create and what to delete because of one request."""
    if verdict.bindings:
        return [], list(verdict.bindings)
    if verdict.assertion.claim is AssertionKind.MUST:
        return _missing(verdict.assertion, request, authorizer, principals), []
    return [], []


def _missing(
    assertion: Assertion, request: AccessRequest, authorizer: Authorizer, principals: Collection[str]
) -> list[AclBinding]:
    """The missing grant, on the whole pattern that the assertion is about.

    It is for ``User:*`` if no particular principal lacks it, and of ALL if the assertion is about every operation.
    """
    pattern = next((own for own in assertion.patterns if _about(own, request)), None)
    if pattern is None:
        return []
    # A host of the assertion itself that covers the counterexample, before "*": no wider than what was asked for.
    hosts = [host for host in assertion.hosts if host == WILDCARD or host_matches(host, request.host, ASSUMED_VERSION)]
    # An unnamed principal stands for everybody: a grant to its invented name would help nobody.
    nobody = request.principal not in principals and WILDCARD_PRINCIPAL in assertion.principals
    everything = supported(pattern.resource_type, authorizer.kafka_version)
    entry = AccessControlEntry(
        WILDCARD_PRINCIPAL if nobody else request.principal,
        hosts[0] if hosts else WILDCARD,
        AclOperation.ALL if len(everything) > 1 and everything <= assertion.operations else request.operation,
        AclPermissionType.ALLOW,
    )
    return [AclBinding(pattern, entry)]


def _about(pattern: ResourcePattern, request: AccessRequest) -> bool:
    return pattern.resource_type is request.resource_type and pattern.matches(request.resource_name)


# A smaller set of bindings with exactly the same access, proven by an empty access difference.


class Removal(NamedTuple):
    """A binding that can be removed; ``because`` are the bindings that make it redundant, empty if it has no effect."""

    binding: AclBinding
    because: tuple[AclBinding, ...]


class Simplified(NamedTuple):
    """The authorizer with the remaining bindings, and the removals in order."""

    kept: Authorizer
    removed: tuple[Removal, ...]


def simplify(authorizer: Authorizer) -> Simplified:
    """Remove bindings without effect one by one, each judged against the bindings that remain.

    If default-allow is on or unknown, coverage is part of the proof. Opaque entries are kept and taken into account.
    """
    kept, removed = authorizer, list[Removal]()
    # A removal can make another one possible, so repeat until a round removes nothing.
    while True:
        round_ = _without(kept, _superfluous(kept))
        removed += round_.removed
        if not round_.removed:
            return Simplified(kept, tuple(removed))
        kept = round_.kept


def without_change(authorizer: Authorizer, bindings: Iterable[AclBinding]) -> frozenset[AclBinding]:
    """Those of the bindings that can all be removed while access stays the same."""
    there = [Removal(binding, ()) for binding in sorted(bindings) if binding in authorizer.bindings]
    return frozenset(removal.binding for removal in _without(authorizer, there).removed)


def _without(authorizer: Authorizer, removals: list[Removal]) -> Simplified:
    """All removals at once if access stays the same, which is usual; else only those that keep it the same."""
    kept = authorizer.with_changes(removed=[removal.binding for removal in removals])
    if compare_access(authorizer, kept).is_empty:
        return Simplified(kept, tuple(removals))
    return _one_by_one(authorizer, removals)


def _one_by_one(authorizer: Authorizer, removals: list[Removal]) -> Simplified:
    """Only those removals that keep access the same."""
    kept, done = authorizer, []
    for removal in removals:
        smaller = kept.with_changes(removed=[removal.binding])
        if compare_access(kept, smaller).is_empty:
            kept = smaller
            done.append(removal)
    return Simplified(kept, tuple(done))


def _superfluous(authorizer: Authorizer) -> list[Removal]:
    covering = Covering(authorizer.interpretations.bindings_of, authorizer.covering_version)
    idle = IdleDenies(authorizer)
    removals = []
    # Narrow patterns first: of two equivalent bindings the wider one stays.
    for binding in sorted(authorizer.bindings, key=lambda b: (-len(names_of(b.pattern).text), b)):
        because = covering.redundancy(binding)
        allow = binding.entry.permission_type is AclPermissionType.ALLOW
        if not because and allow:
            because = covering.shadow(binding)
        dead = is_dead(binding.entry.host, authorizer.kafka_version) or not has_names(
            binding.pattern.resource_type, names_of(binding.pattern)
        )
        if because or dead or (not allow and idle.is_idle(binding)):
            covering.remove(binding)
            removals.append(Removal(binding, because))
    return removals
