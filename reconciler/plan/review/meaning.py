"""Guards that look at what bindings mean: lockout, protection, power over the cluster, what breaks a broker.

Access before and after is computed on all live bindings (``reconciler.access``), whatever the scope is.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from reconciler.access import AccessDifference, Authorizer, DifferenceRow, KafkaVersion, Region
from reconciler.access.hosts import ANY_HOST, is_dead
from reconciler.access.name_set import names_of
from reconciler.access.region import less
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourceType,
    Selector,
)
from reconciler.model.naming import as_name, binding_name
from reconciler.plan.facts import Facts
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.plan.review.charges import Charge, RowsByPlace
from reconciler.plan.review.transition import Transition

#: An address that documentation keeps for itself (RFC 5737): a host that no binding names.
_ANY_OTHER_HOST: Final = "192.0.2.1"
_OWN: Final = (AclOperation.DESCRIBE, AclOperation.ALTER)
_BROKERS: Final = (AclOperation.CLUSTER_ACTION,)
_POWERS: Final = frozenset({AclOperation.ALTER, AclOperation.ALTER_CONFIGS})


def meaning_refusals(found: Transition | None, facts: Facts) -> tuple[Refusal, ...]:
    """Every refusal that the meaning of a transition calls for."""
    return tuple(charge.refusal for charge in meaning_charges(found, facts))


def meaning_charges(found: Transition | None, facts: Facts) -> tuple[Charge, ...]:
    """The same, with the rows of access that show which steps account for it."""
    if found is None:
        return ()
    there = chain(found.before.interpretations.bindings, found.created)
    on_cluster = [binding for binding in there if binding.pattern.resource_type is ResourceType.CLUSTER]
    return (
        *map(Charge, _lockouts(found, facts, on_cluster)),
        *_protected(found.difference, facts),
        *_cluster_alter(found.difference),
        *map(Charge, _broken(found.after)),
    )


def _lockouts(found: Transition, facts: Facts, bindings: Collection[AclBinding]) -> Iterator[Refusal]:
    """Who holds now what it needs on the cluster, and would hold it no longer, or not for certain.

    ``bindings`` are those on the cluster, before and to be created.
    Default-allow is taken as it is stated, and as it is established.
    """
    after = found.stated.with_changes(found.created, found.deleted)
    transitions = dict.fromkeys([(found.before, found.after), (found.stated, after)])
    needs: list[tuple[str, tuple[AclOperation, ...]]] = [(name, _BROKERS) for name in facts.inter_broker_principals]
    if facts.principal is not None:
        needs.append((facts.principal, _OWN))
    for principal, operations in needs:
        # Brokers ask no ACL about a super user. One that only manifests call so may be none, and could be locked out.
        if principal in facts.established_super_users:
            continue
        lost = [
            operation.name
            for operation in operations
            if any(
                _permits(before, principal, host, operation) and not _permits(after, principal, host, operation)
                for before, after in transitions
                for host in _hosts(bindings, principal, after.kafka_version)
            )
        ]
        if lost:
            yield refusal(Guard.LOCKOUT, principal, f"{as_name(principal)} would lose {', '.join(lost)} on the cluster")


def _permits(authorizer: Authorizer, principal: str, host: str, operation: AclOperation) -> bool:
    return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME).allowed is True


def _hosts(bindings: Iterable[AclBinding], principal: str, version: KafkaVersion) -> set[str]:
    """The hosts that the principal's of these bindings on the cluster name, and one that none of them does.

    Texts that no connection comes from are left out: nobody held anything there.
    """
    named = {binding.entry.host for binding in bindings if binding.entry.principal in (principal, WILDCARD_PRINCIPAL)}
    return {host for host in named - {WILDCARD} if not is_dead(host, version)} | {_ANY_OTHER_HOST}


def _protected(difference: AccessDifference, facts: Facts) -> Iterator[Charge]:
    """Changes of effective access to a protected name or principal, whatever binding causes them; each object once."""
    if not facts.protect:
        return
    # What is folded out of sight in a review is still judged here.
    told = (*difference.rows, *difference.exceptions, *difference.reached_with_exceptions())
    own = RowsByPlace(told)
    super_users = frozenset(facts.established_super_users)
    found: dict[str, tuple[Refusal, list[DifferenceRow]]] = {}
    for selector in facts.protect:
        for row in told:
            if (row.gained or row.lost) and _touches(selector, row, own, super_users):
                who = row.principal or "everybody else"
                said = who if row.principal is None else as_name(who)
                name = who if selector.names is None else f"{row.region}"
                words = refusal(Guard.PROTECTED, name, f"changes what {said} may do on {row.region}")
                found.setdefault(name, (words, []))[1].append(row)
    for words, rows in found.values():
        yield Charge(words, tuple(rows))


def _left(own: RowsByPlace, row: DifferenceRow, principal: str) -> list[Region]:
    """What a principal's rows leave of one of everybody else; a doubtful one takes nothing from a certain."""
    near = own.meeting(principal, row.region.resource_type, row.region.names)
    return less([row.region], [one.region for one in near if one.reading in (None, row.reading)])


