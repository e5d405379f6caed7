"""What a cluster shows itself to be, and what contradicts a stated flavor."""

import pytest

from reconciler.model import (
    APACHE,
    FLAVORS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
    flavor_contradiction,
    mixed_names,
    shown_flavor,
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
    shown = shown_flavor(cluster_id, [host])
    assert (shown.flavor.name if shown else None) == expected
    assert shown is None or cluster_id in shown.sign or host in shown.sign


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
    found = flavor_contradiction(FLAVORS[stated], cluster_id, [host])
    assert found is not None
    assert all(word in found for word in words)


def test_a_proxy_that_hides_host_names_contradicts_nothing() -> None:
    assert flavor_contradiction(FLAVORS["msk"], "WnRHF1yr", ["kafka.example.com"]) is None
    assert flavor_contradiction(CLOUD, "lkc-9gz21", ["kafka.example.com"]) is None
    assert flavor_contradiction(APACHE, "WnRHF1yr", ["kafka.example.com"]) is None


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
