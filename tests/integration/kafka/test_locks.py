"""A lock on a real broker: one request, every resource type, and a real client that may do nothing at once."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource
from confluent_kafka.admin import ResourceType as ConfigType

from reconciler.app.apply import perform_now
from reconciler.app.lock import Lockable, LockTerms, plan_of_unlock
from reconciler.app.options import ConnectionOptions
from reconciler.app.session import Target
from reconciler.kafka.listing import ask as ask_messages
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Origin
from reconciler.model.locks import LOCKED_PATTERNS, locks
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.ports import ReadRequest
from tests.shared_brokers import opened
from tests.verbs import creations

pytestmark = pytest.mark.broker

_NAME = "User:locks-svc"
_WHY = LockTerms(_NAME, "key leaked", "INC-7")
_ACLS = ReadRequest(all_topics=False)
_GRANT = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "locks.orders"),
    AccessControlEntry(_NAME, WILDCARD, AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW),
)


def _may(client: AdminClient) -> bool:
    resource = ConfigResource(ConfigType.TOPIC, "locks.orders")
    try:
        client.describe_configs([resource], request_timeout=10)[resource].result()
    except KafkaException as error:
        if error.args[0].name() != "TOPIC_AUTHORIZATION_FAILED":
            raise
        return False
    return True


def _wait_until(permitted: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not permitted():
        assert time.monotonic() < until, "the broker does not enforce what was sent"
        time.sleep(0.05)


def test_a_locked_client_may_do_nothing_at_once_and_again_after_the_unlock(
    broker: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, asked = ask_messages, list[str]()

    def ask(settings: Any, question: str, **more: Any) -> Any:
        asked.append(question)
        return really(settings, question, **more)

    for module in ("kinds", "listing"):
        monkeypatch.setattr(f"reconciler.kafka.{module}.ask", ask)
    client = AdminClient({**broker.settings("locks-svc", "OAUTHBEARER"), "log_level": "0"})
    client.poll(0)
    declaration = ClusterDeclaration("c", Origin("c.yaml", 1, 1), allow_everyone_if_no_acl_found=False)
    with opened(broker) as admin:
        admin.send(creations([Topic("locks.orders", 1, 1)]))
        admin.send(creations([_GRANT]))
        _wait_until(lambda: _may(client))
        target = Target("c", admin, declaration)
        locked = Lockable(target, admin.read(_ACLS), _WHY, ConnectionOptions()).lock()
        # A lock ends when the broker shows it, and a broker shows what it enforces.
        assert not _may(client)
        # USER resources have to go by messages, in one request; whether a SCRAM login is there is asked after it.
        assert asked == ["create_acls", "listed"]
        assert locked.succeeded
        assert locked.gaps == ()
        live = admin.read(_ACLS)
        held = {one.pattern for one in live.bindings if one.entry.permission_type is AclPermissionType.DENY}
        assert held >= set(LOCKED_PATTERNS)
        plan = plan_of_unlock(_WHY, live, target, Manifests((), {}, {}, (), {}))
        assert {one.pattern for one in deleted_bindings(step.change for step in plan.steps)} == set(LOCKED_PATTERNS)
        assert perform_now(plan, live, target).succeeded
        _wait_until(lambda: _may(client))
        assert _NAME not in locks(admin.read(_ACLS).bindings)