def _touches(selector: Selector, row: DifferenceRow, own: RowsByPlace, super_users: frozenset[str]) -> bool:
    """Whether a row speaks of a protected principal, where one is named, and of a protected name, where one is."""
    if selector.principals is None:
        return _names(selector, [row.region])
    names = selector.principals
    if row.principal is not None:
        return names.selects_principal(row.principal) and _names(selector, [row.region])
    if names.any_name or names.prefix is not None:
        return _names(selector, [row.region])
    # A row of everybody else holds for a principal where none of its own does; no row holds for super users.
    return any(
        _names(selector, _left(own, row, principal)) for principal in names.literal if principal not in super_users
    )


def _names(selector: Selector, regions: Iterable[Region]) -> bool:
    """Whether one of the regions holds a protected name; any does where the selector is about principals alone."""
    if selector.names is None or selector.resource_type is None:
        return any(True for _ in regions)
    kind = selector.resource_type
    keys = [names_of(pattern) for pattern in selector.names.patterns(kind)]
    return any(region.meets(key) for region in regions if region.resource_type is kind for key in keys)


def _cluster_alter(difference: AccessDifference) -> Iterator[Charge]:
    """Who gains ALTER or ALTER_CONFIGS on the cluster, and so may do anything; each principal once.

    With ALTER_CONFIGS it adds a listener on which it logs in as anybody: see ``cluster-configs`` of ``callouts``.

    Where everybody else gains it, those whom that reaches are not named one by one.
    """
    gaining = [row for row in difference.rows if _alters(row)]
    everybody = {str(row.hosts) for row in gaining if row.principal is None}
    if str(ANY_HOST) not in everybody:
        gaining += [row for row in difference.reached() if _alters(row) and str(row.hosts) not in everybody]
    altering = {_who(row) for row in gaining if AclOperation.ALTER in row.gained}
    by_principal: dict[str, list[DifferenceRow]] = {}
    for row in gaining:
        told = replace(row, gained=row.gained & _POWERS, lost=frozenset())
        by_principal.setdefault(_who(row), []).append(told)
    for principal, rows in by_principal.items():
        what = (
            "ALTER on the cluster, and with it the right to change every ACL"
            if principal in altering
            else "ALTER_CONFIGS on the cluster, and with it the right to add a listener on which it logs in as anybody"
        )
        yield Charge(refusal(Guard.CLUSTER_ALTER, principal, f"{as_name(principal)} would gain {what}"), tuple(rows))


def _who(row: DifferenceRow) -> str:
    return row.principal or WILDCARD_PRINCIPAL


def _alters(row: DifferenceRow) -> bool:
    return row.region.resource_type is ResourceType.CLUSTER and not _POWERS.isdisjoint(row.gained)


def _broken(after: Authorizer) -> Iterator[Refusal]:
    """Bindings that make brokers fail or hang, and that still exist after the plan."""
    for binding in after.broker_defects.bindings:
        yield refusal(
            Guard.BROKEN_BINDING, str(binding), f"a broker may fail or hang on {binding_name(binding)}, which stays"
        )
