"""The main job on a real broker by the command line: plan, apply, drift, export, and the ways these can end."""

import json
import re
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.parts.local.sandbox.state import Sandbox
from tests.contract.subject import ACLS, Subject
from tests.integration.main_job import Job, connections_file, job
from tests.verbs import creations
from tests.worlds import binding

pytestmark = pytest.mark.broker

TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - allow: [READ, DESCRIBE]
      topics: ["@orders"]
    - deny: WRITE
      topics: {prefix: "@audit."}
      hosts: [10.0.0.7]
    - allow: READ
      groups: ["@group"]
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec:
  topics:
    - {name: "@orders", partitions: 2, replicationFactor: 1, configs: {retention.ms: 7d, cleanup.policy: delete}}
"""


ABSENT = """\
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec: {topics: [{name: '@orders', absent: true}]}
"""

TOKENS = """\
    - {allow: TWO_PHASE_COMMIT, transactionalIds: ['@tx']}
    - {allow: [CREATE_TOKENS, DESCRIBE_TOKENS], users: ["User:@bob"]}
    - {allow: DESCRIBE, delegationTokens: ['@token']}
    - {allow: WRITE, transactionalIds: ['@tx']}
---
"""


@pytest.fixture
def main(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """Manifests of a team, on a scope of this test's own."""
    made = job(tmp_path, broker, f"main{abs(hash(request.node.name)) % 10**8}.", capsys)
    made.write("team.yaml", TEAM)
    return made


def test_plan_apply_drift(main: Job, tmp_path: Path) -> None:
    saved = str(tmp_path / "plan.json")
    assert main.bare("validate", str(main.directory)).status == 0
    planned = main.run("plan", "--out", saved)
    assert planned.status == 0, planned.err
    assert "4 ACLs to create, 1 topic to create" in planned.out
    [approved] = [word for word in planned.out.split() if word.startswith("plan-")]

    applied = main.run("apply", saved, str(main.directory), "--require-id", approved, cluster=False)
    assert applied.status == 0, applied.err
    assert "Applied and verified: 5 steps." in applied.out

    assert main.run("drift").status == 0
    assert "Nothing to do." in main.run("plan", "--detailed-exitcode", "--allow-deletes").out

    again = main.run("apply", saved, str(main.directory), "--yes", cluster=False)
    assert again.status == 0, again.err
    assert "5 already" in again.out


def test_what_nobody_declares_is_drift_and_goes_only_when_asked(main: Job) -> None:
    assert main.run("apply", "--yes").status == 0
    main.write("team.yaml", TEAM.replace("[READ, DESCRIBE]", "[READ]"))
    drift = main.run("drift")
    assert " has drifted: " in drift.out.splitlines()[0]
    assert drift.status == 2
    assert "+ User:svc ALLOW DESCRIBE on TOPIC" in drift.out
    held = main.run("apply", "--yes")
    assert held.status == 0
    assert main.run("drift").status == 2
    assert main.run("apply", "--yes", "--allow-deletes").status == 0
    assert main.run("drift").status == 0


def test_topics_change_as_declared_and_never_by_silence(main: Job) -> None:
    assert main.run("apply", "--yes").status == 0
    main.write("team.yaml", TEAM.replace("partitions: 2", "partitions: 3").replace(", cleanup.policy: delete", ""))
    changed = main.run("apply", "--yes", "--output", "json")
    assert changed.status == 0, changed.err
    document = json.loads(changed.out)
    assert [(step["action"], step["outcome"]) for step in document["steps"]] == [
        ("CreatePartitions", "done"),
        ("AlterConfigs", "done"),
    ]
    main.write("team.yaml", TEAM.split("---", maxsplit=1)[0])
    assert main.run("drift").status == 0
    main.write("team.yaml", TEAM.split("---", maxsplit=1)[0] + ABSENT)
    assert main.run("apply", "--yes", "--allow-deletes").status == 5
    name = f"{main.prefix}orders"
    assert main.run("apply", "--yes", "--allow-deletes", "--accept", f"topic-delete={name}").status == 0
    assert main.run("drift").status == 0


