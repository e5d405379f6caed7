"""The barrier by a probe, declared in manifests and connections, on a real broker."""

import json
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, add_probe, job

pytestmark = pytest.mark.broker

TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: ["@orders"]}]
"""


@pytest.fixture
def probed(team: Job, broker: Sandbox) -> Job:
    """A job whose cluster declares a probe, and whose old grant shall go."""
    return _with_probe(team, broker)


def _with_probe(team: Job, broker: Sandbox) -> Job:
    cluster = team.directory / "cluster.yaml"
    text = cluster.read_text().replace("{wait: 100ms}", "{principal: User:acl-probe, timeout: 10s}")
    cluster.write_text(text + "  brokers: [1]\n")
    add_probe(team.connections, broker)
    team.write("team.yaml", TEAM)
    applied = team.run("apply", "--yes")
    assert applied.status == 0, applied.err
    team.write("team.yaml", TEAM.replace("READ", "WRITE"))
    return team


def test_every_broker_proves_what_it_enforces(probed: Job) -> None:
    planned = probed.run("plan", "--allow-deletes")
    assert (
        "propagation check: brokers 1 and any other, and the active controller, prove to User:acl-probe" in planned.out
    )
    applied = probed.run("apply", "--yes", "--allow-deletes")
    assert applied.status == 0, applied.err
    assert "enforced by brokers 1 and the active controller" in applied.err
    assert probed.run("drift").status == 0


def test_a_declared_broker_that_is_missing_is_named_and_nothing_is_deleted(probed: Job) -> None:
    cluster = probed.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("brokers: [1]", "brokers: [1, 7]").replace("10s", "1s"))
    applied = probed.run("apply", "--yes", "--allow-deletes", "--output", "json")
    assert applied.status == 1
    document = json.loads(applied.out)
    assert "broker 7" in document["stopped"]
    assert {step["action"]: step["outcome"] for step in document["steps"]} == {
        "CreateAcl": "done",
        "DeleteAcl": "not-attempted",
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [("principal: User:admin", "principal: User:reconciler2"), ("superUsers: [User:admin, ", "superUsers: [")],
)
def test_a_wrong_word_about_ourselves_is_refused(probed: Job, old: str, new: str) -> None:
    cluster = probed.directory / "cluster.yaml"
    assert old in cluster.read_text()
    cluster.write_text(cluster.read_text().replace(old, new))
    refused = probed.run("apply", "--yes", "--allow-deletes")
    assert refused.status == 5
    assert "does not refuse us" in refused.err
    assert "nothing was sent" in refused.err


def test_a_probe_without_a_login_is_said(probed: Job, tmp_path: Path) -> None:
    text = probed.connections.read_text()
    probed.connections.write_text(text[: text.index("  barrier:")])
    refused = probed.run("apply", "--yes", "--allow-deletes")
    assert refused.status == 1
    assert "nothing says how it logs in" in refused.err


def test_default_allow_is_observed_and_held_against_the_declaration(
    tmp_path: Path, open_broker: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = job(tmp_path, open_broker, "wrong.", capsys)
    with pytest.raises(AssertionError, match="found=true, and the declaration says otherwise"):
        _with_probe(wrong, open_broker)
    cluster = wrong.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("Found: false", "Found: unknown"))
    unknown = wrong.run("apply", "--yes")
    assert unknown.status == 5
    assert "allowEveryoneIfNoAclFound: true" in unknown.err


def test_where_nobody_declared_default_allow_and_it_is_off_the_plan_is_performed(probed: Job) -> None:
    cluster = probed.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("Found: false", "Found: unknown"))
    probed.write("team.yaml", TEAM.replace("@orders", "@never-covered"))
    applied = probed.run("apply", "--yes", "--allow-deletes")
    assert applied.status == 0, applied.err


def test_doctor_tries_a_canary_and_leaves_nothing(probed: Job) -> None:
    where = (str(probed.directory), "--cluster", "it", "--connections", str(probed.connections))
    log = probed.directory.parent / "canary-audit"
    checked = probed.bare("doctor", *where, "--canary", "--audit", str(log), "--operator", "ann")
    assert checked.status == 0, checked.err
    begun, ended = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[-2:])
    assert (begun["operator"], begun["steps"], begun["run"]) == ("ann", 0, ended["run"])
    assert (ended["verified"], ended["stopped"]) == (True, "")
    nowhere = probed.bare("doctor", *where, "--canary", "--audit", "/nowhere/audit")
    assert nowhere.status != 0
    assert "nothing was sent" in nowhere.err
    assert probed.bare("doctor", *where, "--audit", str(log)).status == 64
    assert "ok     ACLs decide: brokers enforced the canaries" in checked.out
    assert "acls-decide" not in probed.bare("doctor", *where, "-o", "json").out
    assert "Nothing is left" in probed.run("cleanup", "--yes").out


def test_doctor_without_a_probe_tries_no_canary(team: Job) -> None:
    checked = team.bare("doctor", str(team.directory), "--canary", "--connections", str(team.connections))
    assert checked.status != 0
    assert "a canary needs a probe" in checked.err
