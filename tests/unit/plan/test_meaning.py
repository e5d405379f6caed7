"""Guards on meaning: each trips on its own object, is lifted by naming it, and by nothing else."""

from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest

from reconciler.access.names import NameSet, ResourceSet, literal, names_of
from reconciler.apply.preflight import RefusedError, check
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.review import callouts
from reconciler.plan.review.access_review import unreviewed
from tests.property.transitions import DAY, declared
from tests.unit.apply.test_perform import acl

US = "User:reconciler"
BROKER = "User:broker"


def cluster_acl(principal: str, operation: str, permission: str = "ALLOW") -> AclBinding:
    pattern = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
    return AclBinding(
        pattern, AccessControlEntry(principal, "*", AclOperation[operation], AclPermissionType[permission])
    )


def planned(
    live: set[AclBinding], wanted: set[AclBinding], facts: Facts, accept: tuple[AcceptedGuard, ...] = ()
) -> Plan:
    terms = Terms("c", default_allow=False, facts=facts)
    request = Request(DAY, Options(allow_deletes=True), accepted=accept)
    return propose(declared(frozenset(wanted), {}), ClusterState("id", frozenset(live)), terms, request)


def refused(plan: Plan) -> list[tuple[str, str]]:
    return [(str(refusal.guard), refusal.object) for refusal in plan.refusals]


OWN = {cluster_acl(US, "ALL"), cluster_acl(BROKER, "CLUSTER_ACTION")}


@pytest.mark.parametrize(
    ("facts", "wanted", "objects"),
    [
        pytest.param(Facts(principal=US), OWN - {cluster_acl(US, "ALL")}, [US], id="our own right goes"),
        pytest.param(Facts(principal=US), OWN | {cluster_acl("User:*", "ALTER", "DENY")}, [US], id="a DENY takes it"),
        pytest.param(
            Facts(inter_broker_principals=(BROKER,)), {cluster_acl(US, "ALL")}, [BROKER], id="the brokers' right goes"
        ),
        pytest.param(Facts(principal=US, super_users=(US,)), {acl("x")}, [], id="a super user loses nothing"),
        pytest.param(
            Facts(principal=US),
            OWN - {cluster_acl(US, "ALL")} | {cluster_acl(US, "ALTER"), cluster_acl(US, "DESCRIBE")},
            [],
            id="other bindings give the same",
        ),
    ],
)
def test_nobody_locks_out_who_has_to_work(facts: Facts, wanted: set[AclBinding], objects: list[str]) -> None:
    plan = planned(OWN, wanted, facts)
    assert refused(plan) == [("lockout", name) for name in objects]
    word = tuple(AcceptedGuard(Guard.LOCKOUT, name) for name in objects)
    assert refused(planned(OWN, wanted, facts, word)) == []


def test_nobody_is_locked_out_of_a_host_from_which_nobody_comes() -> None:
    dead = cluster_acl(US, "ALL")
    dead = dead._replace(entry=dead.entry._replace(host="::1"))  # brokers print 0:0:0:0:0:0:0:1
    assert (
        refused(
            planned(
                OWN - {cluster_acl(US, "ALL")} | {dead}, {cluster_acl(BROKER, "CLUSTER_ACTION")}, Facts(principal=US)
            )
        )
        == []
    )


TOPIC = Selector(resource_type=ResourceType.TOPIC, names=NameSelector(("x",)))
SOMEBODY = Selector(principals=NameSelector(("User:a",)))


@pytest.mark.parametrize(
    ("selector", "live", "wanted", "trips"),
    [
        pytest.param(TOPIC, set(), {acl("x")}, True, id="its name"),
        pytest.param(TOPIC, {acl("x")}, {acl("y")}, True, id="its name, lost"),
        pytest.param(TOPIC, set(), {acl("x-")}, False, id="a prefix beside it"),
        pytest.param(TOPIC, set(), {acl("*", principal="User:*")}, True, id="everybody on everything"),
        pytest.param(TOPIC, {acl("*")}, {acl("*"), acl("x")}, False, id="a binding that changes nothing"),
        pytest.param(SOMEBODY, set(), {acl("y")}, True, id="a protected principal"),
        pytest.param(SOMEBODY, set(), {acl("y", principal="User:b")}, False, id="another principal"),
        pytest.param(SOMEBODY, set(), {acl("y", principal="User:*")}, True, id="everybody, so also it"),
    ],
)
def test_what_is_protected_does_not_change(
    selector: Selector, live: set[AclBinding], wanted: set[AclBinding], trips: bool
) -> None:
    plan = planned(live, wanted, Facts(protect=(selector,)))
    assert {guard for guard, _ in refused(plan)} == ({"protected"} if trips else set())
    word = tuple(AcceptedGuard(Guard.PROTECTED, refusal.object) for refusal in plan.refusals)
    assert refused(planned(live, wanted, Facts(protect=(selector,)), word)) == []


