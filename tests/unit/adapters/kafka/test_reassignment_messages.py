"""What is told of partitions whose brokers are gone: nothing can be copied from them, whatever the ISR holds."""

import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
    messages: Any = import_module("reconciler.kafka.reassignment_messages")
errors: Any = import_module("kafka.errors")


def _partition(number: int, replicas: list[int], *, offline: list[int] | None = None) -> SimpleNamespace:
    """All its replicas are in the ISR; ``None``: a broker that is older than the field."""
    told = SimpleNamespace(partition_index=number, replica_nodes=replicas, isr_nodes=replicas)
    if offline is not None:
        told.offline_replicas = offline
    return told


def _layout(monkeypatch: pytest.MonkeyPatch, partitions: list[SimpleNamespace], *, silent: int | None = None) -> Any:
    """The reply about topic ``orders`` on brokers 1 and 2, each of which holds 100 bytes of each of its replicas."""

    def directories(broker: int) -> SimpleNamespace:
        held = [part.partition_index for part in partitions if broker in part.replica_nodes]
        parts = [SimpleNamespace(partition_index=one, partition_size=100, is_future_key=False) for one in held]
        topic = SimpleNamespace(name="orders", partitions=parts)
        return SimpleNamespace(results=[SimpleNamespace(error_code=0, topics=[topic])])

    def read(_: object, request: object, broker: int | None = None) -> SimpleNamespace:
        match type(request).__name__:
            case "ListPartitionReassignmentsRequest":
                return SimpleNamespace(error_code=0, topics=[])
            case "MetadataRequest":
                brokers = [SimpleNamespace(node_id=one, rack=None) for one in (1, 2)]
                topic = SimpleNamespace(name="orders", error_code=0, partitions=partitions)
                return SimpleNamespace(brokers=brokers, topics=[topic])
            case _:
                assert broker is not None
                if broker == silent:
                    raise errors.KafkaConnectionError
                return directories(broker)

    monkeypatch.setattr(messages, "read", read)
    return messages.QUESTIONS["layout"].answer(None, {"topics": ["orders"]})


@pytest.mark.parametrize(("offline", "in_sync"), [([], [1]), ([1], []), (None, [1])])
def test_the_last_in_sync_replica_is_none_while_it_is_offline(
    monkeypatch: pytest.MonkeyPatch, offline: list[int] | None, in_sync: list[int]
) -> None:
    reply = _layout(monkeypatch, [_partition(0, [1], offline=offline)])
    assert reply == ("layout", {1: None, 2: None}, {"orders": [([1], in_sync, [], [])]}, [("orders", 0, 1, 100)], [])


def test_a_broker_that_does_not_tell_sizes_has_none_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, partitions, sizes, _ = _layout(
        monkeypatch, [_partition(0, [1], offline=[]), _partition(1, [1, 2], offline=[])], silent=1
    )
    assert partitions == {"orders": [([1], [], [], []), ([1, 2], [2], [], [])]}
    assert sizes == [("orders", 1, 2, 100)]
