"""``reconciler quota`` and ``explain --client-id``: the level that wins, what it overrides, what cannot be read."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

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
LIMITS = [
    "    producer_byte_rate = 2097152 (2MiB/s) by user alice  m.yaml:12:14",
    "      overrides 1048576 (1MiB/s) by default user  m.yaml:11:14",
    "    consumer_byte_rate: unlimited",
    "    request_percentage = 50% by user alice  m.yaml:12:14",
    "    controller_mutation_rate: unlimited",
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "m.yaml").write_text(MANIFESTS, encoding="utf-8")
    return str(tmp_path)


def test_the_level_that_wins_comes_first_with_its_place(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quota", "User:alice", "--client-id", "app", "--path", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "User:alice with client id app:",
        *LIMITS,
        "    As declared for cluster c; the cluster itself was not read.",
    ]


def test_a_limit_of_client_ids_holds_for_clients_that_have_one(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = MANIFESTS.replace("- {user: {default: true}, limits", "- {clientId: {default: true}, limits")
    Path(path, "m.yaml").write_text(text.replace("- {user: alice,", "- {user: bo,"), encoding="utf-8")
    assert run(["quota", "User:alice", "--path", path]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "    producer_byte_rate: unlimited" in shown
    line = "    producer_byte_rate = 1048576 (1MiB/s) by default client-id holds for clients that have a client id"
    assert line in shown
    assert run(["quota", "User:alice", "--client-id", "x", "--path", path]) == 0
    assert "    producer_byte_rate = 1048576 (1MiB/s) by default client-id  m.yaml:11:" in capsys.readouterr().out


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
    snapshot.write_text(snapshot_text(ClusterState("c", listings={"quotas": Listing(live)})), encoding="utf-8")
    where = ["--cluster", f"c=snapshot:{snapshot}", "--path", path, "--output", "json"]
    assert run(["quota", "User:alice", *where]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert (answer["cluster"], answer["basis"]) == ("c", "snapshot")
    (limit,) = [item for item in answer["limits"] if item["quota"]]
    assert limit["quota"] == {"entity": "user alice", "value": 7, "origin": None}
    assert limit["overrides"] == [{"entity": "default user", "value": 1048576, "origin": "m.yaml:11:14"}]


def test_explain_says_which_quota_limits_the_client_after_what_it_may(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    question = ["explain", "User:alice", "READ", "topic/t", "--path", path]
    assert run(question) == 0
    assert (
        "    quota without a client id: request_percentage = 50% by user alice" in capsys.readouterr().out.splitlines()
    )
    assert run([*question, "--client-id", "app"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("undecided  it is not known whether User:alice can READ topic t")
    assert not [line for line in lines if "without a client id" in line]
    start = lines.index("    quotas of User:alice with client id app:")
    assert lines[start + 1 : -1] == [f"  {line}" for line in LIMITS]
    assert run([*question, "--client-id", "", "--output", "json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["allowed"] is None
    assert [item["key"] for item in answer["limits"] if item["quota"]] == ["producer_byte_rate", "request_percentage"]


@pytest.fixture
def around(path: str, tmp_path: Path) -> list[str]:
    """A cluster, and a saved plan that lowers alice's limit; a key of a newer Kafka stays."""
    values = {"producer_byte_rate": 3 * 2**20, "key_of_a_newer_kafka": 7}
    live = ClusterState("c-id", listings={"quotas": Listing(frozenset({ClientQuota(QuotaEntity.of("alice"), values)}))})
    snapshot, plan = tmp_path / "live.json", tmp_path / "plan.json"
    snapshot.write_text(snapshot_text(live), encoding="utf-8")
    cluster = ["--cluster", f"c=snapshot:{snapshot}"]
    assert run(["plan", path, *cluster, "--out", str(plan)]) == 0
    return [*cluster, "--path", path, "--plan", str(plan)]


def test_the_quotas_before_and_after_a_plan(around: list[str], path: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["quota", "User:alice", *around]) == 0
    out = capsys.readouterr().out
    before, after = out.split("after:  ")
    assert before.startswith("before: User:alice:\n    producer_byte_rate = 3145728 (3MiB/s) by user alice\n")
    assert "Snapshot of cluster c." in before
    assert after.startswith(f"User:alice:\n{LIMITS[0]}\n{LIMITS[1]}\n")
    assert "key_of_a_newer_kafka = 7 by user alice" in before
    assert "key_of_a_newer_kafka = 7 by user alice" in after
    assert "with the plan applied" in after
    assert run(["explain", "User:alice", "READ", "topic/t", "--client-id", "app", *around]) == 0
    before, after = capsys.readouterr().out.split("after:  ")
    assert "(3MiB/s)" in before
    assert "(2MiB/s)" in after


def test_a_plan_is_shown_on_its_own_cluster_only(around: list[str], path: str, tmp_path: Path) -> None:
    assert run(["quota", "User:alice", "--path", path, *around[-2:]]) == 64
    snapshot = tmp_path / "live.json"
    snapshot.write_text(snapshot.read_text().replace("c-id", "other"))
    assert run(["quota", "User:alice", *around]) == 4


@pytest.mark.parametrize("question", [["quota", "User:alice"], ["explain", "User:alice", "READ", "topic/t"]])
def test_quotas_that_were_not_read_are_not_unlimited(
    question: list[str], path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = tmp_path / "live.json"
    snapshot.write_text(
        snapshot_text(ClusterState("c", listings={"quotas": Listing(gap="not authorised")})), encoding="utf-8"
    )
    where = ["--client-id", "app", "--cluster", f"c=snapshot:{snapshot}", "--path", path]
    assert run([*question, *where]) == 1
    shown = capsys.readouterr()
    assert "unlimited" not in shown.out
    assert "could not be read: not authorised" in shown.err


@pytest.mark.parametrize(
    "arguments", [[], ["User:a", "--host", "10.0.0.1"], ["--host", "10.0.0.1", "--client-id", "x"]]
)
def test_who_is_meant_must_be_clear(arguments: list[str], path: str) -> None:
    assert run(["quota", *arguments, "--path", path]) == 64
