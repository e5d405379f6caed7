"""A broker all of whose log directories are cordoned (KIP-1066): a plan places nothing there, nor does a controller."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from reconciler.kafka.cluster import connect
from reconciler.model.listing import Create, Delete
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.replicas import unplaceable
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.kafka.test_quotas import settings_of

pytestmark = pytest.mark.broker

_PATIENCE_SECONDS = 30.0
LAYOUT = ReadRequest(acls=False, all_topics=False, layout=["cordon-new"])
WANTED = Topic("cordon-new", 1, 1)


def cordon(broker: Sandbox, operation: AlterConfigOpType) -> None:
    entry = ConfigEntry("cordoned.log.dirs", "*", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    with AdminClient({**broker.settings("admin"), "log_level": 0}) as admin:
        admin.incremental_alter_configs([resource])[resource].result(_PATIENCE_SECONDS)


@pytest.fixture
def cordoned(broker: Sandbox) -> Iterator[Sandbox]:
    cordon(broker, AlterConfigOpType.SET)
    yield broker
    cordon(broker, AlterConfigOpType.DELETE)


def test_nothing_is_placed_on_a_broker_whose_directories_are_all_cordoned(cordoned: Sandbox) -> None:
    with connect(settings_of(cordoned, "reconciler")) as cluster:
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            layout = cluster.read(LAYOUT).layout
            assert layout is not None
            if layout.cordoned or time.monotonic() > end:
                break
        assert layout.cordoned == {1}
        why = unplaceable(WANTED, layout)
        assert why == "1 replicas need as many brokers, and 0 of 1 have a log directory not cordoned"
        while True:  # the controller hears of it with the broker's next heartbeat
            (answer,) = cluster.send([Create(WANTED)])
            if answer.status is not AnswerStatus.DONE or time.monotonic() > end:
                break
            cluster.send([Delete(cluster.read(ReadRequest(acls=False)).topics[WANTED.name])])
        assert (answer.status, answer.code) == (AnswerStatus.FAILED, "INVALID_REPLICATION_FACTOR"), answer
        cordon(cordoned, AlterConfigOpType.DELETE)
        while cluster.read(LAYOUT).layout.cordoned:  # type: ignore[union-attr]
            assert time.monotonic() < end + _PATIENCE_SECONDS
