"""Guards on meaning against the naive authorizer: who is locked out, and what of the protected changes."""

from itertools import product
from random import Random
from typing import Final

from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create, Delete
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard
from reconciler.plan.review.access_change import transition
from reconciler.plan.review.callouts import meaning_refusals
from reconciler.plan.step import Step
from tests.property.naive import Ask, permitted
from tests.property.transitions import PATTERNS

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
US, BROKER = "User:us", "User:broker"
CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
HOSTS: Final = ("*", "10.0.0.1", "10.0.0.2")
ON_CLUSTER: Final = [
    AclBinding(CLUSTER, AccessControlEntry(principal, host, operation, permission))
    for principal, host, operation, permission in product(
        (US, BROKER, "User:*", "User:other"),
        HOSTS,
        (AclOperation.ALL, AclOperation.ALTER, AclOperation.DESCRIBE, AclOperation.CLUSTER_ACTION),
        (ALLOW, ALLOW, DENY),
    )
]


def steps(before: set[AclBinding], after: set[AclBinding]) -> list[Step]:
    """From one set of bindings to another."""
    created = [Step(Phase.CREATE_ALLOW, Create(binding)) for binding in sorted(after - before)]
    return created + [Step(Phase.DELETE_ALLOW, Delete(binding)) for binding in sorted(before - after)]


def drawn(random: Random, universe: list[AclBinding]) -> tuple[set[AclBinding], set[AclBinding]]:
    """Two sets that share some."""
    both = set(random.sample(universe, random.randint(0, 2)))
    return both | set(random.sample(universe, random.randint(0, 2))), both | set(
        random.sample(universe, random.randint(0, 2))
    )


def lost(
    before: set[AclBinding], after: set[AclBinding], principal: str, operation: AclOperation, default: bool
) -> bool:
    """Whether a principal may no longer do on the cluster what it might, from any host."""
    asks = (
        Ask(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
        for host in ("10.0.0.1", "10.0.0.2", "192.0.2.1")
    )
    return any(
        permitted(before, ask, default_allow=default) and not permitted(after, ask, default_allow=default)
        for ask in asks
    )


def test_whoever_would_lose_on_the_cluster_what_it_works_by_is_locked_out_and_nobody_else() -> None:
    random, seen = Random(5), {True: 0, False: 0}
    needs = {US: (AclOperation.DESCRIBE, AclOperation.ALTER), BROKER: (AclOperation.CLUSTER_ACTION,)}
    for _ in range(400):
        before, after = drawn(random, ON_CLUSTER)
        stated, source = random.choice((True, False)), random.choice((FactSource.OPERATOR, FactSource.MANIFESTS))
        users, known = (
            random.choice(((), (US,), (BROKER, US))),
            random.choice((FactSource.OPERATOR, FactSource.MANIFESTS)),
        )
        facts = Facts(US, (BROKER,), users, sources=FactSources(super_users=known, default_allow=source))
        found = transition(ClusterState("c", frozenset(before)), steps(before, after), facts, default_allow=stated)
        refused = {one.object: one.message for one in meaning_refusals(found, facts) if one.guard is Guard.LOCKOUT}
        # What is only claimed is taken as it is stated and as what nobody knows: certain is what is so without it.
        defaults = {stated} if source is FactSource.OPERATOR else {stated, False}
        for principal, operations in needs.items():
            exempt = known is FactSource.OPERATOR and principal in users
            gone = {one for one in operations for default in defaults if lost(before, after, principal, one, default)}
            assert (principal in refused) is (bool(gone) and not exempt), (before, after, stated, source)
            if principal in refused:
                names = ", ".join(one.name for one in operations if one in gone)
                assert refused[principal] == f"{principal} would lose {names} on the cluster"
            seen[principal in refused] += 1
    assert min(seen.values()) > 30


ENTRIES: Final = [
    AccessControlEntry(*one)
    for one in product(
        ("User:a", "User:b", "User:*"),
        ("*", "10.0.0.1"),
        (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
        (ALLOW, ALLOW, DENY),
    )
]
EVERYWHERE: Final = [AclBinding(pattern, entry) for pattern, entry in product(PATTERNS, ENTRIES)]
#: Every request that these patterns can tell apart.
ASKS: Final = [
    Ask(principal, host, operation, resource_type, name)
    for resource_type, names, operations in (
        (ResourceType.TOPIC, ("x", "xa", "xab", "xaz", "xz", "y", "yz", "fresh"), ("READ", "WRITE", "DESCRIBE")),
        (ResourceType.GROUP, ("x", "y"), ("READ", "DESCRIBE")),
    )
    for principal, host, operation, name in product(
        ("User:a", "User:b", "User:stranger"),
        ("10.0.0.1", "10.0.0.2"),
        map(AclOperation.__getitem__, operations),
        names,
    )
]
WHO: Final = (
    None,
    NameSelector(literal=("User:a",)),
    NameSelector(literal=("User:stranger",)),
    NameSelector(prefixes=("User:",)),
    NameSelector(any_name=True),
)
WHERE: Final = (
    None,
    (ResourceType.TOPIC, NameSelector(literal=("xa",))),
    (ResourceType.TOPIC, NameSelector(prefixes=("xa",))),
    (ResourceType.TOPIC, NameSelector(any_name=True)),
    (ResourceType.GROUP, NameSelector(literal=("x", "y"))),
)


def meant(selector: Selector, ask: Ask) -> bool:
    """Whether a request is of a protected principal on a protected name."""
    if selector.principals is not None and not selector.principals.selects_principal(ask.principal):
        return False
    if selector.names is None:
        return True
    return selector.resource_type is ask.resource_type and selector.names.selects_name(ask.name)


def test_whatever_changes_of_the_protected_is_refused_and_nothing_else() -> None:
    random, seen = Random(6), {True: 0, False: 0}
    for _ in range(60):
        before, after = drawn(random, EVERYWHERE)
        changes = steps(before, after)
        moved = [
            ask
            for ask in ASKS
            if permitted(before, ask, default_allow=False) is not permitted(after, ask, default_allow=False)
        ]
        for who, where in product(WHO, WHERE):
            if who is None and where is None:
                continue
            selector = Selector(who, *(where or (None, None)))
            facts = Facts(protect=(selector,))
            found = transition(ClusterState("c", frozenset(before)), changes, facts, default_allow=False)
            refused = [one.object for one in meaning_refusals(found, facts) if one.guard is Guard.PROTECTED]
            expected = any(meant(selector, ask) for ask in moved)
            assert bool(refused) is expected, (before, after, selector, refused)
            assert len(refused) == len(set(refused)), "each object once"
            seen[expected] += 1
    assert min(seen.values()) > 100
