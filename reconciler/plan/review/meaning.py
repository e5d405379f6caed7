"""Guards that look at what bindings mean: lockout, protection, ALTER on the cluster, what breaks a broker.

Access before and after is computed on all live bindings (``reconciler.access``), whatever the scope is.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from reconciler.access import Authorizer, Difference, Row
from reconciler.access.names import shortest_name
from reconciler.access.table import key_of
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourceType,
    Selector,
)
from reconciler.plan.guards import Guard, Refusal
from reconciler.plan.review.transition import Facts, Transition

#: An address that documentation keeps for itself (RFC 5737): a host that no binding names.
_ANY_OTHER_HOST: Final = "192.0.2.1"
_OWN: Final = (AclOperation.DESCRIBE, AclOperation.ALTER)
_BROKERS: Final = (AclOperation.CLUSTER_ACTION,)


def meaning_refusals(found: Transition | None, facts: Facts) -> tuple[Refusal, ...]:
    """Every refusal that the meaning of a transition calls for."""
    if found is None:
        return ()
    bindings = found.before.bindings.union(found.created)
    return (
        *_lockouts(found.before, found.after, facts, bindings),
        *_protected(found.difference, facts),
        *_cluster_alter(found.difference),
        *_broken(found.after),
    )


def _refusal(guard: Guard, name: str, message: str) -> Refusal:
    return Refusal(guard, name, message, f"if this is meant: --accept {guard}={name}")


def _lockouts(
    before: Authorizer, after: Authorizer, facts: Facts, bindings: Collection[AclBinding]
) -> Iterator[Refusal]:
    """Who holds now what it needs on the cluster, and would hold it no longer, or not for certain."""
    needs: list[tuple[str, tuple[AclOperation, ...]]] = [(name, _BROKERS) for name in facts.inter_broker_principals]
    if facts.principal is not None:
        needs.append((facts.principal, _OWN))
    for principal, operations in needs:
        lost = [
            operation.name
            for operation in operations
            if any(
                _permits(before, principal, host, operation) and not _permits(after, principal, host, operation)
                for host in _hosts(bindings, principal)
            )
        ]
        if lost:
            yield _refusal(Guard.LOCKOUT, principal, f"{principal} would lose {', '.join(lost)} on the cluster")


def _permits(authorizer: Authorizer, principal: str, host: str, operation: AclOperation) -> bool:
    return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME).allowed is True


def _hosts(bindings: Iterable[AclBinding], principal: str) -> set[str]:
    """The hosts that bindings of the principal on the cluster name, and one that none of them does."""
    named = {
        binding.entry.host
        for binding in bindings
        if binding.pattern.resource_type is ResourceType.CLUSTER
        and binding.entry.principal in (principal, WILDCARD_PRINCIPAL)
    }
    return (named - {WILDCARD}) | {_ANY_OTHER_HOST}


def _protected(difference: Difference, facts: Facts) -> Iterator[Refusal]:
    """Changes of effective access to a protected name or principal, whatever binding causes them; each object once."""
    if not facts.protect:
        return
    rows = (*difference.rows, *difference.reached())
    own = {row.principal for row in (*rows, *difference.exceptions)} | set(difference.reached_principals())
    found: dict[str, Refusal] = {}
    for selector in facts.protect:
        for row in rows:
            if _touches(selector, row, own):
                who = row.principal or "everybody else"
                name = who if selector.names is None else f"{row.region}"
                found.setdefault(name, _refusal(Guard.PROTECTED, name, f"changes what {who} may do on {row.region}"))
    yield from found.values()


def _touches(selector: Selector, row: Row, own: set[str | None]) -> bool:
    """Whether a row speaks of a protected principal, where one is named, and of a protected name, where one is."""
    if selector.principals is not None:
        names = selector.principals
        if row.principal is not None and not names.selects_principal(row.principal):
            return False
        if row.principal is None and not (names.any_name or names.prefix is not None or set(names.literal) - own):
            return False
    if selector.names is None or selector.resource_type is None:
        return True
    if row.region.resource_type is not selector.resource_type:
        return False
    keys = map(key_of, selector.names.patterns(selector.resource_type))
    return any(
        shortest_name(row.region.resource_type, max(key, row.region.key), row.region.cuts) is not None
        for key in keys
        if key.meets(row.region.key)
    )


def _cluster_alter(difference: Difference) -> Iterator[Refusal]:
    """Who gains ALTER on the cluster, and so may grant itself anything; each principal once."""
    gaining = (
        row.principal or WILDCARD_PRINCIPAL
        for row in difference.rows
        if row.region.resource_type is ResourceType.CLUSTER and AclOperation.ALTER in row.gained
    )
    for principal in dict.fromkeys(gaining):
        message = f"{principal} would gain ALTER on the cluster, and with it the right to change every ACL"
        yield _refusal(Guard.CLUSTER_ALTER, principal, message)


def _broken(after: Authorizer) -> Iterator[Refusal]:
    """Bindings that make brokers fail or hang, and that stand behind the plan as well."""
    for binding in after.fragile.bindings:
        yield _refusal(Guard.BROKEN_BINDING, str(binding), f"a broker may fail or hang on {binding}, which stays")
