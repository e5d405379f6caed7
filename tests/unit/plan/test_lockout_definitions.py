"""What comes before and goes after everything else on the cluster, stated by what covers the cluster at both ends."""

import random
from itertools import product

from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, OpaqueBinding, ResourceType
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.state import ClusterState
from reconciler.plan.bridges import lockout_protection
from reconciler.plan.observed import Facts
from tests.worlds import acl

_NEEDED = {"User:ours", "User:broker"}
_POOL = [
    acl(name, principal, AclOperation.ALTER, permission, kind)
    for (kind, name), principal, permission in product(
        ((ResourceType.CLUSTER, "kafka-cluster"), (ResourceType.TOPIC, "t"), (ResourceType.GROUP, "t-")),
        ("User:ours", "User:broker", "User:a"),
        (AclPermissionType.ALLOW, AclPermissionType.DENY),
    )
]
_ON_CLUSTER = OpaqueBinding("kafka-cluster", "User:a", "*", 4, 3, None, 2)
_ON_TOPIC = OpaqueBinding("t", "User:a", "*", 2, 3, None, 2)


def _covers(bindings: set[AclBinding]) -> bool:
    return any(binding.pattern.resource_type is ResourceType.CLUSTER for binding in bindings)


def test_allows_of_ours_and_brokers_frame_a_plan_that_begins_or_ends_to_cover_the_cluster() -> None:
    chance = random.Random(11)
    met = set()
    for _ in range(3_000):
        before, after = (set(chance.sample(_POOL, chance.choice((0, 1, 2, 4)))) for _ in "12")
        moved: list[Change] = [*(Create(one) for one in after - before), *(Delete(one) for one in before - after)]
        # Whatever of it was done already by a run that is resumed.
        live = {one for one in before | after if one in before & after or chance.random() < 0.5}
        opaque = chance.choice(((), (), (_ON_TOPIC,), (_ON_CLUSTER,)))
        default_allow = chance.choice((True, True, True, False, None))
        known = chance.random() < 0.8
        facts = Facts("User:ours" if known else None, ("User:broker",))
        found = lockout_protection(
            moved, ClusterState("c", frozenset(live), opaque=opaque), facts, default_allow=default_allow
        )
        ends = [_covers(side) or _ON_CLUSTER in opaque for side in (before, after)]
        expected: set[AclBinding] = set()
        if default_allow is True and ends[0] is not ends[1]:
            expected = {
                one
                for one in (after if ends[1] else before)
                if one.pattern.resource_type is ResourceType.CLUSTER
                and one.entry.permission_type is AclPermissionType.ALLOW
                and one.entry.principal in (_NEEDED if known else {"User:broker"})
            }
        assert found == expected
        met.add((default_allow, *ends, bool(expected)))
    assert len(met) == 3 * 4 + 2
