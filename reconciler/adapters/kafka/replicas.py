"""Replicas of topics: where they are, and their reassignment, asked of the message client's process."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.listing import ask, no_messages
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model import Change, Layout, PartitionLayout
from reconciler.ports import Answer, AnswerStatus, ClusterError

_DONE: Final = Answer(AnswerStatus.DONE)
_WORDS: Final = "the reassignment of replicas"
_GRANT: Final = "grant the principal of this tool ALLOW DESCRIBE on CLUSTER kafka-cluster"


def read_layout(settings: ClientSettings, topics: Collection[str]) -> Layout:
    """The brokers, and the partitions of ``topics``; raises :class:`ClusterError`: a guess would move data."""
    match ask(settings, "reassignment.layout", topics=sorted(topics)):
        case None:
            raise ClusterError("unsupported_by_client", _untaken(settings))
        case ("layout", racks, partitions, sizes):
            return _layout(racks, partitions, sizes)
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
    match ask(settings, "reassignment.altered", alterations=alterations):
        case None:
            return [Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", _untaken(settings))] * len(changes)
        case ("altered", outcomes):
            by_partition = {(topic, number): told for topic, number, *told in outcomes}
            return [
                _answer([by_partition.get((topic, number)) for number, _ in parts], settings)
                for topic, parts in alterations
            ]
        case ("refused", code, name, message):
            return [codes.failure(code, name, settings.redact(message)).answer()] * len(changes)
        case ("unsent", text):
            return [Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)] * len(changes)
        case reply:
            message = settings.redact(" ".join(map(str, reply)))
            return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message)] * len(changes)


def _moved(change: Any) -> list[tuple[int, list[int]]]:
    """The partitions whose replicas differ, with their new ones."""
    pairs = zip(change.before.assignments, change.after.assignments, strict=True)
    return [(number, list(new)) for number, (old, new) in enumerate(pairs) if new != old]


def _answer(told: Sequence[Sequence[Any] | None], settings: ClientSettings) -> Answer:
    """One answer for a topic: where some partitions were accepted and some not, it is neither done nor undone."""
    failed = [
        Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name a partition")
        if one is None
        else codes.failure(one[0], one[1], settings.redact(one[2])).answer()
        for one in told
        if one is None or one[0]
    ]
    if not failed:
        return _DONE
    first = failed[0]
    if len(failed) == len(told):
        return first
    message = f"{len(failed)} of {len(told)} partitions were refused: {first.message}"
    return Answer(AnswerStatus.UNKNOWN, first.code, message)


def _untaken(settings: ClientSettings) -> str:
    return f"confluent-kafka has no messages for {_WORDS}, and kafka-python {no_messages(settings)}"
