"""The rights to certify are the effective access of a cluster: each request is in one right of one owner."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.access.effective import own_names
from reconciler.model.acl import AclPermissionType, PatternType, ResourcePattern
from reconciler.parts.certify.rights import AccessRight, OwnedNames, owner_of, rights_of
from tests.property.access_naive import Cluster, reach
from tests.property.access_states import ASKERS, POINTS, clusters, patterns
from tests.property.test_access_authorizer import authorizer_of

#: Named, in a range only, and neither.
FROM = ("10.0.0.1", "10.0.0.3", "10.9.9.9")
owned = st.lists(st.tuples(patterns, st.sampled_from(("pay", "ledger", "a b"))), max_size=6)


def held(rights: list[AccessRight], cluster: Cluster) -> dict[tuple[object, ...], list[AccessRight]]:
    """The rights with an effect at each host and name, by principal."""
    found: dict[tuple[object, ...], list[AccessRight]] = {}
    for right in rights:
        if right.resources is None or not right.standing.has_effect:
            continue
        for kind, name in POINTS:
            if kind is right.resources.resource_type and right.resources.contains(name):
                for host in FROM:
                    if right.hosts.contains(host, cluster.version):
                        found.setdefault((right.principal, host, kind, name), []).append(right)
    return found


def narrowest(owners: list[tuple[ResourcePattern, str]]) -> set[str]:
    """The teams of the narrowest pattern."""

    def width(pattern: ResourcePattern) -> tuple[int, int]:
        if pattern.pattern_type is PatternType.PREFIXED:
            return (1, len(pattern.name))
        return (0, 0) if pattern.is_wildcard else (2, 0)

    most = max((width(pattern) for pattern, _ in owners), default=None)
    return {team for pattern, team in owners if width(pattern) == most}


@settings(max_examples=4 * settings().max_examples, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(clusters, owned)
def test_rights_of_all_owners_are_what_is_permitted_each_request_once(
    cluster: Cluster, owners: list[tuple[ResourcePattern, str]]
) -> None:
    authorizer = authorizer_of(cluster)
    rights = rights_of(authorizer, OwnedNames(owners))
    found = held(rights, cluster)
    own = {(one, kind): own_names(authorizer, one, kind) for one in ASKERS for kind, _ in POINTS}
    for principal in ASKERS:
        super_user = [right for right in rights if right.resources is None and right.principal == principal]
        assert len(super_user) == (principal in cluster.super_users)
        for kind, name in () if super_user else POINTS:
            who = principal if any(zone.matches(name) for zone in own[principal, kind]) else None
            teams = narrowest([one for one in owners if one[0].resource_type is kind and one[0].matches(name)])
            for host in FROM:
                here = found.get((who, host, kind, name), [])
                permitted = [operation for right in here for operation in right.operations]
                assert len(permitted) == len(set(permitted))
                assert set(permitted) == reach(cluster, principal, host, kind, name)
                # Of names such as *x it is not said that an owner of * owns them; brokers do not apply * there.
                if not name.startswith("*"):
                    assert {right.owner for right in here} <= {owner_of(teams)}
    assert len({right.id for right in rights}) == len(rights)
    decided = {binding for right in rights for binding in right.through}
    assert decided == {one for one in cluster.bindings if one.entry.permission_type is AclPermissionType.ALLOW}
