"""The operator's word on a cluster, and what a manifest may say of the same facts."""

import pytest

from reconciler.manifest.connections import Connection, connections, with_operator
from reconciler.manifest.manifests import Manifests, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import Origin
from reconciler.model.state import FactSource, FactSources

HEAD = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec:\n"


def manifests(spec: str = "  scope: {}\n") -> Manifests:
    return load([Source("cluster.yaml", HEAD + "  vars: {a: b}\n" + spec)])


def operator(spec: str) -> dict[str, Connection]:
    return dict(connections([Source("operator.yaml", HEAD + spec)]))


@pytest.mark.parametrize(
    ("stated", "also"),
    [
        ("superUsers: [User:a, User:b]", "superUsers: [User:b, User:a]"),
        ("allowEveryoneIfNoAclFound: false", "allowEveryoneIfNoAclFound: false"),
        ("allowEveryoneIfNoAclFound: false", "allowEveryoneIfNoAclFound: unknown"),
        ("principal: User:us", "principal: User:us"),
        ("brokers: [1, 2]", "brokers: [2, 1]"),
        ("interBrokerPrincipals: [User:b]", "interBrokerPrincipals: [User:c]"),
        ("protect: [{topics: [a]}]", "protect: [{topics: [b]}]"),
        ("deleteLimits: {maxDeletes: 10}", "deleteLimits: {maxDeletes: 9, maxDeletePercent: 5}"),
        ("barrier: {wait: 2s}", "barrier: {wait: 2s}"),
        ("barrier: {principal: User:p}", "barrier: {principal: User:p, client: {sasl.username: p}}"),
        ("barrier: {client: {sasl.username: p}}", "barrier: {principal: User:p}"),
    ],
)
def test_a_manifest_may_repeat_add_and_tighten(stated: str, also: str) -> None:
    with_operator(manifests(f"  {also}\n"), operator(f"  {stated}\n"))


@pytest.mark.parametrize(
    ("stated", "lie"),
    [
        ("superUsers: [User:a]", "superUsers: [User:a, User:mallory]"),
        ("superUsers: []", "superUsers: [User:mallory]"),
        ("allowEveryoneIfNoAclFound: false", "allowEveryoneIfNoAclFound: true"),
        ("principal: User:us", "principal: User:other"),
        ("brokers: [1, 2]", "brokers: [1]"),
        ("deleteLimits: {maxDeletes: 10}", "deleteLimits: {maxDeletes: 11}"),
        ("deleteLimits: {maxDeletePercent: 10}", "deleteLimits: {maxDeletePercent: 11}"),
        ("barrier: {principal: User:p}", "barrier: {wait: 0s}"),
        ("barrier: {wait: 2s}", "barrier: {wait: 1s}"),
        ("exceptions: []", "exceptions: [{check: topic-delete, object: a, reason: b}]"),
        ("exceptions: []", "exceptions: []"),
    ],
)
def test_a_manifest_that_contradicts_the_operator_is_a_problem_with_both_places(stated: str, lie: str) -> None:
    with pytest.raises(ManifestError) as caught:
        with_operator(manifests(f"  {lie}\n"), operator(f"  {stated}\n"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.origin, problem.related) == (
        "KR086",
        Origin("cluster.yaml", 6, 3),
        (Origin("operator.yaml", 5, 3),),
    )


def test_the_operator_wins_where_the_manifest_is_silent_and_sources_say_whose_word_counts() -> None:
    stated = "  superUsers: [User:a]\n  deleteLimits: {maxDeletes: 10}\n  protect: [{topics: [a]}]\n  brokers: [1]\n"
    own = "  deleteLimits: {maxDeletePercent: 5}\n  protect: [{topics: [b]}]\n  principal: User:us\n"
    found = with_operator(manifests(own), operator(stated)).clusters["prod"]
    assert (found.super_users, found.limits, found.brokers) == (("User:a",), (10, 5, None), (1,))
    assert [selector.names.literal for selector in found.protect if selector.names] == [("a",), ("b",)]
    assert found.sources == FactSources(
        principal=FactSource.MANIFESTS,
        super_users=FactSource.OPERATOR,
        brokers=FactSource.OPERATOR,
        protect=FactSource.OPERATOR,
        limits=FactSource.OPERATOR,
    )


def test_a_cluster_that_the_operator_does_not_name_is_as_its_manifest_says() -> None:
    given = manifests("  superUsers: [User:a]\n")
    assert with_operator(given, {}).clusters == given.clusters
    assert given.clusters["prod"].sources.super_users is FactSource.MANIFESTS


@pytest.mark.parametrize("field", ["scope: {}", "prune: [topics]", "ignore: []", "vars: {a: b}"])
def test_what_is_no_fact_is_refused_in_the_operators_file(field: str) -> None:
    with pytest.raises(ManifestError) as caught:
        operator(f"  {field}\n")
    assert [problem.code for problem in caught.value.problems] == ["KR026"]
