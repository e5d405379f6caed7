"""Replicas, reassignments and rates of replication.

Replicas of topics: where they are, and their reassignment, asked of the message client's process.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from reconciler.kafka import errors as codes
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import ClientFailure
from reconciler.kafka.listing import altered, ask, item_answer, no_messages
from reconciler.kafka.settings import ClientSettings
from reconciler.model.listing import Change
from reconciler.model.topic import Layout, PartitionLayout
from reconciler.ports import DONE, REPLICATION_RATES, Answer, AnswerStatus, ClusterError

_WHO: Final = "confluent-kafka has no messages for the reassignment of replicas, and kafka-python"
_UNNAMED: Final = Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name a partition")
_GRANT: Final = "grant the principal of this tool ALLOW DESCRIBE on CLUSTER kafka-cluster"


def read_layout(settings: ClientSettings, topics: Collection[str] | None) -> Layout:
    """The brokers, and the partitions of ``topics``, or with ``None`` of those of which anything is moving.

    Raises :class:`ClusterError`: a guess would move data.
    """
    match ask(settings, "reassignment.layout", topics=None if topics is None else sorted(topics)):
        case None:
            raise ClusterError("unsupported_by_client", f"{_WHO} {no_messages(settings)}")
        case ("layout", racks, partitions, sizes, cordoned):
            return replace(_layout(racks, partitions, sizes), cordoned=frozenset(cordoned))
        case ("refused", codes.CLUSTER_AUTHORIZATION_FAILED, name, *_):
            raise ClusterError(name, "not authorized to list reassignments", _GRANT)
        case ("refused", _, name, message):
            raise ClusterError(name or "refused", settings.redact(message))
        case reply:
            raise ClusterError("layout_unread", settings.redact(" ".join(map(str, reply))))


def _layout(
    racks: Mapping[int, str | None],
    partitions: Mapping[str, Sequence[Any]],
    sizes: Sequence[tuple[str, int, int, int]],
) -> Layout:
    by_partition: dict[tuple[str, int], dict[int, int]] = {}
    for topic, number, broker, size in sizes:
        by_partition.setdefault((topic, number), {})[broker] = size
    return Layout(
        dict(sorted(racks.items())),
        {
            topic: tuple(
                PartitionLayout(
                    tuple(replicas),
                    frozenset(in_sync),
                    by_partition.get((topic, number), {}),
                    tuple(adding),
                    tuple(removing),
                )
                for number, (replicas, in_sync, adding, removing) in enumerate(parts)
            )
            for topic, parts in partitions.items()
        },
    )


def send_replicas(settings: ClientSettings, changes: Sequence[Change]) -> list[Answer]:
    """One request, never retried: each partition is accepted or refused by itself."""
    alterations = [(change.after.name, _moved(change)) for change in changes]  # type: ignore[union-attr]
    answers = _altered(settings, alterations)
    return [_of_topic([answers[topic, number] for number, _ in parts]) for topic, parts in alterations]


def cancel_reassignments(settings: ClientSettings, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
    """See ``ports``: null for a partition's replicas has the controller take its reassignment back."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    answers = _altered(settings, [(topic, [(number, None) for number in ids]) for topic, ids in numbers.items()])
    return [answers[place] for place in partitions]


def _altered(
    settings: ClientSettings, alterations: Sequence[tuple[str, Sequence[tuple[int, list[int] | None]]]]
) -> Mapping[tuple[str, int], Answer]:
    """An answer for each partition, by topic and number."""
    places = [(topic, number) for topic, parts in alterations for number, _ in parts]
    outcomes = altered(settings, "reassignment.altered", _WHO, alterations=alterations)
    if isinstance(outcomes, Answer):
        return dict.fromkeys(places, outcomes)
    answers = {(topic, number): item_answer(settings, *error) for topic, number, *error in outcomes}
    return {place: answers.get(place, _UNNAMED) for place in places}


def _moved(change: Any) -> list[tuple[int, list[int]]]:
    """The partitions whose replicas differ, with their new ones."""
    pairs = zip(change.before.assignments, change.after.assignments, strict=True)
    return [(number, list(new)) for number, (old, new) in enumerate(pairs) if new != old]


def _of_topic(answers: Sequence[Answer]) -> Answer:
    """One answer for a topic: where some partitions were accepted and some not, it is neither done nor undone."""
    failed = [answer for answer in answers if answer is not DONE]
    if not failed:
        return DONE
    first = failed[0]
    if len(failed) == len(answers):
        return first
    message = f"{len(failed)} of {len(answers)} partitions were refused: {first.message}"
    return Answer(AnswerStatus.UNKNOWN, first.code, message)


# The rates at which brokers copy throttled replicas: the only configs of brokers that are ever changed.

#: A broker that is down is told, and not waited for as long as for an outcome that a plan depends on.
_PATIENCE_SECONDS: Final = 10.0


def set_replication_rates(connection: AdminConnection, brokers: Sequence[int], rate: int | None) -> dict[int, str]:
    """Set both rates of each broker, or with ``None`` remove them; why it failed, by the broker where it did.

    A broker takes changes of its own configs only (``ConfigAdminManager.getAndValidateBrokerId``), so each gets a
    request. Removing what is not there is no error.
    """
    operation = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    value = None if rate is None else str(rate)
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    asked = {}
    refused: dict[int, str] = {}
    for broker in brokers:
        entries = [ConfigEntry(name, value, incremental_operation=operation) for name in REPLICATION_RATES]
        resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=entries)
        try:
            futures = connection.admin.incremental_alter_configs([resource], request_timeout=timeout)
        except KafkaException as error:
            refused[broker] = connection.failure(error).message
            continue
        asked[broker] = futures[resource]
    for broker, future in asked.items():
        outcome = connection.outcome(future)
        if isinstance(outcome, ClientFailure):
            refused[broker] = f"{outcome.name}: {outcome.message}"
    return refused
