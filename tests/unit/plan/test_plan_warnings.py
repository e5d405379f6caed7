"""What a plan warns of before its steps: each circumstance by itself and beside every other, and the room for more."""

from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from reconciler.model.acl import OpaqueBinding
from reconciler.model.flavor import APACHE
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Create, Delete, Listing
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.model.topic import Topic
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Terms
from reconciler.plan.review.topics import room_warnings
from reconciler.plan.review.warnings import login_warnings, plan_warnings
from reconciler.plan.step import Step
from tests.worlds import acl

#: What each circumstance is told by; in the order in which they are told.
SAID: Final = {
    "claim": "only the manifests state superUsers (User:s)",
    "default": "only the manifests state allowEveryoneIfNoAclFound (true)",
    "flavor": "nobody states allowEveryoneIfNoAclFound, which is true at Apache Kafka unless changed",
    "unseen": "Apache Kafka: rights of another kind",
    "wait": "the manifests state barrier.wait 1.5s, and a change takes up to 2s at Apache Kafka: apply waits 9s",
    "opaque": "2 live ACL entries are of a kind that this client cannot name",
    "acls": "the ACL listing may not be whole: half",
    "prune": "undeclared topics are pruned only as far as they are seen: hidden",
    "unknown": "allowEveryoneIfNoAclFound is not declared: the patterns above change",
}
ENTRY: Final = OpaqueBinding("x", "User:a", "*", None, None, None, None)
SOURCES: Final = {"default": FactSource.MANIFESTS, "flavor": FactSource.FLAVOR, "unknown": FactSource.NOBODY}


def test_each_circumstance_is_told_and_no_other() -> None:
    """Default-allow is a claim, the make's, or unknown: one of them, or known."""
    flags = product((False, True), repeat=6)
    for (claim, unseen, wait, opaque, gap, prune), default, moves in product(flags, (None, *SOURCES), (False, True)):
        sources = FactSources(
            super_users=FactSource.MANIFESTS if claim else FactSource.OPERATOR,
            default_allow=SOURCES.get(default or "", FactSource.OPERATOR),
        )
        terms = Terms(
            "c",
            default_allow=None if default == "unknown" else True,
            prune=frozenset({Topic.KIND} if prune else {"quotas"}),
            barrier_wait=9.0,
            short_wait=1.5 if wait else None,
            facts=Facts(super_users=("User:s",), sources=sources),
            flavor=replace(APACHE, unseen=("rights of another kind",) if unseen else ()),
        )
        live = ClusterState("c", opaque=(ENTRY,) * (2 * opaque), acl_gap="half" if gap else None, topic_gap="hidden")
        given = {"claim": claim, "unseen": unseen, "wait": wait, "opaque": opaque, "acls": gap, "prune": prune}
        given |= {
            "default": default == "default",
            "flavor": default == "flavor",
            "unknown": default == "unknown" and moves,
        }
        expected = [text for name, text in SAID.items() if given[name]]
        if claim and given["default"]:
            expected[:2] = [f"{SAID['claim']} and allowEveryoneIfNoAclFound (true)"]
        found = [*plan_warnings(live, (), terms, moves)]
        assert [one.startswith(text) for one, text in zip(found, expected, strict=True)] == [True] * len(expected), (
            found
        )
        seen = [*plan_warnings(replace(live, topic_gap=None), (), terms, moves)]
        assert len(found) - len(seen) == prune


def test_of_many_claimed_super_users_five_are_named() -> None:
    for count in (1, 5, 6, 9):
        facts = Facts(
            super_users=tuple(f"User:{number}" for number in range(count)),
            sources=FactSources(super_users=FactSource.MANIFESTS),
        )
        (claim,) = Terms("c", default_allow=True, facts=facts).claims
        more = f" and {count - 5} more" if count > 5 else ""
        assert claim == f"superUsers ({', '.join(facts.super_users[:5])}{more})"


@pytest.mark.parametrize("most", [None, 20])
@pytest.mark.parametrize("fewest", [None, 5])
def test_the_room_for_acls_is_told_near_the_most_and_beyond_what_the_smallest_takes(
    most: int | None, fewest: int | None
) -> None:
    flavor = replace(APACHE, max_bindings=most, fewest_bindings=fewest)
    for live, opaque, created, deleted in product((0, 3, 5, 12, 16, 18, 20), (0, 1), (0, 1, 2), (0, 2)):
        state = ClusterState(
            "c", frozenset(acl(f"t{number}", "User:a") for number in range(live)), opaque=(ENTRY,) * opaque
        )
        steps = [Step(Phase.CREATE_ALLOW, Create(acl(f"new{number}", "User:a"))) for number in range(created)]
        steps += [Step(Phase.DELETE_ALLOW, Delete(acl(f"t{number}", "User:a"))) for number in range(deleted)]
        there = live + opaque
        found = [*room_warnings(state, steps, flavor)]
        if most is not None and there + created > 18:
            assert found == [
                f"{there} ACLs are live, the plan creates {created}, and Apache Kafka takes 20 at most, or fewer"
            ]
        elif fewest is not None and created and there + created > 5:
            (one,) = found
            assert one.startswith(
                f"{there} ACLs are live and the plan creates {created}: the smallest type of cluster of "
            )
            assert one.endswith("Apache Kafka takes 5, and refuses the others")
        else:
            assert found == []


def test_what_the_login_may_not_do_is_told_only_of_kinds_that_the_plan_changes() -> None:
    quota = ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1})
    acls, quotas = Step(Phase.CREATE_ALLOW, Create(acl("x", "User:a"))), Step(Phase.ALTER_QUOTAS, Create(quota))
    topic = Step(Phase.CREATE_TOPIC, Create(Topic("t", 1, 1)))
    for may_acls, may_quotas in product((None, True, False), repeat=2):
        listings = {ClientQuota.KIND: Listing[ClientQuota](frozenset(), may_alter=may_quotas)}
        live = replace(ClusterState("c", listings=listings), may_alter_acls=may_acls)
        for steps in ((), (topic,), (acls,), (quotas, topic), (quotas, acls, acls)):
            expected = []
            if may_acls is False and acls in steps:
                expected.append("this login may not change ACLs: apply with a login that has ALTER on the cluster")
            if may_quotas is False and quotas in steps:
                expected.append(
                    "this login may not alter client quotas: apply with a login that has ALTER_CONFIGS on the cluster"
                )
            assert [*login_warnings(live, steps)] == expected
