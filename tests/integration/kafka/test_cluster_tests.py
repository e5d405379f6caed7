"""Cluster tests by the command line: on a real broker, and on a snapshot, which holds no configs of brokers."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from reconciler.cli.console import Exit
from reconciler.kafka.cluster import connect
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.show.reading import read_result
from tests.integration.asked import Place, place
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import connections_file

_RATE = "leader.replication.throttled.rate"
_TESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: it}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  scope: {include: [{topics: {prefix: ct.}}]}
---
apiVersion: reconciler/v1
kind: ClusterTests
metadata: {name: brokers}
spec:
  tests:
"""


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return place(tmp_path, capsys)


@contextmanager
def throttled(broker: Sandbox) -> Iterator[None]:
    """A broker with a dynamic config of its own that harms nobody; it is taken away again."""
    admin = AdminClient({**broker.settings("admin")})

    def alter(operation: AlterConfigOpType, value: str | None) -> None:
        entry = ConfigEntry(_RATE, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)

    def shown() -> bool:
        asked = ConfigResource(ResourceType.BROKER, "1")
        configs = admin.describe_configs([asked])[asked].result(30)
        return _RATE in configs and configs[_RATE].value == "123456789"

    alter(AlterConfigOpType.SET, "123456789")
    try:
        until = time.monotonic() + 120
        while not shown():  # a broker lags behind its controller
            assert time.monotonic() < until, "the broker does not show its config"
            time.sleep(0.05)
        yield
    finally:
        alter(AlterConfigOpType.DELETE, None)


@pytest.mark.broker
def test_a_broker_is_asked_for_what_it_uses_now(
    broker: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "m"
    directory.mkdir()
    (directory / "all.yaml").write_text(
        _TESTS
        + "    - {name: rate, configs: {leader.replication.throttled.rate: {max: 5}}}\n"
        + "    - {name: fetchers, configs: {num.network.threads: {min: 1}}, features: {metadata.version: {min: 4.0}}}\n"
        + "    - {name: never, features: {metadata.version: {min: 30000}}}\n"
        + "    - {name: closed, configs: {allow.everyone.if.no.acl.found: 'false'}}\n"
        + "    - {name: misspelt, configs: {auto.create.topic.enable: 'false'}, severity: warning}\n"
    )
    run = Place(directory, tmp_path / "none", capsys).bare
    reach = (
        "--cluster",
        "it",
        "--connections",
        str(connections_file(tmp_path / "c.yaml", broker, "reconciler", name="it")),
    )
    with throttled(broker):
        ran = run("test", str(directory), *reach, "--output", "json")
    assert ran.status == Exit.FAILED_CHECK, ran.err
    (state,) = json.loads(ran.out)["clusters"]
    found = {(one["test"], one["key"]): one for one in state["clusterTests"]}
    assert {key: one["standing"] for key, one in found.items()} == {
        ("rate", _RATE): "failed",
        ("fetchers", "num.network.threads"): "passed",
        ("fetchers", "metadata.version"): "passed",
        ("never", "metadata.version"): "failed",
        # A plug-in's config: brokers hide it, or it is not set.
        ("closed", "allow.everyone.if.no.acl.found"): "undecided",
        ("misspelt", "auto.create.topic.enable"): "undecided",
    }
    assert found["rate", _RATE]["breaking"] == [{"broker": 1, "found": "123456789 (set on this broker)", "doubt": ""}]
    ran = run("drift", str(directory), *reach, "--output", "json")
    assert ran.status == Exit.FAILED_CHECK, ran.err
    report = read_result(json.loads(ran.out))
    assert {check.standing.value for check in report.checks} == {"passed", "failed", "undecided", "warned"}


@pytest.mark.broker
def test_a_broker_that_refuses_is_told_as_silent(broker: Sandbox) -> None:
    with connect(settings_of(broker.settings("nobody"))) as cluster:
        told = cluster.broker_settings(["num.network.threads"], features=True)
    assert told.configs == {}
    assert [why.partition(":")[0] for why in told.silent.values()] == ["CLUSTER_AUTHORIZATION_FAILED"]
    # Features need no right.
    assert told.features is not None
    assert told.features["metadata.version"] >= 26


def test_a_snapshot_decides_no_claim_about_brokers(here: Place) -> None:
    here.write("brokers.yaml", _TESTS[_TESTS.index("---\n") + 4 :] + "    - {name: t, configs: {a: b}}\n")
    ran = here.bare("test", str(here.directory), *here.cluster)
    assert ran.status == Exit.FAILED_CHECK
    assert "could not be found out: a snapshot holds no configs of brokers and no features" in ran.out
    assert "1 claim about brokers and features: 1 undecided" in ran.out
    ran = here.bare("drift", str(here.directory), *here.cluster)
    assert (ran.status, "error: cluster tests failed" in ran.err) == (Exit.FAILED_CHECK, True)
    assert "prod: Policy checks failed." in here.bare("drift", str(here.directory), *here.cluster, "--quiet").out
    # What is declared says nothing about brokers, and a plan changes none of their configs.
    ran = here.bare("test", str(here.directory))
    assert (ran.status, "1 claim about brokers and features not decided" in ran.out) == (Exit.OK, True)
    assert here.bare("plan", str(here.directory), *here.cluster).status == Exit.OK
    assert here.bare("validate", str(here.directory)).status == Exit.OK


@pytest.mark.parametrize("form", ["text", "markdown", "github", "junit", "sarif", "html", "prometheus"])
def test_every_report_has_the_claim_and_the_broker(here: Place, form: str) -> None:
    here.write("brokers.yaml", _TESTS[_TESTS.index("---\n") + 4 :] + "    - {name: t-1, configs: {a: b}}\n")
    for command in ("test", "drift"):
        document = here.bare(command, str(here.directory), *here.cluster, "--output", "json").out
        result = here.directory.parent / f"{command}.json"
        result.write_text(document)
        ran = here.bare("report", str(result), "-o", form)
        assert ran.status in (Exit.OK, Exit.DIFFERENT, Exit.FAILED_CHECK), ran.err
        wanted = 'reconciler_checks{cluster="prod",standing="undecided"} 1' if form == "prometheus" else "t-1"
        assert wanted in ran.out, ran.out[:3000]
