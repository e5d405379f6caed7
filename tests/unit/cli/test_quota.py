"""``reconciler quota``: the level that wins, what it overrides, and what is said where nothing can be read."""

import json
from pathlib import Path

import pytest

from reconciler.adapters.snapshot import snapshot_text
from reconciler.cli.main import run
from reconciler.model import ClientQuota, ClusterState, QuotaEntity

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {}
---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec:
  quotas:
    - {user: {default: true}, limits: {producer_byte_rate: 1MiB/s}}
    - {user: alice, limits: {producer_byte_rate: 2MiB/s, request_percentage: 50%}}
    - {user: bob, absent: true}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "m.yaml").write_text(MANIFESTS, encoding="utf-8")
    return str(tmp_path)


def test_the_level_that_wins_comes_first_with_its_place(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quota", "User:alice", "--client-id", "app", "--path", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "User:alice with client id app on cluster c (as declared):",
        "  producer_byte_rate = 2097152 (2MiB/s) by user alice  m.yaml:12:14",
        "    overrides 1048576 (1MiB/s) by default user  m.yaml:11:14",
        "  consumer_byte_rate: unlimited",
        "  request_percentage = 50% by user alice  m.yaml:12:14",
        "  controller_mutation_rate: unlimited",
    ]


def test_a_live_quota_has_a_place_only_where_it_is_as_declared(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = frozenset(
        {
            ClientQuota(QuotaEntity.of(""), {"producer_byte_rate": 2**20}),
            ClientQuota(QuotaEntity.of("alice"), {"producer_byte_rate": 7}),
        }
    )
    snapshot = tmp_path / "live.json"
    snapshot.write_text(snapshot_text(ClusterState("c", quotas=live)), encoding="utf-8")
    where = ["--cluster", f"c=snapshot:{snapshot}", "--path", path, "--output", "json"]
    assert run(["quota", "User:alice", *where]) == 0
    (limit,) = [item for item in json.loads(capsys.readouterr().out)["limits"] if item["quota"]]
    assert limit["quota"] == {"entity": "user alice", "value": 7, "origin": None}
    assert limit["overrides"] == [{"entity": "default user", "value": 1048576, "origin": "m.yaml:11:14"}]


def test_quotas_that_were_not_read_are_not_unlimited(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = tmp_path / "live.json"
    snapshot.write_text(snapshot_text(ClusterState("c", quota_gap="not authorised")), encoding="utf-8")
    assert run(["quota", "User:alice", "--cluster", f"c=snapshot:{snapshot}", "--path", path]) == 1
    shown = capsys.readouterr()
    assert "unlimited" not in shown.out
    assert "could not be read: not authorised" in shown.err


@pytest.mark.parametrize("arguments", [[], ["User:a", "--ip", "10.0.0.1"], ["--ip", "10.0.0.1", "--client-id", "x"]])
def test_who_is_meant_must_be_clear(arguments: list[str], path: str) -> None:
    assert run(["quota", *arguments, "--path", path]) == 64
