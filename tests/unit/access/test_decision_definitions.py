"""Each decision with its rule and its bindings, by a scan of all bindings in the order that Kafka documents."""

import random
from collections.abc import Sequence

import pytest

from reconciler.access.authorizer import (
    AccessRequest,
    Authorizer,
    Decision,
    DecisionRule,
    Evidence,
    Note,
    UndecidedAccessError,
)
from reconciler.access.group import ENTRY_MASKS, entry_mask
from reconciler.access.questions import Relevance, explain
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, OpaqueBinding, PatternType, ResourceType
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import supported
from tests.property.access_naive import (
    Ask,
    Cluster,
    allowed_plainly,
    compare,
    host_applies,
    meant,
    on_some_resource,
    operations,
    result,
)
from tests.worlds import binding, bindings

_O, _T = AclOperation, ResourceType
VERSION = (4, 4)
POOL = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:P:", "TOPIC:L:ab", "TOPIC:L:*")
        if where != "TOPIC:P:"
        for who in ("User:a@*", "User:a@10.0.0.1", "User:*@*", "User:*@10.0.0.0/30", "User:b@*")
        for what in ("ALLOW READ", "ALLOW ALL", "ALLOW WRITE", "DENY READ", "DENY ALL", "DENY DESCRIBE")
    ),
    *(f"CLUSTER:L:kafka-cluster {who}" for who in ("User:a@* ALLOW CREATE", "User:*@* DENY DELETE")),
)
ASKED = [
    AccessRequest(who, host, operation, _T.TOPIC, name)
    for who, host in (("User:a", "10.0.0.1"), ("User:b", "10.0.0.9"), ("User:s", "10.0.0.1"))
    for operation in (_O.READ, _O.DESCRIBE, _O.CREATE)
    for name in ("a", "ab", "b")
]
_IMPLYING = {_O.READ, _O.WRITE, _O.DELETE, _O.ALTER}


def states(seed: int, count: int) -> list[tuple[Sequence[AclBinding], bool]]:
    chance = random.Random(seed)
    return [(chance.sample(POOL, chance.randrange(6)), chance.random() < 0.5) for _ in range(count)]


def applying(held: Sequence[AclBinding], ask: AccessRequest, permission: AclPermissionType) -> list[AclBinding]:
    cluster = Cluster(held, (), False, VERSION)
    return [
        one
        for one in meant(cluster, ask.resource_type, ask.resource_name)
        if one.entry.permission_type is permission and result(one, Ask(*ask), VERSION) is not None
    ]


def scan_place(one: AclBinding) -> tuple[bool, int]:
    """Longer names first, the wildcard last; then as ``StandardAcl`` compares."""
    return one.pattern.is_wildcard, -len(one.pattern.name)


def by_scan(
    held: Sequence[AclBinding], ask: AccessRequest, default_allow: bool
) -> tuple[DecisionRule, list[AclBinding]]:
    denies = applying(held, ask, AclPermissionType.DENY)
    if ask.principal == "User:s":
        return DecisionRule.SUPER_USER, []
    if denies:
        return DecisionRule.DENY, denies
    allows = applying(held, ask, AclPermissionType.ALLOW)
    if any(one.entry.operation in (ask.operation, _O.ALL) for one in allows):
        return DecisionRule.ALLOW, allows
    if allows:
        assert {one.entry.operation for one in allows} <= _IMPLYING
        return DecisionRule.IMPLIED_ALLOW, allows
    closed = not default_allow or meant(Cluster(held), ask.resource_type, ask.resource_name)
    return (DecisionRule.DEFAULT_DENY if closed else DecisionRule.DEFAULT_ALLOW), []


