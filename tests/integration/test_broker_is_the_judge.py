"""Random ACLs on a real broker: what it lets each principal do, against what ``Authorizer`` says."""

import random
import time
from collections.abc import Iterator

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.judge import Seen, Witness
from tests.shared_brokers import clear
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

HOST = "127.0.0.1"
PRINCIPALS = tuple(f"u{number}" for number in range(6))
TOPICS = ("a", "ab", "abc", "b", "ba")
GROUPS = ("a", "ab", "b", "ba")
NEW_TOPIC = "abz"
ROUNDS = 8
NAMES = {ResourceType.TOPIC: ("a", "ab", "abc", "b", "*"), ResourceType.GROUP: ("a", "ab", "b", "*")}


@pytest.fixture(params=[False, True], ids=["default-deny", "default-allow"])
def cluster(request: pytest.FixtureRequest, broker: Sandbox, open_broker: Sandbox) -> Iterator[Sandbox]:
    """A broker without anything of another test, and without anything of this one afterwards."""
    sandbox = open_broker if request.param else broker
    clear(sandbox)
    yield sandbox
    clear(sandbox)


def opened(sandbox: Sandbox) -> KafkaCluster:
    settings = dict(sandbox.settings("admin"))
    servers = settings.pop("bootstrap.servers")
    return connect(client_settings(servers, settings, SecretSource(frozenset(), ())))


def some_bindings(rng: random.Random) -> list[AclBinding]:
    """Two dozen bindings that meet each other, ALLOW and DENY, on topics, groups and the cluster."""
    found: set[AclBinding] = set()
    while len(found) < 24:
        resource_type = rng.choice([ResourceType.TOPIC] * 4 + [ResourceType.GROUP] * 2 + [ResourceType.CLUSTER])
        if resource_type is ResourceType.CLUSTER:
            pattern = ResourcePattern(resource_type, CLUSTER_NAME)
        else:
            pattern_type = rng.choice([PatternType.LITERAL, PatternType.PREFIXED])
            pattern = ResourcePattern(resource_type, rng.choice(NAMES[resource_type]), pattern_type)
        operations = [AclOperation.ALL, *sorted(SUPPORTED_OPERATIONS[resource_type])]
        permission = rng.choice([AclPermissionType.ALLOW] * 3 + [AclPermissionType.DENY])
        principal = rng.choice([*(f"User:{name}" for name in PRINCIPALS), "User:*"])
        host = rng.choice(["*", "*", HOST, "10.9.9.9"])
        found.add(AclBinding(pattern, AccessControlEntry(principal, host, rng.choice(operations), permission)))
    return sorted(found)


def enforced(cluster: KafkaCluster, wanted: set[AclBinding]) -> None:
    """Wait until the one broker there is lists exactly ``wanted``: with one node, listed is enforced."""
    deadline = time.monotonic() + 60
    while cluster.read(ReadRequest(all_topics=False)).bindings != wanted:
        assert time.monotonic() < deadline, "the broker does not show the ACLs"
        time.sleep(0.05)


def test_the_broker_and_the_model_agree(cluster: Sandbox, request: pytest.FixtureRequest) -> None:
    default_allow = request.node.callspec.params["cluster"]
    rng = random.Random(4_711)
    compared, wrong = 0, []
    with opened(cluster) as admin:
        answers = admin.send(creations([Topic(name, 1, 1) for name in TOPICS]))
        assert {answer.status for answer in answers} == {AnswerStatus.DONE}
        boss = Witness(cluster.settings("admin", "OAUTHBEARER"))
        assert all(boss.produces(name) for name in TOPICS)
        witnesses = {name: Witness(cluster.settings(name, "OAUTHBEARER")) for name in PRINCIPALS}
        for _ in range(ROUNDS):
            live = some_bindings(rng)
            assert {answer.status for answer in admin.send(creations(live))} == {AnswerStatus.DONE}
            enforced(admin, set(live))
            model = Authorizer(live, ["User:admin"], allow_everyone_if_no_acl_found=default_allow)
            for name, witness in witnesses.items():
                for seen in all_seen(witness):
                    compared += 1
                    wrong += differences(model, f"User:{name}", seen)
                compared += 1
                wrong += create_differences(model, f"User:{name}", witness.new_topic(NEW_TOPIC))
            topic = rng.choice(TOPICS)
            for name, witness in witnesses.items():
                compared += 2
                wrong += client_differences(model, name, AclOperation.WRITE, topic, permitted=witness.produces(topic))
                wrong += client_differences(model, name, AclOperation.READ, topic, permitted=witness.fetches(topic))
            admin.send(deletions(live))
            enforced(admin, set())
    assert wrong == []
    assert compared >= 2_000


def all_seen(witness: Witness) -> Iterator[Seen]:
    yield from witness.topics(list(TOPICS))
    yield from witness.groups(list(GROUPS))
    yield from witness.cluster()


def differences(model: Authorizer, principal: str, seen: Seen) -> list[str]:
    resource_type, name, operation, permitted = seen
    decision = model.authorize(principal, HOST, operation, resource_type, name)
    if decision.allowed is permitted:
        return []
    return [f"{principal} {operation.name} {resource_type.name} {name}: broker {permitted}, model {decision}"]


def client_differences(
    model: Authorizer, name: str, operation: AclOperation, topic: str, *, permitted: bool
) -> list[str]:
    """A client asks for the topic's leader first, and so needs DESCRIBE besides what it came for."""
    asked = (operation, AclOperation.DESCRIBE)
    decisions = [model.authorize(f"User:{name}", HOST, one, ResourceType.TOPIC, topic) for one in asked]
    if all(decision.allowed for decision in decisions) is permitted:
        return []
    return [f"User:{name} as a client {operation.name} {topic}: broker {permitted}, model {decisions}"]


def create_differences(model: Authorizer, principal: str, permitted: bool) -> list[str]:
    """CreateTopics asks for CREATE on the cluster first, and on the topic if that is refused."""
    asked = ((ResourceType.CLUSTER, CLUSTER_NAME), (ResourceType.TOPIC, NEW_TOPIC))
    allowed = any(model.authorize(principal, HOST, AclOperation.CREATE, *what).allowed for what in asked)
    return [] if allowed is permitted else [f"{principal} creates {NEW_TOPIC}: broker {permitted}, model {allowed}"]
