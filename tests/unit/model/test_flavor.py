"""What a cluster shows itself to be, and what contradicts a stated flavor."""

import pytest

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.flavor import (
    APACHE,
    CLASS_NAME,
    FLAVORS,
    ClusterSigns,
    flavor_contradiction,
    foreign_authorizer,
    mixed_names,
    shown_flavors,
)

CLOUD = FLAVORS["confluent-cloud"]


def bound(principal: str) -> AclBinding:
    entry = AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, "orders"), entry)


@pytest.mark.parametrize(
    ("cluster_id", "host", "expected"),
    [
        ("lkc-9gz21", "10.0.0.1", "confluent-cloud"),
        ("lkc-9gz21", "b0.pkc-41p56.eu-west-1.aws.confluent.cloud", "confluent-cloud"),
        ("WnRHF1yrTmKtcUyDSdUHuA", "b-1.prod.67281x.c4.kafka.eu-west-1.amazonaws.com", "msk"),
        ("WnRHF1yrTmKtcUyDSdUHuA", "boot-x.c3.kafka-serverless.eu-west-1.amazonaws.com", "msk"),
        ("redpanda.2f0e32a5-14d8-4b2c", "rp-0.internal", "redpanda"),
        ("x", "api-1234.eu-west-1.discovery.prod-z.warpstream.com", "warpstream"),
        ("x", "kafka-1-acme.aivencloud.com", "aiven"),
        ("x", "prod-kafka-0.prod-kafka-brokers.streaming.svc", "strimzi"),
        ("x", "prod-kafka-0.prod-kafka-brokers.streaming.svc.cluster.local", "strimzi"),
        ("x", "acme.servicebus.windows.net", "event-hubs"),
        ("WnRHF1yrTmKtcUyDSdUHuA", "broker-1.internal", None),
        ("not-lkc-9gz21", "confluent.cloud.example.com", None),
    ],
)
def test_an_id_or_a_host_shows_the_make(cluster_id: str, host: str, expected: str | None) -> None:
    shown = shown_flavors(ClusterSigns(cluster_id, [host]))
    assert [one.flavor.name for one in shown] == ([expected] if expected else [])
    assert all(cluster_id in one.sign or host in one.sign for one in shown)


@pytest.mark.parametrize(
    ("configs", "topic_configs", "expected"),
    [
        ({"config.providers.strimzienv.class": None}, (), [("strimzi", "config.providers.strimzienv.class")]),
        (
            {"advertised.listeners": "REPLICATION-9091://prod-kafka-0.prod-kafka-brokers.ns.svc:9091,EXT://1.2.3.4:1"},
            (),
            [("strimzi", "prod-kafka-0.prod-kafka-brokers.ns.svc")],
        ),
        (
            {
                "advertised.listeners": "CLIENT://kafka.corp:9096,R://b-1-internal.x.c2.kafka.eu-west-1.amazonaws.com:9093"
            },
            (),
            [("msk", "b-1-internal.x.c2.kafka.eu-west-1.amazonaws.com")],
        ),
        ({"advertised.listeners": "A://[::1]:9092,B://kafka.corp:9093", "config.providers": "env"}, (), []),
        ({"advertised.listeners": None}, ("retention.ms",), []),
        ({}, ("redpanda.remote.read", "retention.ms"), [("redpanda", "redpanda.remote.read")]),
        (
            {"advertised.listeners": "X://k-1.aivencloud.com:1", "config.providers.strimzidir.class": None},
            (),
            [("aiven", "k-1.aivencloud.com"), ("strimzi", "config.providers.strimzidir.class")],
        ),
    ],
)
def test_configs_show_the_make_behind_a_proxy(
    configs: dict[str, str | None], topic_configs: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    shown = shown_flavors(ClusterSigns("x", ["proxy.corp"], configs, topic_configs))
    assert [one.flavor.name for one in shown] == [name for name, _ in expected]
    assert all(sign in one.sign for one, (_, sign) in zip(shown, expected, strict=True))
    for name, sign in expected:
        found = flavor_contradiction(APACHE, ClusterSigns("x", (), configs, topic_configs))
        assert found is not None
        assert "flavor is apache" in found
        assert flavor_contradiction(FLAVORS[name], ClusterSigns("x", (), configs, topic_configs)) is None, sign


@pytest.mark.parametrize("stated", list(FLAVORS))
def test_each_flavor_is_contradicted_by_signs_of_another(stated: str) -> None:
    host = "k.aivencloud.com" if stated == "msk" else "b.kafka.eu-west-1.amazonaws.com"
    for signs in (ClusterSigns("x", [host]), ClusterSigns("x", [], {"advertised.listeners": f"A://{host}:1"})):
        found = flavor_contradiction(FLAVORS[stated], signs)
        assert found is not None
        assert f"flavor is {stated}" in found
        assert host in found


def test_an_id_overrules_host_names_and_no_statement_overrules_an_id() -> None:
    mixed = ClusterSigns("lkc-9gz21", ["k.aivencloud.com"])
    assert {one.flavor.name for one in shown_flavors(mixed)} == {"confluent-cloud", "aiven"}
    assert flavor_contradiction(CLOUD, mixed) is None
    assert "lkc-9gz21" in str(flavor_contradiction(FLAVORS["aiven"], mixed))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("org.apache.kafka.metadata.authorizer.StandardAuthorizer", None),
        ("kafka.security.authorizer.AclAuthorizer", None),
        ("", None),
        (None, None),
        ("org.openpolicyagent.kafka.OpaAuthorizer", "Open Policy Agent"),
        ("org.apache.ranger.authorization.kafka.authorizer.RangerKafkaAuthorizer", "Ranger"),
        ("com.acme.Authorizer", "not Apache Kafka's"),
    ],
)
def test_an_authorizer_that_is_not_apaches_is_named(name: str | None, told: str | None) -> None:
    found = foreign_authorizer({CLASS_NAME: name})
    assert (found is None) is (told is None)
    assert found is None or (str(told) in found and f"authorizer.class.name={name}" in found)
    assert foreign_authorizer({}) is None


