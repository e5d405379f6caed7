"""Hosts as ranges on a real Kafka 4.4: what it lets clients of many addresses do, against what ``Authorizer`` says."""

import random

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.model.acl import (
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
from tests.integration.addressed_client import AddressedClient
from tests.integration.test_broker_is_the_judge import enforced, opened
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

_PRINCIPALS = ("u0", "u1", "u2")
_TOPICS = ["a", "ab", "b"]
_ADDRESSES = ("127.0.0.1", "127.0.0.6", "127.0.1.1", "127.200.0.9")
#: Texts of every kind: ranges that nest, that end at an address, that spell their network otherwise, that hold nobody.
_HOSTS = (
    *("*", "127.0.0.1", "127.0.0.6", "127.0.0.0/8", "127.0.0.0/24", "127.0.0.4/30", "127.0.0.6/32", "127.0.1.77/25"),
    *("127.200.0.0/15", "0.0.0.0/0", "10.0.0.0/8", "::/0", "127.000.0.1/31"),
)
_ROUNDS = 14


def _some_bindings(rng: random.Random) -> list[AclBinding]:
    found: set[AclBinding] = set()
    while len(found) < 40:
        name, kind = rng.choice([("a", PatternType.PREFIXED), ("*", PatternType.LITERAL), ("ab", PatternType.LITERAL)])
        operation = rng.choice([AclOperation.ALL, *sorted(SUPPORTED_OPERATIONS[ResourceType.TOPIC])])
        permission = rng.choice([AclPermissionType.ALLOW] * 3 + [AclPermissionType.DENY])
        who = rng.choice([*(f"User:{name}" for name in _PRINCIPALS), "User:*"])
        entry = AccessControlEntry(who, rng.choice(_HOSTS), operation, permission)
        found.add(AclBinding(ResourcePattern(ResourceType.TOPIC, name, kind), entry))
    return sorted(found)


def test_the_broker_and_the_model_agree_on_ranges(broker: Sandbox) -> None:
    rng = random.Random(1_276)
    servers = broker.settings("admin")["bootstrap.servers"]
    compared, wrong = 0, []
    with opened(broker) as admin:
        assert {one.status for one in admin.send(creations([Topic(name, 1, 1) for name in _TOPICS]))} == {
            AnswerStatus.DONE
        }
        version = admin.read(ReadRequest(all_topics=False)).kafka_version
        assert version == (4, 4)
        clients = {(who, at): AddressedClient(servers, who, at) for who in _PRINCIPALS for at in _ADDRESSES}
        for _ in range(_ROUNDS):
            live = _some_bindings(rng)
            assert {answer.status for answer in admin.send(creations(live))} == {AnswerStatus.DONE}
            enforced(admin, set(live))
            model = Authorizer(live, ["User:admin"], allow_everyone_if_no_acl_found=False, kafka_version=version)
            for (who, at), client in clients.items():
                for name, operation, permitted in client.topics(_TOPICS):
                    compared += 1
                    decision = model.authorize(f"User:{who}", at, operation, ResourceType.TOPIC, name)
                    if decision.allowed is not permitted:
                        wrong.append(f"{who} from {at} {operation.name} {name}: broker {permitted}, model {decision}")
            admin.send(deletions(live))
            enforced(admin, set())
        for client in clients.values():
            client.close()
    assert wrong == []
    assert compared >= 2_000


def test_the_broker_takes_as_a_range_what_the_model_does_and_refuses_the_rest(broker: Sandbox) -> None:
    good = ["10.0.0.0/8", "10.0.0.5/8", "010.0.0.0/8", "0.0.0.0/32", "fe80::/10", "fe80::%1/10", "2001:DB8::/32"]
    bad = ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/8/8", "::ffff:10.0.0.0/104", "host.example/8"]
    pattern = ResourcePattern(ResourceType.TOPIC, "texts")
    made = {
        host: AclBinding(pattern, AccessControlEntry("User:u", host, AclOperation.READ, AclPermissionType.ALLOW))
        for host in (*good, *bad)
    }
    with opened(broker) as admin:
        taken = {}
        for host, binding in made.items():
            [answer] = admin.send(creations([binding]))
            taken[host] = answer.status is AnswerStatus.DONE
        assert taken == {host: host in good for host in made}
        enforced(admin, {made[host] for host in good})
        admin.send(deletions([made[host] for host in good]))