def test_every_decision_has_the_rule_and_all_bindings_that_a_scan_finds() -> None:
    for held, default_allow in states(1, 250):
        authorizer = Authorizer(held, ["User:s"], default_allow, VERSION)
        for ask in ASKED:
            rule, expected = by_scan(held, ask, default_allow)
            decision = authorizer.authorize(*ask)
            assert (decision.rule, set(decision.bindings)) == (rule, set(expected))
            assert len(decision.bindings) == len(set(expected))
            assert decision.request == ask
            assert decision.binding == (decision.bindings[0] if expected else None)
            if rule is DecisionRule.DENY:
                places = [scan_place(one) for one in decision.bindings]
                assert places == sorted(places)
                same = [
                    (a, b)
                    for a, b in zip(decision.bindings, decision.bindings[1:], strict=False)
                    if a.pattern == b.pattern
                ]
                assert all(compare(a, b) < 0 for a, b in same)
            else:
                nearness = [_telling(one, ask) for one in decision.bindings]
                assert nearness == sorted(nearness)


def _telling(one: AclBinding, ask: AccessRequest) -> tuple[int, bool, int]:
    """The operation itself, then ALL, then what implies it; the principal's own; longer names."""
    operation = one.entry.operation
    rank = [operation is ask.operation, operation is _O.ALL, True].index(True)
    return rank, one.entry.principal == "User:*", -len(one.pattern.name)


def test_the_evidence_is_what_the_manifests_say_of_the_first_binding() -> None:
    first, second = bindings("TOPIC:L:a User:a@* ALLOW READ", "TOPIC:P:a User:*@* ALLOW READ")
    declared = Declaration(Origin("a.yaml", 1, 1), reason="because")
    asked = AccessRequest("User:a", "10.0.0.1", _O.READ, _T.TOPIC, "a")
    cases: tuple[tuple[dict[AclBinding, Note], tuple[Declaration | None, Origin | None]], ...] = (
        ({first: declared, second: Origin("b.yaml", 2, 1)}, (declared, declared.origin)),
        ({first: Origin("b.yaml", 2, 1), second: declared}, (None, Origin("b.yaml", 2, 1))),
        ({second: declared}, (None, None)),
        ({first: None, second: declared}, (None, None)),
    )
    for notes, expected in cases:
        plain = Authorizer([first, second], notes=notes)
        for authorizer in (
            plain,
            Authorizer({first: None, second: None} | notes),
            Authorizer([]).with_changes(notes | {first: notes.get(first), second: notes.get(second)}),
        ):
            decision = authorizer.authorize(*asked)
            assert decision.bindings == (first, second)
            assert (decision.declaration, decision.origin) == expected
            # Notes stay with what is added later and with what is taken away.
            assert (
                authorizer.with_changes([binding("TOPIC:L:z User:z@* ALLOW READ")]).authorize(*asked).origin
                == expected[1]
            )
            gone = authorizer.with_changes(removed=[first]).authorize(*asked)
            assert (gone.bindings, gone.declaration) == ((second,), declared if notes[second] is declared else None)
    nothing = Authorizer([]).authorize(*asked)
    assert (nothing.evidence, nothing.binding, nothing.declaration, nothing.origin) == (Evidence(), None, None, None)
    assert Authorizer({first: declared}).with_changes({second: declared}).sources.notes == {
        first: declared,
        second: declared,
    }


def test_decisions_are_equal_if_request_answer_and_rule_are() -> None:
    one, other = (Authorizer(bindings(f"TOPIC:{how}:a User:a@* ALLOW READ")) for how in "LP")
    asked = AccessRequest("User:a", "10.0.0.1", _O.READ, _T.TOPIC, "a")
    first, second = one.authorize(*asked), other.authorize(*asked)
    assert (first, hash(first)) == (second, hash(second))
    assert first != asked
    assert repr(first) == "Decision(User:a READ TOPIC a from 10.0.0.1: True, allow)"

    def search(_: Decision) -> Evidence:
        return Evidence()

    assert Decision(True, first.rule, asked, search) == first
    assert Decision(None, first.rule, asked, search) != first
    assert Decision(True, DecisionRule.DENY, asked, search) != first
    assert Decision(True, first.rule, asked._replace(host="x"), search) != first


