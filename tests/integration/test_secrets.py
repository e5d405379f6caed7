"""Secrets appear in no output, log, plan, journal, audit, snapshot or crash, nor in what the client library says."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, Ran, add_probe, job

#: Every kind of character that some form of a text writes in its own way.
WRONG = "wr0ng+päss /word=%é\\\"'"
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: ["@orders"]}]
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec: {topics: [{name: "@orders", partitions: 1, replicationFactor: 1}]}
"""
_PROGRAM = """\
import pathlib
import sys
from reconciler.kafka.cluster import KafkaCluster
from reconciler.cli.main import main
send = KafkaCluster.send
def broken(self, *_):
    raise KeyError(self)
setattr(KafkaCluster, sys.argv[1], broken)
sys.argv[1:] = sys.argv[2:]
main()
"""

#: Once a topic is created: with the passwords, from the directory of secrets.
_LATE = """\
answers = send(self, *_)
    if any("Topic(" in repr(change) for change in _[0]):
        secrets = pathlib.Path(sys.argv[sys.argv.index("--secrets-dir") + 1])
        raise ValueError(" ".join(path.read_text() for path in sorted(secrets.iterdir())))
    return answers"""


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield from (secret, quote(secret, safe=""), repr(secret)[1:-1], json.dumps(secret)[1:-1])
    for user in ("", "\0admin\0", "admin:"):
        encoded = base64.b64encode(user.encode() + raw).decode().rstrip("=")
        yield encoded[: len(encoded) - len(encoded) % 4]


def _assert_silent(secrets: list[str], *texts: str) -> None:
    for secret in secrets:
        for form in _forms(secret):
            assert not any(form in text for text in texts), f"a secret is shown as {form!r}"


def _both(ran: Ran) -> str:
    return ran.out + ran.err


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """A job with a probe, all of whose passwords are files in a directory of secrets."""
    made = job(tmp_path, broker, f"secret{abs(hash(request.node.name)) % 10**8}.", capsys)
    cluster = made.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("{wait: 100ms}", "{principal: User:acl-probe, timeout: 10s}"))
    made.write("team.yaml", TEAM)
    add_probe(made.connections, broker)
    return made


def _secrets(broker: Sandbox) -> list[str]:
    return [broker.users["admin"], broker.users["acl-probe"]]


def _written(tmp_path: Path) -> list[str]:
    """Every file but the secrets themselves."""
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    return [path.read_bytes().decode() for path in files]


@pytest.mark.broker
def test_nothing_that_works_shows_one(team: Job, broker: Sandbox, tmp_path: Path) -> None:
    may = ["--secrets-dir", str(tmp_path / "secrets")]
    saved, audit = str(tmp_path / "plan.json"), str(tmp_path / "audit")
    shown = [
        _both(team.run("plan", *may, "--out", saved)),
        _both(team.run("plan", *may, "--output", "json")),
        _both(team.run("doctor", *may, "--output", "json")),
        _both(team.run("apply", saved, str(team.directory), "--yes", "--audit", audit, "--lease", *may, cluster=False)),
        _both(team.run("undo", saved, str(team.directory), "--allow-deletes", *may, cluster=False)),
        _both(team.run("drift", *may, "--output", "json")),
        _both(team.run("cleanup", *may, "--yes")),
        _both(team.run("export", *may, "--out", str(tmp_path / "out"))),
        _both(team.run("export", *may, "--snapshot", str(tmp_path / "live.json"))),
        _both(team.bare("apply", str(team.directory), "--cluster", f"snapshot:{tmp_path}/live.json", "--yes")),
    ]
    assert "enforced by brokers" in shown[3]
    assert len(_written(tmp_path)) > 8
    _assert_silent(_secrets(broker), *shown, *_written(tmp_path))


@pytest.mark.broker
@pytest.mark.parametrize("whose", ["admin", "acl-probe"])
def test_a_login_that_fails_shows_none(team: Job, broker: Sandbox, tmp_path: Path, whose: str) -> None:
    (tmp_path / "secrets" / whose).write_text(WRONG)
    more = ["--secrets-dir", str(tmp_path / "secrets"), "--audit", str(tmp_path / "audit"), "--output", "json"]
    failed = team.run("apply", "--yes", *more)
    assert failed.status == 1
    assert "AUTHENTICATION" in _both(failed)
    _assert_silent([*_secrets(broker), WRONG], _both(failed), *_written(tmp_path))