GROUP = AclBinding(
    ResourcePattern(ResourceType.GROUP, "g"),
    AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW),
)
ALL_GROUP = GROUP._replace(
    entry=AccessControlEntry("User:*", "*", AclOperation.READ, AclPermissionType.ALLOW),
)


@pytest.mark.parametrize(
    ("selector", "live", "wanted"),
    [
        pytest.param(replace(TOPIC, principals=SOMEBODY.principals), set(), {GROUP}, id="it changes elsewhere"),
        pytest.param(SOMEBODY, {GROUP}, {GROUP, ALL_GROUP}, id="it has elsewhere what everybody gains there"),
    ],
)
def test_what_everybody_else_gains_is_a_change_for_whoever_has_acls_elsewhere(
    selector: Selector, live: set[AclBinding], wanted: set[AclBinding]
) -> None:
    plan = planned(live, wanted | {acl("x", principal="User:*")}, Facts(protect=(selector,)))
    assert [guard for guard, _ in refused(plan)] == ["protected"]
    other = planned(live, wanted | {acl("x", principal="User:b")}, Facts(protect=(selector,)))
    assert refused(other) == []


def test_what_everybody_else_gains_around_a_protected_name_is_no_change_of_it() -> None:
    """Everybody gains on all topics but those starting with ``x``, on which a DENY stands before and after."""
    deny = acl("x-", "DENY", "User:*", "ALL")
    everything = acl("*", principal="User:*")
    inside, outside = (
        Facts(protect=(Selector(resource_type=ResourceType.TOPIC, names=names),))
        for names in (NameSelector(("x-1",)), NameSelector(("y-1",)))
    )
    assert refused(planned({deny}, {deny, everything}, inside)) == []
    assert [guard for guard, _ in refused(planned({deny}, {deny, everything}, outside))] == ["protected"]


def test_no_acl_changes_what_a_protected_super_user_may_do() -> None:
    facts = Facts(protect=(SOMEBODY,), super_users=("User:a",))
    assert refused(planned(set(), {acl("x", principal="User:*")}, facts)) == []


def test_whoever_a_denial_kept_from_altering_the_cluster_is_named_once_it_goes() -> None:
    """Nobody's own binding changes: the DENY of everybody goes, and an ALLOW that it held down comes to life."""
    allow, deny = cluster_acl("User:b", "ALTER"), cluster_acl("User:*", "ALTER", "DENY")
    assert refused(planned({allow, deny}, {allow}, Facts())) == [("cluster-alter", "User:b")]
    everyone = cluster_acl("User:*", "ALTER")
    described = cluster_acl("User:b", "DESCRIBE")
    assert refused(planned({described}, {described, everyone}, Facts())) == [("cluster-alter", "User:*")]


def test_alter_configs_on_the_cluster_is_as_powerful_as_alter() -> None:
    configs, alter = cluster_acl("User:b", "ALTER_CONFIGS"), cluster_acl("User:b", "ALTER")
    assert refused(planned(set(), {configs}, Facts())) == [("cluster-alter", "User:b")]
    assert refused(planned(set(), {configs, alter}, Facts())) == [("cluster-alter", "User:b")]
    assert refused(planned(set(), {cluster_acl("User:b", "DESCRIBE_CONFIGS")}, Facts())) == []


def test_a_binding_that_breaks_brokers_is_named_until_it_goes() -> None:
    poison = acl("z", principal="nobody")
    plan = planned({poison}, {poison, acl("x")}, Facts())
    assert refused(plan) == [("broken-binding", str(poison))]
    assert refused(planned({poison}, {acl("x")}, Facts())) == []


