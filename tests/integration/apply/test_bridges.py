"""Bridges by the command line, on a real broker with default-allow: planned, built, cleaned, and nobody's drift."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from reconciler.kafka.cluster import connect
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job, add_probe, job
from tests.verbs import creations

pytestmark = pytest.mark.broker

TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:alice
  rules:
    - {allow: READ, topics: ["@orders"]}
    - {deny: WRITE, topics: ["@orders"]}
"""
NOTHING = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: none}\nspec: {topics: []}\n"
RUN = "20260101T000000Z-dead"


@pytest.fixture
def opened(
    tmp_path: Path, open_broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Job:
    """A job on the open broker that declares default-allow and a probe."""
    made = job(tmp_path, open_broker, f"bridge{abs(hash(request.node.name)) % 10**8}.", capsys)
    cluster = made.directory / "cluster.yaml"
    text = cluster.read_text().replace("Found: false", "Found: true")
    cluster.write_text(text.replace("{wait: 100ms}", "{principal: User:acl-probe, timeout: 10s}") + "  brokers: [1]\n")
    add_probe(made.connections, open_broker)
    return made


def test_a_resource_is_closed_with_a_bridge_and_opened_with_an_exception(opened: Job, tmp_path: Path) -> None:
    opened.write("team.yaml", TEAM)
    planned = opened.run("plan", "--output", "json")
    assert planned.status == 0, planned.err
    conditional = json.loads(planned.out)["conditional"]
    assert [item["kind"] for item in conditional] == ["sentinel", "bridge", "barrier"]
    assert conditional[1]["name"] == f"{opened.prefix}orders"
    audit = tmp_path / "audit.jsonl"
    applied = opened.run("apply", "--yes", "--audit", str(audit))
    assert applied.status == 0, applied.err
    assert f"? TOPIC {opened.prefix}orders: as open as before the plan" in applied.err
    records = [json.loads(line) for line in audit.read_text().splitlines()]
    actions = [record["action"] for record in records if record["record"] == "bridges"]
    assert actions == ["create", "created", "remove", "removed"]
    assert opened.run("drift").status == 0
    opened.write("team.yaml", NOTHING)
    arguments = ("--allow-deletes", "--accept", "empty-desired=it")
    refused = opened.run("plan", *arguments)
    assert refused.status == 5
    word = f"open-by-default=TOPIC {opened.prefix}orders"
    assert f"--accept '{word}'" in refused.out
    applied = opened.run("apply", "--yes", *arguments, "--accept", word)
    assert applied.status == 0, applied.err
    assert "may have been refused" not in applied.out


GROUPS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:alice
  rules: [{allow: READ, groups: ["@g-1"]}]
"""


def test_existing_groups_under_a_prefix_are_bridged(opened: Job, open_broker: Sandbox) -> None:
    topic, groups = f"{opened.prefix}topic", [f"{opened.prefix}g-{number}" for number in (1, 2)]
    with connect(settings_of(open_broker.settings("admin"))) as admin:
        admin.send(creations([Topic(topic, 1, 1)]))
    for group in groups:
        consumer = Consumer({**open_broker.settings("admin"), "group.id": group})
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        consumer.close()
    opened.write("team.yaml", GROUPS)
    assert opened.run("apply", "--yes").status == 5, "somebody uses that group"
    assert opened.run("apply", "--yes", "--accept", f"closed-by-default=GROUP {groups[0]}").status == 0
    wider = GROUPS.replace("READ, groups", "READ, groups: {prefix: '@g-'}}, {allow: READ, groups")
    opened.write("team.yaml", wider)
    conditional = json.loads(opened.run("plan", "--output", "json").out)["conditional"]
    bridges = [(item["resourceType"], item["name"]) for item in conditional if item["kind"] == "bridge"]
    assert bridges == [("GROUP", groups[1])]
    applied = opened.run("apply", "--yes", "--accept", f"closed-by-default=GROUP PREFIXED {opened.prefix}g-")
    assert applied.status == 0, applied.err
    assert "names that do not exist yet" in applied.out


def test_a_bridge_of_a_dead_run_is_drift_and_is_cleaned_with_its_age(opened: Job, open_broker: Sandbox) -> None:
    opened.write("team.yaml", TEAM)
    assert opened.run("apply", "--yes").status == 0
    patterns = [
        ResourcePattern(ResourceType.TOPIC, f"{opened.prefix}orders"),
        ResourcePattern(ResourceType.TOPIC, opened.prefix + "x" * 240, PatternType.PREFIXED),
    ]
    bridges = {bridge_on(pattern) for pattern in patterns}
    with connect(settings_of(open_broker.settings("admin"))) as admin:
        admin.send(creations([binding for p in patterns for binding in (marker_of(RUN, p), bridge_on(p))]))
        drifted = opened.run("drift")
        assert drifted.status == 2, drifted.out
        assert "a bridge without a run" in drifted.out
        exported = opened.run("export")
        assert exported.out.count("a bridge that a run left") == 2
        assert 'principal: "User:*"' not in exported.out
        listed = opened.run("cleanup", "--run", RUN)
        assert listed.status == 64
        assert f"bridge: User:* ALLOW ALL on TOPIC {opened.prefix}orders" in listed.out
        assert bridges <= admin.read(ReadRequest(all_topics=False)).bindings
        cleaned = opened.run("cleanup", "--run", RUN, "--yes")
        assert cleaned.status == 0, cleaned.err
        live = admin.read(ReadRequest(all_topics=False)).bindings
    assert not bridges & live
    assert not any(RUN in binding.pattern.name for binding in live)
    assert opened.run("drift").status == 0
