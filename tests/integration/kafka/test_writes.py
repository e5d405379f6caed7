"""The six writes on a real broker: an answer for each item, none of which spoils the others."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running, stop_node
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from tests.integration.kafka.conftest import Connect, frozen
from tests.topic_changes import configs, partitions
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

DONE = Answer(AnswerStatus.DONE)


def binding(
    name: str, on: ResourceType = ResourceType.TOPIC, operation: AclOperation = AclOperation.READ
) -> AclBinding:
    entry = AccessControlEntry("User:writes", "*", operation, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(on, name), entry)


def live(cluster: KafkaCluster) -> frozenset[AclBinding]:
    return cluster.read(ReadRequest(all_topics=False)).bindings


def topics(cluster: KafkaCluster, *names: str) -> dict[str, Topic]:
    return dict(cluster.read(ReadRequest(acls=False, all_topics=False, topic_names=names)).topics)


def codes(answers: list[Answer]) -> list[str]:
    return [answer.code for answer in answers]


def test_what_the_client_would_cut_or_raise_on_fails_alone(admin: KafkaCluster) -> None:
    good, cut, long = binding("writes.cut"), binding("writes.cut\0off"), binding("x" * 32_768)
    assert codes(admin.send(creations([good, cut, long]))) == ["", "UNSUPPORTED_BY_CLIENT", "UNSUPPORTED_BY_CLIENT"]
    assert codes(admin.send(deletions([cut]))) == ["UNSUPPORTED_BY_CLIENT"]
    for _ in range(50):
        if good in live(admin):
            break
        time.sleep(0.1)
    assert good in live(admin)
    too_many = Topic("writes.too-many", 100_001, 1)
    assert codes(admin.send(creations([too_many, Topic("writes.beside", 1, 1)]))) == ["UNSUPPORTED_BY_CLIENT", ""]
    increases = [
        partitions("writes.absent", 1, 100_001),
        partitions("writes.beside", 1, 2),
    ]
    assert codes(admin.send(increases)) == ["UNSUPPORTED_BY_CLIENT", ""]
    nameless = configs("writes.absent", {"": None}, {"": "1"})
    changed = configs("writes.beside", {"retention.ms": None}, {"retention.ms": "1000"})
    assert codes(admin.send([nameless, changed])) == ["UNSUPPORTED_BY_CLIENT", ""]


def test_a_bad_acl_does_not_stop_the_others(admin: KafkaCluster) -> None:
    good, bad = binding("writes.good"), binding("not-the-cluster", ResourceType.CLUSTER, AclOperation.CREATE)
    first, second, third = admin.send(creations([good, bad, binding("writes.more")]))
    assert (first, third) == (DONE, DONE)
    assert (second.status, second.code, second.retriable) == (AnswerStatus.FAILED, "INVALID_REQUEST", False)
    assert "kafka-cluster" in second.message
    assert {good, binding("writes.more")} <= live(admin)


def test_what_confluent_kafka_has_no_codes_for_is_written_by_messages(admin: KafkaCluster) -> None:
    odd = [
        binding("User:bob", ResourceType.USER, AclOperation.CREATE_TOKENS),
        binding("token", ResourceType.DELEGATION_TOKEN, AclOperation.DESCRIBE),
        binding("tx", ResourceType.TRANSACTIONAL_ID, AclOperation.TWO_PHASE_COMMIT),
    ]
    good = binding("writes.beside-odd")
    for verb in (creations, deletions):
        assert admin.send(verb([odd[0], good, *odd[1:]])) == [DONE] * 4
        assert live(admin) >= {good, *odd} if verb is creations else live(admin).isdisjoint({good, *odd})
    cut = binding("User:b\0b", ResourceType.USER, AclOperation.CREATE_TOKENS)
    assert codes(admin.send(creations([cut, odd[0]]))) == ["UNSUPPORTED_BY_CLIENT", ""]


def test_creating_and_deleting_again_is_success(admin: KafkaCluster) -> None:
    item = binding("writes.again")
    for verb in (creations, creations, deletions, deletions):
        assert admin.send(verb([item])) == [DONE]
    assert item not in live(admin)


def test_a_delete_takes_exactly_what_it_names(admin: KafkaCluster) -> None:
    wide = binding("*")
    near = [binding("writes.near"), wide, binding("writes.near", operation=AclOperation.ALL)]
    admin.send(creations(near))
    assert admin.send(deletions([wide])) == [DONE]
    assert live(admin) >= {near[0], near[2]}
    assert wide not in live(admin)
    admin.send(deletions(near))


def test_without_the_right_to_alter_every_item_is_refused(broker: Sandbox, connected: Connect) -> None:
    cluster = connected(broker, "nobody")
    for verb in (creations, deletions):
        answers = cluster.send(verb([binding("a"), binding("b")]))
        assert codes(answers) == ["CLUSTER_AUTHORIZATION_FAILED"] * 2
        assert {answer.status for answer in answers} == {AnswerStatus.FAILED}


def test_without_an_authorizer_every_item_is_refused(broker_no_authorizer: Sandbox, connected: Connect) -> None:
    cluster = connected(broker_no_authorizer, "admin")
    assert codes(cluster.send(creations([binding("a")]))) == ["SECURITY_DISABLED"]
    assert codes(cluster.send(deletions([binding("a")]))) == ["SECURITY_DISABLED"]


def test_topics_are_created_changed_and_deleted_one_by_one(admin: KafkaCluster) -> None:
    created = admin.send(
        creations(
            [
                Topic("writes-a", 2, 1, {"retention.ms": "1000"}),
                Topic("writes bad name", 1, 1),
                Topic("writes-c", replica_assignments=((1,), (1,), (1,))),
                Topic("writes-many", 1, 7),
                Topic("writes-default"),
                Topic("writes-config", 1, 1, {"no.such.setting": "1"}),
            ]
        )
    )
    assert codes(created) == ["", "INVALID_TOPIC_EXCEPTION", "", "INVALID_REPLICATION_FACTOR", "", "INVALID_CONFIG"]
    assert codes(admin.send(creations([Topic("writes-a", 1, 1)]))) == ["TOPIC_ALREADY_EXISTS"]
    # The controller has made them; the broker that is asked hears of it a moment later.
    end = time.monotonic() + 30
    while "writes-default" not in (made := topics(admin, "writes-a", "writes-c", "writes-default", "writes-many")):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert {name: topic.num_partitions for name, topic in made.items()} == {
        "writes-a": 2,
        "writes-c": 3,
        "writes-default": 1,
    }

    grown = admin.send(
        [
            partitions("writes-a", 2, 4),
            partitions("writes-c", 3, 3),
            partitions("writes-none", 1, 2),
            partitions("writes-default", 2, 1),
        ]
    )
    assert codes(grown) == ["", "INVALID_PARTITIONS", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_PARTITIONS"]
    assert {answer.status for answer in grown[1:]} == {AnswerStatus.FAILED}

    altered = admin.send(
        [
            configs(
                "writes-a", {"retention.ms": "1000", "segment.ms": None}, {"retention.ms": None, "segment.ms": "9999"}
            ),
            configs("writes-c", {"retention.ms": None}, {"retention.ms": "soon"}),
            configs("writes-none", {"retention.ms": None}, {"retention.ms": "1"}),
            configs("writes-default", {}, {}),
        ]
    )
    assert codes(altered) == ["", "INVALID_CONFIG", "UNKNOWN_TOPIC_OR_PARTITION", ""]
    for _ in range(50):  # a broker knows a little later than the controller
        changed = topics(admin, "writes-a")["writes-a"]
        if "segment.ms" in changed.configs:
            break
        time.sleep(0.1)
    assert (changed.num_partitions, dict(changed.configs)) == (4, {"segment.ms": "9999"})

    gone = admin.send(deletions(map(Topic, ["writes-a", "writes-none", "writes-c", "writes-default"])))
    assert codes(gone) == ["", "UNKNOWN_TOPIC_OR_PARTITION", "", ""]
    assert topics(admin, "writes-a", "writes-c") == {}


def test_nothing_is_sent_for_nothing(admin: KafkaCluster) -> None:
    assert admin.send([]) == admin.validate([]) == []


def test_doubles_and_crowds_are_refused_before_anything_is_sent(admin: KafkaCluster) -> None:
    item = binding("writes.twice")
    calls: list[Callable[[], object]] = [
        lambda: admin.send(creations([item, item])),
        lambda: admin.send(deletions([item, item])),
        lambda: admin.send(creations([Topic("writes-twice", 1), Topic("writes-twice", 2)])),
        lambda: admin.send(deletions(map(Topic, ["writes-twice", "writes-twice"]))),
        lambda: admin.send(
            [
                partitions("t", 1, 2),
                partitions("t", 1, 3),
            ]
        ),
        lambda: admin.send(
            [
                configs("t", {}, {}),
                configs("t", {"a": None}, {"a": "1"}),
            ]
        ),
        lambda: admin.send(creations([binding(f"writes.{number}") for number in range(1001)])),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"twice|at most 1000"):
            call()
    assert item not in live(admin)


def test_after_a_timeout_the_outcome_is_unknown_and_the_write_may_still_come(
    broker: Sandbox, connected: Connect, admin: KafkaCluster
) -> None:
    item = binding("writes.late")
    impatient = connected(broker, "admin", request_timeout_ms="1500")
    assert impatient.send(creations([binding("writes.warm")])) == [DONE]
    with frozen(broker):
        answer = impatient.send(creations([item]))[0]
    assert (answer.status, answer.code, answer.retriable) == (AnswerStatus.UNKNOWN, "_TIMED_OUT", False)
    deadline = time.monotonic() + 30
    while item not in live(admin):
        assert time.monotonic() < deadline, "the write that timed out never came"
        time.sleep(0.2)


@pytest.mark.long
def test_after_a_cut_connection_the_outcome_is_unknown(sandbox_root: Path, connected: Connect) -> None:
    item = binding("writes.cut")
    spec = SandboxSpec(name="cut", users=generated_users("admin"))
    with running(spec, root=sandbox_root) as sandbox:
        cluster = connected(sandbox, "admin")
        assert cluster.send(creations([binding("writes.warm")])) == [DONE]
        with ThreadPoolExecutor(1) as pool, frozen(sandbox):
            answers = pool.submit(cluster.send, creations([item]))
            time.sleep(0.5)  # the request is on its way to a broker that will never read it
            stop_node(sandbox, 1, kill=True)
            answer = answers.result()[0]
    assert (answer.status, answer.code, answer.retriable) == (AnswerStatus.UNKNOWN, "_TRANSPORT", False)
