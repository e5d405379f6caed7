"""A broker that enforces its ACLs and one that only stores them, as with an authorizer of another make."""

import json
from pathlib import Path

import pytest

from tests.compat.jobs import PLAIN_TEAM, job
from tests.compat.kfake import running
from tests.integration.main_job import Job, Ran, password_file


def probed(tmp_path: Path, servers: str, capsys: pytest.CaptureFixture[str]) -> Job:
    """A job whose cluster declares a probe."""
    team = job(tmp_path, servers, capsys)
    cluster = team.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("{wait: 100ms}", "{principal: User:probe, timeout: 3s}"))
    secret = password_file(tmp_path, "probe", "secret")
    login = json.dumps({"sasl.username": "probe", "sasl.password": secret})
    with team.connections.open("a") as file:
        file.write(f"  barrier: {{client: {login}}}\n")
    team.write("team.yaml", PLAIN_TEAM)
    return team


def doctor(team: Job, *flags: str) -> Ran:
    return team.bare("doctor", str(team.directory), "--cluster", "it", "--connections", str(team.connections), *flags)


def test_where_acls_are_stored_and_do_not_decide_nothing_is_applied_or_verified(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(kfake, "-login", "-mechanisms", "-acls", "open") as servers:
        team = probed(tmp_path, servers, capsys)
        checked = doctor(team, "--canary")
        applied = team.run("apply", "--yes")
        left = team.run("drift", "-o", "json")
        snapshot = team.run("export", "--snapshot", str(tmp_path / "after.json"))
    assert checked.status == 1
    assert "wrong  ACLs are stored here and do not decide: an ALLOW for the probe User:probe" in checked.out
    assert applied.status == 5
    assert "ACLs are stored here and do not decide" in applied.err
    assert "verified" not in applied.out
    assert left.status == 2
    assert snapshot.status == 0, snapshot.err
    assert "__kr" not in (tmp_path / "after.json").read_text()


def test_where_they_decide_the_barrier_and_the_canary_prove_it(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(kfake, "-login", "-mechanisms") as servers:
        team = probed(tmp_path, servers, capsys)
        checked = doctor(team, "--canary")
        applied = team.run("apply", "--yes")
    assert "ok     ACLs decide" in checked.out, checked.out
    assert applied.status == 0, applied.err


def test_an_authorizer_that_brokers_name_is_told_without_a_probe_and_nothing_is_called_verified(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "org.apache.ranger.authorization.kafka.authorizer.RangerKafkaAuthorizer"
    said = f"ACLs are stored here and may not decide: authorizer.class.name={name}, which is Apache Ranger's"
    with running(kfake, "-login", "-mechanisms", "-acls", "open", "-authorizer", name) as servers:
        team = job(tmp_path, servers, capsys)
        team.write("team.yaml", PLAIN_TEAM)
        checked = doctor(team)
        planned = team.run("plan")
        applied = team.run("apply", "--yes")
    assert checked.status == 0, checked.out
    assert f"note   {said}" in checked.out
    assert said in planned.out
    assert applied.status == 0, applied.err
    assert (
        "Applied: 2 steps, and the cluster lists what it should. ACLs are stored here and may not decide" in applied.out
    )
    assert "verified" not in applied.out
