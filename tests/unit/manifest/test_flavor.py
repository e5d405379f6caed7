"""``spec.flavor``: whose word it is, and the facts that it brings where nobody states them."""

import datetime

import pytest

from reconciler.app.terms import terms
from reconciler.manifest.connections import connections, with_operator
from reconciler.manifest.manifests import load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import DesiredState
from reconciler.model.flavor import FLAVORS
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState, FactSource
from reconciler.plan.propose import Request, propose

AS_OF = datetime.date(2026, 1, 1)

HEAD = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec:\n"


def declared(spec: str, operator: str | None = None) -> ClusterDeclaration:
    found = load([Source("cluster.yaml", HEAD + "  vars: {a: b}\n" + spec)])
    if operator is not None:
        found = with_operator(found, dict(connections([Source("operator.yaml", HEAD + operator)])))
    return found.clusters["prod"]


def test_without_a_word_it_is_apache() -> None:
    found = declared("")
    assert (found.flavor.name, found.sources.flavor) == ("apache", FactSource.NOBODY)


@pytest.mark.parametrize(
    ("text", "advice"), [("confluent", "confluent-cloud"), ("kafka", "apache, confluent-cloud"), ("[]", "apache")]
)
def test_an_unknown_flavor_is_a_problem_that_names_the_known(text: str, advice: str) -> None:
    with pytest.raises(ManifestError) as caught:
        declared(f"  flavor: {text}\n")
    (problem,) = caught.value.problems
    assert advice in problem.advice


def test_the_operators_word_wins_where_the_manifest_is_silent() -> None:
    found = declared("", "  flavor: warpstream\n")
    assert (found.flavor.name, found.sources.flavor, found.barrier_wait) == ("warpstream", FactSource.OPERATOR, 60.0)
    assert (found.allow_everyone_if_no_acl_found, found.sources.default_allow) == (False, FactSource.OPERATOR)


def test_a_manifest_that_states_another_flavor_than_the_operator_is_a_problem() -> None:
    with pytest.raises(ManifestError) as caught:
        declared("  flavor: apache\n", "  flavor: confluent-cloud\n")
    (problem,) = caught.value.problems
    assert problem.code == "KR086"
    assert "flavor" in problem.message


def test_a_stated_wait_stands_and_a_probe_has_time_enough() -> None:
    assert declared("  flavor: warpstream\n").barrier_wait == 60.0
    assert declared("  flavor: warpstream\n  barrier: {wait: 90s}\n").barrier_wait == 90.0
    assert declared("  flavor: warpstream\n", "  barrier: {wait: 5s}\n").barrier_wait == 5.0
    assert declared("  flavor: apache\n  barrier: {wait: 100ms}\n").barrier_wait == 0.1
    probe = declared("  flavor: warpstream\n  barrier: {principal: User:probe}\n").probe
    assert probe is not None
    assert probe.seconds == 60.0


@pytest.mark.parametrize(
    ("spec", "operator", "waits"),
    [
        ("  flavor: warpstream\n  barrier: {wait: 5s}\n", None, (60.0, 5.0)),
        ("  barrier: {wait: 5s}\n", "  flavor: warpstream\n", (60.0, 5.0)),
        ("  flavor: warpstream\n  barrier: {wait: 5s}\n", "  barrier: {wait: 5s}\n", (5.0, None)),
        ("  flavor: warpstream\n", "  barrier: {wait: 5s}\n", (5.0, None)),
        ("  flavor: warpstream\n  barrier: {wait: 90s}\n", None, (90.0, None)),
    ],
)
def test_only_the_operator_can_state_a_wait_that_is_shorter_than_the_vendors(
    spec: str, operator: str | None, waits: tuple[float, float | None]
) -> None:
    found = declared(spec, operator)
    assert (found.barrier_wait, found.short_wait) == waits
    (warning,) = [
        text
        for text in propose(DesiredState(), ClusterState("c"), terms(found), Request(AS_OF)).warnings
        if "barrier.wait" in text
    ] or [""]
    assert ("barrier.wait 5s" in warning and "60s at WarpStream" in warning) is (waits[1] is not None)


def test_a_default_allow_that_a_user_can_change_is_only_a_claim() -> None:
    found = declared("", "  flavor: msk\n")
    assert (found.allow_everyone_if_no_acl_found, found.sources.default_allow) == (True, FactSource.FLAVOR)
    stated = declared("", "  flavor: msk\n  allowEveryoneIfNoAclFound: false\n")
    assert (stated.allow_everyone_if_no_acl_found, stated.sources.default_allow) == (False, FactSource.OPERATOR)


def test_the_operators_flavor_does_not_make_a_manifests_default_allow_the_operators_word() -> None:
    found = declared("  allowEveryoneIfNoAclFound: true\n", "  flavor: confluent-cloud\n")
    assert (found.allow_everyone_if_no_acl_found, found.sources.default_allow) == (True, FactSource.MANIFESTS)


def test_strimzi_ignores_the_principals_of_its_user_operator() -> None:
    mine = "  ignore: [{principals: {prefix: 'User:other-'}}]\n"
    found = declared(mine, "  flavor: strimzi\n").scope.ignore
    assert found == (
        Selector(principals=NameSelector(prefixes=("User:other-",))),
        Selector(principals=NameSelector(prefixes=("User:CN=",))),
    )
    assert declared("").scope.ignore == ()


def test_every_flavor_can_be_stated() -> None:
    assert [declared(f"  flavor: {name}\n").flavor.name for name in FLAVORS] == list(FLAVORS)
