"""Undo, journal and audit on a real broker, by the command line."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from reconciler.system.journal import read_records
from tests.integration.main_job import Job
from tests.plan_files import plan_id_of
from tests.shared_brokers import opened
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

BEFORE = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: [READ, DESCRIBE], topics: ["@orders"]}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec: {topics: [{name: "@orders", partitions: 1, replicationFactor: 1, configs: {retention.ms: 7d}}]}
"""
AFTER = BEFORE.replace("[READ, DESCRIBE]", "[WRITE, DESCRIBE]").replace("partitions: 1", "partitions: 2")
AFTER = AFTER.replace("7d", "8d")


def test_undo_reverts_what_the_run_did(team: Job, tmp_path: Path) -> None:
    team.write("team.yaml", BEFORE)
    assert team.run("apply", "--yes").status == 0
    snapshot = str(tmp_path / "before.json")
    assert team.run("export", "--snapshot", snapshot).status == 0
    team.write("team.yaml", AFTER)
    saved, audit = str(tmp_path / "plan.json"), tmp_path / "audit.jsonl"
    assert team.run("plan", "--allow-deletes", "--out", saved).status == 0
    more = ("--yes", "--audit", str(audit), "--operator", "dana")
    applied = team.run("apply", saved, str(team.directory), *more, cluster=False)
    assert applied.status == 0, applied.err
    assert [record["record"] for record in read_records(f"{saved}.journal")][-1] == "end"
    steps = [record for record in map(json.loads, audit.read_text().splitlines()) if record["record"] == "step"]
    assert {record["outcome"] for record in steps} == {"done"}
    assert {record["operator"] for record in steps} == {"dana"}

    undo = str(tmp_path / "undo.json")
    arguments = [saved, str(team.directory), "--allow-deletes", "--out", undo]
    assert team.run("undo", *arguments, cluster=False).status == 5, "an undo has guards as any plan"
    accepted = f"data-loss={team.prefix}orders"
    undone = team.run("undo", *arguments, "--accept", accepted, cluster=False)
    assert undone.status == 0, undone.err
    assert f"topic {team.prefix}orders keeps 2 partitions" in undone.out
    assert "or the next plan brings it back" in undone.err
    assert team.run("apply", undo, str(team.directory), "--require-id", plan_id_of(undo), cluster=False).status == 0
    team.write("team.yaml", BEFORE.replace("partitions: 1", "partitions: 2"))
    assert team.run("drift").status == 0


THREE = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec:
  topics:
    - {name: "@anew", partitions: 1, replicationFactor: 1}
    - {name: "@used", partitions: 1, replicationFactor: 1}
    - {name: "@empty", partitions: 1, replicationFactor: 1}
"""


def test_undo_takes_no_topic_that_somebody_made_anew_or_has_written_to(
    team: Job, tmp_path: Path, broker: Sandbox
) -> None:
    team.write("team.yaml", THREE)
    saved = str(tmp_path / "plan.json")
    assert team.run("plan", "--out", saved).status == 0
    applied = team.run("apply", saved, str(team.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err
    anew, used, empty = (f"{team.prefix}{name}" for name in ("anew", "used", "empty"))
    with opened(broker) as admin:
        assert admin.send(deletions([Topic(anew, 1, 1)]))[0].good
        until = time.monotonic() + 60
        while not admin.send(creations([Topic(anew, 1, 1)]))[0].good:
            assert time.monotonic() < until, "the topic goes first"
        producer = Producer(broker.settings("admin"))
        for name in (anew, anew, used):
            producer.produce(name, b"theirs")
        assert producer.flush(30) == 0
        undo = str(tmp_path / "undo.json")
        arguments = [saved, str(team.directory), "--allow-deletes", "--out", undo]
        undone = team.run("undo", *arguments, "--accept", f"topic-delete={empty}", cluster=False)
        assert undone.status == 0, undone.out + undone.err
        said = " ".join((undone.out + undone.err).split())
        assert f"topic {anew} stays: it is another one of that name, which somebody has created since" in said
        assert f"topic {used} stays: somebody has written to it since, 1 record" in said
        assert team.run("apply", undo, str(team.directory), "--require-id", plan_id_of(undo), cluster=False).status == 0
        assert {*admin.read(ReadRequest(acls=False)).topics} & {anew, used, empty} == {anew, used}
        assert admin.topic_uses([anew])[anew].records == 2


def test_undo_needs_the_journal(team: Job, tmp_path: Path) -> None:
    team.write("team.yaml", BEFORE)
    saved = str(tmp_path / "plan.json")
    assert team.run("plan", "--out", saved).status == 0
    assert team.run("undo", saved, str(team.directory), cluster=False).status == 64


def test_audit_records_go_to_a_topic(team: Job, tmp_path: Path, broker: Sandbox) -> None:
    team.write("audit.yaml", BEFORE.replace("@orders", "@audit"))
    assert team.run("apply", "--yes").status == 0
    team.write("team.yaml", BEFORE.replace("name: team", "name: more"))
    topic = f"{team.prefix}audit"
    applied = team.run("apply", "--yes", "--audit", f"topic/{topic}")
    assert applied.status == 0, applied.err
    settings = {**broker.settings("admin"), "group.id": f"{topic}.readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found = [json.loads(message.value() or b"") for message in consumer.consume(5, timeout=30)]
    consumer.close()
    assert [record["record"] for record in found] == ["run", "step", "step", "step", "end"]


def test_an_audit_topic_that_cannot_be_written_stops_before_anything_is_sent(team: Job) -> None:
    team.write("team.yaml", BEFORE)
    failed = team.run("apply", "--yes", "--audit", f"topic/{team.prefix}missing", "--output", "json")
    assert failed.status == 1
    document = json.loads(failed.out)
    assert "audit" in document["stopped"]
    assert {step["outcome"] for step in document["steps"]} == {"not-attempted"}
