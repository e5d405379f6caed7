"""What ``doctor`` says of reading a cluster: an error or a missing right never looks well."""

from dataclasses import replace

import pytest

from reconciler.app.doctor import (
    Diagnosis,
    Need,
    NeedCheck,
    checks,
    reading_check,
    reading_for,
    state_checks,
    upgrade_checks,
)
from reconciler.app.options import ClientNote, Note
from reconciler.app.session import Target
from reconciler.cli.doctor import check_words
from reconciler.cli.main import run
from reconciler.kafka.cluster import Inspection
from reconciler.kafka.flavored import FlavoredCluster
from reconciler.kafka.handshake import AuthorizerPresence, Broker
from reconciler.kafka.settings import ClientSettings
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import Origin
from reconciler.model.flavor import CLASS_NAME, FLAVORS
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.model.topic import Topic
from reconciler.ports import ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.worlds import binding

FOUND = Inspection(
    cluster_id="c",
    brokers=(),
    controller=None,
    operations=frozenset({"DESCRIBE"}),
    authorizer=AuthorizerPresence.PRESENT,
    can_list_acls=True,
    can_alter_acls=False,
    metadata_version=None,
    visible_topics=3,
)


class Unreadable(MemoryCluster):
    """One whose listing fails, as where no reader can read the ACLs."""

    def read(self, request: ReadRequest) -> ClusterState:
        raise ClusterError("acl_listing_failed", "no reader could read the ACLs")


def target(gap: str | None = None) -> Target:
    return Target("c", MemoryCluster(ClusterState("c", topic_gap=gap)), None)


def reading(asked: Target, found: Inspection) -> NeedCheck:
    return reading_check(reading_for(asked, found), found)


SEES_ALL = NeedCheck(Need.EVERY_TOPIC, True)


def diagnosed(found: Inspection, declaration: ClusterDeclaration | None) -> Diagnosis:
    return Diagnosis(found, tuple(checks(found, declaration, SEES_ALL)))


def texts(found: Diagnosis, *, met: bool) -> list[str]:
    return [check_words(check, found) for check in found.checks if check.met is met]


def test_a_cluster_that_cannot_be_read_cannot_be_planned_for() -> None:
    check = reading(Target("c", Unreadable(ClusterState("c")), None), FOUND)
    found = Diagnosis(FOUND, (check,))
    assert not found.can_plan
    assert "cannot be read: acl listing failed" in check_words(check, found)


def test_a_partial_listing_is_no_whole_one_whatever_else_may_be_read() -> None:
    partial = NeedCheck(Need.EVERY_TOPIC, False, detail="topics may be hidden")
    assert reading(target("topics may be hidden"), FOUND) == partial
    assert reading(target("topics may be hidden"), replace(FOUND, can_list_acls=False)) == partial
    found = Diagnosis(FOUND, (partial,))
    assert found.can_plan
    assert texts(found, met=False) == ["topics may be hidden"]


def test_without_an_authorizer_nothing_is_hidden() -> None:
    unsecured = replace(FOUND, authorizer=AuthorizerPresence.ABSENT, can_list_acls=None)
    assert reading(target("the ACLs were not read"), unsecured).met
    assert reading(target(), FOUND) == SEES_ALL
    assert not diagnosed(unsecured, None).can_plan


def test_what_is_missing_is_said_to_be_missing() -> None:
    silent = ClusterDeclaration("c", Origin("c.yaml", 1, 1))
    rightless = diagnosed(replace(FOUND, can_list_acls=False), silent)
    assert not rightless.can_plan
    assert texts(rightless, met=False) == [
        "may not list ACLs (DESCRIBE on CLUSTER): needed to plan",
        "may not change ACLs (ALTER on CLUSTER): needed to apply",
        "principal is not declared in Cluster",
        "allowEveryoneIfNoAclFound is not declared in Cluster",
    ]
    said = replace(silent, principal="User:r", allow_everyone_if_no_acl_found=False)
    allowed = diagnosed(replace(FOUND, can_alter_acls=True), said)
    assert texts(allowed, met=False) == []
    assert {
        "sees every topic: 3",
        "may change ACLs (ALTER on CLUSTER): needed to apply",
        "principal is declared in Cluster",
    } <= set(texts(allowed, met=True))
    undeclared = diagnosed(FOUND, None)
    assert "no Cluster document describes it yet: `reconciler export` writes one" in texts(undeclared, met=False)


