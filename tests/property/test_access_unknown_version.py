"""Where Kafka's version is not known, what is decided holds both with ranges (4.4) and without (4.3)."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.remediation import simplify
from reconciler.model.acl import AclBinding
from tests.property.access_naive import Ask, Cluster, allowed
from tests.property.access_states import bindings, clusters
from tests.property.test_access_authorizer import asks, authorizer_of

_BOTH = ((4, 3), (4, 4))


def unknown(cluster: Cluster) -> Authorizer:
    return Authorizer(cluster.bindings, cluster.super_users, cluster.default_allow, None)


@given(clusters, st.lists(asks, min_size=1, max_size=40))
def test_a_decided_answer_is_that_of_both_versions(cluster: Cluster, requests: list[Ask]) -> None:
    authorizer = unknown(cluster)
    found = [authorizer.authorize(*ask).allowed for ask in requests]
    assert authorizer.permits([AccessRequest(*ask) for ask in requests]) == found
    ranges = any("/" in binding.entry.host for binding in cluster.bindings)
    for ask, answer in zip(requests, found, strict=True):
        expected = {allowed(cluster._replace(version=version), ask) for version in _BOTH}
        assert answer in expected if len(expected) == 1 and not ranges else answer is None or expected == {answer}


@given(clusters, st.frozensets(bindings, max_size=4), st.data())
def test_an_authorizer_with_changes_is_one_built_anew(
    cluster: Cluster, added: frozenset[AclBinding], data: st.DataObject
) -> None:
    held = sorted(cluster.bindings)
    removed = data.draw(st.frozensets(st.sampled_from(held)) if held else st.just(frozenset[AclBinding]()))
    changed = unknown(cluster).with_changes(added, removed)
    anew = unknown(cluster._replace(bindings=(frozenset(held) - removed) | added))
    assert changed.bindings == anew.bindings
    for ask in data.draw(st.lists(asks, min_size=1, max_size=20)):
        assert changed.authorize(*ask) == anew.authorize(*ask)


@given(clusters)
def test_a_minimised_set_means_the_same_in_both_versions(cluster: Cluster) -> None:
    kept = simplify(unknown(cluster)).kept.bindings
    for version in _BOTH:
        before, after = (authorizer_of(cluster._replace(bindings=b, version=version)) for b in (cluster.bindings, kept))
        assert compare_access(before, after).is_empty
