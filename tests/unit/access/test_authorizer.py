"""What the conformance rows do not hold: reasons, defects of brokers, what is not known."""

import pytest

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome
from reconciler.access.assertions import check
from reconciler.access.authorizer import (
    AccessRequest,
    Authorizer,
    DecisionRule,
    UndecidedAccessError,
    may_on_some_resource,
)
from reconciler.access.group import EVERY
from reconciler.access.names import literal
from reconciler.model.acl import AclOperation, OpaqueBinding, PatternType, ResourcePatternFilter, ResourceType
from reconciler.model.desired import Declaration, Origin
from tests.worlds import binding, bindings, pattern

_O, _T = AclOperation, ResourceType
READ_FOO = ("User:a", "10.0.0.1", _O.READ, _T.TOPIC, "foo")


def opaque(
    name: str, principal: str = "User:a", codes: tuple[int | None, int | None, int | None, int | None] = (2, 3, None, 3)
) -> OpaqueBinding:
    return OpaqueBinding(name, principal, "*", *codes)


def test_a_decision_points_at_the_binding_and_its_line() -> None:
    allow, deny = bindings("TOPIC:P:fo User:a@* ALLOW READ", "TOPIC:L:foo User:*@* DENY WRITE")
    place = Origin("a.yaml", 7, 3)
    authorizer = Authorizer({allow: Declaration(place, reason="orders"), deny: Origin("b.yaml", 1, 1)})
    decision = authorizer.authorize(*READ_FOO)
    assert (decision.allowed, decision.rule, decision.binding, decision.origin) == (
        True,
        DecisionRule.ALLOW,
        allow,
        place,
    )
    assert decision.declaration is not None
    assert decision.declaration.reason == "orders"
    denied = authorizer.authorize("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC, "foo")
    assert (denied.rule, denied.binding, denied.origin) == (DecisionRule.DENY, deny, Origin("b.yaml", 1, 1))
    implied = authorizer.authorize("User:a", "10.0.0.1", _O.DESCRIBE, _T.TOPIC, "foo")
    assert (implied.allowed, implied.rule, implied.binding) == (True, DecisionRule.IMPLIED_ALLOW, allow)
    default = authorizer.authorize("User:b", "10.0.0.1", _O.READ, _T.TOPIC, "foo")
    assert (default.allowed, default.rule, default.binding, default.origin) == (
        False,
        DecisionRule.DEFAULT_DENY,
        None,
        None,
    )


def test_the_binding_that_names_the_operation_is_told_before_others() -> None:
    named, everything, everyone = bindings(
        "TOPIC:L:foo User:a@* ALLOW READ", "TOPIC:L:foo User:a@* ALLOW ALL", "TOPIC:L:* User:*@* ALLOW READ"
    )
    decision = Authorizer([everyone, everything, named]).authorize(*READ_FOO)
    assert decision.bindings == (named, everyone, everything)


def test_super_users_come_first_even_where_a_broker_breaks() -> None:
    authorizer = Authorizer(bindings("TOPIC:L:* nobody@* ALLOW READ"), ["User:a"])
    assert authorizer.authorize(*READ_FOO).rule is DecisionRule.SUPER_USER


@pytest.mark.parametrize("version", [(3, 9), (4, 0), (4, 3)])
def test_a_principal_without_a_colon_breaks_every_request_that_reaches_it(version: tuple[int, int]) -> None:
    held = bindings("TOPIC:L:* nobody@* ALLOW READ", "TOPIC:L:foo User:b@* DENY READ")
    authorizer = Authorizer(held, kafka_version=version)
    decision = authorizer.authorize(*READ_FOO)
    assert (decision.allowed, decision.rule, decision.binding) == (None, DecisionRule.BROKER_ERROR, held[0])
    assert authorizer.authorize("User:b", "10.0.0.1", _O.READ, _T.TOPIC, "foo").rule is DecisionRule.DENY
    assert authorizer.authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, "foo").rule is DecisionRule.DEFAULT_DENY
    assert authorizer.authorize_by_resource_type("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC).allowed is None


def test_whether_some_topic_may_be_written_is_broken_by_what_is_compared_for_it_alone() -> None:
    """Entries of every name of the type are compared, those of other types and of other hosts are not."""
    asked = ("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC)
    for text, breaks in (
        ("TOPIC:L:x nobody@* ALLOW READ", True),
        ("TOPIC:L:x nobody@10.0.0.1 ALLOW READ", True),
        ("TOPIC:L:x nobody@10.0.0.2 ALLOW READ", False),
        ("GROUP:L:x nobody@* ALLOW READ", False),
    ):
        decision = Authorizer(bindings(text)).authorize_by_resource_type(*asked)
        assert decision.allowed is (None if breaks else False), text


def test_names_below_the_wildcard_hang_or_break_requests_for_others_that_share_letters() -> None:
    authorizer = Authorizer(bindings("GROUP:L:#a User:a@* ALLOW READ"))
    answers = {
        name: authorizer.authorize("User:b", "10.0.0.1", _O.READ, _T.GROUP, name).allowed
        for name in ("#b", "#a", "#ab", "b", "!b")
    }
    assert answers == {"#b": None, "#a": False, "#ab": False, "b": False, "!b": False}


def test_a_prefix_called_asterisk_keeps_the_scan_from_what_stands_below() -> None:
    authorizer = Authorizer(bindings("GROUP:L:#a User:a@* ALLOW READ", "GROUP:P:* User:c@* ALLOW READ"))
    answers = [authorizer.authorize("User:b", "10.0.0.1", _O.READ, _T.GROUP, name).allowed for name in ("#b", "#a")]
    assert answers == [False, False]


def test_a_user_called_asterisk_breaks_brokers_from_4_0_on() -> None:
    held = bindings("TOPIC:L:foo User:*@* ALLOW READ")
    asked = ("User:*", *READ_FOO[1:])
    assert Authorizer(held, kafka_version=(3, 9)).authorize(*asked).allowed is True
    assert Authorizer(held, kafka_version=(4, 0)).authorize(*asked).rule is DecisionRule.BROKER_ERROR


def test_the_wildcard_misses_names_that_begin_with_it() -> None:
    # Run through StandardAuthorizer of 4.0.2: checkSection takes LITERAL * for a shorter literal and skips it.
    authorizer = Authorizer(bindings("GROUP:L:* User:a@* DENY READ"), allow_everyone_if_no_acl_found=True)
    answers = [
        authorizer.authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, name).allowed for name in ("a", "*", "*a", "+a")
    ]
    assert answers == [False, False, True, False]


def test_an_unknown_default_leaves_what_no_binding_covers_undecided() -> None:
    authorizer = Authorizer(bindings("TOPIC:L:foo User:b@* ALLOW READ"), (), None)
    assert authorizer.authorize(*READ_FOO).rule is DecisionRule.DEFAULT_DENY
    decision = authorizer.authorize(*READ_FOO[:-1], "bar")
    assert (decision.allowed, decision.rule) == (None, DecisionRule.UNDECIDED)
    with pytest.raises(UndecidedAccessError, match="bar"):
        authorizer.authorized_operations("User:a", "10.0.0.1", _T.TOPIC, "bar")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (opaque("foo"), None),  # an ALLOW of an operation that was lost
        (opaque("bar"), False),
        (opaque("foo", "User:b"), False),
        (opaque("foo", codes=(2, 3, None, None)), None),
        (opaque("foo", codes=(2, 3, None, 2)), False),  # a DENY cannot open what is closed
        (opaque("fo", codes=(2, None, None, 3)), None),  # perhaps a prefix
        (opaque("fo", codes=(2, 3, None, 3)), False),
        (opaque("x", codes=(2, 9, None, 3)), None),  # a pattern type of a later release may match anything
        (opaque("foo", codes=(None, 3, 3, 3)), None),
        (opaque("foo", codes=(3, 3, None, 3)), False),  # a group
        (opaque("foo", codes=(2, 3, 3, 3)), True),  # all known: a binding like any other
        (opaque("foo", "nobody"), None),  # a principal without a colon may break the broker
    ],
)
def test_what_an_entry_that_cannot_be_read_could_change_is_undecided(
    entry: OpaqueBinding, expected: bool | None
) -> None:
    assert Authorizer([], opaque=[entry]).authorize(*READ_FOO).allowed is expected


