"""What is wrong in a snapshot is named with its place; nothing is guessed or skipped."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import SnapshotError, parse_document, parse_snapshot, snapshot_schema_text

SCHEMA = Path(__file__).parents[4] / "schema" / "snapshot.json"
EMPTY: dict[str, Any] = {"formatVersion": "1.0", "clusterId": "c", "acls": [], "topics": [], "opaque": []}
GROUP = {"resourceType": "TOPIC", "patternType": "LITERAL", "name": "t", "entries": [["User:a", "*", "ALLOW", "READ"]]}


def document(**fields: object) -> str:
    return json.dumps(EMPTY | fields)


def group(**fields: object) -> str:
    return document(acls=[GROUP | fields])


def test_the_least_snapshot_is_an_empty_cluster() -> None:
    assert parse_snapshot(document()) == ClusterState("c")


def test_a_row_holds_one_binding_for_each_operation() -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, "t")
    expected = {
        AclBinding(pattern, AccessControlEntry("User:a", "*", operation, AclPermissionType.DENY))
        for operation in (AclOperation.READ, AclOperation.WRITE)
    }
    assert parse_snapshot(group(entries=[["User:a", "*", "DENY", "READ", "WRITE"]])).bindings == expected


def test_a_topic_may_leave_unknown_what_it_does_not_know() -> None:
    assert parse_snapshot(document(topics=[{"name": "t"}])).topics == {"t": Topic("t")}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "line 1, column 1"),
        ('{"a": 1,\n  "b" 2}', "line 2, column 7"),
        ("[]", "the document"),
        ("[" * 100_000, "the document"),
        ('{"a": 1, "a": 2}', "the key 'a'"),
        (document(acls=[{"x": float("nan")}]), "NaN"),
        ("1" * 5_000, "the document"),
        (document(formatVersion=None), "formatVersion"),
        (document(formatVersion="one"), "formatVersion"),
        (document(formatVersion="2.0"), "formatVersion"),
        (document(clusterId=7), "clusterId"),
        (document(clusterId="\ud800"), "clusterId"),
        (document(acls={}), "acls"),
        (document(acls=None), "acls"),
        (document(acls=[1]), "acls[0]"),
        (document(aclgap="a misspelt field"), "aclgap"),
        (group(resourceType="ANY"), "acls[0].resourceType"),
        (group(resourceType="Topic"), "acls[0].resourceType"),
        (group(patternType="MATCH"), "acls[0].patternType"),
        (group(name=""), "acls[0].name"),
        (group(host="*"), "acls[0].host"),
        (group(entries=[["User:a", "*", "ALLOW"]]), "acls[0].entries[0]"),
        (group(entries=[["User:a", "*", "ALLOW", "READ", "READ"]]), "acls[0].entries[0]"),
        (group(entries=[["User:a", "*", "ALLOW", "FLY"]]), "acls[0].entries[0]"),
        (group(entries=[["User:a", "*", "READ", "ALLOW"]]), "acls[0].entries[0]"),
        (group(entries=[["User:a", None, "ALLOW", "READ"]]), "acls[0].entries[0]"),
        (group(entries="READ"), "acls[0].entries"),
        (document(acls=[GROUP, GROUP]), "acls[1].entries[0]"),
        (document(topics=[{"name": "t"}, {"name": "t"}]), "topics[1].name"),
        (document(topics=[{"name": ""}]), "topics[0].name"),
        (document(topics=[{"name": "t", "partitions": 0}]), "topics[0].partitions"),
        (document(topics=[{"name": "t", "partitions": True}]), "topics[0].partitions"),
        (document(topics=[{"name": "t", "partitions": 1.0}]), "topics[0].partitions"),
        (document(topics=[{"name": "t", "configs": {"retention.ms": 7}}]), "topics[0].configs.retention.ms"),
        (document(topics=[{"name": "t", "configs": []}]), "topics[0].configs"),
        (document(topics=[{"name": "t", "replicaAssignments": [1]}]), "topics[0].replicaAssignments[0]"),
        (document(topics=[{"name": "t"}], unreadableTopics={"t": "29"}), "unreadableTopics.t"),
        (document(opaque=[{"name": "t", "principal": "User:a"}]), "opaque[0].host"),
        (document(broker={"brokerIds": ["1"]}), "broker.brokerIds[0]"),
        (document(broker={"defaultPartitions": 0}), "broker.defaultPartitions"),
        (document(broker=[]), "broker"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, place: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        parse_snapshot(text)
    assert caught.value.place == place
    assert place in str(caught.value)


def test_a_later_minor_version_may_have_more_fields() -> None:
    text = document(formatVersion="1.7", takenAt="noon", topics=[{"name": "t", "labels": {}}])
    assert parse_snapshot(text) == ClusterState("c", topics={"t": Topic("t")})


def test_a_later_minor_version_with_a_value_that_is_not_known_is_refused() -> None:
    with pytest.raises(SnapshotError, match="SHARE"):
        parse_snapshot(document(formatVersion="1.7", acls=[GROUP | {"resourceType": "SHARE"}]))


def test_facts_of_the_brokers_are_read() -> None:
    broker = parse_document(document(broker={"defaultPartitions": 3, "brokerIds": [1, 2]})).broker
    assert (broker.default_partitions, broker.default_replication_factor, broker.broker_ids) == (3, 1, (1, 2))


def test_the_committed_schema_is_the_generated_one() -> None:
    text = SCHEMA.read_text(encoding="utf-8")
    Draft7Validator.check_schema(json.loads(text))
    assert text == snapshot_schema_text()


def test_the_schema_knows_every_word_of_the_model() -> None:
    pattern = json.loads(snapshot_schema_text())["properties"]["acls"]["items"]["properties"]
    row = pattern["entries"]["items"]
    assert pattern["resourceType"]["enum"] == [item.name for item in ResourceType if item >= ResourceType.TOPIC]
    assert pattern["patternType"]["enum"] == [item.name for item in PatternType if item >= PatternType.LITERAL]
    assert row["additionalItems"]["enum"] == [item.name for item in AclOperation if item >= AclOperation.ALL]
    assert set(row["items"][2]["enum"]) == {"ALLOW", "DENY"}
