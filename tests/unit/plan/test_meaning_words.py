"""Guards on meaning: of whom they speak, and how; and of which topics a review counts."""

from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from reconciler.plan.review.access_change import transition
from reconciler.plan.review.callouts import meaning_refusals
from tests.property.test_meaning_guards import steps
from tests.property.transitions import DAY, declared
from tests.worlds import bindings


def refused(before: list[AclBinding], after: list[AclBinding], facts: Facts) -> dict[tuple[Guard, str], str]:
    """Each refusal's message by guard and object."""
    found = transition(ClusterState("c", frozenset(before)), steps({*before}, {*after}), facts, default_allow=False)
    return {(one.guard, one.object): one.message for one in meaning_refusals(found, facts)}


def test_nobody_is_locked_out_where_nobody_says_who_we_are() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:*@* ALLOW ALTER")
    assert refused(held, [], Facts()) == {}
    assert [*refused(held, [], Facts("User:us"))] == [(Guard.LOCKOUT, "User:us")]
    assert [*refused(held, [], Facts("User:us", super_users=("User:us",)))] == []


def test_power_over_the_cluster_is_the_right_to_alter_it_and_not_its_topics() -> None:
    every_acl, as_anybody = (
        "the right to change every ACL",
        "the right to add a listener on which it logs in as anybody",
    )
    for who in ("User:a", "User:*"):
        (alter,) = bindings(f"CLUSTER:L:kafka-cluster {who}@* ALLOW ALTER")
        (configs,) = bindings(f"CLUSTER:L:kafka-cluster {who}@* ALLOW ALTER_CONFIGS")
        topics = bindings(f"TOPIC:L:* {who}@* ALLOW ALTER", f"TOPIC:L:* {who}@* ALLOW ALTER_CONFIGS")
        for wanted, powers in (([alter], ("ALTER", every_acl)), ([configs], ("ALTER_CONFIGS", as_anybody))):
            for more in ([], topics):
                assert refused([], [*wanted, *more], Facts()) == {
                    (Guard.CLUSTER_ALTER, who): f"{who} would gain {powers[0]} on the cluster, and with it {powers[1]}"
                }
        both = refused([], [alter, configs], Facts())
        assert [text.endswith(every_acl) for text in both.values()] == [True]
        assert refused([], topics, Facts()) == {}


def test_a_protected_principal_whose_name_deceives_is_written_out() -> None:
    (grant,) = bindings("TOPIC:L:t User:a@* ALLOW READ")
    name = "User:\u202eabc"
    grant = grant._replace(entry=grant.entry._replace(principal=name))
    facts = Facts(protect=(Selector(NameSelector((name,))),))
    ((guard, subject), message) = next(iter(refused([], [grant], facts).items()))
    assert (guard, subject) == (Guard.PROTECTED, name)
    assert message == f"changes what {as_name(name)} may do on topic `t`"
    assert as_name(name) != name
    assert refused([], bindings("TOPIC:L:t User:*@* ALLOW READ"), Facts()) == {}


def _planned(live: ClusterState, wanted: list[AclBinding], topics: dict[str, DesiredTopic]) -> Plan:
    return propose(declared(frozenset(wanted), topics), live, Terms("c", default_allow=False), Request(DAY))


def test_a_row_counts_the_topics_that_are_there_are_seen_or_will_be() -> None:
    grant = bindings("TOPIC:P:a User:x@* ALLOW READ")
    place = Origin("t.yaml", 1, 1)
    topics = {
        "a-new": DesiredTopic(Topic("a-new", 1, 1), place),
        "a-gone": DesiredTopic(Topic("a-gone"), place, absent=True),
        "b-new": DesiredTopic(Topic("b-new", 1, 1), place),
    }
    live = ClusterState(
        "c", topics={name: Topic(name, 1, 1) for name in ("a-there", "b-there")}, topic_names=frozenset({"a-seen"})
    )
    (row,) = _planned(live, grant, topics).access.access_changes
    assert (row.topics, row.topic_count) == (("a-new", "a-seen", "a-there"), 3)
    (row,) = _planned(live, grant, {}).access.access_changes
    assert row.topics == ("a-seen", "a-there")
