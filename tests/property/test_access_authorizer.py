"""The authorizer against a literal port of the broker's own scan, broken brokers included."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from tests.property.access_naive import Ask, BrokerError, Cluster, allowed, allowed_plainly, on_some_resource
from tests.property.access_states import ASKERS, FROM, POINTS, bindings, clusters

_OPERATIONS = [operation for operation in AclOperation if operation > AclOperation.ALL]
asks = st.builds(
    lambda who, host, operation, point: Ask(who, host, operation, *point),
    st.sampled_from(ASKERS),
    st.sampled_from(FROM),
    st.sampled_from(_OPERATIONS),
    st.sampled_from(POINTS),
)


def authorizer_of(cluster: Cluster) -> Authorizer:
    return Authorizer(cluster.bindings, cluster.super_users, cluster.default_allow, cluster.version)


@given(clusters, st.lists(asks, min_size=1, max_size=40))
def test_every_request_is_decided_as_the_scan_decides_it(cluster: Cluster, requests: list[Ask]) -> None:
    authorizer = authorizer_of(cluster)
    expected = [allowed(cluster, ask) for ask in requests]
    assert [authorizer.authorize(*ask).allowed for ask in requests] == expected
    assert authorizer.permits([AccessRequest(*ask) for ask in requests]) == expected
    assert [allowed_plainly(cluster, ask) for ask in requests] == expected


@given(clusters, st.lists(asks, min_size=1, max_size=10))
def test_the_binding_that_is_told_decides_alone(cluster: Cluster, requests: list[Ask]) -> None:
    authorizer = authorizer_of(cluster)
    for ask in requests:
        decision = authorizer.authorize(*ask)
        for binding in decision.bindings:
            assert authorizer_of(cluster._replace(bindings=[binding])).authorize(*ask).rule == decision.rule or (
                decision.rule == "allow"
            )
            assert allowed(cluster._replace(bindings=[binding]), ask) is decision.allowed


@given(clusters, st.sampled_from(ASKERS), st.sampled_from(FROM), st.sampled_from(_OPERATIONS))
def test_types_are_decided_as_the_default_method_does(
    cluster: Cluster, principal: str, host: str, operation: AclOperation
) -> None:
    authorizer = authorizer_of(cluster)
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        decision = authorizer.authorize_by_resource_type(principal, host, operation, kind)
        expected = principal in cluster.super_users or on_some_resource(cluster, principal, host, operation, kind)
        assert decision.allowed is expected


@given(clusters, st.frozensets(bindings, max_size=4), st.data())
def test_an_authorizer_with_changes_is_one_built_anew(
    cluster: Cluster, added: frozenset[AclBinding], data: st.DataObject
) -> None:
    held = sorted(cluster.bindings)
    removed = data.draw(st.frozensets(st.sampled_from(held)) if held else st.just(frozenset[AclBinding]()))
    changed = authorizer_of(cluster).with_changes(added, removed)
    anew = authorizer_of(cluster._replace(bindings=(frozenset(held) - removed) | added))
    assert changed.bindings == anew.bindings
    for ask in data.draw(st.lists(asks, min_size=1, max_size=20)):
        assert changed.authorize(*ask) == anew.authorize(*ask)


below = st.text("!#)", min_size=1, max_size=3)
dangerous = st.builds(
    lambda kind, text, pattern_type, who, permission, operation: AclBinding(
        ResourcePattern(kind, text, pattern_type), AccessControlEntry(who, "*", operation, permission)
    ),
    st.just(ResourceType.GROUP),
    st.one_of(below, st.sampled_from(["*", "a", "#a", "*a", "aa"])),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["User:a", "User:*", "poison", "User:b", "User:a"]),
    st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
    st.sampled_from([AclOperation.READ, AclOperation.ALL, AclOperation.DELETE]),
)


@given(st.frozensets(dangerous, max_size=6), st.booleans(), st.lists(st.one_of(below, st.sampled_from(["a", "*a"]))))
def test_a_broker_that_fails_or_hangs_is_not_said_to_deny(
    held: frozenset[AclBinding], default_allow: bool, names: list[str]
) -> None:
    cluster = Cluster(held, ("User:s",), default_allow)
    authorizer = authorizer_of(cluster)
    for name in names:
        for who in ("User:a", "User:c", "User:s", "User:*"):
            ask = Ask(who, "10.0.0.1", AclOperation.READ, ResourceType.GROUP, name)
            decision = authorizer.authorize(*ask)
            try:
                assert decision.allowed is allowed(cluster, ask)
            except BrokerError:
                assert (decision.allowed, decision.rule) == (None, "broker_error")
                assert who == "User:*" or decision.binding in held
