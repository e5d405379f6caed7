"""The readers that stand in on clusters too large for the first one, through the whole command line.

Their limits themselves are met in ``tests/long``; here a small cluster is read by each of them.
"""

import functools
from pathlib import Path

import pytest

from reconciler.kafka import cluster
from reconciler.kafka.listing import AclReader, kafka_python_settings
from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job, job

pytestmark = pytest.mark.broker

GAP = "the ACL listing may not be whole"
#: kafka-python has no such setting.
ONLY_FOR_THE_CLIENT = "    broker.address.family: v4\n"
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: [READ, DESCRIBE], topics: ["@orders", "@refunds"]}
    - {allow: READ, groups: {prefix: "@"}}
"""


def main_job(main: Job) -> list[str]:
    """Creates, changes, deletes; returns what each plan printed."""
    main.write("team.yaml", TEAM)
    assert "Applied and verified: 5 steps." in main.run("apply", "--yes").out
    plans = [main.run("plan", "--detailed-exitcode")]
    assert plans[0].status == 0
    main.write("team.yaml", TEAM.replace("DESCRIBE", "WRITE"))
    assert main.run("drift").status == 2
    plans.append(main.run("plan", "--allow-deletes"))
    assert "2 ACLs to create, 2 ACLs to delete" in plans[1].out
    assert "Applied and verified: 4 steps." in main.run("apply", "--yes", "--allow-deletes").out
    assert main.run("drift").status == 0
    return [plan.out for plan in plans]


def test_the_main_job_where_only_the_client_can_connect(
    tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kafka_python_settings(settings_of(broker.settings("admin"), broker_address_family="v4")) is None
    main = job(tmp_path, broker, "fallback-client.", capsys)
    main.connections.write_text(main.connections.read_text() + ONLY_FOR_THE_CLIENT)
    assert not [plan for plan in main_job(main) if GAP in plan]


def test_the_main_job_in_shards_says_what_was_not_looked_for(
    tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "connect", functools.partial(cluster.connect, readers=(AclReader.SHARDS,)))
    main = job(tmp_path, broker, "fallback-shards.", capsys)
    plans = main_job(main)
    assert len([plan for plan in plans if GAP in plan and "DELEGATION_TOKEN" in plan]) == len(plans)


def test_a_refusal_by_the_client_is_not_an_empty_cluster(
    tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    poor = job(tmp_path, broker, "fallback-poor.", capsys, user="nobody")
    poor.connections.write_text(poor.connections.read_text() + ONLY_FOR_THE_CLIENT)
    poor.write("team.yaml", TEAM)
    for command in (["plan"], ["drift"], ["apply", "--yes"], ["export"]):
        refused = poor.run(*command)
        assert (refused.status, refused.out) == (1, "")
        assert "not authorized to list ACLs" in refused.err
