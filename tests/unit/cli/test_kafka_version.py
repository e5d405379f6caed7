"""Hosts as ranges: what a snapshot says of Kafka's version reaches every command that judges access (KIP-1276)."""

import json
from pathlib import Path

import pytest

from reconciler.adapters.kafka.release import release_of, rules_of
from reconciler.adapters.snapshot import parse_snapshot, snapshot_text
from reconciler.cli.main import run
from reconciler.fleet.header import Reading, parse_reading, reading_text
from reconciler.model import ClusterState
from tests.unit.access.bindings import bindings

RANGE, EXACT = bindings("TOPIC:L:orders User:a@10.0.0.0/8 ALLOW READ", "TOPIC:L:orders User:a@10.0.0.1 ALLOW READ")
CAN_I = ["can-i", "User:a", "READ", "topic", "orders", "--host"]
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
_DELETES = ("--allow-deletes", "--accept", "empty-desired=c")
VERSIONS = pytest.mark.parametrize("version", [(4, 3), (4, 4), None])
Version = tuple[int, int] | None


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's document, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    Path("m").mkdir()
    Path("m/cluster.yaml").write_text(CLUSTER)
    Path("operator.yaml").write_text(CLUSTER)


def told(capsys: pytest.CaptureFixture[str], version: Version, *arguments: str) -> str:
    """What a command prints about a snapshot of that version with a range, and an address in it."""
    state = ClusterState("id", frozenset({RANGE, EXACT}), kafka_version=version)
    Path("live.json").write_text(snapshot_text(state))
    run([*arguments, "--cluster", "c=snapshot:live.json"])
    return capsys.readouterr().out


@VERSIONS
def test_can_i_from_an_address_in_the_range(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(host: str) -> str:
        return told(capsys, version, *CAN_I, host, "--path", "m").split()[0]

    assert answer("10.2.3.4") == {(4, 3): "no", (4, 4): "yes", None: "undecided"}[version]
    assert (answer("10.0.0.1"), answer("11.2.3.4")) == ("yes", "no")


@VERSIONS
def test_lint_and_minimise(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    assert ("KA004" in told(capsys, version, "lint", "m")) is (version == (4, 3))
    document = json.loads(told(capsys, version, "lint", "m", "--minimise", "--output", "json"))
    kept = {binding["host"] for binding in document["states"][0]["kept"]}
    # The address is redundant only where it is certain that the range holds it.
    assert kept == {(4, 3): {"10.0.0.1"}, (4, 4): {"10.0.0.0/8"}, None: {"10.0.0.0/8", "10.0.0.1"}}[version]


@VERSIONS
def test_a_plan_says_what_removing_a_range_does(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, version, "plan", "m", "--connections", "operator.yaml", *_DELETES)
    line = next(line for line in shown.splitlines() if line.startswith("  - ") and "10.0.0.0/8  [" in line)
    assert line.endswith("[no effect]" if version == (4, 3) else "[revoke]")


def test_a_snapshot_and_a_stored_reading_keep_the_version() -> None:
    state = ClusterState("id", kafka_version=(4, 4))
    assert '"kafkaVersion": "4.4"' in snapshot_text(state)
    assert parse_snapshot(snapshot_text(state)) == state
    assert parse_snapshot(snapshot_text(ClusterState("id"))).kafka_version is None
    reading = Reading("c", "id", "2026-11-21T05:17:00Z", "0", "0" * 16, (), kafka_version=(4, 4))
    assert parse_reading(reading_text(reading)) == reading


def test_levels_of_metadata_version() -> None:
    levels = {6: None, 21: (3, 9), 25: (4, 0), 27: (4, 1), 29: (4, 2), 30: (4, 3), 32: (4, 4), 99: (4, 4)}
    assert {level: release_of(level) for level in levels} == levels
    # The authorizer is the broker's code, so an upgrade that is not finished leaves open what hosts mean.
    assert [rules_of(*pair) for pair in [(21, 21), (21, 30), (30, 33), (33, 33)]] == [(3, 9), (4, 3), None, (4, 4)]
