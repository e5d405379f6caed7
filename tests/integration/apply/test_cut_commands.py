"""Commands that are killed between any two requests to a real broker: given again, each comes to its end."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply.barrier import barrier_name, deny_probe_acls, start_probe_acls
from reconciler.apply.lease import lease_claims
from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.acl import AclBinding, ResourcePattern, ResourceType
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Create, Update
from reconciler.model.locks import locks
from reconciler.model.markers import marker_of
from reconciler.model.scope import is_reserved
from reconciler.model.topic import Topic, TopicConfigs
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.faults.killed_command import killed
from tests.integration.apply.test_users import CLUSTER, FIRST, HEAD, SECOND, logs_in
from tests.integration.main_job import Job
from tests.plan_files import plan_id_of
from tests.security.test_locks import may_anything
from tests.shared_brokers import opened
from tests.verbs import creations, deletions
from tests.worlds import binding

pytestmark = pytest.mark.broker
KILLED = -9
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
DEAD = "20260101T000000Z-dead"


@pytest.fixture
def admin(broker: Sandbox) -> Iterator[KafkaCluster]:
    with opened(broker) as cluster:
        yield cluster


def test_a_user_who_was_cut_off_between_two_mechanisms(
    team: Job, broker: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, saved = f"{team.prefix}u", tmp_path / "plan.json"
    team.write("cluster.yaml", CLUSTER)
    with team.connections.open("a", encoding="utf-8") as file:
        file.write("  userSecrets: {envPrefixes: [TEAM_]}\n")

    def takes(password: str) -> tuple[bool, bool]:
        return logs_in(broker, name, password, SHA_256), logs_in(broker, name, password, SHA_512)

    def declare(version: int, more: str = "") -> None:
        one = f'{{passwordVersion: {version}, password: "${{env:TEAM_C}}"}}'
        team.write(
            "users.yaml", f'{HEAD}    - {{name: "@u", mechanisms: {{{SHA_256}: {one}, {SHA_512}: {one}}}{more}}}\n'
        )

    def cut_and_finished() -> Iterator[None]:
        assert team.run("plan", "--out", str(saved)).status == 0
        apply = ("apply", str(saved), str(team.directory), "--connections", str(team.connections), "--yes")
        assert killed("after part", 0, *apply) == KILLED
        undone = team.run("undo", str(saved), str(team.directory), "--allow-deletes", cluster=False)
        assert f"SCRAM user {name}" in undone.out + undone.err
        assert "was cut off" in undone.out + undone.err
        yield
        again = team.bare(*apply)
        assert again.status == 0, again.err
        assert team.run("drift").status == 0

    monkeypatch.setenv("TEAM_C", FIRST)
    declare(1)
    assert team.run("apply", "--yes").status == 0
    monkeypatch.setenv("TEAM_C", SECOND)
    declare(2)
    for _ in cut_and_finished():
        assert takes(SECOND) == (True, False)
        assert takes(FIRST) == (False, True)
    assert takes(SECOND) == (True, True)
    assert takes(FIRST) == (False, False)

    declare(2, ", disabled: true, ticket: INC-1")
    for _ in cut_and_finished():
        assert takes(SECOND) == (False, True), "half of it keeps a compromised password: it has to be finished"
    assert takes(SECOND) == (False, False)
    team.write("users.yaml", f'{HEAD}    - {{name: "@u", absent: true}}\n')
    assert team.run("apply", "--yes", "--allow-deletes").status == 0


def _shows(team: Job, admin: KafkaCluster, *live: AclBinding) -> set[AclBinding]:
    """What the broker has of this test's, and of what runs keep there for themselves."""
    found = admin.read(ReadRequest(all_topics=False)).bindings
    return {one for one in found if one in live or is_reserved(one.pattern.name) or team.prefix in one.pattern.name}


