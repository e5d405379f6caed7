"""Repeated denials, and the narrowest grant that would permit each: never a wildcard.

A proposed grant is not a recommendation: the denial may be intended.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.access.authorizer import AccessRequest, Authorizer, DecisionRule
from reconciler.access.operations import IMPLICATIONS
from reconciler.dataclass import dataclass
from reconciler.manifest.parts.resources import principal_problem
from reconciler.model.acl import (
    ANONYMOUS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import binding_name
from reconciler.parts.evidence.usage.counts import EventCount, name_problem
from reconciler.parts.evidence.usage.message import Event

#: With more hosts than this a person has to choose the hosts of a grant.
MOST_HOSTS: Final = 8
#: How many different denials are kept: a client that tries random names causes any number.
MOST_DENIALS: Final = 20_000

_CONTROL: Final = frozenset({AclOperation.ALTER, AclOperation.CLUSTER_ACTION})


class DeniedAccess(NamedTuple):
    """What was denied, from any host."""

    principal: str
    operation: AclOperation
    resource_type: ResourceType
    resource_name: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A repeated denial. ``grants`` would permit it; if empty, ``remark`` says why."""

    refused: DeniedAccess
    tally: EventCount
    hosts: tuple[str, ...]
    grants: tuple[AclBinding, ...] = ()
    remark: str = ""


class Denials:
    """Collects denials, access by access, in any order."""

    __slots__ = ("_found", "dropped")

    def __init__(self) -> None:
        """``dropped`` counts denials beyond the limit."""
        self._found: dict[DeniedAccess, dict[str, EventCount]] = {}
        self.dropped = 0

    def see(self, event: Event, tally: EventCount) -> None:
        """Add a denied access."""
        if event.allowed or event.asked_only:
            return
        principal, host, operation, kind, name = event.request
        hosts = self._found.setdefault(DeniedAccess(principal, operation, kind, name), {})
        hosts[host] = hosts.get(host, EventCount()) + tally
        if len(self._found) > 2 * MOST_DENIALS:
            self._make_room()

    def repeated(self, times: int, authorizer: Authorizer) -> list[Denial]:
        """Denials that repeated at least so often, the most frequent first, each with grants that would permit it."""
        found = [
            Denial(refused, total, tuple(sorted(hosts)))
            for refused, hosts in self._found.items()
            if (total := _sum(hosts)).times >= times
        ]
        found.sort(key=lambda denial: (-denial.tally.times, denial.refused))
        return _settled(found, authorizer)

    def _make_room(self) -> None:
        kept = sorted(self._found, key=lambda refused: (-_sum(self._found[refused]).times, refused))
        for refused in kept[MOST_DENIALS:]:
            del self._found[refused]
            self.dropped += 1


def _sum(hosts: Mapping[str, EventCount]) -> EventCount:
    total = EventCount()
    for tally in hosts.values():
        total = total + tally
    return total


def _settled(found: list[Denial], authorizer: Authorizer) -> list[Denial]:
    """Propose grants, drop those that another proposal implies, and prove the rest."""
    proposed = [_propose(denial, authorizer) for denial in found]
    grants = {grant for denial in proposed for grant in denial.grants}
    proposed = [_without_implied(denial, grants) for denial in proposed]
    after = authorizer.with_changes({grant for denial in proposed for grant in denial.grants})
    return [_proven(denial, after) for denial in proposed]


def _propose(denial: Denial, authorizer: Authorizer) -> Denial:
    remark = _no_grant(denial.refused)
    if remark:
        return replace(denial, remark=remark)
    missing, told = [], []
    for request in _requests(denial):
        decision = authorizer.authorize(*request)
        if decision.allowed is None:
            told.append("something unknown about the cluster could change the answer")
        elif decision.rule is DecisionRule.DENY:
            denials = ", ".join(map(binding_name, decision.bindings[:1]))
            told.append(f"a DENY decides, and no grant goes beyond it: {denials}")
        elif not decision.allowed:
            missing.append(request.host)
    if told:
        return replace(denial, remark=told[0])
    if not missing:
        return replace(denial, remark="permitted by now")
    # Some formats leave the host out. A grant for any host would be wider than what was refused.
    if "" in missing:
        return replace(denial, remark="the log does not say from which host")
    if len(missing) > MOST_HOSTS:
        return replace(denial, remark=f"from {len(missing):,} hosts: which of them are meant is for a person to say")
    caution = ""
    if denial.refused.resource_type is ResourceType.CLUSTER and denial.refused.operation in _CONTROL:
        caution = "this permission controls the cluster"
    return replace(denial, grants=tuple(_grant(denial.refused, host) for host in missing), remark=caution)


def _no_grant(refused: DeniedAccess) -> str:
    """Why no grant may be proposed for any principal or host."""
    principal, _, kind, name = refused
    problem = principal_problem(principal, may_be_everyone=False)
    if problem is not None:
        return problem.message
    if principal == ANONYMOUS:
        return f"{ANONYMOUS} is every client without a login"
    problem_of_name = name_problem(kind, name)
    if problem_of_name:
        return problem_of_name
    if kind in (ResourceType.DELEGATION_TOKEN, ResourceType.USER):
        return "manifests do not write ACLs on this type"
    return ""


def _grant(refused: DeniedAccess, host: str) -> AclBinding:
    principal, operation, kind, name = refused
    entry = AccessControlEntry(principal, host, operation, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(kind, name), entry)


def _without_implied(denial: Denial, grants: Set[AclBinding]) -> Denial:
    """Without denials that another proposed grant already permits, as READ permits DESCRIBE."""
    by = {
        grant: operation
        for grant in denial.grants
        for operation, implied in IMPLICATIONS.items()
        if implied is grant.entry.operation
        and AclBinding(grant.pattern, grant.entry._replace(operation=operation)) in grants
    }
    if not by:
        return denial
    kept = tuple(grant for grant in denial.grants if grant not in by)
    names = ", ".join(sorted({operation.name for operation in by.values()}))
    return replace(denial, grants=kept, remark=f"settled by granting {names}, which implies it")


def _proven(denial: Denial, after: Authorizer) -> Denial:
    if denial.grants and not all(after.authorize(*request).allowed for request in _requests(denial)):
        return replace(denial, grants=(), remark="no grant on this name alone settles it")
    return denial


def _requests(denial: Denial) -> Iterator[AccessRequest]:
    principal, operation, kind, name = denial.refused
    return (AccessRequest(principal, host, operation, kind, name) for host in denial.hosts)
