"""The word for each step: measured against what the whole plan changes, on the names and hosts that change."""

from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.effects import Effect, EffectKind
from tests.property.transitions import DAY, declared
from tests.worlds import bindings


def words(
    live: list[AclBinding],
    wanted: list[AclBinding],
    *,
    default_allow: bool | None = False,
    kafka_version: tuple[int, int] | None = None,
) -> list[str]:
    """Each step with its word, in the order of the plan."""
    terms = Terms("c", default_allow=default_allow)
    request = Request(DAY, Options(allow_deletes=True), guarded=False)
    state = ClusterState("id", frozenset(live), kafka_version=kafka_version)
    plan = propose(declared(frozenset(wanted), {}), state, terms, request)
    found = zip(plan.steps, plan.access.effects, strict=True)
    return [f"{effect.kind} {touched_binding(step.change)}" for step, effect in found if effect is not None]


def test_an_allow_under_a_deny_grants_nothing_whatever_is_granted_beside_it() -> None:
    deny = bindings("TOPIC:P:ab User:a@* DENY ALL")
    assert words(deny, deny + bindings("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:abc User:a@10.0.0.1 ALLOW WRITE")) == [
        "grant User:a ALLOW READ on TOPIC PREFIXED a",
        "no-effect User:a ALLOW WRITE from 10.0.0.1 on TOPIC abc",
    ]


def test_a_deny_beside_the_allow_that_it_narrows_says_so() -> None:
    both = bindings("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:abc User:a@* DENY READ")
    assert words([], both) == [f"narrows-new {both[1]}", f"grant {both[0]}"]
    everybody = bindings("TOPIC:L:abc User:*@10.0.0.1 DENY ALL")
    assert words([], [both[0], *everybody])[0] == f"narrows-new {everybody[0]}"
    implied = bindings("TOPIC:L:abc User:a@* DENY DESCRIBE")  # READ implies DESCRIBE
    assert words([], [both[0], *implied])[0] == f"narrows-new {implied[0]}"


def test_a_deny_that_takes_from_no_allow_of_the_plan_has_no_effect() -> None:
    (allow,) = bindings("TOPIC:P:a User:a@* ALLOW READ")
    for other in (
        "TOPIC:L:abc User:a@* DENY WRITE",
        "TOPIC:L:b User:a@* DENY READ",
        "TOPIC:L:abc User:b@* DENY READ",
        "GROUP:L:abc User:a@* DENY READ",
        "TOPIC:L:abc User:a@localhost DENY READ",
    ):
        (deny,) = bindings(other)
        assert words([], [allow, deny])[0] == f"no-effect {deny}"
        assert f"no-effect {deny}" in words([allow, deny], [])


def test_a_step_speaks_of_its_own_hosts() -> None:
    deny = bindings("TOPIC:L:t User:a@10.0.0.1 DENY ALL")
    allow = bindings("TOPIC:L:t User:a@10.0.0.1 ALLOW READ", "TOPIC:L:t User:a@10.0.0.2 ALLOW READ")
    assert words(deny, deny + allow) == [
        "no-effect User:a ALLOW READ from 10.0.0.1 on TOPIC t",
        "grant User:a ALLOW READ from 10.0.0.2 on TOPIC t",
    ]


def test_rights_on_the_cluster_reach_topics_by_create_and_delete_alone() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER")
    more = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW DESCRIBE", "TOPIC:L:t User:a@* ALLOW READ")
    assert words(held, held + more) == [
        "grant User:a ALLOW READ on TOPIC t",
        "redundant User:a ALLOW DESCRIBE on CLUSTER kafka-cluster",
    ]
    assert words(held, held + bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW DELETE")) == [
        "grant User:a ALLOW DELETE on CLUSTER kafka-cluster"
    ]


def test_under_default_allow_a_first_binding_narrows_and_the_last_one_to_go_widens() -> None:
    allow, deny = bindings("TOPIC:L:t User:a@* ALLOW READ"), bindings("TOPIC:L:t User:a@* DENY CLUSTER_ACTION")
    for first in (allow, deny):
        assert words([], first, default_allow=True) == [f"narrows {first[0]}"]
        assert words(first, [], default_allow=True) == [f"widens {first[0]}"]
    assert words([], deny, default_allow=None) == [f"narrows {deny[0]}"]
    assert words([], deny) == [f"no-effect {deny[0]}"]
    assert words(allow, [], default_allow=None) == [f"widens {allow[0]}"]
    everything = bindings("TOPIC:L:* User:a@* ALLOW ALL")
    assert words(everything, deny, default_allow=True)[-1] == f"widens {everything[0]}"
    covered = bindings("TOPIC:L:* User:b@* ALLOW READ")
    assert words(covered, covered + allow, default_allow=True) == [f"grant {allow[0]}"]
    assert words(covered + allow, covered, default_allow=True) == [f"revoke {allow[0]}"]