def test_accounts_under_both_names_show_confluent_cloud() -> None:
    shown = mixed_names([bound("User:1234"), bound("User:sa-abc123")])
    assert shown is not None
    assert (shown.flavor, shown.sign) == (CLOUD, "ACLs name both User:1234 and User:sa-abc123")
    assert mixed_names([bound("User:1234"), bound("User:alice")]) is None
    assert mixed_names([bound("User:sa-abc123"), bound("User:u-abc123")]) is None


@pytest.mark.parametrize(
    ("stated", "cluster_id", "host", "words"),
    [
        ("apache", "lkc-9gz21", "x", ("flavor is apache", "the cluster id is lkc-9gz21", "Confluent Cloud")),
        ("confluent-cloud", "WnRHF1yr", "x", ("flavor is confluent-cloud", "the cluster id is WnRHF1yr")),
        ("confluent-cloud", "WnRHF1yr", "k.aivencloud.com", ("flavor is confluent-cloud", "k.aivencloud.com")),
        ("redpanda", "lkc-9gz21", "x", ("flavor is redpanda", "lkc-9gz21")),
    ],
)
def test_a_contradiction_names_both_facts(stated: str, cluster_id: str, host: str, words: tuple[str, ...]) -> None:
    found = flavor_contradiction(FLAVORS[stated], ClusterSigns(cluster_id, [host]))
    assert found is not None
    assert all(word in found for word in words)


def test_a_proxy_that_hides_host_names_contradicts_nothing() -> None:
    assert flavor_contradiction(FLAVORS["msk"], ClusterSigns("WnRHF1yr", ["kafka.example.com"])) is None
    assert flavor_contradiction(CLOUD, ClusterSigns("lkc-9gz21", ["kafka.example.com"])) is None
    assert flavor_contradiction(APACHE, ClusterSigns("WnRHF1yr", ["kafka.example.com"])) is None


def test_cleanup_policy_goes_through_compact_on_the_way_to_both() -> None:
    step = CLOUD.intermediate({"cleanup.policy": None}, {"cleanup.policy": "delete,compact"})
    assert step is not None
    assert (step.config, step.via) == ("cleanup.policy", "compact")
    assert CLOUD.intermediate({"cleanup.policy": "delete"}, {"cleanup.policy": "compact"}) is None
    assert CLOUD.intermediate({"cleanup.policy": "compact"}, {"cleanup.policy": "compact,delete"}) is None
    assert CLOUD.intermediate({"retention.ms": "1"}, {"retention.ms": "2"}) is None
    assert APACHE.intermediate({"cleanup.policy": "delete"}, {"cleanup.policy": "compact,delete"}) is None


def test_every_flavor_but_apache_cites_its_vendor() -> None:
    assert [flavor.name for flavor in FLAVORS.values() if not flavor.documents] == ["apache"]
