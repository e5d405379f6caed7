"""A broker that confluent-kafka logs in to and kafka-python does not: nothing waits, and it is said once."""

import time
from pathlib import Path

import pytest

from reconciler.app.connections import as_operator_says
from reconciler.app.manifests import load, read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.kafka.cluster import connect
from reconciler.parts.fleet.app.members import MemberConnections, read_live
from reconciler.parts.fleet.app.plan import MemberPlan, PlanTerms, plan_members
from reconciler.ports import ReadRequest
from tests.compat.jobs import PLAIN_TEAM, job
from tests.compat.kfake import login_settings, running


def test_a_whole_round_says_it_once_a_command_and_waits_for_nothing(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(kfake, "-login") as servers:
        team = job(tmp_path, servers, capsys)
        team.write("team.yaml", PLAIN_TEAM)
        began = time.monotonic()
        planned = team.run("plan")
        applied = team.run("apply", "--yes")
        drifted = team.run("drift")
        checked = team.bare("doctor", str(team.directory), "--cluster", "it", "--connections", str(team.connections))
        seconds = time.monotonic() - began
    assert (planned.status, applied.status, drifted.status) == (0, 0, 0), applied.err
    for ran in (planned, applied, drifted):
        assert ran.err.count("kafka-python cannot connect to this cluster: UnsupportedSaslMechanismError") == 1
    assert "note   kafka-python cannot connect to this cluster: UnsupportedSaslMechanismError" in checked.out
    assert seconds < 60, "a command waited for the other client"


def test_what_nobody_can_name_is_counted_by_the_other_client_too(kfake: Path) -> None:
    with running(kfake, "-login", "-acls", "open", "-odd") as servers, connect(login_settings(servers)) as cluster:
        state = cluster.read(ReadRequest(all_topics=False))
    (odd,) = state.opaque
    assert (odd.name, odd.principal, odd.resource_type, odd.operation) == ("odd", "User:odd", 99, 99)
    assert state.bindings == frozenset()
    assert state.kafka_version is None


def test_workers_of_a_fleet_say_it_once_for_each_cluster(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(kfake, "-login") as servers:
        team = job(tmp_path, servers, capsys)
        team.write("team.yaml", PLAIN_TEAM)
        members = MemberConnections(ConnectionOptions(str(team.connections), secrets_dirs=(str(tmp_path / "secrets"),)))
        terms = PlanTerms(tuple(read_sources(str(team.directory))), members, PlanOptions(), None)
        (line,) = plan_members(["it"], "a", terms=terms)
        state = read_live(
            as_operator_says(load(str(team.directory)), None, members.connection).clusters["it"], members, ()
        )
    made = MemberPlan.parse(line)
    assert made.member is not None, made
    assert made.member.steps == 2
    assert made.notes.count("kafka-python cannot connect to this cluster: UnsupportedSaslMechanismError") == 1
    (note,) = state.notes
    assert note == made.notes
