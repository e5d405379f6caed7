"""Entries that lose codes, by what they may be: every truth behind each is written out, and each is decided."""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.interpretation import as_binding, covering, widest
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from tests.property.access_naive import Ask, Cluster, allowed_plainly
from tests.worlds import bindings

_CODES = ("resource_type", "pattern_type", "operation", "permission_type")
_TYPES = [kind for kind in ResourceType if kind >= ResourceType.TOPIC]
_PATTERNS = (PatternType.LITERAL, PatternType.PREFIXED)
_OPERATIONS = [operation for operation in AclOperation if operation >= AclOperation.ALL]
_PERMISSIONS = (AclPermissionType.DENY, AclPermissionType.ALLOW)
_LOST = [frozenset(codes) for size in range(1, 5) for codes in combinations(_CODES, size)]


def _opaque(truth: AclBinding, lost: Iterable[str]) -> OpaqueBinding:
    """The entry as a client reads it that loses some codes."""
    pattern, entry = truth
    codes = {
        "resource_type": int(pattern.resource_type),
        "pattern_type": int(pattern.pattern_type),
        "operation": int(entry.operation),
        "permission_type": int(entry.permission_type),
    }
    return OpaqueBinding(pattern.name, entry.principal, entry.host, **(codes | dict.fromkeys(lost)))  # type: ignore[arg-type]


def _truths(entry: OpaqueBinding) -> Iterator[AclBinding]:
    """Every binding that it may be."""
    kinds = [ResourceType(entry.resource_type)] if entry.resource_type is not None else _TYPES
    patterns = [PatternType(entry.pattern_type)] if entry.pattern_type is not None else _PATTERNS
    operations = [AclOperation(entry.operation)] if entry.operation is not None else _OPERATIONS
    permissions = [AclPermissionType(entry.permission_type)] if entry.permission_type is not None else _PERMISSIONS
    for kind, pattern, operation, permission in product(kinds, patterns, operations, permissions):
        yield AclBinding(
            ResourcePattern(kind, entry.name, pattern),
            AccessControlEntry(entry.principal, entry.host, operation, permission),
        )


def _all_bindings(*names: str) -> Iterator[AclBinding]:
    for kind, name, pattern, operation, permission in product(_TYPES, names, _PATTERNS, _OPERATIONS, _PERMISSIONS):
        entry = AccessControlEntry("User:a", "10.0.0.1", operation, permission)
        yield AclBinding(ResourcePattern(kind, name, pattern), entry)


def test_an_entry_with_all_codes_is_its_binding() -> None:
    for truth in _all_bindings("a", "*"):
        assert as_binding(_opaque(truth, ())) == truth
        for lost in _LOST:
            assert as_binding(_opaque(truth, lost)) is None
    assert as_binding(OpaqueBinding("a", "User:a", "*", 2, 3, 3, 3)) is not None
    for place in range(4):
        codes = [2, 3, 3, 3]
        codes[place] = 99
        assert as_binding(OpaqueBinding("a", "User:a", "*", *codes)) is None  # type: ignore[arg-type]
    assert as_binding(OpaqueBinding("", "User:a", "*", 2, 3, 3, 3)) is None


def test_what_stands_for_an_entry_decides_all_that_a_truth_decides_and_keeps_what_is_known() -> None:
    for name, lost in product(("a", "*"), _LOST):
        for truth in (
            AclBinding(
                ResourcePattern(ResourceType.GROUP, name, pattern),
                AccessControlEntry("User:a", "10.0.0.1", AclOperation.READ, permission),
            )
            for pattern, permission in product(_PATTERNS, _PERMISSIONS)
        ):
            entry = _opaque(truth, lost)
            found = list(widest(entry))
            assert len(set(found)) == len(found)
            for one in found:
                assert one.entry.principal == "User:a"
                assert one.entry.host == "10.0.0.1"
                for code, there in _known(one).items():
                    assert getattr(entry, code) in (None, there) or code == "pattern_type"
            for other in _truths(entry):
                around = [one for one in found if _decides(one, other)]
                # A name that begins with an asterisk and goes on is under PREFIXED alone.
                assert around, (entry, other)
                if other.pattern.pattern_type is PatternType.PREFIXED or other.pattern.is_wildcard is False:
                    assert any(_reaches(one, other) for one in around), (entry, other)


