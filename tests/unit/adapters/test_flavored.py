"""A cluster of a stated flavor: whose names it shows, in which steps it is written, and what it refuses."""

import datetime
from dataclasses import replace

import pytest

from reconciler.kafka.flavored import FlavoredCluster
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.flavor import FLAVORS
from reconciler.model.listing import Create, Delete, Update, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs
from reconciler.plan.difference import SkipReason
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.ports import AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.contract.confluent_cloud import ConfluentCloud
from tests.worlds import binding

CLOUD = FLAVORS["confluent-cloud"]
PLACE = Origin("acls.yaml", 1, 1)
ACLS = ReadRequest(all_topics=False)
AS_OF = datetime.date(2026, 11, 23)
WANTED = "User:sa-abc123 ALLOW READ on TOPIC orders"
DECLARED = binding(WANTED)


def cloud(*existing: str) -> ConfluentCloud:
    found = ConfluentCloud(ClusterState("lkc-9gz21", kafka_version=(4, 3)))
    found.send([Create(binding(text)) for text in existing])
    return found


def plan_of(live: ClusterState, *declared: str, **terms: object) -> Plan:
    desired = DesiredState({binding(text): Declaration(PLACE) for text in declared})
    return propose(desired, live, Terms("prod", **terms), Request(AS_OF, Options(allow_deletes=True)))  # type: ignore[arg-type]


def test_without_the_flavor_a_plan_deletes_what_it_has_just_declared() -> None:
    """The danger that the flavor is there for: it holds with the emulation read as any Kafka."""
    service = cloud()
    plan = plan_of(service.read(ACLS), WANTED)
    service.send([step.change for step in plan.steps])
    again = plan_of(service.read(ACLS), WANTED)
    assert [type(step.change) for step in again.steps] == [Create, Delete]
    service.send([again.steps[0].change])
    service.send([again.steps[1].change])
    assert service.read(ACLS).bindings == frozenset()


def test_with_the_flavor_it_converges() -> None:
    service = cloud("User:* ALLOW DESCRIBE on TOPIC public", "User:sa-old1 ALLOW READ on TOPIC orders")
    cluster = FlavoredCluster(service, CLOUD)
    declared = (WANTED, "User:* ALLOW DESCRIBE on TOPIC public")
    plan = plan_of(cluster.read(ACLS), *declared, flavor=CLOUD)
    assert [(type(step.change), resource_of(step.change).entry.principal) for step in plan.steps] == [
        (Create, "User:sa-abc123"),
        (Delete, "User:sa-old1"),
    ]
    for step in plan.steps:
        (answer,) = cluster.send([step.change])
        assert answer.status is AnswerStatus.DONE
    assert cluster.read(ACLS).bindings == {binding(text) for text in declared}
    assert plan_of(cluster.read(ACLS), *declared, flavor=CLOUD).steps == ()


def test_integer_ids_are_neither_created_nor_deleted() -> None:
    live = ClusterState("lkc-9gz21", frozenset({binding("User:77 ALLOW READ on TOPIC orders")}))
    plan = plan_of(live, "User:78 ALLOW READ on TOPIC orders", flavor=CLOUD)
    assert plan.steps == ()
    assert [item.reason for item in plan.skipped] == [SkipReason.UNSUPPORTED] * 2
    assert all("second name" in item.detail for item in plan.skipped)


def test_a_listing_names_users_whatever_the_type_of_the_filter() -> None:
    state = ClusterState("lkc-9gz21", frozenset({binding("UserV2:sa-abc123 ALLOW READ on TOPIC orders")}))
    assert FlavoredCluster(MemoryCluster(state), CLOUD).read(ACLS).bindings == {DECLARED}


def test_every_plan_says_what_no_listing_shows() -> None:
    plan = plan_of(cloud().read(ACLS), WANTED, flavor=CLOUD)
    assert any("role bindings (RBAC)" in text for text in plan.warnings)


def test_another_make_than_the_stated_one_is_an_error_and_not_an_empty_listing() -> None:
    apache = MemoryCluster(ClusterState("WnRHF1yrTmKtcUyDSdUHuA", frozenset({DECLARED})))
    with pytest.raises(ClusterError, match="flavor is confluent-cloud, but the cluster id is WnRHF1yr"):
        FlavoredCluster(apache, CLOUD).read(ACLS)
    with pytest.raises(ClusterError, match="flavor is apache, but the cluster id is lkc-9gz21"):
        FlavoredCluster(cloud(), FLAVORS["apache"]).read(ACLS)


def test_a_service_without_acls_is_refused_before_it_is_asked() -> None:
    hubs = FlavoredCluster(MemoryCluster(ClusterState("acme.servicebus.windows.net")), FLAVORS["event-hubs"])
    with pytest.raises(ClusterError, match="there are no Kafka ACLs") as caught:
        hubs.read(ACLS)
    assert caught.value.advice


def test_hosts_of_brokers_that_parse_them_are_shown_as_java_prints_them() -> None:
    state = ClusterState("redpanda.1", frozenset({binding("User:a ALLOW READ on TOPIC orders from ::1")}))
    (found,) = FlavoredCluster(MemoryCluster(state), FLAVORS["redpanda"]).read(ACLS).bindings
    assert found.entry.host == "0:0:0:0:0:0:0:1"


def altered(before: dict[str, str | None], after: dict[str, str | None]) -> Update[TopicConfigs]:
    return Update(TopicConfigs("orders", before), TopicConfigs("orders", after))


