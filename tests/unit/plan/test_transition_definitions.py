"""The authorizers around a plan: default-allow as it is stated, and unknown where only the manifests state it."""

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.plan.review.access_change import authorizer_of, transition
from reconciler.plan.step import Step

CLAIM = Facts(sources=FactSources(default_allow=FactSource.MANIFESTS))
OPAQUE = OpaqueBinding("t", "User:o", "*", None, None, None, None)


def _binding(name: str, host: str = "*") -> AclBinding:
    entry = AccessControlEntry("User:a", host, AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry)


@pytest.mark.parametrize("opaque", [(), (OPAQUE,)])
@pytest.mark.parametrize("hosts", [("*",), ("*", "10.0.0.0/8")])
@pytest.mark.parametrize("stated", [False, True, None])
@pytest.mark.parametrize("version", [None, (4, 4)])
def test_a_claim_means_the_same_as_a_state_in_which_it_is_not_known(
    opaque: tuple[OpaqueBinding, ...], hosts: tuple[str, ...], stated: bool | None, version: tuple[int, int] | None
) -> None:
    bindings = frozenset(_binding("there", host) for host in hosts)
    live = ClusterState("id", bindings, opaque=opaque, kafka_version=version)
    found = transition(live, [Step(Phase.CREATE_ALLOW, Create(_binding("new")))], CLAIM, default_allow=stated)
    assert found is not None
    for authorizer, default_allow in ((found.before, None), (found.stated, stated)):
        plain = authorizer_of(live, default_allow)
        one, other = authorizer.interpretations, plain.interpretations
        assert (one.known, one.doubtful, one.guesses) == (other.known, other.doubtful, other.guesses)
        for mine, theirs in zip((*one.both, *one.readings), (*other.both, *other.readings), strict=True):
            assert mine.default_allow is theirs.default_allow
            assert (set(mine.index), set(mine.cover)) == (set(theirs.index), set(theirs.cover))
    if not found.before.interpretations.guesses:
        assert found.before.interpretations.certain is found.stated.interpretations.certain