# A server that is killed at any call, and again: tests/property/test_killed_server.py, in memory.
@pytest.mark.parametrize("number", [6, *(pytest.param(one, marks=pytest.mark.long) for one in (0, 2, 4, 8, 10))])
def test_a_server_that_was_killed_in_a_round(team: Job, admin: KafkaCluster, number: int) -> None:
    rules = "".join(
        f"    - {{allow: {operation}, topics: ['@orders'], expires: 2026-01-01}}\n" for operation in ("READ", "WRITE")
    )
    team.write(
        "team.yaml",
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: team}\nspec:\n  principal: User:svc\n  rules:\n"
        f"    - {{allow: DESCRIBE, topics: ['@orders']}}\n{rules}",
    )
    over, stays = (
        {binding(f"User:svc ALLOW {operation} on TOPIC {team.prefix}orders") for operation in operations}
        for operations in (("READ", "WRITE"), ("DESCRIBE",))
    )
    dead = {*start_probe_acls(DEAD, "User:acl-probe")}
    admin.send(creations([*over, *stays, *dead]))
    serve = ("serve", str(team.directory), "--cluster", "it", "--connections", str(team.connections), "--act", "--once")
    assert killed("", number, *serve) in (KILLED, 0)
    found = _shows(team, admin)
    assert stays <= found
    assert {one for one in found if not is_reserved(one.pattern.name)} <= stays | over
    again = team.bare(*serve)
    assert again.status == 0, again.err
    found = _shows(team, admin)
    admin.send(deletions(sorted(found)))
    # A lease that nobody gives back is removed once it is over; it outlasts a request that is under way.
    now, leases = admin.controller_time(), lease_claims(found)
    assert now is not None
    assert all(claim.until - now < timedelta(minutes=4) for claim in leases)
    assert found == stays | {claim.binding for claim in leases}


@pytest.mark.parametrize("number", [1, 4, *(pytest.param(one, marks=pytest.mark.long) for one in (0, 2, 3, 5))])
def test_a_cleanup_that_was_killed(team: Job, admin: KafkaCluster, number: int) -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, f"{team.prefix}open")
    mark = marker_of(DEAD, pattern)
    bridge = binding(f"User:* ALLOW ALL on TOPIC {pattern.name}")
    granted = binding(f"User:svc ALLOW READ on TOPIC {pattern.name}")
    left = {*start_probe_acls(DEAD, "User:acl-probe"), *deny_probe_acls(barrier_name(DEAD, 1), "User:acl-probe")}
    admin.send(creations([granted, mark, bridge, *left]))
    cleanup = ("cleanup", str(team.directory), "--cluster", "it", "--connections", str(team.connections), "--yes")
    assert killed("", number, *cleanup, "--run", DEAD) in (KILLED, 0)
    found = _shows(team, admin)
    assert granted in found
    assert mark in found or bridge not in found, "without its mark nobody would take it away"
    assert found <= {granted, mark, bridge, *left}
    assert team.bare(*cleanup, "--run", DEAD).status == 0
    found = _shows(team, admin)
    admin.send(deletions(sorted(found)))
    assert found == {granted}


def _quota(team: Job) -> tuple[Create[Any], Callable[[KafkaCluster], object]]:
    entity = QuotaEntity.of(f"{team.prefix}u")
    made = Create(ClientQuota(entity, {"producer_byte_rate": 1.0, "connection_creation_rate": 1.0}))
    request = ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND])
    return made, lambda cluster: cluster.read(request).listing(ClientQuota).by_key.get(entity)