@pytest.mark.broker
@pytest.mark.parametrize("method", ["read", "send"])
def test_a_crash_shows_none(team: Job, broker: Sandbox, tmp_path: Path, method: str) -> None:
    """Whatever breaks holds the connection, and says so in its traceback."""
    where = [str(team.directory), "--cluster", "it", "--connections", str(team.connections)]
    more = ["--secrets-dir", str(tmp_path / "secrets"), "--journal", str(tmp_path / "journal"), "--yes"]
    line = [sys.executable, "-c", _PROGRAM, method, "apply", *where, *more]
    crashed = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "KeyError" in crashed.stderr
    assert crashed.returncode == 1
    _assert_silent(_secrets(broker), crashed.stdout, crashed.stderr, *_written(tmp_path))


@pytest.mark.broker
def test_a_crash_behind_the_first_request_is_told_without_one(team: Job, broker: Sandbox, tmp_path: Path) -> None:
    """Its text names both logins, of the cluster and of the probe."""
    program = _PROGRAM.replace("raise KeyError(self)", _LATE)
    where = [str(team.directory), "--cluster", "it", "--connections", str(team.connections)]
    more = ["--secrets-dir", str(tmp_path / "secrets"), "--journal", str(tmp_path / "journal"), "--yes"]
    line = [sys.executable, "-c", program, "send", "apply", *where, *more]
    stopped = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "stopped: ValueError: [withheld: the text contains a secret]" in stopped.stdout
    assert "Traceback" not in stopped.stderr
    assert stopped.returncode == 1
    _assert_silent(_secrets(broker), stopped.stdout, stopped.stderr, *_written(tmp_path))


LOGIN = "security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u"
WRITTEN = {
    "a misspelt field beside it": f'{{{LOGIN}, sasl.password: "@", frob: x}}',
    "a list": f"{{{LOGIN}, sasl.password: ['@']}}",
    "twice": f"{{{LOGIN}, sasl.password: '@', sasl.password: '@'}}",
    "never closed": f"{{{LOGIN}, sasl.password: '@', sasl.username: \"x}}",
    "a misspelt name": f"{{{LOGIN}, sasl.passwordd: '@'}}",
    "in a login module": "{security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.jaas.config: "
    "'PlainLoginModule required username=u password=\"@\" bad'}",
    "a key that is none": "{security.protocol: SSL, ssl.certificate.pem: x, ssl.key.pem: '@'}",
    "a password of a key": "{security.protocol: SSL, ssl.certificate.pem: x, ssl.key.pem: y, ssl.key.password: '@'}",
    "a token that is none": "{security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, sasl.oauthbearer.token: '@'}",
    "a client's secret": "{security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, sasl.oauthbearer.client.id: i, "
    "sasl.oauthbearer.client.secret: '@', sasl.oauthbearer.token.endpoint.url: 'http://127.0.0.1:1/'}",
    "one that fits": f"{{{LOGIN}, sasl.password: '@'}}",
}


@pytest.mark.parametrize("client", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_mistake_beside_one_does_not_show_it(tmp_path: Path, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing listens on port 1: what the client library says of it counts as well."""
    secret = "hunter2-of-the-connection"
    text = (
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: it}\nspec:\n  bootstrapServers: ['127.0.0.1:1']\n"
    )
    manifests = tmp_path / "m"
    manifests.mkdir()
    (manifests / "cluster.yaml").write_text(f"{text}  client: {client.replace('@', secret)}\n")
    connections = tmp_path / "connections.yaml"
    connections.write_text((manifests / "cluster.yaml").read_text())
    made = Job(manifests, connections, "", capsys)
    shown = [
        _both(made.bare("validate", str(manifests))),
        _both(made.bare("validate", str(manifests), "--output", "json")),
        _both(made.bare("plan", str(manifests), "--cluster", "it", "--connections", str(connections))),
        _both(made.bare("schema", "Cluster")),
    ]
    assert "error: " in shown[2]
    assert "Traceback" not in shown[2]
    assert not any("hunter2" in text for text in shown), [text for text in shown if "hunter2" in text]