def _known(one: AclBinding) -> dict[str, int]:
    pattern, entry = one
    codes = (pattern.resource_type, pattern.pattern_type, entry.operation, entry.permission_type)
    return dict(zip(_CODES, map(int, codes), strict=True))


def _decides(one: AclBinding, truth: AclBinding) -> bool:
    return (
        one.pattern.resource_type is truth.pattern.resource_type
        and one.entry.permission_type is truth.entry.permission_type
        and one.entry.operation in (AclOperation.ALL, truth.entry.operation)
    )


def _reaches(one: AclBinding, truth: AclBinding) -> bool:
    """Whether a name of the truth, and longer ones if it is a prefix, are names of the guess."""
    name = truth.pattern.name
    wanted = [name, name + "x"] if truth.pattern.pattern_type is PatternType.PREFIXED else [name]
    return all(one.pattern.matches(text) for text in wanted)


def test_an_entry_covers_for_certain_where_its_pattern_is_known() -> None:
    for truth in (one for one in _all_bindings("a", "*") if one.entry.operation is AclOperation.READ):
        for lost in _LOST:
            found = [one.pattern for one in covering(_opaque(truth, lost))]
            assert found == ([] if lost & {"resource_type", "pattern_type"} else [truth.pattern])
        assert not list(covering(OpaqueBinding("", "User:a", "*", 2, 3, None, 3)))
        assert not list(covering(OpaqueBinding("a", "User:a", "*", 1, 3, None, 3)))
        assert not list(covering(OpaqueBinding("a", "User:a", "*", 2, 9, None, 3)))


def test_a_principal_that_no_broker_parses_stands_for_everybody() -> None:
    (found,) = widest(OpaqueBinding("a", "nobody", "*", 2, 3, None, 3))
    assert found == bindings("TOPIC:L:a User:*@* ALLOW ALL")[0]


def test_a_name_that_is_lost_is_every_name() -> None:
    found = set(widest(OpaqueBinding("", "User:a", "*", 3, 3, 3, 3)))
    assert found == set(bindings("GROUP:L:* User:a@* ALLOW READ", "GROUP:P:* User:a@* ALLOW READ"))


#: What else the cluster has.
_BESIDE = [
    bindings(),
    bindings("TOPIC:L:a User:a@* ALLOW READ"),
    bindings("TOPIC:L:* User:a@* ALLOW ALL", "GROUP:L:a User:b@* ALLOW READ"),
]
_ASKED = [
    Ask(who, host, operation, kind, name)
    for who, host in (("User:a", "10.0.0.1"), ("User:a", "10.0.0.2"), ("User:b", "10.0.0.1"))
    for operation, kind in (
        (AclOperation.READ, ResourceType.TOPIC),
        (AclOperation.DESCRIBE, ResourceType.TOPIC),
        (AclOperation.READ, ResourceType.GROUP),
    )
    for name in ("a", "ab")
]


