"""A forged bridge on a real broker: a stranger really may, and every command that could tell does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.judge import Witness
from tests.integration.main_job import job
from tests.shared_brokers import opened
from tests.verbs import creations

pytestmark = pytest.mark.broker

_TOPIC = "forged.salaries"
_PATTERN = ResourcePattern(ResourceType.TOPIC, _TOPIC)
#: The name of a run that is to come: without a bound it would look young forever.
_PAIR = (marker_of("20991122T000000Z-aaaa", _PATTERN), bridge_on(_PATTERN))
_TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: payroll}
spec: {principal: User:svc-payroll, rules: [{allow: READ, topics: ["@salaries"]}]}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: payroll}
spec:
  tests:
    - {name: only payroll reads, onlyReaders: ["User:svc-payroll"], topics: ["@salaries"]}
"""


@pytest.fixture
def admin(broker: Sandbox) -> Iterator[KafkaCluster]:
    with opened(broker) as cluster:
        yield cluster


def test_a_stranger_may_and_nothing_says_otherwise(
    broker: Sandbox, admin: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mallory writes a bridge on the salaries and a marker for it: drift, test and answers count it, and it goes."""
    team = job(tmp_path, broker, "forged.", capsys)
    with team.connections.open("a") as file:
        file.write("  allowEveryoneIfNoAclFound: false\n")
    team.write("team.yaml", _TEAM)
    admin.send(creations([Topic(_TOPIC, 1, 1)]))
    assert team.run("apply", "--yes").status == Exit.OK
    assert team.run("drift").status == Exit.OK
    stranger = broker.settings("mallory-without-any-acl", "OAUTHBEARER")
    assert Witness(stranger).produces(_TOPIC) is False

    admin.send(creations(_PAIR))
    assert Witness(stranger).produces(_TOPIC) is True
    drifted = team.run("drift")
    assert drifted.status == Exit.DIFFERENT
    assert "User:*" in drifted.out
    assert team.run("test").status == Exit.FAILED_CHECK
    where = ("--path", str(team.directory), "--cluster", "it")
    asked = team.run("who-can", "WRITE", f"topic/{_TOPIC}", *where, cluster=False)
    assert "everybody else" in asked.out
    may = team.run("can-i", "User:mallory", "WRITE", f"topic/{_TOPIC}", *where, cluster=False)
    assert may.status == Exit.OK

    cleaned = team.run("cleanup", "--yes")
    assert cleaned.status == Exit.OK, cleaned.err
    assert Witness(stranger).produces(_TOPIC) is False
    assert team.run("drift").status == Exit.OK
