"""Unfinished reassignments cancelled: brokers go back to the replicas before (KIP-455), and the throttle goes too.

Nothing here begins a move. What was cancelled is told by reading again, for each partition by itself.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from reconciler.apply.answers import answered
from reconciler.apply.throttled_replicas import brokers_of, unmarked
from reconciler.apply.verification import VISIBLE_SECONDS
from reconciler.dataclass import dataclass
from reconciler.model import Change, PartitionLayout, Topic
from reconciler.ports import (
    REPLICATION_RATES,
    Answer,
    AnswerStatus,
    Clock,
    ClusterError,
    InspectableCluster,
    ReadRequest,
)
from reconciler.retry import polls

_NOTHING_MOVES: Final = "NO_REASSIGNMENT_IN_PROGRESS"


class Ending(StrEnum):
    """What became of one partition."""

    CANCELLED = "cancelled"
    #: Nothing was moving any more when the controller got the request: finished, or cancelled by somebody else.
    OVER = "over"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TopicMove:
    """A topic with all of its partitions as they were read; ``live`` has its configs, where they were read."""

    topic: str
    partitions: tuple[PartitionLayout, ...]
    live: Topic | None = None

    @property
    def moving(self) -> Mapping[int, PartitionLayout]:
        """The partitions of which a reassignment is unfinished, by number."""
        return {number: one for number, one in enumerate(self.partitions) if one.is_moving}

    @property
    def bytes_left(self) -> int:
        """About how many bytes are still to be copied."""
        return sum(one.bytes_left for one in self.partitions)

    @property
    def throttle(self) -> frozenset[int]:
        """The brokers of a throttle as ``apply --throttle`` sets it for this move; empty: none, or somebody else's."""
        return frozenset() if self.live is None else brokers_of(self.live.configs, self.partitions)

    @property
    def is_marked(self) -> bool:
        """Whether replicas of the topic are throttled, whoever did that."""
        return self.live is not None and unmarked(self.live) is not None


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """What became of one partition: its replicas at the last reading, ``None`` where it did not show.

    ``code`` and ``message`` are the broker's words, or ours for what was read.
    """

    topic: str
    partition: int
    ending: Ending
    replicas: tuple[int, ...] | None
    code: str = ""
    message: str = ""


def cancel(cluster: InspectableCluster, moves: Collection[TopicMove], clock: Clock) -> tuple[PartitionEnd, ...]:
    """Cancel what is moving in ``moves``, and read until it shows, for ``VISIBLE_SECONDS`` at the most."""
    before = {(move.topic, number): one for move in moves for number, one in move.moving.items()}
    places = list(before)
    if not places:
        return ()
    told = dict(zip(places, answered(cluster.cancel_reassignments, places, clock), strict=True))
    names = sorted({topic for topic, _ in places})
    ends: dict[tuple[str, int], PartitionEnd] = {}
    for _ in polls(clock, VISIBLE_SECONDS):
        try:
            seen = _layout(cluster, names)
        except ClusterError as error:
            ends = {place: _unread(place, told[place], str(error)) for place in places}
            continue
        ends = {place: _end(place, one, told[place], seen.get(place)) for place, one in before.items()}
        if not any(one.ending is Ending.UNKNOWN for one in ends.values()):
            break
    return tuple(ends.values())


def _layout(cluster: InspectableCluster, names: Sequence[str]) -> dict[tuple[str, int], PartitionLayout]:
    found = cluster.read(ReadRequest(acls=False, all_topics=False, layout=names)).layout
    if found is None:
        raise ClusterError("layout_unread", "the cluster did not say where replicas are")
    return {(name, number): one for name, parts in found.topics.items() for number, one in enumerate(parts)}


def _unread(place: tuple[str, int], answer: Answer, why: str) -> PartitionEnd:
    ending = Ending.REFUSED if answer.status is AnswerStatus.FAILED else Ending.UNKNOWN
    return PartitionEnd(*place, ending, None, answer.code, answer.message or f"it could not be read again: {why}")


def _end(place: tuple[str, int], before: PartitionLayout, answer: Answer, now: PartitionLayout | None) -> PartitionEnd:
    """What an answer and a reading say together; ``UNKNOWN`` where a later reading may say more."""
    if now is None:
        return PartitionEnd(*place, Ending.OVER, None, message="the topic is gone")
    if now.is_moving and answer.status is AnswerStatus.FAILED and answer.code != _NOTHING_MOVES:
        return PartitionEnd(*place, Ending.REFUSED, now.replicas, answer.code, answer.message)
    if now.is_moving:
        text = answer.message or "accepted, and brokers still show it as moving"
        return PartitionEnd(*place, Ending.UNKNOWN, now.replicas, answer.code, text)
    if now.replicas == before.reverted and answer.status is not AnswerStatus.FAILED:
        return PartitionEnd(*place, Ending.CANCELLED, now.replicas)
    if answer.good:
        text = "accepted, and brokers do not show the replicas before"
        return PartitionEnd(*place, Ending.UNKNOWN, now.replicas, answer.code, text)
    how = {before.target: "it had finished", before.reverted: "somebody else had cancelled it"}
    return PartitionEnd(*place, Ending.OVER, now.replicas, message=how.get(now.replicas, "somebody else moved it"))


def unthrottle(
    cluster: InspectableCluster, moves: Collection[TopicMove], others: Collection[TopicMove]
) -> Iterator[str]:
    """Take the throttles of moves away that are over; yields why one stays.

    ``others`` are moves that go on: rates of a broker stay where one of those is throttled, too.
    """
    for move in moves:
        if move.live is None:
            yield f"whether topic {move.topic} is throttled is not known: its configs could not be read"
    mine = [move for move in moves if move.is_marked]
    kept = any(other.is_marked for other in others)
    for move in mine:
        subject = f"topic {move.topic} stays throttled"
        if not move.throttle:
            yield f"{subject}: that is not the throttle of this move; remove it with kafka-configs.sh"
            continue
        if kept:
            yield f"the rates of brokers {_listed(move.throttle)} stay: another topic that moves is throttled"
        elif problem := _without_rates(cluster, move.throttle):
            yield f"{subject}: {problem}"
            continue
        if move.live is not None and (problem := _sent(cluster, unmarked(move.live))):
            yield f"{subject}: {problem}"


def _sent(cluster: InspectableCluster, change: Change | None) -> str:
    """Why a change was not performed; empty where it was, or where there is none."""
    try:
        answers = [] if change is None else cluster.send([change])
    except ClusterError as error:
        return str(error)
    return "; ".join(f"{one.code}: {one.message}" for one in answers if not one.good)


def _without_rates(cluster: InspectableCluster, brokers: Collection[int]) -> str:
    """Why rates stay; empty where they are gone. Ours are the same on every broker of a move."""
    try:
        told = cluster.broker_settings(REPLICATION_RATES, features=False)
    except ClusterError as error:
        return f"nobody knows which rates brokers have: {error}"
    for broker in sorted(brokers):
        if told.gap or broker not in told.configs:
            why = told.gap or told.silent.get(broker, "the cluster does not name it")
            return f"nobody knows which rates broker {broker} has: {why}"
    rates = {config.value for broker in brokers for config in told.configs[broker].values()} - {None}
    if len(rates) > 1:
        return f"brokers {_listed(brokers)} have different rates: somebody else has set some of them"
    refused = cluster.set_replication_rates(brokers, None) if rates else {}
    return "; ".join(f"broker {broker}: {why}" for broker, why in sorted(refused.items()))


def _listed(brokers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))