def test_a_request_is_decided_where_every_truth_decides_it_alike() -> None:
    truths = [
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, "a", pattern),
            AccessControlEntry("User:a", "10.0.0.1", AclOperation.READ, permission),
        )
        for pattern, permission in product(_PATTERNS, _PERMISSIONS)
    ]
    for lost, beside in product(_LOST, _BESIDE):
        for entry in dict.fromkeys(_opaque(truth, lost) for truth in truths):
            for default_allow in (False, True, None):
                authorizer = Authorizer(beside, ["User:s"], default_allow, (4, 3), opaque=[entry])
                without = Authorizer(beside, ["User:s"], default_allow is True, (4, 3))
                settings = (False, True) if default_allow is None else (default_allow,)
                # Of a kind that this version does not know it may also be, and decide none of these requests.
                apart: list[list[AclBinding]] = [[]] if lost & {"resource_type", "pattern_type"} else []
                worlds = [
                    Cluster([*beside, *one], (), setting)
                    for one in ([[truth] for truth in _truths(entry)] + apart)
                    for setting in settings
                ]
                for ask in _ASKED:
                    answers = {allowed_plainly(world, ask) for world in worlds}
                    expected = answers.pop() if len(answers) == 1 else None
                    decision = authorizer.authorize(*ask)
                    found = decision.allowed
                    plain = without.authorize(*ask)
                    if found is plain.allowed:
                        assert (decision.rule, decision.bindings) == (plain.rule, plain.bindings)
                    else:
                        assert decision.rule in ("undecided", "default_deny")
                        assert decision.bindings == ()
                    # Open by default, an entry may close a name to others and open it to its own principal: both at
                    # once is more than one truth.
                    assert found is expected or (found is None and default_allow is not False), (entry, beside, ask)
                assert authorizer.authorize("User:s", *_ASKED[0][1:]).allowed is True


GROUPS = ("Group:devs", "RedpandaRole:ops")


def _of(principal: str, permission: AclPermissionType, operation: AclOperation, name: str) -> AclBinding:
    entry = AccessControlEntry(principal, "*", operation, permission)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry)


def _decided_by_members(bindings: frozenset[AclBinding], request: AccessRequest) -> set[bool]:
    """The answers for every set of groups that the user may be in."""
    found = set()
    for inside in product((False, True), repeat=len(GROUPS)):
        own = {group for group, member in zip(GROUPS, inside, strict=True) if member}
        as_member = {
            AclBinding(b.pattern, b.entry._replace(principal="User:a")) if b.entry.principal in own else b
            for b in bindings
        }
        found.add(allowed_plainly(Cluster(as_member), Ask(*request)))
    return found


def test_what_a_group_may_decide_is_undecided_and_nothing_else_is() -> None:
    """Every world of a user's own binding and one of each group, for one user on one topic."""
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    request = AccessRequest("User:a", "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "t")
    sides = [
        (permission, operation, name)
        for permission in (allow, deny)
        for operation in (AclOperation.READ, AclOperation.WRITE, AclOperation.ALL)
        for name in ("t", "*", "other")
    ]
    seen = set()
    for own, devs, ops in product([None, *sides], repeat=3):
        chosen = zip(("User:a", *GROUPS), (own, devs, ops), strict=True)
        bindings = frozenset(_of(who, *side) for who, side in chosen if side is not None)
        found = Authorizer(bindings).with_members(frozenset({"Group", "RedpandaRole"}))
        truth, allowed = _decided_by_members(bindings, request), found.authorize(*request).allowed
        assert allowed == (truth.pop() if len(truth) == 1 else None), bindings
        seen.add(allowed)
    assert seen == {True, False, None}


def test_members_stay_unknown_when_bindings_change_and_facts_are_doubted() -> None:
    request = AccessRequest("User:a", "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "t")
    devs = _of("Group:devs", AclPermissionType.ALLOW, AclOperation.READ, "t")
    none = Authorizer(frozenset(), super_users=("User:root",)).with_members(frozenset({"Group"}))
    assert none.authorize(*request).allowed is False
    some = none.with_changes([devs])
    assert some.authorize(*request).allowed is None
    assert some.doubting(("User:root",)).authorize(*request).allowed is None
    assert some.authorize("User:root", *request[1:]).allowed is True
    assert some.bindings == {devs}
    assert some.with_changes((), [devs]).authorize(*request).allowed is False
    assert Authorizer([devs]).with_members(frozenset()).authorize(*request).allowed is False, "Apache Kafka has none"
