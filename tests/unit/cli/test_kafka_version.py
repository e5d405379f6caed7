"""Hosts as ranges: what a snapshot says of Kafka's version reaches every command that judges access (KIP-1276)."""

import datetime
import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.cli.main import run
from reconciler.kafka.listing import release_of, rules_of
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.listing import Create
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.parts.fleet.app.access import _judge
from reconciler.parts.fleet.app.tighten import _version
from reconciler.plan.proposal import Terms
from reconciler.plan.propose import Request, propose
from reconciler.results.fleet_drift import Reading, parse_reading, reading_text
from reconciler.snapshot.document import parse_snapshot, read_document, snapshot_text
from reconciler.snapshot.kinds import Acls
from tests.worlds import bindings

RANGE, EXACT = bindings("TOPIC:L:orders User:a@10.0.0.0/8 ALLOW READ", "TOPIC:L:orders User:a@10.0.0.1 ALLOW READ")
#: A topic to which the range alone gives access.
RANGED = bindings("TOPIC:L:ranged User:a@10.0.0.0/8 ALLOW READ")
CAN_I = ["can-i", "User:a", "READ", "topic/orders", "--host"]
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
GAP = "brokers run 4.4 and metadata.version is 4.3's: perhaps not all do"
ACCESS_TEST = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec: {tests: [{name: nobody, mustNot: READ, principals: ['User:a'], topics: [ranged]}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: 'User:a', rules: [{allow: READ, topics: [ranged], hosts: [10.0.0.0/8]}]}
"""
LOGGED = (
    "[2026-11-21 07:32:56,033] INFO Principal = User:a is Allowed Operation = Read from host = 10.2.3.4 on resource = "
    "Topic:LITERAL:orders for request = Fetch with resourceRefCount = 1 (kafka.authorizer.logger)\n"
)
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
    document = json.loads(told(capsys, version, "lint", "m", "--simplify", "--output", "json"))
    kept = {binding["host"] for binding in document["states"][0]["kept"]}
    # The address is redundant only where it is certain that the range holds it.
    assert kept == {(4, 3): {"10.0.0.1"}, (4, 4): {"10.0.0.0/8"}, None: {"10.0.0.0/8", "10.0.0.1"}}[version]


@VERSIONS
def test_a_plan_says_what_removing_a_range_does(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, version, "plan", "m", "--connections", "operator.yaml", *_DELETES)
    line = next(line for line in shown.splitlines() if line.startswith("  - ") and "10.0.0.0/8  [" in line)
    assert line.endswith("[no effect]" if version == (4, 3) else "[revoke]")


@VERSIONS
def test_an_export_of_ranges_declares_them_as_they_are(version: Version, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, version, "export", "--path", "m", "--out", "exported")
    Path("exported/operator.yaml").write_text(CLUSTER)
    Path("m/cluster.yaml").unlink()
    drifted = told(capsys, version, "drift", "exported", "--output", "json")
    assert json.loads(drifted)["steps"] == []
    assert "10.0.0.0/8" in "".join(file.read_text() for file in Path("exported").rglob("*.yaml"))


def test_a_converter_takes_a_range_from_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    heading = "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`: "
    entry = "(principal=User:a, host=10.0.0.0/8, operation=READ, permissionType=ALLOW)"
    Path("acls.txt").write_text(f"{heading}\n \t{entry}\n")
    assert run(["convert", "acls.txt", "--from", "kafka-acls", "--out", "converted"]) == 0, capsys.readouterr().err
    assert "10.0.0.0/8" in "".join(file.read_text() for file in Path("converted").rglob("*.yaml"))


def test_a_snapshot_and_a_stored_reading_keep_the_version() -> None:
    state = ClusterState("id", kafka_version=(4, 4))
    assert '"kafkaVersion": "4.4"' in snapshot_text(state)
    for one in (
        state,
        ClusterState("id"),
        ClusterState("id", kafka_version_gap=GAP),
        replace(state, metadata_version=31),
    ):
        assert parse_snapshot(snapshot_text(one)) == one
    for known in ({"kafka_version": (4, 4)}, {"kafka_version_gap": GAP}, {"metadata_version": 31}):
        assert parse_reading(reading_text(_reading(**known))) == _reading(**known)


def _reading(**known: Any) -> Reading:
    return Reading("c", "id", "2026-11-21T05:17:00Z", "0", "0" * 16, (), **known)


def _live(version: Version = None, gap: str | None = None) -> None:
    state = ClusterState("id", frozenset({RANGE, EXACT, *RANGED}), kafka_version=version, kafka_version_gap=gap)
    Path("live.json").write_text(snapshot_text(state))


def _operator(release: str) -> None:
    Path("operator.yaml").write_text(_stating(release))


def _stating(release: str) -> str:
    return CLUSTER.replace("false}", f"false, kafkaVersion: {release}" + "}")


def _shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Status, output and messages of a command about the snapshot."""
    status = run([*arguments, "--cluster", "c=snapshot:live.json", "--connections", "operator.yaml"])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


#: Every command that judges access, asked so that the answer depends on whether the range is alive.
ASKS = {
    "can-i": (*CAN_I, "10.2.3.4", "--path", "m"),
    "who-can": ("who-can", "READ", "topic/orders", "--path", "m", "-o", "json"),
    "access": ("access", "User:a", "--path", "m", "-o", "json"),
    "explain": ("explain", "User:a", "READ", "topic/orders", "--host", "10.2.3.4", "--path", "m", "-o", "json"),
    "lint": ("lint", "m", "-o", "json"),
    "simplify": ("lint", "m", "--simplify", "-o", "json"),
    # On a day: two plans may be made in two seconds.
    "plan": ("plan", "m", *_DELETES, "--as-of", "2026-11-23"),
    "test": ("test", "m", "-o", "json"),
    "usage": ("usage", "--path", "m", "--logs", "log", "-o", "json"),
}


@pytest.mark.parametrize("command", ASKS)
def test_the_operators_word_reaches_every_command_where_the_cluster_tells_nothing(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m/tests.yaml").write_text(ACCESS_TEST)
    Path("log").write_text(LOGGED)
    answers = {}
    for release in ("4.3", "4.4"):
        _operator(release)
        _live()
        answers[release] = _shown(capsys, *ASKS[command])[:2]
        major, minor = release.split(".")
        _live((int(major), int(minor)))
        # Now the snapshot tells it: the same answer, whoever says it.
        assert _shown(capsys, *ASKS[command])[:2] == answers[release]
    assert answers["4.3"] != answers["4.4"]


@pytest.mark.parametrize("command", ASKS)
def test_who_proposes_does_not_choose_the_rules(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("m/tests.yaml").write_text(ACCESS_TEST)
    Path("log").write_text(LOGGED)
    _live()
    unknown = _shown(capsys, *ASKS[command])
    for release in ("4.3", "4.4"):
        Path("m/cluster.yaml").write_text(_stating(release))
        # But for the line of the plan that repeats what the manifests state, and the ids that bind it.
        assert _plain(_shown(capsys, *ASKS[command])) == _plain(unknown)


def _plain(shown: tuple[int, str, str]) -> list[str]:
    return [line for line in shown[1].splitlines() if "kafkaVersion" not in line and "plan-" not in line]


@pytest.mark.parametrize("file", ["operator.yaml", "m/cluster.yaml"])
@pytest.mark.parametrize("command", ASKS)
def test_what_the_cluster_tells_wins_and_a_contradiction_is_a_problem(
    command: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("log").write_text(LOGGED)
    _live((4, 4))
    Path(file).write_text(_stating("4.3"))
    status, out, err = _shown(capsys, *ASKS[command])
    assert (status, out) == (1, "")
    who = "the operator's file says" if file == "operator.yaml" else "the manifests say"
    assert f"{who} that cluster c runs Kafka 4.3, and it tells that it runs 4.4" in err
    assert "correct or remove kafkaVersion at " in err
    assert f"{Path(file).name}:4" in err


def test_two_words_that_contradict_each_other_are_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    _live()
    _operator("4.4")
    Path("m/cluster.yaml").write_text(_stating("4.3"))
    status, _, err = _shown(capsys, "plan", "m")
    assert status == 1
    assert "the operator's file states kafkaVersion of cluster c otherwise" in err


@pytest.mark.parametrize("doubt", ["gap", "newer"])
def test_a_version_in_doubt_is_said_and_nobody_settles_it(doubt: str, capsys: pytest.CaptureFixture[str]) -> None:
    if doubt == "gap":
        _live(gap=GAP)
        _operator("4.4")
    else:
        _live((4, 5))
    status, out, err = _shown(capsys, *ASKS["can-i"])
    assert out.startswith("undecided")
    assert "warning: the rules of cluster c are not known: " in err
    assert (GAP if doubt == "gap" else "it runs 4.5, and 4.4 is the newest known") in err
    # Neither dead nor covering another.
    kept = json.loads(_shown(capsys, *ASKS["simplify"])[1])["states"][0]["kept"]
    assert [binding["host"] for binding in kept] == ["10.0.0.0/8", "10.0.0.1", "10.0.0.0/8"]
    assert "KA004" not in _shown(capsys, *ASKS["lint"])[1]
    assert status != 0


@pytest.mark.parametrize(("release", "answer"), [("4.3", "no"), ("4.4", "yes"), ("4.5", "undecided")])
def test_what_is_only_declared_follows_the_stated_version(
    release: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m/cluster.yaml").write_text(_stating(release))
    Path("m/acls.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\n"
        "spec: {principal: 'User:a', rules: [{allow: READ, topics: [orders], hosts: [10.0.0.0/8]}]}\n"
    )
    run([*CAN_I, "10.2.3.4", "--path", "m"])
    assert capsys.readouterr().out.split()[0] == answer


@pytest.mark.parametrize("text", ["4", "four", "4.4.0.1", "v4.4", "-4.4", "[4.4]"])
def test_a_version_is_two_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _live()
    Path("m/cluster.yaml").write_text(_stating(f"'{text}'" if "[" not in text else text))
    status, _, err = _shown(capsys, "plan", "m")
    assert status == 1
    assert "cluster.yaml:4" in err


def test_a_fleet_judges_stored_readings_by_the_operators_word() -> None:
    stated = ClusterDeclaration("c", Origin("operator.yaml", 4, 1), kafka_version=(4, 3))
    operator = replace(stated, sources=FactSources(kafka_version=FactSource.OPERATOR))
    manifests = replace(stated, sources=FactSources(kafka_version=FactSource.MANIFESTS))
    store: Any = SimpleNamespace(files=None)

    def doubted(declaration: ClusterDeclaration | None, **known: Any) -> bool:
        return _judge(_reading(**known), declaration, store)[1].interpretations.doubtful is not None

    assert [doubted(one) for one in (operator, manifests, None)] == [False, True, True]
    assert doubted(operator, kafka_version_gap=GAP)
    assert not doubted(None, kafka_version=(4, 4))
    with pytest.raises(WorkflowError, match=r"runs Kafka 4\.3, and it tells that it runs 4\.4"):
        doubted(operator, kafka_version=(4, 4))

    def logged(declaration: ClusterDeclaration, reading: Reading | None) -> Any:
        return _version(reading, declaration)

    assert [logged(one, _reading()) for one in (operator, manifests)] == [(4, 3), None]
    # Where nothing was read of the cluster, what is declared counts.
    assert [logged(one, None) for one in (manifests, replace(stated, kafka_version=None))] == [(4, 3), (4, 4)]


def test_levels_of_metadata_version() -> None:
    levels = {6: None, 21: (3, 9), 25: (4, 0), 27: (4, 1), 29: (4, 2), 30: (4, 3), 33: (4, 4), 34: None, 99: None}
    assert {level: release_of(level) for level in levels} == levels
    # The authorizer is the broker's code, so an upgrade that is not finished leaves open what hosts mean.
    pairs = {(21, 21): (3, 9), (21, 30): (4, 3), (30, 33): None, (33, 33): (4, 4), (33, 34): None, (5, 6): None}
    found = {pair: rules_of(*pair) for pair in pairs}
    assert {pair: rules.version for pair, rules in found.items()} == pairs
    assert {pair for pair, rules in found.items() if rules.gap} == {(30, 33), (33, 34)}
    assert "newer than 4.4" in str(found[33, 34].gap)


@pytest.mark.parametrize(
    ("version", "level", "creates"),
    [((4, 4), 31, False), ((4, 4), 32, True), ((4, 4), 33, True), ((4, 4), None, True), ((4, 3), 30, False)],
)
def test_a_range_is_created_where_the_level_has_it_and_not_by_the_release_alone(
    version: tuple[int, int], level: int | None, *, creates: bool
) -> None:
    """Kafka 4.4.0 at level 31: UNSUPPORTED_VERSION, "CIDR notation ... requires metadata version 4.4-IV1 or higher"."""
    wanted = DesiredState({RANGE: Declaration(Origin("a.yaml", 1, 1))})
    live = ClusterState("id", kafka_version=version, metadata_version=level)
    plan = propose(wanted, live, Terms("c", default_allow=False), Request(datetime.date(2026, 11, 26)))
    assert bool(plan.steps) is creates
    if version == (4, 4) and not creates:
        assert "needs metadata.version 32 (4.4-IV1), and the cluster's is 31" in plan.skipped[0].detail
    _, [answer] = Acls().send(read_document(io.StringIO(snapshot_text(live))), [Create(RANGE)])
    assert (answer.code == "UNSUPPORTED_VERSION") is (level == 31)