def test_a_saved_plan_is_held_against_the_declaration_of_today() -> None:
    live = ClusterState("id", frozenset(OWN))
    plan = planned(OWN, {cluster_acl(BROKER, "CLUSTER_ACTION")}, Facts())
    assert plan.refusals == ()
    with pytest.raises(RefusedError) as caught:
        check(plan, live, replace(plan.terms, facts=Facts(principal=US)))
    assert [refusal.guard for refusal in caught.value.refusals] == [Guard.LOCKOUT]


def on_host(binding: AclBinding, host: str) -> AclBinding:
    return binding._replace(entry=binding.entry._replace(host=host))


def test_each_who_gains_power_over_the_cluster_is_named_once_with_the_power() -> None:
    every, one = cluster_acl("User:*", "ALTER_CONFIGS"), on_host(cluster_acl("User:*", "ALTER_CONFIGS"), "10.0.0.1")
    named = {cluster_acl("User:b", "ALTER"), cluster_acl("User:c", "ALTER_CONFIGS")}
    said = {
        refusal.object: "every ACL" in refusal.message for refusal in planned(set(), {every, *named}, Facts()).refusals
    }
    assert said == {"User:*": False, "User:b": True, "User:c": False}
    # Whom everybody's gain reaches, through a DENY or a binding of their own, is everybody; on other hosts it is not.
    old = {cluster_acl("User:d", "DESCRIBE"), on_host(cluster_acl("User:e", "ALTER_CONFIGS"), "10.0.0.2")}
    denied = old | {on_host(cluster_acl("User:f", "ALTER_CONFIGS", "DENY"), "10.0.0.1")}
    for wanted, objects in (({every}, {"User:*"}), ({one}, {"User:*"})):
        refusals = refused(planned(denied, denied | wanted, Facts()))
        assert {name for _, name in refusals} == objects
        assert len(refusals) == len(objects)


@pytest.mark.parametrize("principal", ["User:a", "User:*"])
def test_what_is_protected_is_called_by_its_name_where_it_has_one_and_by_whom_it_is_about_elsewhere(
    principal: str,
) -> None:
    who = "everybody else" if principal == "User:*" else principal
    for selector, name in ((TOPIC, "topic `x`"), (SOMEBODY, who)):
        (refusal,) = planned(set(), {acl("x", principal=principal)}, Facts(protect=(selector,))).refusals
        assert (refusal.object, refusal.message) == (name, f"changes what {who} may do on topic `x`")


def test_a_grant_to_everybody_that_nobody_reviewed_is_told_once() -> None:
    """Also beside principals with rows of their own, whom it reaches as it does everybody."""
    reviewed = planned({acl("z", principal="User:b")}, {acl("y"), acl("z", principal="User:b")}, Facts()).access
    more = {acl("y"), acl("z", principal="User:b"), acl("w", principal="User:*")}
    now = planned({acl("z", principal="User:b")}, more, Facts()).access
    assert [(row.principal, str(row.resources)) for row in unreviewed(now, reviewed)] == [(None, "topic `w`")]
    assert [*unreviewed(reviewed, now)] == []
    assert [*unreviewed(now, now)] == []


def test_a_row_is_held_against_the_protected_names_that_it_may_be_about() -> None:
    chance = Random(8)
    texts = ("*", "a", "a.", "a.b", "ab", "b")
    for _ in range(800):
        exact, prefixes = (tuple(chance.sample(texts[1:], chance.randrange(4))) for _ in "ab")
        names = NameSelector(exact, prefixes)
        selector = Selector(resource_type=ResourceType.TOPIC, names=names)
        outer = NameSet(chance.choice(("", "a", "b")))
        cuts = tuple(
            sorted(key for key in map(NameSet, chance.sample(texts, 2)) if outer.contains(key) and key != outer)
        )
        resources = ResourceSet(ResourceType.TOPIC, outer, cuts)
        keys = map(names_of, names.patterns(ResourceType.TOPIC))
        assert callouts._names(selector, [resources]) is any(resources.meets(key) for key in keys)
    many = Selector(resource_type=ResourceType.TOPIC, names=NameSelector(tuple(f"t{n}" for n in range(500))))
    with patch.object(ResourceSet, "meets", autospec=True, side_effect=ResourceSet.meets) as met:
        rows = [ResourceSet(ResourceType.TOPIC, literal(f"t{n}")) for n in range(450, 550)]
        assert [callouts._names(many, [row]) for row in rows] == [n < 500 for n in range(450, 550)]
    assert met.call_count == 50