def test_an_entry_that_could_deny_makes_an_allow_undecided_and_could_cover_under_default_allow() -> None:
    allow = bindings("TOPIC:L:foo User:a@* ALLOW READ")
    lost = opaque("foo", codes=(2, 3, None, 2))
    assert Authorizer(allow, opaque=[lost]).authorize(*READ_FOO).rule is DecisionRule.UNDECIDED
    other = opaque("fo", "User:b", (2, None, None, 3))
    assert Authorizer([], (), True, opaque=[other]).authorize(*READ_FOO).rule is DecisionRule.UNDECIDED
    covering = opaque("fo", "User:b", (2, 4, None, 3))
    assert Authorizer([], (), True, opaque=[covering]).authorize(*READ_FOO).rule is DecisionRule.DEFAULT_DENY


@pytest.mark.parametrize("codes", [(3, None, 3, 3), (3, 9, 3, 3)])
def test_an_entry_on_an_asterisk_of_a_lost_pattern_type_may_reach_every_name(
    codes: tuple[int | None, ...],
) -> None:
    """LITERAL ``*`` does not match ``*x``, but PREFIXED ``*`` does."""
    lost = OpaqueBinding("*", "User:a", "*", *codes)  # type: ignore[arg-type]
    for name in ("*x", "*", "g"):
        decision = Authorizer([], opaque=[lost]).authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, name)
        assert decision.rule is DecisionRule.UNDECIDED