def test_a_deny_that_goes_narrows_no_new_allow() -> None:
    goes, stays = bindings("TOPIC:P:a User:a@* DENY READ", "TOPIC:L:abc User:a@* DENY ALL")
    (allow,) = bindings("TOPIC:L:abc User:a@* ALLOW READ")
    assert words([goes, stays], [stays, allow]) == [f"no-effect {allow}", f"no-effect {goes}"]


def test_a_deny_beside_an_allow_for_a_host_that_nobody_has_takes_from_nobody() -> None:
    both = bindings("TOPIC:L:abc User:a@localhost ALLOW READ", "TOPIC:L:abc User:a@* DENY READ")
    assert words([], both) == [f"no-effect {both[1]}", f"no-effect {both[0]}"]


def test_a_step_whose_hosts_are_the_exception_of_a_row_has_no_part_in_it() -> None:
    held, more = bindings("TOPIC:L:t User:a@10.0.0.1 ALLOW ALL"), bindings("TOPIC:L:t User:a@* ALLOW READ")
    (own,) = bindings("TOPIC:L:t User:a@10.0.0.1 ALLOW READ")
    assert words(held, [*held, *more, own]) == [f"grant {more[0]}", f"redundant {own}"]


def test_a_step_for_many_hosts_has_a_part_in_what_changes_for_one_of_them() -> None:
    allow = bindings("TOPIC:L:t User:a@10.0.0.1 ALLOW READ")
    for hosts in ("*", "10.0.0.0/31"):
        (deny,) = bindings(f"TOPIC:L:t User:a@{hosts} DENY READ")
        assert words([*allow, deny], allow, kafka_version=(4, 4)) == [f"widens {deny}"]
        assert words(allow, [*allow, deny], kafka_version=(4, 4)) == [f"narrows {deny}"]


def test_what_covers_a_step_without_being_declared_has_no_place() -> None:
    wide, own = bindings("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:ab User:a@* ALLOW READ")
    scope = Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=("ab",))),))
    wish, live = declared(frozenset({own}), {}), ClusterState("id", frozenset({wide}))
    plan = propose(wish, live, Terms("c", default_allow=False, scope=scope), Request(DAY))
    assert plan.access.effects == (Effect(EffectKind.REDUNDANT, wide, None),)


def test_where_the_cluster_stays_covered_a_binding_on_it_by_prefix_neither_opens_nor_closes_it() -> None:
    """CLUSTER has one name: no other that a prefix would match comes to be open."""
    by_name, by_prefix = bindings(
        "CLUSTER:L:kafka-cluster User:b@* ALLOW ALTER", "CLUSTER:P:kafka-cluster User:a@* ALLOW DESCRIBE"
    )
    for default_allow in (True, None):
        assert words([by_name, by_prefix], [by_name], default_allow=default_allow) == [f"revoke {by_prefix}"]
        assert words([by_name], [by_name, by_prefix], default_allow=default_allow) == [f"grant {by_prefix}"]
        assert words([by_prefix], [], default_allow=default_allow) == [f"widens {by_prefix}"]
    assert words([], [by_prefix], default_allow=True) == [f"narrows {by_prefix}"]


def test_what_the_cluster_grants_on_topics_has_no_part_in_their_other_operations() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW ALL")
    more, own = bindings("TOPIC:L:t User:a@* ALLOW DESCRIBE", "CLUSTER:L:kafka-cluster User:a@* ALLOW DELETE")
    assert words(held, [*held, more, own]) == [f"grant {more}", f"redundant {own}"]


def test_a_binding_on_every_name_has_no_part_in_longer_names_that_begin_with_an_asterisk() -> None:
    held = bindings("GROUP:L:* User:a@* ALLOW ALL")
    more, own = bindings("GROUP:L:*x User:a@* ALLOW READ", "GROUP:L:* User:a@* ALLOW READ")
    assert sorted(words(held, [*held, more, own])) == [f"grant {more}", f"redundant {own}"]


def test_a_name_that_no_topic_can_have_is_not_opened_or_closed() -> None:
    (own,) = bindings("TOPIC:L:*x User:a@* ALLOW READ")
    for default_allow in (True, None):
        assert words([own], [], default_allow=default_allow) == [f"no-effect {own}"]
        assert words([], [own], default_allow=default_allow) == [f"no-effect {own}"]
