"""Assertions against brute force: the verdict, and the length of the witness."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome
from reconciler.access.assertions import check
from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import CLUSTER_NAME, AclOperation, PatternType, ResourcePattern, ResourceType
from tests.property.access_naive import Cluster, operations, reach
from tests.property.access_states import ASKERS, POINTS, clusters
from tests.property.test_access_authorizer import authorizer_of

#: Every class of hosts that the hosts of the states tell apart, for releases with ranges and without.
HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.0", "10.9.9.9", "0:0:0:0:0:0:0:1")
quick = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])

patterns = st.sampled_from(
    [
        *(
            ResourcePattern(kind, text, pattern_type)
            for kind in (ResourceType.TOPIC, ResourceType.GROUP)
            for text in ("a", "aa", "ab", "b", "*")
            for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        ),
        ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME),
    ]
)


@st.composite
def assertions(draw: st.DrawFn) -> Assertion:
    pattern = draw(patterns)
    known = sorted(operations(Cluster(()), pattern.resource_type))
    return Assertion(
        "claim",
        draw(st.sampled_from(AssertionKind)),
        frozenset(draw(st.lists(st.sampled_from(known), min_size=1, max_size=2))),
        (pattern,),
        draw(st.sampled_from([("User:*",), ("User:*",), ("User:a",), ("User:a", "User:b"), ("User:?",), ("Other:x",)])),
        draw(st.sampled_from([(), ("User:a",), ("User:b", "Group:a"), ("User:*",), ("Group:*",)])),
        draw(st.sampled_from([("*",), ("*",), ("10.0.0.1",), ("10.0.0.3", "10.9.9.9")])),
        draw(st.booleans()),
    )


def meant(texts: tuple[str, ...], cluster: Cluster) -> set[str]:
    """The principals of a list: literals as they are, globs over those that are known."""
    known = {binding.entry.principal for binding in cluster.bindings} | set(cluster.super_users)
    found = {text for text in texts if not {"*", "?"} & set(text)}
    for text in set(texts) - found:
        stem = text[:-1]
        found |= {name for name in known - {"User:*"} if name.startswith(stem) and (text[-1] == "*" or len(name) == 6)}
    return found


def breaking(assertion: Assertion, cluster: Cluster) -> list[AccessRequest]:
    """Every request of the universe that breaks the claim."""
    exempt = meant(assertion.excluded, cluster)
    chosen = (
        set(ASKERS) | set(cluster.super_users)
        if "User:*" in assertion.principals
        else meant(assertion.principals, cluster)
    )
    pattern = assertion.patterns[0]
    hosts = HOSTS if assertion.hosts == ("*",) else assertion.hosts
    found = []
    for principal in chosen - exempt:
        is_super = principal in cluster.super_users
        if is_super and (assertion.claim is AssertionKind.MUST or not assertion.include_super_users):
            continue
        for host in hosts:
            powerful = is_super or AclOperation.ALTER in reach(
                cluster, principal, host, ResourceType.CLUSTER, CLUSTER_NAME
            )
            for kind, name in POINTS:
                if kind is not pattern.resource_type:
                    continue
                whole = pattern.pattern_type is PatternType.LITERAL and pattern.name == "*"
                prefixed = pattern.pattern_type is PatternType.PREFIXED and name.startswith(pattern.name)
                if not (whole or prefixed or (pattern.pattern_type is PatternType.LITERAL and name == pattern.name)):
                    continue
                held = reach(cluster, principal, host, kind, name)
                for operation in assertion.operations:
                    permitted = operation in held
                    if not permitted if assertion.claim is AssertionKind.MUST else permitted or powerful:
                        found.append(AccessRequest(principal, host, operation, kind, name))
    return found


def is_possible(assertion: Assertion) -> bool:
    """Whether any resource can have a name of the pattern."""
    pattern = assertion.patterns[0]
    star = pattern.name == "*" and pattern.pattern_type is PatternType.PREFIXED
    return not (star and pattern.resource_type is ResourceType.TOPIC)


@quick
@given(clusters, assertions())
def test_verdicts_are_those_of_brute_force(cluster: Cluster, assertion: Assertion) -> None:
    verdict = check(assertion, authorizer_of(cluster))
    broken = breaking(assertion, cluster)
    expected = AssertionOutcome.FAIL if broken and is_possible(assertion) else AssertionOutcome.PASS
    assert verdict.outcome is expected
    if verdict.outcome is not AssertionOutcome.FAIL:
        return
    witness = verdict.witness
    assert witness is not None
    direct = [request for request in broken if holds(cluster, request) or assertion.claim is AssertionKind.MUST]
    shortest = min(len(request.resource_name) for request in direct or broken)
    assert len(witness.resource_name) == shortest
    if verdict.via in (None, "binding", "default_allow", "other_resource"):
        assert holds(cluster, witness) is (assertion.claim is AssertionKind.MUST_NOT)
    if verdict.via == "cluster_alter":
        assert not [request for request in direct if request.principal not in cluster.super_users]


def holds(cluster: Cluster, request: AccessRequest) -> bool:
    principal, host, operation, kind, name = request
    return principal not in cluster.super_users and operation in reach(cluster, principal, host, kind, name)


@quick
@given(clusters, assertions())
def test_an_unknown_default_is_undecided_where_it_matters(cluster: Cluster, assertion: Assertion) -> None:
    known = [
        check(assertion, authorizer_of(cluster._replace(default_allow=setting))).outcome for setting in (False, True)
    ]
    unknown = Authorizer(cluster.bindings, cluster.super_users, None, cluster.version)
    expected = known[0] if known[0] is known[1] else AssertionOutcome.UNDECIDED
    assert check(assertion, unknown).outcome is expected
