"""A plan of a realistic mix whose every step is a request of its own: what the kill points run on."""

import datetime
from collections.abc import Iterator
from dataclasses import replace

from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from tests.worlds import acl

DAY = datetime.date(2026, 1, 1)
_PLACE = Origin("team.yaml", 1, 1)
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def before(size: int, mark: str = "") -> ClusterState:
    """Literal grants, carved-out DENYs, and topics with settings."""
    topics = [Topic(f"{mark}old{number}", 1, 1) for number in range(3)]
    topics += [Topic(f"{mark}kept{number}", 1, 1, {"retention.ms": "3600000"}) for number in range(4)]
    return ClusterState("cluster", frozenset(_old(size, mark)), {topic.name: topic for topic in topics})


def wish(size: int, mark: str = "") -> DesiredState:
    """Prefixes for literals, new DENYs, more partitions, other settings, new topics, and some that go."""
    topics = {f"{mark}old{number}": DesiredTopic(Topic(f"{mark}old{number}"), _PLACE, absent=True) for number in (0, 1)}
    for number in range(4):
        topic = Topic(f"{mark}kept{number}", 2 if number < 2 else 1, 1, {"retention.ms": "7200000"})
        topics[topic.name] = DesiredTopic(topic, _PLACE)
    for name in ("new0", "new1", "team1-born", "team2-born"):
        topics[mark + name] = DesiredTopic(Topic(mark + name, 1, 1), _PLACE)
    bindings = {binding: Declaration(_PLACE) for binding in sorted(_new(size, mark))}
    return DesiredState(bindings, topics)


def plan_for(live: ClusterState, desired: DesiredState, *, default_allow: bool = False) -> Plan:
    """The plan, everything acknowledged that needs it; brokers are known not to make topics on demand."""
    names = [name for name, topic in desired.topics.items() if topic.absent]
    accepted = tuple(AcceptedGuard(Guard.TOPIC_DELETE, name) for name in names)
    request = Request(DAY, Options(allow_deletes=True), accepted=accepted)
    told = replace(live, broker_defaults={"auto.create.topics.enable": "false"})
    return propose(desired, told, Terms("c", default_allow=default_allow, barrier_wait=0.0), request)


def _old(size: int, mark: str) -> Iterator[AclBinding]:
    for number in range(size):
        yield acl(f"{mark}team{number}-a", f"User:{mark}{number}")
        yield acl(f"{mark}team{number}-b", f"User:{mark}{number}", AclOperation.WRITE)
        if number % 3 == 0:
            yield acl(f"{mark}team{number}-a", "User:*", AclOperation.WRITE, _DENY)
    yield acl(f"{mark}old0", f"User:{mark}0")


def _new(size: int, mark: str) -> Iterator[AclBinding]:
    for number in range(size):
        yield acl(f"{mark}team{number}-", f"User:{mark}{number}")
        yield acl(f"{mark}team{number}-", f"User:{mark}{number}", AclOperation.WRITE)
        if number % 2 == 0:
            yield acl(f"{mark}team{number}-secret", "User:*", AclOperation.ALL, _DENY)
        if number % 5 == 0:
            yield acl(f"{mark}team{number}", f"User:{mark}{number}", resource_type=ResourceType.GROUP)
