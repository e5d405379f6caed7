"""Who may do what, against brute force; and smaller sets of bindings that mean the same."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest
from reconciler.access.difference import compare_access
from reconciler.access.effective import Access, access_of, who_can
from reconciler.access.lint import lint
from reconciler.access.questions import can_i, explain
from reconciler.access.remediation import minimise
from reconciler.model.acl import AclBinding, AclOperation, PatternType, ResourcePattern, ResourceType
from tests.property.access_naive import Cluster, meant, operations, reach
from tests.property.access_states import ASKERS, FROM, POINTS, clusters
from tests.property.test_access_assertions import patterns
from tests.property.test_access_authorizer import authorizer_of

quick = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def row_at(rows: list[Access], host: str, kind: ResourceType, name: str, version: tuple[int, ...]) -> list[Access]:
    return [
        row
        for row in rows
        if row.region.resource_type is kind and row.region.contains(name) and row.hosts.contains(host, version)
    ]


@quick
@given(clusters, st.sampled_from(ASKERS))
def test_access_of_a_principal_is_right_at_every_point(cluster: Cluster, principal: str) -> None:
    if principal in cluster.super_users:
        return
    rows = access_of(authorizer_of(cluster), principal)
    for host in FROM:
        for kind, name in POINTS:
            found = row_at(rows, host, kind, name, cluster.version)
            assert len(found) <= 1
            held = found[0].operations if found else frozenset()
            assert held == reach(cluster, principal, host, kind, name)
    for row in rows:
        assert reach(cluster, principal, row.host, row.region.resource_type, row.name) == row.operations


@quick
@given(clusters, patterns, st.data())
def test_who_can_is_right_at_every_point(cluster: Cluster, pattern: ResourcePattern, data: st.DataObject) -> None:
    kind = pattern.resource_type
    operation = data.draw(st.sampled_from(sorted(operations(cluster, kind))))
    holders = who_can(authorizer_of(cluster), operation, pattern)
    for principal in ASKERS:
        if principal in cluster.super_users:
            assert principal in holders.super_users
            continue
        for host in FROM:
            for of, name in POINTS:
                if of is not kind or not asks_about(pattern, name):
                    continue
                told = [
                    bool(row.operations)
                    for who in (principal, None)
                    for row in row_at(
                        [r for r in (*holders.rows, *holders.lacking) if r.principal == who],
                        host,
                        kind,
                        name,
                        cluster.version,
                    )
                ]
                assert (told[:1] == [True]) is (operation in reach(cluster, principal, host, kind, name))


def asks_about(pattern: ResourcePattern, name: str) -> bool:
    if pattern.pattern_type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in ("*", name)


@quick
@given(clusters, st.sampled_from(ASKERS), st.sampled_from(FROM), st.sampled_from(POINTS), st.data())
def test_explain_and_can_i_agree_with_brute_force(
    cluster: Cluster, principal: str, host: str, point: tuple[ResourceType, str], data: st.DataObject
) -> None:
    kind, name = point
    operation = data.draw(st.sampled_from(sorted(operations(cluster, kind))))
    authorizer = authorizer_of(cluster)
    expected = principal in cluster.super_users or operation in reach(cluster, principal, host, kind, name)
    explanation = explain(authorizer, AccessRequest(principal, host, operation, kind, name))
    assert explanation.allowed is expected
    assert {binding for binding, _ in explanation.considered} == set(meant(cluster, kind, name))
    if name != "*":  # as a pattern that is every name
        assert can_i(authorizer, principal, operation, ResourcePattern(kind, name), host).allowed is expected


@quick
@given(clusters)
def test_a_minimised_set_means_the_same_and_is_minimal(cluster: Cluster) -> None:
    authorizer = authorizer_of(cluster)
    smaller = minimise(authorizer)
    assert smaller.kept.bindings == frozenset(cluster.bindings) - {removal.binding for removal in smaller.removed}
    assert compare_access(authorizer, smaller.kept).is_empty
    after = cluster._replace(bindings=smaller.kept.bindings)
    for principal in ASKERS:
        for kind, name in POINTS:
            assert reach(cluster, principal, FROM[0], kind, name) == reach(after, principal, FROM[0], kind, name)
    assert minimise(smaller.kept).removed == ()


@quick
@given(clusters)
def test_what_is_found_superfluous_changes_nothing_when_it_goes(cluster: Cluster) -> None:
    authorizer = authorizer_of(cluster)
    for finding in lint(authorizer):
        if finding.binding is not None and finding.rule.name in ("redundant", "shadowed", "idle-deny"):
            assert compare_access(authorizer, authorizer.with_changes(removed=[finding.binding])).is_empty
            assert finding.rule.name == "idle-deny" or finding.related


@quick
@given(st.frozensets(st.sampled_from([AclOperation.READ, AclOperation.WRITE]), min_size=1))
def test_what_all_covers_is_redundant(held: frozenset[AclOperation]) -> None:
    from reconciler.model.acl import AccessControlEntry, AclPermissionType

    pattern = ResourcePattern(ResourceType.TOPIC, "a")
    narrow = [
        AclBinding(pattern, AccessControlEntry("User:a", "*", operation, AclPermissionType.ALLOW)) for operation in held
    ]
    wide = AclBinding(
        ResourcePattern(ResourceType.TOPIC, "*"),
        AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW),
    )
    smaller = minimise(authorizer_of(Cluster([*narrow, wide])))
    assert smaller.kept.bindings == {wide}
    assert {removal.because for removal in smaller.removed} == {(wide,)}