def test_a_second_client_that_cannot_connect_is_a_note_with_what_is_missing() -> None:
    found = diagnosed(replace(FOUND, no_messages="cannot connect to this cluster: KafkaError: why"), None)
    assert found.can_plan
    (text,) = [text for text in texts(found, met=False) if "kafka-python" in text]
    assert text.startswith("kafka-python cannot connect to this cluster: KafkaError: why. Without it ACLs")


def test_a_reading_tells_once_of_the_client_that_could_not_connect() -> None:
    told: list[Note] = []
    settings = ClientSettings({"bootstrap.servers": "127.0.0.1:9"})
    settings.first_contact.give_up("KafkaError: why")
    asked = replace(target(), settings=settings, tell=told.append)
    asked.read(ReadRequest())
    asked.read(ReadRequest())
    (note,) = told
    assert isinstance(note, ClientNote)
    assert "cannot connect to this cluster: KafkaError: why" in note.text


def test_the_make_that_a_cluster_shows_is_proposed() -> None:
    cloud = replace(FOUND, cluster_id="lkc-9gz21")
    (proposed,) = [check for check in checks(cloud, None, SEES_ALL) if check.need is Need.FLAVOR]
    words = check_words(proposed, Diagnosis(cloud, (proposed,)))
    assert not proposed.met
    assert not proposed.required
    assert "Confluent Cloud (the cluster id is lkc-9gz21)" in words
    assert "flavor: confluent-cloud" in words
    broker = Broker(1, "b-1.prod.67281x.c4.kafka.eu-west-1.amazonaws.com", 9098, None)
    (proposed,) = [c for c in checks(replace(FOUND, brokers=(broker,)), None, SEES_ALL) if c.need is Need.FLAVOR]
    assert "flavor: msk" in proposed.detail
    assert [check for check in checks(FOUND, None, SEES_ALL) if check.need is Need.FLAVOR] == []


def test_a_stated_flavor_is_told() -> None:
    (stated,) = [c for c in checks(FOUND, None, SEES_ALL, FLAVORS["msk"]) if c.need is Need.FLAVOR]
    assert check_words(stated, Diagnosis(FOUND, (stated,))) == "the vendor is Amazon MSK"


def test_a_contradicted_flavor_cannot_be_read() -> None:
    flavored = FlavoredCluster(MemoryCluster(ClusterState("c")), FLAVORS["confluent-cloud"])
    check = reading(Target("c", flavored, None), FOUND)
    assert check.required
    assert "flavor is confluent-cloud, but the cluster id is c" in check.detail


def test_signs_that_disagree_are_both_said_and_nothing_is_proposed() -> None:
    brokers = (Broker(1, "k.aivencloud.com", 1, None), Broker(2, "acme.servicebus.windows.net", 1, None))
    (told,) = [c for c in checks(replace(FOUND, brokers=brokers), None, SEES_ALL) if c.need is Need.FLAVOR]
    words = check_words(told, Diagnosis(FOUND, (told,)))
    assert not told.met
    assert "a broker is k.aivencloud.com, which is Aiven for Apache Kafka's" in words
    assert "a broker is acme.servicebus.windows.net, which is Azure Event Hubs's" in words
    assert "no vendor is proposed" in words
    assert "write “flavor:" not in words


def test_a_stated_flavor_that_the_cluster_contradicts_is_wrong_with_both_facts() -> None:
    shown = replace(FOUND, configs={"config.providers.strimzienv.class": None})
    (told,) = [c for c in checks(shown, None, SEES_ALL, FLAVORS["msk"]) if c.need is Need.FLAVOR]
    assert (told.met, told.required) == (False, True)
    assert "flavor is msk, but a broker has the config config.providers.strimzienv.class" in told.detail


