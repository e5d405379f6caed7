"""Reviewed gains held against a state: what the plan was to give somebody, and something else keeps from them.

Rows alone do not tell. A DENY that somebody added, or an ALLOW that somebody removed, can leave every binding of the
plan in its place and the access that was reviewed out of reach.
"""

from collections.abc import Iterable, Iterator

from reconciler.access import Authorizer, access_of
from reconciler.access.effective import Access
from reconciler.access.hosts import ANY_HOST, host_classes
from reconciler.access.region import less
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.model import WILDCARD_PRINCIPAL, AclOperation, ClusterState
from reconciler.model.naming import as_name
from reconciler.plan.facts import Facts
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.transition import authorizer_of


def gains_not_in_force(
    reviewed: AccessReview, live: ClusterState, facts: Facts, *, default_allow: bool | None
) -> tuple[str, ...]:
    """A sentence for each reviewed gain that ``live`` does not permit everywhere.

    Where default-allow is not known, what was reviewed for the case that it is off is judged for that case; what
    depends on something else that is not known was no certain gain, and is not judged.
    """
    state = authorizer_of(live, facts.established_default_allow(default_allow) or False)
    rows: dict[str | None, list[AccessChange]] = {}
    for row in reviewed.access_changes:
        if row.gained and row.reading in (None, "least") and row.since is None:
            rows.setdefault(row.principal, []).append(row)
    return tuple(text for principal, found in rows.items() for text in _sentences(principal, found, state))


def _sentences(principal: str | None, rows: Iterable[AccessChange], state: Authorizer) -> Iterator[str]:
    index = state.interpretations.certain
    access = access_of(state, principal or unnamed_principal([index]))
    hosts = {
        binding.entry.host for binding in state.bindings if binding.entry.principal in (principal, WILDCARD_PRINCIPAL)
    }
    samples = [found.sample for found in host_classes(hosts, state.kafka_version)]
    for row in rows:
        # A row for any host is asked about every class of hosts: a DENY on one of them narrows it.
        asked = [row.witness.host, *(samples if row.hosts == str(ANY_HOST) else ())]
        lacking = tuple(
            operation
            for operation in row.gained
            if not all(_holds(row, operation, host, access, state) for host in asked)
        )
        if lacking:
            words = operations_words(lacking, row.region.resource_type)
            who = as_name(row.principal) if row.principal else EVERYBODY_ELSE
            yield f"{who} would not have {words} on all of {row.region}"


def _holds(row: AccessChange, operation: AclOperation, host: str, access: Iterable[Access], state: Authorizer) -> bool:
    regions = [
        one.region for one in access if operation in one.operations and one.hosts.contains(host, state.kafka_version)
    ]
    return row.region in regions or not any(True for _ in less([row.region], regions))