def _group(team: Job) -> tuple[Create[Any], Callable[[KafkaCluster], object]]:
    values = {"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "x"}
    made = Create(GroupConfig(f"{team.prefix}g", values))
    request = ReadRequest(acls=False, all_topics=False, listings=[GroupConfig.KIND])
    return made, lambda cluster: cluster.read(request).listing(GroupConfig).by_key.get(f"{team.prefix}g")


def _topic(team: Job) -> tuple[Create[Any], Callable[[KafkaCluster], object]]:
    values = {"retention.ms": "50000", "flush.ms": "x"}
    made = Create(Topic(f"{team.prefix}t", 1, 1, values))
    request = ReadRequest(acls=False)
    return made, lambda cluster: cluster.read(request).topics.get(f"{team.prefix}t")


@pytest.mark.parametrize("of", [_quota, _group, _topic])
def test_of_what_is_one_request_a_broker_takes_all_or_nothing(
    team: Job, admin: KafkaCluster, of: Callable[[Job], tuple[Create[Any], Callable[[KafkaCluster], object]]]
) -> None:
    """``ATOMIC`` of listed kinds relies on it: an entry of which one value is refused sets no other one."""
    change, found = of(team)
    (answer,) = admin.send([change])
    assert answer.status is AnswerStatus.FAILED, answer
    assert found(admin) is None


def test_configs_of_a_topic_are_set_and_removed_together_or_not_at_all(team: Job, admin: KafkaCluster) -> None:
    name = f"{team.prefix}c"
    assert admin.send([Create(Topic(name, 1, 1, {"retention.ms": "1", "flush.ms": "2"}))])[0].good
    before = TopicConfigs(name, {"retention.ms": "1", "flush.ms": "2", "segment.ms": None})
    for refused in ({"segment.ms": "x"}, {"segment.ms": "0"}):
        after = TopicConfigs(name, {"retention.ms": "9", "flush.ms": None, **refused})
        (answer,) = admin.send([Update(before, after)])
        assert answer.status is AnswerStatus.FAILED, answer
    configs = admin.read(ReadRequest(acls=False, all_topics=False, topic_names=[name])).topics[name].configs
    admin.send(deletions([Topic(name, 1, 1)]))
    assert configs == {"retention.ms": "1", "flush.ms": "2"}


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("deed", ["plan", "apply", "apply a saved plan", "undo", "cleanup", "serve", "lock"])
def test_a_lock_stands_whatever_is_killed_under_it(
    team: Job, admin: KafkaCluster, tmp_path: Path, deed: str, number: int
) -> None:
    """And whatever the same command does when it is given again, with deletions allowed."""
    name, saved = f"User:{team.prefix}svc", str(tmp_path / "plan.json")
    head = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: team}\nspec:\n  principal: '@svc'\n  rules:\n"
    rule = "    - {{allow: {}, topics: ['@orders']{}}}\n".format
    # What stays, so that no deletion takes the last ACL of a name.
    head = head.replace("@svc", name) + rule("DESCRIBE", "")
    facts = ("--connections", str(team.connections))
    where = (str(team.directory), "--cluster", "it", *facts)
    team.write("team.yaml", head + rule("READ", ""))
    assert team.run("apply", "--yes").status == 0
    team.write("team.yaml", head + rule("READ", "") + rule("WRITE", ""))
    assert team.run("plan", "--out", saved).status == 0
    if deed == "undo":
        assert team.bare("apply", saved, str(team.directory), *facts, "--yes").status == 0
    locked = team.bare("lock", name, "-f", *where, "--reason", "key leaked", "--yes")
    assert locked.status == 0, locked.err
    if deed in ("plan", "apply", "serve"):
        team.write("team.yaml", head + rule("WRITE", "") + rule("READ", ", expires: 2026-01-01"))
    back, vouched = str(tmp_path / "back.json"), ["--yes"]
    if deed == "undo":
        undone = team.bare("undo", saved, str(team.directory), *facts, "--allow-deletes", "--out", back)
        assert undone.status in (0, 2), undone.err
        vouched = ["--require-id", plan_id_of(back)]
    if deed == "cleanup":
        admin.send(creations([*start_probe_acls(DEAD, "User:acl-probe")]))
    words = {
        "plan": ("plan", *where, "--allow-deletes"),
        "apply": ("apply", *where, "--allow-deletes", "--yes"),
        "apply a saved plan": ("apply", saved, str(team.directory), *facts, "--yes"),
        "undo": ("apply", back, str(team.directory), *facts, *vouched),
        "cleanup": ("cleanup", *where, "--yes", "--run", DEAD),
        "serve": ("serve", *where, "--act", "--once"),
        "lock": ("lock", name, "-f", *where, "--reason", "again", "--yes"),
    }[deed]
    for end in (killed("", number, *words), team.bare(*words).status):
        assert end in (KILLED, 0, 2, 6), "killed, done, or another one's lease"
        live = admin.read(ReadRequest(all_topics=False)).bindings
        assert locks(live)[name].whole
        assert not may_anything(live, name)
    assert f"{name} is locked" in team.run("plan").out
