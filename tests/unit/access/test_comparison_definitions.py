"""Which hosts and names a comparison tells apart, stated binding by binding."""

from itertools import product

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import AccessComparison
from reconciler.access.effective import who_can
from reconciler.access.group import operations_in
from reconciler.access.hosts import Hosts, host_classes
from reconciler.access.names import ALL_NAMES, NameSet, literal
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from tests.property.access_naive import Cluster
from tests.unit.access.test_difference_definitions import HOSTS, POINTS, VERSION, changes, moved
from tests.worlds import bindings, pattern

_ZONES = (ALL_NAMES, NameSet("a"), literal("a"), literal("ab"), literal("b"), literal("*x"))
_NAMES = ("a", "ab", "aa", "b", "*", "*x", "*xa")
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)


def _distinguishes(binding: AclBinding, kind: ResourceType, zone: NameSet) -> bool:
    """Whether the host of an entry matters on a zone: on CLUSTER topics count too, and on topics CLUSTER does."""
    own, on_cluster = binding.pattern.resource_type, kind is ResourceType.CLUSTER
    if own is ResourceType.CLUSTER and kind is ResourceType.TOPIC:
        return True
    if on_cluster:
        return own in (ResourceType.TOPIC, ResourceType.CLUSTER)
    # Brokers do not apply LITERAL * to longer names that begin with an asterisk.
    applied = [name for name in _NAMES if not (binding.pattern.is_wildcard and name.startswith("*") and name != "*")]
    return own is kind and any(binding.pattern.matches(name) and zone.matches(name) for name in applied)


def test_hosts_are_told_apart_by_entries_that_matter_on_the_zone_and_by_no_others() -> None:
    for before, after in changes(7, 60):
        old, new = (Authorizer(side, (), False, VERSION).interpretations.least for side in (before, after))
        comparison = AccessComparison(old, new, "User:z")
        for principal, kind, zone in product(("User:a", "User:b", "User:z"), _TYPES, _ZONES):
            texts = {
                binding.entry.host
                for binding in (*before, *after)
                if binding.entry.principal in (principal, "User:*") and _distinguishes(binding, kind, zone)
            }
            assert comparison.hosts(principal, kind, zone) == host_classes(texts, VERSION), (principal, kind, zone)


_PIECES = [
    (ResourceType.TOPIC, ALL_NAMES),
    (ResourceType.TOPIC, NameSet("a")),
    (ResourceType.TOPIC, literal("ab")),
    (ResourceType.GROUP, NameSet("*")),
    (ResourceType.GROUP, NameSet("a")),
    (ResourceType.CLUSTER, NameSet("k")),
    (ResourceType.CLUSTER, literal("kafka-cluster")),
]


@pytest.mark.parametrize("default_allow", [False, True])
def test_the_pieces_of_a_zone_say_what_changes_at_each_of_its_points(default_allow: bool) -> None:
    found_any = 0
    for before, after in changes(8, 80):
        old, new = (Authorizer(side, (), default_allow, VERSION).interpretations.least for side in (before, after))
        comparison = AccessComparison(old, new, "User:z")
        clusters = [Cluster(side, (), default_allow, VERSION) for side in (before, after)]
        for principal, (kind, zone) in product(("User:a", "User:z"), _PIECES):
            pieces = comparison.pieces(principal, kind, zone)
            assert all(zone.contains(piece.resources.names) for piece in pieces)
            assert all(piece.resources.contains(piece.name) for piece in pieces)
            assert all(piece.hosts.contains(piece.host, VERSION) for piece in pieces)
            for host, (other, name) in product(HOSTS, POINTS):
                if other is not kind or not zone.matches(name):
                    continue
                here = [one for one in pieces if one.resources.contains(name) and one.hosts.contains(host, VERSION)]
                effects = [(operations_in(one.effect.gained), operations_in(one.effect.lost)) for one in here]
                gained, lost = moved(clusters, principal, host, kind, name)
                assert effects == ([(gained, lost)] if gained or lost else []), (principal, kind, zone, host, name)
                found_any += len(here)
    assert found_any > 500


def test_a_producer_starts_from_hosts_that_may_write_to_a_topic_whatever_cluster_grants() -> None:
    """Among many hosts, on a zone of several sets of names: entries on topics count there like those on CLUSTER."""
    held = bindings(
        "TOPIC:L:a User:a@10.0.0.1 ALLOW WRITE",
        "TOPIC:L:a User:a@10.0.0.2 ALLOW READ",
        "CLUSTER:L:kafka-cluster User:a@10.0.0.3 ALLOW DESCRIBE",
        "CLUSTER:P:kafka User:a@10.0.0.4 ALLOW DESCRIBE",
    )
    interpretation = Authorizer(held, (), False, VERSION).interpretations.least
    pieces = AccessComparison(None, interpretation, "User:z").pieces("User:a", ResourceType.CLUSTER, NameSet("k"))
    starting = [one for one in pieces if AclOperation.IDEMPOTENT_WRITE in operations_in(one.effect.gained)]
    assert {(one.hosts, one.resources.contains("kafka-cluster")) for one in starting} == {
        (Hosts(any_host=False, listed=("10.0.0.1",)), True)
    }


def test_who_can_tells_a_principal_on_the_names_of_its_own_bindings_and_no_others() -> None:
    """Rights on CLUSTER are about every topic: whoever has some is told on all names of the question."""
    held = bindings(
        "TOPIC:L:* User:*@* ALLOW DELETE",
        "TOPIC:P:a User:a@* ALLOW READ",
        "TOPIC:L:b User:b@* DENY DELETE",
        "CLUSTER:L:kafka-cluster User:c@* ALLOW DESCRIBE",
    )
    every = pattern("TOPIC:L:*")
    for operation, on_cluster in ((AclOperation.DELETE, True), (AclOperation.READ, False)):
        found = who_can(Authorizer(held, (), False, VERSION), operation, every)
        told = {(row.principal, str(row.resources)) for row in (*found.rows, *found.lacking)}
        deleting = {(None, "all topics"), ("User:a", "topics starting with `a`"), ("User:b", "topic `b`")}
        assert told == (
            {*deleting, ("User:c", "all topics")} if on_cluster else {("User:a", "topics starting with `a`")}
        )


def test_who_lacks_what_everybody_else_has_only_if_default_allow_is_on_lacks_it_only_then() -> None:
    """Where it is off nobody else has it either: then the principal is no exception."""
    held = bindings("TOPIC:L:t User:a@* DENY READ", "TOPIC:L:u User:b@* ALLOW READ")
    for default_allow, everybody in ((None, True), (True, True), (False, False)):
        found = who_can(Authorizer(held, (), default_allow, VERSION), AclOperation.READ, pattern("TOPIC:L:*"))
        certain = default_allow is not None
        assert [(row.principal, str(row.resources), row.certain) for row in found.lacking] == (
            [("User:a", "topic `t`", certain)] if everybody else []
        )
        assert [(row.principal, row.certain) for row in found.rows] == [
            *([(None, certain)] if everybody else []),
            ("User:b", True),
        ]