def test_an_empty_group_id_is_answered_where_a_name_sorts_before_the_asterisk() -> None:
    """Group ids may be empty on the wire; ``checkSection`` ends there, because nothing is shared with ``#a``."""
    authorizer = Authorizer(bindings("GROUP:L:#a User:a@* ALLOW READ"))
    assert authorizer.authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, "").rule is DecisionRule.DEFAULT_DENY
    everything = Authorizer(bindings("GROUP:L:#a User:a@* ALLOW READ", "GROUP:L:* User:a@* ALLOW READ"))
    assert everything.authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, "").rule is DecisionRule.ALLOW


def test_matching_selects_the_patterns_that_apply_to_a_name() -> None:
    held = bindings(
        "TOPIC:L:foo User:a@* ALLOW READ",
        "TOPIC:P:fo User:a@* ALLOW READ",
        "TOPIC:L:* User:a@* ALLOW READ",
        "TOPIC:L:bar User:a@* ALLOW READ",
    )
    found = Authorizer(held).matching(ResourcePatternFilter(_T.TOPIC, "foo", PatternType.MATCH))
    assert set(found) == set(held[:3])
    assert list(found) == sorted(found)


@pytest.mark.parametrize("operation", [_O.ALL, _O.ANY, _O.UNKNOWN])
def test_nobody_asks_for_all(operation: AclOperation) -> None:
    with pytest.raises(ValueError, match="cannot be requested"):
        Authorizer([]).authorize("User:a", "10.0.0.1", operation, _T.TOPIC, "foo")


def test_changes_leave_the_first_authorizer_as_it_is() -> None:
    first = Authorizer(bindings("TOPIC:L:foo User:a@* ALLOW READ"))
    second = first.with_changes({binding("GROUP:L:g User:a@* ALLOW READ"): Origin("g.yaml", 1, 1)}, first.bindings)
    assert first.authorize(*READ_FOO).allowed is True
    assert second.authorize(*READ_FOO).allowed is False
    assert second.authorize("User:a", "10.0.0.1", _O.READ, _T.GROUP, "g").origin == Origin("g.yaml", 1, 1)
    assert first.permits([AccessRequest(*READ_FOO)]) == [True]


def test_an_entry_that_may_cover_leaves_every_operation_open_under_default_allow() -> None:
    maybe = opaque("fo", "User:a", (2, None, 3, 3))
    asked = ("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC, "foo")
    assert Authorizer([], (), True, opaque=[maybe]).authorize(*asked).rule is DecisionRule.UNDECIDED
    read = Assertion("reads", AssertionKind.MUST_NOT, frozenset({_O.WRITE}), (pattern("TOPIC:L:foo"),), ("User:a",))
    assert check(read, Authorizer([], (), True, opaque=[maybe])).outcome is AssertionOutcome.FAIL
    closed = bindings("CLUSTER:L:kafka-cluster User:b@* ALLOW DESCRIBE")
    assert check(read, Authorizer(closed, (), True, opaque=[maybe])).outcome is AssertionOutcome.UNDECIDED
    least, most = (
        world.access("User:a", "10.0.0.1", _T.TOPIC, literal("foo"))
        for world in Authorizer([], (), True, opaque=[maybe]).interpretations.both
    )
    assert least == 0
    assert most == EVERY


def test_a_prefix_of_an_asterisk_does_not_inherit_what_the_wildcard_grants() -> None:
    """Brokers do not apply LITERAL ``*`` to names that begin with an asterisk, whatever else is held on those."""
    held = bindings("GROUP:L:* User:a@* ALLOW READ", "GROUP:P:* User:a@* ALLOW DELETE")
    index = Authorizer(held)
    asked = {
        (name, operation): index.authorize("User:a", "10.0.0.1", operation, _T.GROUP, name).allowed
        for name in ("*x", "x")
        for operation in (_O.READ, _O.DELETE)
    }
    assert asked == {("*x", _O.READ): False, ("*x", _O.DELETE): True, ("x", _O.READ): True, ("x", _O.DELETE): False}


@pytest.mark.parametrize("allowed", ["TOPIC:L:x", "TOPIC:L:*x", "TOPIC:P:*", "TOPIC:P:x", "TOPIC:L:*"])
def test_a_deny_on_every_name_leaves_no_resource_of_the_type(allowed: str) -> None:
    """On names that begin with ``*`` as well, which no other rule about ``*`` reaches."""
    grant, deny = f"{allowed} User:a@* ALLOW WRITE", "TOPIC:L:* User:*@* DENY WRITE"
    for texts, some in (([grant], True), ([grant, deny], False)):
        authorizer = Authorizer(bindings(*texts))
        assert authorizer.authorize_by_resource_type("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC).allowed is some
        (interpretation,) = set(authorizer.interpretations.both)
        assert may_on_some_resource(interpretation, "User:a", "10.0.0.1", _O.WRITE, _T.TOPIC) is some
