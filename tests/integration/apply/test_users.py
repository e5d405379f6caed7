"""SCRAM users on a real broker, by the command line: every password is proven by a login with it."""

import logging
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.kafka.cluster import connect
from reconciler.kafka.handshake import log_in
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Create, Delete
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ClusterError, ReadRequest
from tests.integration.kafka.conftest import settings_of as settings_from
from tests.integration.main_job import Job, connections_file, job
from tests.shared_brokers import opened

pytestmark = pytest.mark.broker
_QUIET = logging.getLogger("librdkafka of a login that fails")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: it}
spec:
  principal: User:admin
  superUsers: [User:admin, User:reconciler, "User:@super"]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 100ms}
  scope: {include: [{principals: {prefix: "User:@"}}]}
  prune: [users]
"""
HEAD = "apiVersion: reconciler/v1\nkind: Users\nmetadata: {name: team}\nspec:\n  users:\n"
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec: {principal: "User:@a", rules: [{allow: READ, topics: ["@t"]}, {deny: WRITE, topics: ["@t"]}]}
"""
#: Both passwords; a test fails if one of them is found anywhere that it must not be.
FIRST, SECOND = "first-Secret-ü", "second-Secret"


@pytest.fixture
def team(
    tmp_path: Path,
    broker: Sandbox,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Job:
    found = job(tmp_path, broker, getattr(request, "param", "user-team-"), capsys)
    found.write("cluster.yaml", CLUSTER)
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a").write_text(f"{FIRST}\n", encoding="utf-8")
    with found.connections.open("a", encoding="utf-8") as file:
        file.write(f"  userSecrets: {{envPrefixes: [TEAM_], directories: ['{vault}']}}\n")
    monkeypatch.setenv("TEAM_B", SECOND)
    return found


def logs_in(broker: Sandbox, name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> bool:
    """Whether the broker takes the login."""
    refused: list[KafkaError] = []
    config: dict[str, Any] = {**broker.settings("admin", mechanism), "error_cb": refused.append}
    config |= {"sasl.username": name, "sasl.password": password, "sasl.mechanisms": config.pop("sasl.mechanism")}
    client = AdminClient(config, logger=_QUIET)
    until = time.monotonic() + 120
    while not any(error.code() == KafkaError._AUTHENTICATION for error in refused):
        assert time.monotonic() < until, "the broker neither takes nor refuses the login"
        with suppress(KafkaException):
            return bool(client.list_topics(timeout=0.2).brokers)
        client.poll(0)
    return False


def items(team: Job, *lines: str) -> str:
    return HEAD + "".join(f"    - {line}\n" for line in lines).replace("VAULT", str(team.directory.parent / "vault"))


A = '{name: "@a", mechanisms: {SCRAM-SHA-512: {passwordVersion: %d, password: "${dir:VAULT:a}"}}}'
B = (
    '{name: "@b", mechanisms: {SCRAM-SHA-256: {iterations: 4096, password: "${env:TEAM_B}"}, '
    'SCRAM-SHA-512: {password: "${env:TEAM_B}"}}}'
)


def test_users_log_in_with_what_was_applied_and_no_secret_is_seen(team: Job, broker: Sandbox, tmp_path: Path) -> None:
    shown = ""

    def ran(command: str, *arguments: str, cluster: bool = True) -> str:
        nonlocal shown
        found = team.run(command, *arguments, cluster=cluster)
        shown += found.out + found.err
        assert found.status == 0, found.err
        return found.out

    team.write("acls.yaml", ACLS)
    team.write("users.yaml", items(team, A % 1, B))
    saved = str(tmp_path / "plan.json")
    planned = ran("plan", "--out", saved)
    order = [planned.index(text) for text in ("create DENY", "propagation check", "create SCRAM users", "create ALLOW")]
    assert order == sorted(order)
    assert "2 SCRAM users to create" in planned
    ran("apply", saved, str(team.directory), "--yes", "--verbose", cluster=False)
    assert logs_in(broker, "user-team-a", FIRST)
    assert not logs_in(broker, "user-team-a", SECOND)
    assert logs_in(broker, "user-team-b", SECOND)
    assert logs_in(broker, "user-team-b", SECOND, "SCRAM-SHA-256")
    assert "Nothing to do" in ran("plan", "--detailed-exitcode"), "the version is kept with the password"

    exported = tmp_path / "exported"
    ran("export", "--out", str(exported))
    shutil.copy(team.directory / "cluster.yaml", exported)
    again = Job(exported, team.connections, team.prefix, team.capsys)
    assert again.run("plan", "--detailed-exitcode").status == 0

    # Another password at the same place is set by another version, and not before.
    (tmp_path / "vault" / "a").write_text("third-Secret", encoding="utf-8")
    ran("drift")
    team.write("users.yaml", items(team, A % 2, '{name: "@b", mechanisms: {SCRAM-SHA-512: {}}}'))
    rotated = str(tmp_path / "rotated.json")
    assert "SCRAM-SHA-512: 8193 iterations → 8194 iterations" in ran("plan", "--out", rotated)
    ran("apply", rotated, str(team.directory), "--yes", cluster=False)
    assert logs_in(broker, "user-team-a", "third-Secret")
    assert not logs_in(broker, "user-team-a", FIRST)
    assert logs_in(broker, "user-team-b", SECOND), "its password stays as it is"
    assert not logs_in(broker, "user-team-b", SECOND, "SCRAM-SHA-256")
    undone = team.run("undo", rotated, str(team.directory), "--allow-deletes", cluster=False)
    assert "Kafka tells no password" in undone.out + undone.err

    (team.directory / "users.yaml").unlink()
    (team.directory / "acls.yaml").unlink()
    team.write("acls.yaml", ACLS.replace("READ", "WRITE").replace("deny: WRITE", "deny: READ"))
    ran("apply", "--yes", "--allow-deletes")
    assert not logs_in(broker, "user-team-a", "third-Secret")
    assert not logs_in(broker, "user-team-b", SECOND)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "vault" not in path.parts]
    texts = [shown, *(path.read_text(encoding="utf-8", errors="replace") for path in files)]
    assert not [text for text in texts for secret in (FIRST, SECOND, "third-Secret") if secret in text]


@pytest.mark.parametrize("team", ["user-off-"], indirect=True)
def test_a_disabled_user_cannot_log_in_and_comes_back_only_if_a_person_names_it(team: Job, broker: Sandbox) -> None:
    team.write("users.yaml", items(team, A % 1))
    assert team.run("apply", "--yes").status == 0
    assert logs_in(broker, "user-off-a", FIRST)
    file = team.directory / "users.yaml"
    before = file.read_text(encoding="utf-8")
    where = ("--path", str(team.directory), "--connections", str(team.connections))
    assert team.bare("users", "disable", "User:user-off-a", "--ticket", "INC-1", "--write", *where).status == 0
    after = file.read_text(encoding="utf-8")
    assert after == before.replace("}}}", "}}, ticket: INC-1, disabled: true}")
    applied = team.run("apply", "--yes", "--only", "principals=User:user-off-a")
    assert "SCRAM-SHA-512: 8193 iterations → disabled (16383 iterations)" in applied.err, applied.err
    assert not logs_in(broker, "user-off-a", FIRST)
    assert team.run("drift").status == 0
    # An older commit, and the schedule that applies it.
    file.write_text(before, encoding="utf-8")
    refused = team.run("apply", "--yes")
    assert refused.status == 5
    assert "user-enable=User:user-off-a" in refused.err, refused.err
    assert team.run("apply", "--yes", "--accept", "user-enable=User:user-off-a").status == 0
    assert logs_in(broker, "user-off-a", FIRST)


@pytest.mark.parametrize("team", ["user-try-"], indirect=True)
def test_new_passwords_are_tried_where_the_operator_permits_it(team: Job, broker: Sandbox) -> None:
    """A password works or is refused; without SASL nothing was tried."""
    permitted = team.connections.read_text(encoding="utf-8")
    team.write("users.yaml", items(team, A % 1, B))
    assert "login" not in team.run("apply", "--yes").out, "without the operator's word nobody logs in"
    team.connections.write_text(permitted.replace("userSecrets: {", "userSecrets: {verify: login, "), encoding="utf-8")
    team.write("users.yaml", items(team, A % 2, B.replace("iterations: 4096", "iterations: 4097")))
    applied = team.run("apply", "--yes")
    assert "  2 new passwords tried by a login, and accepted\n" in applied.out, applied.out + applied.err
    assert FIRST not in applied.out + applied.err
    settings = settings_from(broker.settings("admin"))
    settings.followed["x"] = "wrong-Secret"
    refused = log_in(settings, "user-try-a", "SCRAM-SHA-512", "wrong-Secret")
    assert refused.works is False
    assert "wrong-Secret" not in refused.detail
    assert log_in(settings_from({"bootstrap.servers": "x:1"}), "a", "SCRAM-SHA-512", FIRST).detail == (
        "our connection has no SASL (security.protocol is PLAINTEXT)"
    )


def test_what_is_not_permitted_is_impossible_and_essential_logins_stay(
    team: Job, broker: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, path, why in (
        ("@c", "${env:HOME}", "is not permitted: the operator permits it in the connections file, below userSecrets"),
        ("@c", "${dir:/etc:passwd}", "is not permitted"),
        ("@c", "${dir:VAULT/../manifests:cluster.yaml}", "is not permitted"),
        ("@super", "${env:TEAM_B}", "which is a super user: change it by hand"),
    ):
        team.write(
            "users.yaml", items(team, f'{{name: "{name}", mechanisms: {{SCRAM-SHA-512: {{password: "{path}"}}}}}}')
        )
        planned = team.run("plan")
        assert why in " ".join(planned.out.split()), planned.out + planned.err
        assert "create SCRAM user" not in team.run("apply", "--yes").out.partition("Skipped")[0]
    team.write("users.yaml", items(team, '{name: "@c", mechanisms: {SCRAM-SHA-512: {}}}'))
    assert "needs a password source" in " ".join(team.run("plan").out.split())

    # A link out of the directory, or a secret that is missing: found before anything is sent.
    team.write("acls.yaml", ACLS)
    vault = team.directory.parent / "vault"
    (vault / "link").symlink_to("/etc/hostname")
    for name, why in (("link", "is not permitted"), ("nothing", "there is no file")):
        reference = f"${{dir:VAULT:{name}}}"
        team.write(
            "users.yaml", items(team, f'{{name: "@c", mechanisms: {{SCRAM-SHA-512: {{password: "{reference}"}}}}}}')
        )
        failed = team.run("apply", "--yes")
        assert failed.status != 0
        assert why in failed.err, failed.err
        assert "nothing was sent" in failed.err
    (team.directory / "users.yaml").unlink()
    assert team.run("drift").status == 2, "its ACLs were not sent either"


def test_without_rights_users_never_look_absent_and_nothing_is_sent(
    team: Job, broker: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESCRIBE on the cluster reads users, ALTER changes them; a withdrawn permit counts for plans made before."""
    team.write("users.yaml", items(team, A % 1))
    saved = str(tmp_path / "plan.json")
    assert team.run("plan", "--out", saved).status == 0
    permitted = team.connections.read_text(encoding="utf-8")
    team.connections.write_text(permitted.partition("  userSecrets")[0], encoding="utf-8")
    refused = team.run("apply", saved, str(team.directory), "--yes", cluster=False)
    assert refused.status != 0
    assert "is not permitted" in refused.err
    assert "nothing was sent" in refused.err

    tail = permitted[permitted.index("  userSecrets") :]
    other = tmp_path / "other"
    other.mkdir()
    connections = connections_file(other / "connections.yaml", broker, "nobody")
    connections.write_text(connections.read_text(encoding="utf-8") + tail, encoding="utf-8")
    nobody = Job(team.directory, connections, team.prefix, capsys)
    with opened(broker) as cluster:
        describe = binding("User:nobody", AclOperation.DESCRIBE)
        cluster.send([Create(describe)])
        planned = nobody.run("plan", "--out", str(tmp_path / "other.json"))
        assert "this login may not alter SCRAM users" in planned.out + planned.err, planned.err
        with pytest.raises(ClusterError) as lacking:
            nobody.run("apply", "--yes")
        assert lacking.value.advice == "Grant our principal ALLOW ALTER on CLUSTER kafka-cluster."
        listed = cluster.read(ReadRequest(acls=False, all_topics=False, listings=[ScramUser.KIND])).listing(ScramUser)
        assert listed.items is not None
        assert not [one for one in listed.items if one.name.startswith("user-team-")]
        cluster.send([Delete(describe)])
    # Without DESCRIBE no ACL can be read either, so that only the users are asked for here.
    with connect(settings_from(broker.settings("nobody"))) as cluster:
        found = cluster.read(ReadRequest(acls=False, all_topics=False, listings=[ScramUser.KIND])).listing(ScramUser)
    assert found.items is None
    assert found.gap == "not authorised to read SCRAM users: our principal needs ALLOW DESCRIBE on the cluster"


def binding(principal: str, operation: AclOperation) -> AclBinding:
    pattern = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
    return AclBinding(pattern, AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW))