def test_a_stale_plan_is_refused_with_what_was_expected_and_found(main: Job, tmp_path: Path) -> None:
    assert main.run("apply", "--yes").status == 0
    main.write("team.yaml", TEAM.replace("partitions: 2", "partitions: 5"))
    saved = str(tmp_path / "plan.json")
    assert main.run("plan", "--out", saved).status == 0
    main.write("team.yaml", TEAM.replace("partitions: 2", "partitions: 4"))
    assert main.run("apply", "--yes").status == 0
    stale = main.run("apply", saved, str(main.directory), "--yes", cluster=False)
    assert stale.status == 4
    assert "expected 2 partitions, found 4 partitions" in stale.err


def test_an_altered_or_foreign_plan_is_refused(main: Job, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    assert main.run("plan", "--out", str(saved)).status == 0
    altered = tmp_path / "altered.json"
    altered.write_text(saved.read_text().replace("User:svc", "User:eve"))
    refused = main.run("apply", str(altered), str(main.directory), "--yes", cluster=False)
    assert refused.status == 4
    assert "altered" in refused.err
    wrong = main.run("apply", str(saved), str(main.directory), "--require-id", "plan-00000000", cluster=False)
    assert wrong.status == 4
    assert main.run("drift").status == 2


def test_a_plan_for_another_cluster_is_refused(main: Job, tmp_path: Path, broker_3_9: Sandbox) -> None:
    saved = str(tmp_path / "plan.json")
    assert main.run("plan", "--out", saved).status == 0
    main.connections = connections_file(tmp_path / "other.yaml", broker_3_9, "admin")
    other = main.run("apply", saved, str(main.directory), "--yes", cluster=False)
    assert other.status == 4
    assert "the plan is for cluster" in other.err


def test_the_main_job_on_the_oldest_broker(
    tmp_path: Path, broker_3_9: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    old = job(tmp_path, broker_3_9, "old.", capsys)
    old.write("team.yaml", TEAM)
    assert old.run("apply", "--yes").status == 0
    assert old.run("drift").status == 0


def test_without_rights_the_answer_is_not_an_empty_cluster(
    tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["plan"], ["drift"], ["apply", "--yes"], ["export"]):
        poor = job(tmp_path, broker, "poor.", capsys, user="nobody")
        poor.write("team.yaml", TEAM)
        refused = poor.run(*command)
        assert refused.status == 1
        assert "not authorized to list ACLs" in refused.err
        assert refused.out == ""


def test_without_an_authorizer_the_cluster_is_said_to_have_none(
    tmp_path: Path, broker_no_authorizer: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    open_cluster = job(tmp_path, broker_no_authorizer, "open.", capsys)
    open_cluster.write("team.yaml", TEAM)
    for command in (["plan"], ["drift"], ["apply", "--yes"], ["export"]):
        refused = open_cluster.run(*command)
        assert refused.status == 1
        assert "no authorizer" in refused.err
    told = open_cluster.run("drift").err
    assert re.search(r"\d+ declared ACLs are not compared: this cluster has no authorizer", told), told
    examined = open_cluster.run("doctor")
    assert examined.status == 1
    assert "no authorizer" in examined.out


WITH_LOGINS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: topics}
spec: {topics: [{name: open.events, partitions: 2}]}
---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: quotas}
spec: {quotas: [{user: open.user, limits: {producer_byte_rate: 1MiB/s}}]}
---
apiVersion: reconciler/v1
kind: ClusterTests
metadata: {name: brokers}
spec: {tests: [{name: manifests create topics, configs: {auto.create.topics.enable: "true"}}]}
"""


def test_without_an_authorizer_drift_compares_all_but_acls(
    tmp_path: Path, broker_no_authorizer: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    open_cluster = job(tmp_path, broker_no_authorizer, "open.", capsys)
    wider = (open_cluster.directory / "cluster.yaml").read_text()
    wider = wider.replace("{include: [", "{include: [{principals: {prefix: 'User:open.'}}, ")
    (open_cluster.directory / "cluster.yaml").write_text(wider)
    open_cluster.write("team.yaml", WITH_LOGINS.replace('"true"', '{allowed: ["true", "false"]}'))
    differs = open_cluster.run("drift")
    assert differs.status == 2, differs.err
    for text in ("- topic open.events", "- quota of user open.user", "1 passed", "everybody may do everything"):
        assert text in differs.out
    open_cluster.write("acls.yaml", TEAM)
    partly = open_cluster.run("drift")
    assert partly.status == 1
    assert "- topic open.events" in partly.out
    assert "declared ACLs are not compared" in partly.err
    assert json.loads(open_cluster.run("drift", "--output", "json").out)["warnings"]


def test_export_plans_to_nothing(main: Job, tmp_path: Path) -> None:
    assert main.run("apply", "--yes").status == 0
    out = tmp_path / "exported"
    assert main.run("export", "--out", str(out)).status == 0
    (out / "cluster.yaml").write_text((main.directory / "cluster.yaml").read_text())
    main.directory = out
    planned = main.run("plan", "--allow-deletes", "--detailed-exitcode")
    assert planned.status == 0, planned.out
    assert "Nothing to do." in planned.out


def test_what_the_operator_states_counts_before_any_manifest_is_there(main: Job, tmp_path: Path) -> None:
    """The first export of a cluster: the connections file says who we are, so it is known that we see every topic."""
    with main.connections.open("a", encoding="utf-8") as file:
        file.write("  principal: User:admin\n  superUsers: [User:admin]\n")
    words = ("--cluster", "it", "--connections", str(main.connections))
    assert "may be partial" not in main.bare("doctor", *words).out
    exported = main.bare("export", *words, "--out", str(tmp_path / "first"))
    assert (exported.status, "may be partial" in exported.err) == (0, False)
    written = (tmp_path / "first" / "cluster.yaml").read_text(encoding="utf-8")
    assert "allowEveryoneIfNoAclFound: false" in written, "what is still to be stated"
    assert "superUsers" not in written


def test_a_snapshot_stands_for_the_cluster(main: Job, tmp_path: Path) -> None:
    assert main.run("apply", "--yes").status == 0
    file = str(tmp_path / "now.json")
    assert main.run("export", "--snapshot", file).status == 0
    assert main.bare("drift", str(main.directory), "--cluster", f"snapshot:{file}").status == 0
    main.write("team.yaml", TEAM.replace("[READ, DESCRIBE]", "[READ, WRITE]"))
    assert main.bare("drift", str(main.directory), "--cluster", f"snapshot:{file}").status == 2


def test_what_confluent_kafka_has_no_codes_for_is_applied_exported_and_deleted(main: Job, tmp_path: Path) -> None:
    main.write("team.yaml", TEAM.replace("---\n", TOKENS, 1))
    applied = main.run("apply", "--yes")
    assert applied.status == 0, applied.err
    assert main.run("drift").status == 0
    out = str(tmp_path / "exported")
    assert main.run("export", "--out", out).status == 0
    text = "".join(path.read_text(encoding="utf-8") for path in Path(out).rglob("*.yaml"))
    assert all(operation in text for operation in ("TWO_PHASE_COMMIT", "CREATE_TOKENS", "DESCRIBE_TOKENS"))
    main.write("team.yaml", TEAM)
    assert main.run("apply", "--yes", "--allow-deletes").status == 0
    assert main.run("drift").status == 0


def test_where_confluent_kafka_is_the_only_reader_it_names_every_kind_and_writes_what_it_can(main: Job) -> None:
    main.write("team.yaml", TEAM.replace("---\n", TOKENS, 1))
    assert main.run("apply", "--yes").status == 0
    # A setting that kafka-python does not know.
    text = main.connections.read_text(encoding="utf-8")
    main.connections.write_text(text.replace("  client:\n", "  client:\n    broker.address.family: v4\n"))
    assert main.run("drift").status == 0
    planned = main.run("plan", "--allow-deletes")
    assert "Nothing to do." in planned.out
    assert "cannot name" not in planned.out + planned.err
    # What it can name and cannot write stays, with the reason; the rest of the plan is done.
    main.write("team.yaml", TEAM)
    planned = main.run("plan", "--allow-deletes")
    assert planned.status == 0, planned.err
    assert planned.out.partition("Skipped")[2].startswith(" (4)")
    assert "confluent-kafka cannot carry the operation TWO_PHASE_COMMIT" in planned.out
    assert main.run("apply", "--yes", "--allow-deletes").status == 0
    assert main.run("drift").status == 2
    main.connections.write_text(text)
    assert main.run("apply", "--yes", "--allow-deletes").status == 0
    assert main.run("drift").status == 0


def test_a_rejected_item_fails_alone(main: Job) -> None:
    main.write("team.yaml", TEAM.replace("cleanup.policy: delete", "no.such.config: x"))
    failed = main.run("apply", "--yes", "--output", "json")
    assert failed.status == 1, failed.err
    outcomes = {step["action"]: (step["outcome"], step["code"]) for step in json.loads(failed.out)["steps"]}
    assert outcomes == {"CreateAcl": ("done", ""), "CreateTopic": ("failed", "INVALID_CONFIG")}


def test_doctor_sees_rights(main: Job, tmp_path: Path, broker: Sandbox) -> None:
    healthy = main.run("doctor", "--output", "json")
    assert healthy.status == 0
    assert json.loads(healthy.out)["kind"] == "Doctor"
    assert json.loads(healthy.out)["canAlterAcls"] is True
    checks = {check["check"]: check for check in json.loads(healthy.out)["checks"]}
    assert checks["authorizer-class"]["ok"], healthy.out
    assert "own-rights" not in checks
    cluster = main.directory / "cluster.yaml"
    stated = cluster.read_text()
    release = "3.9" if broker.kafka_version.startswith("4") else "4.0"
    cluster.write_text(
        stated.replace("principal: User:admin", "principal: User:other") + f"  kafkaVersion: {release}\n"
    )
    doubted = main.run("doctor")
    assert doubted.status == 1
    assert f"wrong  the manifests say that cluster it runs Kafka {release}, and it tells that it runs" in doubted.out
    assert "note   brokers let this login" in doubted.out
    cluster.write_text(stated.replace("principal: User:admin", "principal: User:other"))
    assert "and no ACL lets User:other: it is a super user that nobody states" in main.run("plan").out
    cluster.write_text(stated)
    assert "no ACL lets" not in main.run("plan").out
    main.connections = connections_file(tmp_path / "nobody.yaml", broker, "nobody")
    ill = main.run("doctor", "--output", "json")
    assert ill.status == 1
    assert json.loads(ill.out)["canListAcls"] is False
    assert not any(check["ok"] for check in json.loads(ill.out)["checks"] if "topic" in check["text"])


def test_a_login_that_may_only_look_plans_and_says_so(main: Job, tmp_path: Path, broker: Sandbox) -> None:
    warning = "this login may not change ACLs"
    assert warning not in main.run("plan").out
    looker = f"looker-{tmp_path.parent.name}"
    settings = broker.settings("admin")
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as admin:
        right = binding(f"User:{looker} ALLOW DESCRIBE on CLUSTER kafka-cluster")
        admin.send(creations([right]))
        Subject(admin, (4, 3)).shows(ACLS, lambda state: right in state.bindings)
    declaration = main.directory / "cluster.yaml"
    declaration.write_text(declaration.read_text().replace("principal: User:admin", f"principal: User:{looker}"))
    main.connections = connections_file(tmp_path / "looker.yaml", broker, looker, "OAUTHBEARER")
    planned = main.run("plan", "--only", "principals=User:svc")
    assert planned.status == 0, planned.err
    assert warning in planned.out
