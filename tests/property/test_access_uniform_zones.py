"""Zones asked about together, for one principal after the other, are answered as each is alone."""

from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.interpretation import Work
from reconciler.access.names import NameSet, literal
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from tests.property.access_naive import Cluster
from tests.property.access_states import ASKERS, bindings, changes
from tests.property.test_access_difference import quick
from tests.property.test_access_opaque import lost, opaque

_KINDS = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)
_ZONES = sorted(
    [*map(NameSet, ("", "a", "b", "aa", "a.", "+", "*")), *map(literal, ("a", "b", "aa", "aab", ".", "*", "*a"))]
)


def _allowed(principal: str, operation: AclOperation, kind: ResourceType = ResourceType.TOPIC) -> AclBinding:
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else "a"
    return AclBinding(
        ResourcePattern(kind, name), AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW)
    )


_READ, _CREATE = AclOperation.READ, AclOperation.CREATE
_BEFORE = frozenset({_allowed("User:a", _READ), _allowed("User:b", _READ)})
_CREATES = _BEFORE | {_allowed("User:a", _CREATE, ResourceType.CLUSTER)}


def _states(before: frozenset[AclBinding], added: AclBinding) -> tuple[Cluster, Cluster]:
    old = Cluster(before, (), False, (4, 3))
    return old, old._replace(bindings=before | {added})


# Two principals with the same entries on a topic: what only one of them gains must not be said of the other.
@example(_states(_BEFORE, _allowed("User:a", AclOperation.WRITE)), frozenset(), True, [])
@example(_states(_CREATES, _allowed("User:*", _CREATE)), frozenset(), True, [])
@settings(quick, max_examples=60)
@given(changes(), st.frozensets(bindings, max_size=12), st.booleans(), st.lists(st.tuples(bindings, lost), max_size=1))
def test_zones_together_are_answered_as_each_alone(
    change: tuple[Cluster, Cluster],
    more: frozenset[AclBinding],
    certain: bool,
    hidden: list[tuple[AclBinding, frozenset[str]]],
) -> None:
    unknown = [opaque(*one) for one in hidden]
    before, after = (
        Authorizer({*side.bindings, *more}, (), side.default_allow if certain else None, side.version, opaque=unknown)
        for side in change
    )
    difference = compare_access(before, after)
    for shift in difference._shifts:
        comparison = shift.comparison
        for kind, principal in product(_KINDS, ASKERS):
            for unchanged in (True, False):
                asked = [(zone, unchanged) for zone in _ZONES]
                comparison.work = together = Work()
                found = list(comparison.pieces_of_zones(principal, kind, asked))
                comparison.work = alone = Work()
                assert found == [
                    piece for zone in _ZONES for piece in comparison.pieces(principal, kind, zone, unchanged=unchanged)
                ]
                assert together.spent == alone.spent