def test_authorized_operations_are_all_that_are_allowed_and_never_a_guess() -> None:
    for held, default_allow in states(2, 60):
        authorizer = Authorizer(held, ["User:s"], default_allow, VERSION)
        cluster = Cluster(held, ["User:s"], default_allow, VERSION)
        for who in ("User:a", "User:b", "User:s"):
            expected = {
                operation
                for operation in operations(cluster, _T.TOPIC)
                if allowed_plainly(cluster, Ask(who, "10.0.0.1", operation, _T.TOPIC, "a"))
            }
            assert authorizer.authorized_operations(who, "10.0.0.1", _T.TOPIC, "a") == expected
    unclear = Authorizer([], opaque=[OpaqueBinding("a", "User:a", "*", 2, 3, None, 3)])
    with pytest.raises(UndecidedAccessError, match=r"User:a READ TOPIC a from 10\.0\.0\.1: undecided") as raised:
        unclear.authorized_operations("User:a", "10.0.0.1", _T.TOPIC, "a")
    assert raised.value.decision.allowed is None


def test_what_no_request_asks_for_is_refused() -> None:
    authorizer = Authorizer([])
    for operation in _O:
        for kind in _T:
            if operation > _O.ALL and kind > _T.ANY:
                assert authorizer.authorize("User:a", "10.0.0.1", operation, kind, "a").allowed is False
            else:
                with pytest.raises(ValueError, match="cannot be requested"):
                    authorizer.authorize("User:a", "10.0.0.1", operation, kind, "a")


def test_a_whole_type_is_decided_with_the_bindings_that_say_so() -> None:
    for held, default_allow in states(3, 250):
        authorizer = Authorizer(held, ["User:s"], default_allow, VERSION)
        cluster = Cluster(held, ["User:s"], default_allow, VERSION)
        for who, host in (("User:a", "10.0.0.1"), ("User:b", "10.0.0.9"), ("User:s", "10.0.0.9")):
            for operation in (_O.READ, _O.DESCRIBE):
                decision = authorizer.authorize_by_resource_type(who, host, operation, _T.TOPIC)
                expected = who == "User:s" or on_some_resource(cluster, who, host, operation, _T.TOPIC)
                assert decision.allowed is expected
                made_up = allowed_plainly(cluster, Ask(who, host, operation, _T.TOPIC, "hardcode"))
                assert decision.request == (who, host, operation, _T.TOPIC, "hardcode" if made_up else "")
                if made_up:
                    continue
                found = _compared(held, who, host, operation)
                assert set(decision.bindings) == set(found)
                assert decision.rule is (
                    DecisionRule.ALLOW if expected else DecisionRule.DENY if found else DecisionRule.DEFAULT_DENY
                )
                assert list(decision.bindings) == sorted(decision.bindings)


def _compared(held: Sequence[AclBinding], who: str, host: str, operation: AclOperation) -> list[AclBinding]:
    """DENYs of everything; else the ALLOWs that no DENY takes whole."""
    mine = [
        one
        for one in held
        if one.pattern.resource_type is _T.TOPIC
        and one.entry.principal in (who, "User:*")
        and host_applies(one.entry.host, host, VERSION)
        and one.entry.operation in (operation, _O.ALL)
    ]
    denies = [one for one in mine if one.entry.permission_type is AclPermissionType.DENY]
    everything = [one for one in denies if one.pattern.is_wildcard]
    if everything:
        return everything
    literals = {one.pattern.name for one in denies if one.pattern.pattern_type is PatternType.LITERAL}
    prefixes = tuple(one.pattern.name for one in denies if one.pattern.pattern_type is PatternType.PREFIXED)
    return [
        one
        for one in mine
        if one.entry.permission_type is AclPermissionType.ALLOW
        and not (one.pattern.pattern_type is PatternType.LITERAL and one.pattern.name in literals)
        and not one.pattern.name.startswith(prefixes)
    ]


