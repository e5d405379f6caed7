"""Reviewed gains against any later state: named are exactly those that somebody would miss somewhere."""

from random import Random
from unittest.mock import patch

import pytest

from reconciler.access import comparison as comparing
from reconciler.access.comparison import permitted_by_api
from reconciler.access.hosts import ANY_HOST
from reconciler.model.acl import ResourceType
from reconciler.model.state import ClusterState
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import bindings_after
from reconciler.plan.review.access_change import operations_words, transition
from reconciler.plan.review.access_review import difference_review
from reconciler.plan.review.ends import gains_not_in_force
from tests.property.naive import Ask, permitted
from tests.property.test_meaning_guards import EVERYWHERE, drawn, steps
from tests.worlds import bindings

HOSTS = ("10.0.0.1", "10.0.0.2")
NAMES = {
    ResourceType.TOPIC: ("x", "xa", "xab", "xaz", "xz", "y", "yz", "fresh"),
    ResourceType.GROUP: ("x", "y"),
}


def test_a_gain_is_missed_where_some_host_and_name_that_it_is_about_lacks_it() -> None:
    random, missed, held = Random(1), 0, 0
    for _ in range(250):
        before, after = drawn(random, EVERYWHERE)
        changes, default_allow = steps(before, after), random.choice((False, False, True))
        found = transition(ClusterState("c", frozenset(before)), changes, Facts(), default_allow=default_allow)
        if found is None:
            continue
        review = difference_review(found.difference)
        foreign = set(random.sample(EVERYWHERE, random.randint(0, 2)))
        gone = {binding for binding in found.created if random.random() < 0.4}
        now = (bindings_after(frozenset(before), changes) | foreign) - gone
        expected = []
        for row in review.access_changes:
            if row.resources.resource_type not in NAMES:  # what topics grant on the cluster, nobody reads plainly
                continue
            lacking = [
                operation
                for operation in row.gained
                if not all(
                    permitted(
                        now,
                        Ask(row.principal or "User:stranger", host, operation, row.resources.resource_type, name),
                        default_allow=default_allow,
                    )
                    for name in NAMES[row.resources.resource_type]
                    if row.resources.contains(name)
                    for host in (HOSTS if row.hosts == str(ANY_HOST) else (row.witness.host,))
                )
            ]
            held += len(row.gained) - len(lacking)
            if lacking:
                words = operations_words(lacking, row.resources.resource_type)
                expected.append(f"{row.principal or 'everybody else'} would not have {words} on all of {row.resources}")
        state = ClusterState("c", now)
        told = gains_not_in_force(review, state, Facts(), default_allow=default_allow)
        assert sorted(one for one in told if "the cluster" not in one) == sorted(expected), (before, after, now)
        missed += len(expected)
    assert min(missed, held) > 100


@pytest.mark.parametrize("default_allow", [False, True])
def test_each_gain_is_judged_by_the_names_that_it_is_about(*, default_allow: bool) -> None:
    counts = []
    for size in (5, 20):
        before = frozenset(bindings(*(f"TOPIC:L:t{n} User:old{n}@* ALLOW READ" for n in range(size))))
        after = before | set(bindings(*(f"TOPIC:L:t{n} User:new{n}@* ALLOW READ" for n in range(size))))
        changes = steps(set(before), set(after))
        moved = transition(ClusterState("c", before), changes, Facts(), default_allow=default_allow)
        assert moved is not None
        live = ClusterState("c", after - set(bindings("TOPIC:L:t1 User:new1@* ALLOW READ")))
        with patch.object(comparing, "permitted_by_api", side_effect=permitted_by_api) as counted:
            missing = gains_not_in_force(
                difference_review(moved.difference), live, Facts(), default_allow=default_allow
            )
        assert missing == ("User:new1 would not have READ on all of topic `t1`",)
        counts.append(counted.call_count)
    assert 0 < counts[1] <= 4 * counts[0]