def test_an_authorizer_of_another_make_is_told_before_anything_is_planned() -> None:
    own = {CLASS_NAME: "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    (told,) = [c for c in checks(replace(FOUND, configs=own), None, SEES_ALL) if c.need is Need.AUTHORIZER_CLASS]
    assert told.met
    other = {CLASS_NAME: "com.acme.Authorizer"}
    (told,) = [c for c in checks(replace(FOUND, configs=other), None, SEES_ALL) if c.need is Need.AUTHORIZER_CLASS]
    words = check_words(told, Diagnosis(FOUND, (told,)))
    assert "ACLs are stored here and may not decide: authorizer.class.name=com.acme.Authorizer" in words
    assert [c for c in checks(FOUND, None, SEES_ALL) if c.need is Need.AUTHORIZER_CLASS] == []


@pytest.mark.parametrize("source", [FactSource.OPERATOR, FactSource.MANIFESTS])
def test_a_stated_version_is_held_against_what_the_cluster_says(source: FactSource) -> None:
    stated = ClusterDeclaration(
        "c", Origin("c.yaml", 1, 1), kafka_version=(4, 3), sources=FactSources(kafka_version=source)
    )
    (same,) = state_checks(ClusterState("c", kafka_version=(4, 3)), stated)
    assert same.met
    assert "says so too" in check_words(same, Diagnosis(FOUND, (same,)))
    (other,) = state_checks(ClusterState("c", kafka_version=(4, 4)), stated)
    assert (other.met, other.required) == (False, True)
    words = check_words(other, Diagnosis(FOUND, (other,)))
    assert "4.3" in words
    assert "4.4" in words
    (silent,) = state_checks(ClusterState("c"), stated)
    assert (silent.met, silent.required) == (False, False)
    assert list(state_checks(ClusterState("c", kafka_version=(4, 3)), replace(stated, kafka_version=None))) == []


def for_release(live: ClusterState, release: tuple[int, int]) -> list[str]:
    return [check.detail for check in upgrade_checks(live, release) if not check.met]


PLAIN = binding("User:a ALLOW READ on TOPIC t")
OLD = ClusterState(
    "c",
    bindings=frozenset({PLAIN, binding("User:a ALLOW READ on TOPIC t from 10.0.0.0/8")}),
    topics={
        "small": Topic("small", 1, 1, {"segment.bytes": "1000"}),
        "retired": Topic("retired", 1, 1, {"message.format.version": "3.0"}),
        "odd": Topic("odd", 1, 1, {"segment.index.bytes": "4"}),
        "fine": Topic("fine", 1, 1, {"segment.bytes": "1048576", "segment.index.bytes": "8192"}),
    },
    kafka_version=(3, 9),
)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ((3, 9), ["odd"]),
        ((4, 0), ["retired", "odd"]),
        ((4, 1), ["retired", "small", "odd"]),
        ((4, 4), ["retired", "small", "odd", "10.0.0.0/8"]),
    ],
)
def test_what_a_newer_release_refuses_or_understands_otherwise(release: tuple[int, int], expected: list[str]) -> None:
    found = for_release(OLD, release)
    assert len(found) == len(expected)
    assert all(any(word in text for text in found) for word in expected), found
    assert not any("fine" in text for text in found)


def test_ranges_are_no_news_where_they_are_ranges_already() -> None:
    assert not any("10.0.0.0/8" in text for text in for_release(replace(OLD, kafka_version=(4, 4)), (4, 4)))
    assert any("10.0.0.0/8" in text for text in for_release(replace(OLD, kafka_version=None), (4, 4)))


def test_what_was_not_seen_is_not_called_fine() -> None:
    assert for_release(ClusterState("c", topic_gap="some topics are hidden"), (4, 4)) == [
        "not all was seen: some topics are hidden"
    ]
    assert for_release(ClusterState("c"), (4, 4)) == []


@pytest.mark.parametrize("text", ["4", "four", "4.4.4.4", "-1.0", ""])
def test_a_release_is_written_as_kafka_writes_it(text: str) -> None:
    assert run(["doctor", "--cluster", "c", "--for", text]) == 64
