"""Topic listings on a real broker: what is set on the topic only, and nothing missing without being named."""

import marshal
import pkgutil
import subprocess
import time
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest

from reconciler import kafka
from reconciler.kafka import listing
from reconciler.kafka import topics as topic_reading
from reconciler.kafka.cluster import KafkaCluster
from reconciler.kafka.listing import answer_of as listing_answer
from reconciler.kafka.reader_process import MESSAGES, end_reader
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota
from reconciler.model.listing import Delete, Update
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.kafka.conftest import Connect
from tests.prepared import prepared
from tests.topic_changes import configs
from tests.verbs import creations

pytestmark = pytest.mark.broker

NAMES = ("seen.one", "seen.two", "hidden.one", "hidden.two")


@pytest.fixture
def topics(admin: KafkaCluster) -> None:
    """Four topics, one with settings of its own."""
    wanted = [Topic(name, 1, 1, {"retention.ms": "60000"} if name == "seen.one" else {}) for name in NAMES]
    assert {a.code for a in admin.send(creations(wanted))} <= {"", "TOPIC_ALREADY_EXISTS"}
    request = ReadRequest(acls=False, all_topics=False, topic_names=NAMES)
    end = time.monotonic() + 30
    while set(admin.read(request).topics) != set(NAMES):
        assert time.monotonic() < end, "a topic that was made did not come to be seen"
        time.sleep(0.1)