def test_an_explanation_has_every_binding_on_the_resource_and_how_it_relates() -> None:
    for held, default_allow in states(4, 120):
        authorizer = Authorizer(held, ["User:s"], default_allow, VERSION)
        for ask in ASKED:
            explanation = explain(authorizer, ask)
            _, deciding = by_scan(held, ask, default_allow)
            here = sorted(meant(Cluster(held), _T.TOPIC, ask.resource_name))
            assert [one for one, _ in explanation.considered] == here
            for one, relevance in explanation.considered:
                assert relevance is _relevance(one, ask, deciding)
            cluster = ask._replace(resource_type=_T.CLUSTER, resource_name="kafka-cluster")
            other = authorizer.authorize(*cluster) if ask.operation is _O.CREATE else None
            assert explanation.instead == other
            assert explanation.allowed is (explanation.decision.allowed or (other is not None and other.allowed))


def _relevance(one: AclBinding, ask: AccessRequest, deciding: Sequence[AclBinding]) -> Relevance:
    entry = one.entry
    if one in deciding:
        return Relevance.DECIDES
    if entry.principal not in (ask.principal, "User:*"):
        return Relevance.OTHER_PRINCIPAL
    if not host_applies(entry.host, ask.host, VERSION):
        return Relevance.OTHER_HOST
    if result(one, Ask(*ask), VERSION) is None:
        return Relevance.OTHER_OPERATION
    return Relevance.APPLIES


def test_what_is_unknown_in_an_explanation_is_not_a_no() -> None:
    lost = OpaqueBinding("kafka-cluster", "User:a", "*", 4, 3, None, 3)
    ask = AccessRequest("User:a", "10.0.0.1", _O.CREATE, _T.TOPIC, "a")
    assert explain(Authorizer([], opaque=[lost]), ask).allowed is None
    assert explain(Authorizer(bindings("TOPIC:L:a User:a@* ALLOW CREATE"), opaque=[lost]), ask).allowed is True
    on_topic = OpaqueBinding("a", "User:a", "*", 2, 3, None, 3)
    cluster = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW CREATE")
    assert explain(Authorizer([], opaque=[on_topic]), ask).allowed is None
    assert explain(Authorizer(cluster, opaque=[on_topic]), ask).allowed is True
    assert explain(Authorizer([]), ask).allowed is False


def test_an_idempotent_producer_is_explained_by_write_on_some_topic() -> None:
    authorizer = Authorizer(bindings("TOPIC:L:a User:a@* ALLOW WRITE"))
    ask = AccessRequest("User:a", "10.0.0.1", _O.IDEMPOTENT_WRITE, _T.CLUSTER, "kafka-cluster")
    found = explain(authorizer, ask)
    assert found.instead == authorizer.authorize_by_resource_type("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC)
    assert (found.decision.allowed, found.allowed) == (False, True)
    for kind in (kind for kind in _T if kind >= _T.TOPIC):
        for operation in (operation for operation in _O if operation > _O.ALL):
            asked = ask._replace(resource_type=kind, operation=operation)
            by_cluster = kind is _T.TOPIC and operation in (_O.CREATE, _O.DELETE)
            by_topic = kind is _T.CLUSTER and operation is _O.IDEMPOTENT_WRITE
            assert (explain(authorizer, asked).instead is not None) is (by_cluster or by_topic)


def test_the_mask_of_an_entry_has_what_it_names_and_what_it_implies() -> None:
    for operation in (one for one in _O if one >= _O.ALL):
        every = [one for one in _O if one > _O.ALL] if operation is _O.ALL else [operation]
        named = sum(1 << one for one in every)
        implied = {**dict.fromkeys(_IMPLYING, _O.DESCRIBE), _O.ALTER_CONFIGS: _O.DESCRIBE_CONFIGS}.get(operation)
        mask = entry_mask(operation, AclPermissionType.ALLOW)
        assert mask == named + (0 if implied is None else 1 << 32 + implied)
        assert entry_mask(operation, AclPermissionType.DENY) == named << 16
        for permission in (AclPermissionType.ALLOW, AclPermissionType.DENY):
            assert ENTRY_MASKS[permission][operation] == entry_mask(operation, permission)


def test_what_each_release_asks_for() -> None:
    for kind in _T:
        if kind < _T.TOPIC:
            continue
        for version in ((3, 9), (4, 0), (4, 1), (4, 3), (4, 4)):
            assert supported(kind, version) == set(operations(Cluster((), (), False, version), kind))
