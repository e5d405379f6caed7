"""On which bindings a broker fails or hangs: what its own scan runs into, over small sets of dangerous bindings."""

from itertools import product
from random import Random

from reconciler.access.authorizer import Authorizer
from reconciler.access.broker_defects import BrokerDefects
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from tests.property.access_naive import Ask, BrokerError, Cluster, allowed

_GROUP = ResourceType.GROUP
#: Names that sort before ``*``, and others.
_NAMES = ("!", "!a", "!b", "#", "*", "*a", "a")
_POOL = [
    AclBinding(ResourcePattern(kind, name, pattern), AccessControlEntry(principal, "*", AclOperation.READ, permission))
    for kind, name, pattern, principal, permission in product(
        (_GROUP, ResourceType.TRANSACTIONAL_ID),
        _NAMES,
        (PatternType.LITERAL, PatternType.PREFIXED),
        ("User:a", "User:b", "nobody"),
        (AclPermissionType.ALLOW, AclPermissionType.DENY),
    )
]
#: What is met by most scans.
_OFTEN = [one for one in _POOL if one.pattern.resource_type is _GROUP and one.entry.principal != "nobody"]


def test_a_request_fails_where_the_scan_of_a_broker_does() -> None:
    random, broken, answered = Random(3), 0, 0
    for _ in range(700):
        held = {*random.sample(_OFTEN, random.randrange(4)), *random.sample(_POOL, random.randrange(2))}
        default_allow = random.random() < 0.5
        cluster = Cluster(held, (), default_allow)
        authorizer = Authorizer(held, (), default_allow)
        defects = BrokerDefects(held)
        for name in ("!", "!a", "!aa", "!c", "#", "*", "*a", "a"):
            ask = Ask("User:a", "10.0.0.1", AclOperation.READ, _GROUP, name)
            decision = authorizer.authorize(*ask)
            try:
                expected: bool | None = allowed(cluster, ask)
                answered += 1
            except BrokerError:
                expected = None
                broken += 1
                assert decision.binding in held
                assert _GROUP in defects.types
                assert decision.binding in defects.bindings
            assert decision.allowed is expected, (held, name)
    assert min(broken, answered) > 300


def test_defective_bindings_are_those_without_a_type_of_principal_and_those_before_the_asterisk() -> None:
    random = Random(4)
    for _ in range(200):
        held = set(random.sample(_POOL, random.randrange(6)))
        unparsable = {one for one in held if ":" not in one.entry.principal}
        below = {one for one in held if one.pattern.name < "*"}
        defects = BrokerDefects(held)
        assert set(defects.unparsable) == unparsable
        assert defects.bindings == sorted(unparsable | below)
        assert defects.types == {one.pattern.resource_type for one in unparsable | below}