def allow(
    principal: str,
    operation: AclOperation,
    name: str,
    *,
    on: ResourceType = ResourceType.TOPIC,
    prefixed: bool = False,
    denied: bool = False,
) -> AclBinding:
    pattern = ResourcePattern(on, name, PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    kind = AclPermissionType.DENY if denied else AclPermissionType.ALLOW
    return AclBinding(pattern, AccessControlEntry(f"User:{principal}", "*", operation, kind))


def list_acls(principal: str) -> AclBinding:
    return allow(principal, AclOperation.DESCRIBE, "kafka-cluster", on=ResourceType.CLUSTER)


def grant(admin: KafkaCluster, *bindings: AclBinding) -> None:
    assert {answer.status for answer in admin.send(creations(bindings))} == {AnswerStatus.DONE}


def ask(principal: str, *names: str) -> ReadRequest:
    return ReadRequest(principal=f"User:{principal}", topic_names=names)


def configs_become(admin: KafkaCluster, name: str, expected: dict[str, str]) -> None:
    """Waits: a broker may lag behind the controller that answered."""
    request = ReadRequest(acls=False, all_topics=False, topic_names=[name])
    end = time.monotonic() + 30
    while (seen := dict(admin.read(request).topics[name].configs)) != expected:
        assert time.monotonic() < end, seen
        time.sleep(0.1)


def test_many_topics_are_read_alike(admin: KafkaCluster, topics: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """By messages, which pay from a thousand on: the same values, the same defaults."""
    request = ReadRequest(
        principal="User:admin", super_users=["User:admin"], broker_defaults=True, topic_names=("never.there",)
    )
    by_client = admin.read(request)
    monkeypatch.setattr(topic_reading, "MANY", 1)
    monkeypatch.setattr(topic_reading, "_own_configs", None)
    by_messages = admin.read(request)
    assert dict(by_messages.topics["seen.one"].configs) == {"retention.ms": "60000"}
    assert by_messages.broker_defaults == by_client.broker_defaults
    assert {name: by_messages.topics[name] for name in NAMES} == {name: by_client.topics[name] for name in NAMES}


def _reading_questions() -> set[str]:
    """All that a process of the message client can be asked that only reads, by the names of tasks."""
    with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
        names = [
            "message_client",
            *(name for _, name, _ in pkgutil.iter_modules(kafka.__path__) if "_messages" in name),
        ]
        modules = {name.removesuffix("_messages"): import_module(f"reconciler.kafka.{name}") for name in names}
    own = modules.pop("message_client")._QUESTIONS
    tables = {"": own, **{f"{name}.": vars(module).get("QUESTIONS", {}) for name, module in modules.items()}}
    return {prefix + name for prefix, table in tables.items() for name, one in table.items() if not one.writes}


def test_what_a_process_was_asked_before_changes_no_answer(
    admin: KafkaCluster, topics: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command has one process for its questions, in whatever order: each is asked behind every other one."""
    tasks: dict[str, dict[str, Any]] = {}

    def kept(process: "subprocess.Popen[bytes]", task: bytes) -> bytes | None:
        asked = marshal.loads(task)  # noqa: S302 - the product wrote it
        tasks[asked["ask"]] = asked
        return listing_answer(process, task)

    monkeypatch.setattr(topic_reading, "MANY", 1)
    monkeypatch.setattr(listing, "answer_of", kept)
    group = GroupConfig("asked-before", {"share.isolation.level": "read_committed"})
    assert [answer.status for answer in admin.send(creations([group]))] == [AnswerStatus.DONE]
    kinds = [ClientQuota.KIND, GroupConfig.KIND]
    admin.read(ReadRequest(principal="User:admin", topic_names=NAMES, listings=kinds, layout=NAMES, tokens=True))
    admin.broker_settings([], features=True)
    admin.controller_time()
    admin.topic_uses(NAMES)
    questions = _reading_questions()
    assert tasks.keys() >= questions

    def answers(order: Iterable[str], process: "subprocess.Popen[bytes]") -> dict[str, Any]:
        try:
            return {name: marshal.loads(listing_answer(process, marshal.dumps(tasks[name])) or b"") for name in order}  # noqa: S302
        finally:
            end_reader(process)

    def started() -> "subprocess.Popen[bytes]":
        return prepared().start_reader(MESSAGES)  # type: ignore[return-value]

    alone = {name: answers([name], started())[name] for name in sorted(questions)}
    assert {reply[0] for reply in alone.values()} & {"failed", "refused", "unconnected"} == set()
    for order in (sorted(questions), sorted(questions, reverse=True)):
        behind = answers(order, started())
        for name in questions - {"time"}:
            assert behind[name] == alone[name], name
        assert behind["time"][0] == "time"
    admin.send([Delete(group)])


def test_only_what_is_set_on_the_topic_is_read(admin: KafkaCluster, topics: None) -> None:
    state = admin.read(ReadRequest(principal="User:admin", super_users=["User:admin"]))
    topic = state.topics["seen.one"]
    assert dict(topic.configs) == {"retention.ms": "60000"}
    assert (topic.num_partitions, topic.replication_factor, topic.replica_assignments) == (1, 1, ((1,),))
    assert topic.topic_id is not None
    assert len(topic.topic_id) == 22
    assert set(NAMES) <= set(state.topics)
    assert (state.topic_gap, dict(state.unreadable_topics)) == (None, {})
    assert dict(state.topics["seen.two"].configs) == {}


def test_a_setting_equal_to_the_default_is_still_set(admin: KafkaCluster, topics: None) -> None:
    change = configs("seen.two", {"cleanup.policy": None}, {"cleanup.policy": "delete"})
    assert admin.send([change])[0].status is AnswerStatus.DONE
    configs_become(admin, "seen.two", {"cleanup.policy": "delete"})
    admin.send([Update(change.after, change.before)])
    configs_become(admin, "seen.two", {})


def test_a_partial_listing_is_said_and_declared_names_are_asked_for(
    admin: KafkaCluster, broker: Sandbox, connected: Connect, topics: None
) -> None:
    grant(
        admin,
        allow("partial", AclOperation.ALL, "kafka-cluster", on=ResourceType.CLUSTER),
        allow("partial", AclOperation.ALL, "seen.", prefixed=True),
    )
    cluster = connected(broker, "partial", mechanism="OAUTHBEARER")
    state = cluster.read(ask("partial", "hidden.one", "seen.none"))
    assert state.topic_gap is not None
    assert "User:partial has no ALLOW DESCRIBE on TOPIC '*'" in state.topic_gap
    assert set(state.topics) == {"seen.one", "seen.two"}
    assert dict(state.unreadable_topics) == {"hidden.one": "not authorized to describe this topic"}


def test_with_describe_on_every_topic_the_listing_is_whole(
    admin: KafkaCluster, broker: Sandbox, connected: Connect, topics: None
) -> None:
    grant(
        admin,
        list_acls("whole"),
        allow("whole", AclOperation.DESCRIBE, "*"),
        allow("whole", AclOperation.DESCRIBE_CONFIGS, "*"),
    )
    state = connected(broker, "whole", mechanism="OAUTHBEARER").read(ask("whole", "no-such-topic"))
    assert state.topic_gap is None
    assert set(NAMES) <= set(state.topics)
    assert dict(state.unreadable_topics) == {}


def test_a_deny_makes_the_listing_partial(
    admin: KafkaCluster, broker: Sandbox, connected: Connect, topics: None
) -> None:
    grant(
        admin,
        list_acls("denied"),
        allow("denied", AclOperation.READ, "*"),
        allow("denied", AclOperation.DESCRIBE_CONFIGS, "*"),
        allow("denied", AclOperation.DESCRIBE, "hidden.", prefixed=True, denied=True),
    )
    state = connected(broker, "denied", mechanism="OAUTHBEARER").read(ask("denied", "hidden.two"))
    assert state.topic_gap is not None
    assert "can hide topics from User:denied" in state.topic_gap
    assert set(state.unreadable_topics) == {"hidden.two"}
    assert not {"hidden.one", "hidden.two"} & set(state.topics)


@pytest.mark.parametrize("many", [1, 1_000])
def test_a_topic_whose_settings_are_refused_is_unreadable(
    admin: KafkaCluster, broker: Sandbox, connected: Connect, topics: None, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_reading, "MANY", many)
    grant(admin, list_acls("half"), allow("half", AclOperation.DESCRIBE, "*"))
    state = connected(broker, "half", mechanism="OAUTHBEARER").read(ask("half"))
    assert state.topic_gap is None
    assert state.unreadable_topics["seen.one"] == "not authorized to read this topic's configs (DESCRIBE_CONFIGS)"
    assert not set(NAMES) & set(state.topics)


def test_a_declared_super_user_that_is_none_is_found_out(
    broker: Sandbox, connected: Connect, admin: KafkaCluster
) -> None:
    grant(admin, list_acls("boaster"))
    request = ReadRequest(principal="User:boaster", super_users=["User:boaster"])
    state = connected(broker, "boaster", mechanism="OAUTHBEARER").read(request)
    assert state.topic_gap is not None
    assert "did not report a topic that does not exist" in state.topic_gap


def test_without_a_declared_principal_nothing_is_proven(admin: KafkaCluster, topics: None) -> None:
    gap = admin.read(ReadRequest()).topic_gap
    assert gap is not None
    assert "spec.principal" in gap


def test_topics_that_nobody_asked_for_are_not_read(broker: Sandbox, connected: Connect, admin: KafkaCluster) -> None:
    grant(admin, list_acls("lister"))
    request = ReadRequest(all_topics=False)
    state = connected(broker, "lister", mechanism="OAUTHBEARER").read(request)
    assert (dict(state.topics), dict(state.unreadable_topics), state.topic_gap) == ({}, {}, None)