def test_cleanup_policy_is_set_in_the_two_steps_that_the_service_takes() -> None:
    service = ConfluentCloud(ClusterState("lkc-9gz21", topics={"orders": Topic("orders", 1, 3)}))
    cluster = FlavoredCluster(service, CLOUD)
    wanted = altered({"cleanup.policy": None}, {"cleanup.policy": "compact,delete"})
    assert [answer.code for answer in service.send([wanted])] == ["POLICY_VIOLATION"]
    service.requests.clear()
    other = Update(TopicConfigs("other", {"retention.ms": None}), TopicConfigs("other", {"retention.ms": "5"}))
    assert [answer.code for answer in cluster.send([other, wanted])] == ["UNKNOWN_TOPIC_OR_PARTITION", ""]
    sent = [change.after.configs for change in service.requests if isinstance(change, Update)]
    assert sent == [{"cleanup.policy": "compact"}, {"retention.ms": "5"}, {"cleanup.policy": "compact,delete"}]
    topics = cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=["orders"])).topics
    assert topics["orders"].configs == {"cleanup.policy": "compact,delete"}


def test_where_the_second_step_fails_the_answer_says_that_the_first_stays() -> None:
    service = ConfluentCloud(ClusterState("lkc-9gz21", topics={"orders": Topic("orders", 1, 3)}))
    change = altered({"cleanup.policy": None, "flush.ms": None}, {"cleanup.policy": "compact,delete", "flush.ms": "5"})
    (answer,) = FlavoredCluster(service, CLOUD).send([change])
    assert (answer.status, answer.code) == (AnswerStatus.FAILED, "POLICY_VIOLATION")
    assert "cleanup.policy=compact was set before and stays" in answer.message


def test_configs_that_a_user_cannot_set_are_not_planned() -> None:
    wanted = DesiredTopic(Topic("orders", 1, 3, {"retention.ms": "5", "flush.ms": "7"}), PLACE)
    made = DesiredTopic(Topic("new", 1, 3, {"flush.ms": "7"}), PLACE)
    live = ClusterState("lkc-9gz21", topics={"orders": Topic("orders", 1, 3, {"confluent.placement.constraints": "x"})})
    desired = DesiredState(topics={"orders": wanted, "new": made})
    accepted = (AcceptedGuard(Guard.DATA_LOSS, "orders"),)
    plan = propose(desired, live, Terms("prod", flavor=CLOUD), Request(AS_OF, accepted=accepted))
    (step,) = plan.steps
    assert step.change.after.configs == {"retention.ms": "5"}  # type: ignore[union-attr]
    details = [item.detail for item in plan.skipped]
    assert len(details) == 2
    assert all("Confluent Cloud does not let a user set flush.ms" in text for text in details)
    plain = propose(desired, live, Terms("prod"), Request(AS_OF, accepted=accepted))
    assert len(plain.steps) == 2


def test_a_cluster_that_is_nearly_full_is_said_so() -> None:
    few = replace(CLOUD, max_bindings=1)
    live = ClusterState("lkc-9gz21", frozenset({DECLARED}))
    assert any("takes 1 at most" in text for text in plan_of(live, WANTED, flavor=few).warnings)
    assert not any("at most" in text for text in plan_of(live, WANTED, flavor=CLOUD).warnings)
    small = replace(CLOUD, fewest_bindings=1)
    more = "User:sa-abc123 ALLOW WRITE on TOPIC orders"
    assert any("the smallest type" in text for text in plan_of(live, WANTED, more, flavor=small).warnings)
    assert not any("the smallest type" in text for text in plan_of(live, WANTED, flavor=small).warnings)


def test_a_plan_that_a_service_would_stop_halfway_is_refused() -> None:
    few = replace(CLOUD, max_bindings=1)
    live = ClusterState("lkc-9gz21", frozenset({DECLARED}))
    (refused,) = plan_of(live, "User:sa-abc123 ALLOW WRITE on TOPIC orders", flavor=few).refusals
    assert (refused.guard, refused.object) == ("limit", "maxBindings")
    assert "Confluent Cloud takes 1 at most" in refused.message
    assert plan_of(live, WANTED, flavor=few).refusals == ()


def test_a_plan_warns_of_what_a_value_between_does() -> None:
    live = ClusterState("lkc-9gz21", topics={"orders": Topic("orders", 1, 3)})
    both = DesiredTopic(Topic("orders", 1, 3, {"cleanup.policy": "compact,delete"}), PLACE)
    accepted = (AcceptedGuard(Guard.DATA_LOSS, "orders"),)
    request = Request(AS_OF, accepted=accepted)
    plan = propose(DesiredState(topics={"orders": both}), live, Terms("prod", flavor=CLOUD), request)
    assert any("is set to compact first" in text and "records without a key" in text for text in plan.warnings)


@pytest.mark.parametrize("name", FLAVORS)
def test_no_flavor_is_read_where_a_broker_shows_another(name: str) -> None:
    host = "k.aivencloud.com" if name == "msk" else "b.kafka.eu-west-1.amazonaws.com"
    state = ClusterState("WnRHF1yr", frozenset({DECLARED}), broker_hosts=frozenset({host}))
    with pytest.raises(ClusterError, match=f"flavor is {name}, but a broker is {host}, which is A"):
        FlavoredCluster(MemoryCluster(state), FLAVORS[name]).read(ACLS)
