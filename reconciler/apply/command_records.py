"""What the audit log says beside the steps of plans: moves that are cancelled, leftovers, break-glass access.

Of cancellations and leftovers there is a line before anything is sent, and one with what a reading shows after. Of
break-glass access there is one before its marks are sent, and one where a server sees it. No journal has them: to go
on, run the same command again, which reads what is left to do.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from reconciler.apply.environment import Identity
from reconciler.apply.records import RunCluster, Time
from reconciler.codec import AnyText, Flat, Record, Says, record_of
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, moment_text

if TYPE_CHECKING:
    from reconciler.apply.reassignments import PartitionEnd, TopicMove

#: A line is one message of a topic: Kafka's own limit of 1 MiB holds as many names of the longest kind.
_BINDINGS_A_LINE: Final = 500
_PARTITIONS_A_LINE: Final = 1_000


@dataclass(frozen=True, slots=True)
class AboutCommand:
    """Which run, whose, on which cluster."""

    run: Annotated[str, Says("The name of this command's run.", "20261121T051700Z-0a1b2c3d")]
    operator: Annotated[AnyText, Says("Who ran it.", "ci@build-7")]
    cluster: Annotated[RunCluster, Says("The cluster.")]


@dataclass(frozen=True, slots=True)
class CancelledPartition:
    """One partition: where brokers were moving it, where it is to go back to, and what became of that."""

    topic: Annotated[AnyText, Says("The topic.", "payments.orders")]
    partition: Annotated[int, Says("The number of the partition.", 0)]
    target: Annotated[tuple[int, ...], Says("The replicas that brokers were moving it to, by broker.")]
    reverted: Annotated[tuple[int, ...], Says("The replicas that it goes back to.", name="cancelled")]
    ending: Annotated[str, Says("What became of it, once that is known.", "cancelled", omit=True)] = ""
    code: Annotated[AnyText, Says("Kafka's name of the error.", "INVALID_REPLICA_ASSIGNMENT", omit=True)] = ""
    message: Annotated[AnyText, Says("The broker's words, or what was read.", "it had finished", omit=True)] = ""


@dataclass(frozen=True, slots=True)
class CancellationRecord:
    """Reassignments are about to be cancelled, or were; ``throttled`` are topics whose throttle goes too."""

    about: Annotated[AboutCommand, Flat]
    action: Annotated[str, Says("cancel: about to be sent; cancelled: what became of it.", "cancel")]
    partitions: Annotated[tuple[CancelledPartition, ...], Says("The partitions of which replicas are moving.")]
    throttled: Annotated[tuple[str, ...], Says("The topics whose throttle is taken away.")]
    left: Annotated[tuple[AnyText, ...], Says("Why a throttle stays, a sentence each.")]
    time: Time


@dataclass(frozen=True, slots=True)
class CleanupRecord:
    """Leftovers of runs are about to be removed, or were; then these are the ones that are still there."""

    about: Annotated[AboutCommand, Flat]
    action: Annotated[str, Says("remove: about to be sent; left: what is still there at the end.", "remove")]
    bindings: Annotated[tuple[AclBinding, ...], Says("The bindings.")]
    time: Time


class Sight(StrEnum):
    """What is said of break-glass access.

    ``GIVE``: a run is about to send its marks, and then the access. ``SEEN``: a server saw it before its end.
    ``DOUBTED``: a server saw a mark come to access that had been there without one.
    """

    GIVE = "give"
    SEEN = "seen"
    DOUBTED = "doubted"


@dataclass(frozen=True, slots=True)
class BreakGlassRecord:
    """Break-glass access and its end: whoever ends it has to know that it was given so."""

    about: Annotated[AboutCommand, Flat]
    action: Annotated[
        Sight,
        Says(
            "give: about to be sent; seen: a server saw it before its end; "
            "doubted: its mark came later than the access.",
            "give",
        ),
    ]
    end: Annotated[str, Says("When the access ends, in UTC.", "2026-11-21T06:17:00Z")]
    bindings: Annotated[tuple[AclBinding, ...], Says("The access.")]
    time: Time


CANCELLATION: Final[Record[CancellationRecord]] = record_of(CancellationRecord)
CLEANUP: Final[Record[CleanupRecord]] = record_of(CleanupRecord)
BREAK_GLASS: Final[Record[BreakGlassRecord]] = record_of(BreakGlassRecord)
#: The records that no run of a plan writes, by their name.
COMMAND_RECORDS: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    CancellationRecord: ("cancellation", CANCELLATION),
    CleanupRecord: ("cleanup", CLEANUP),
    BreakGlassRecord: ("break-glass", BREAK_GLASS),
}


def about_command(identity: Identity, cluster_id: str, cluster: str) -> AboutCommand:
    """The same for all lines of one command."""
    return AboutCommand(identity.run, identity.operator, RunCluster(cluster_id, cluster))


def cancelling(about: AboutCommand, moves: "Collection[TopicMove]", time: str) -> list[dict[str, Any]]:
    """What is about to be cancelled."""
    moving = [
        CancelledPartition(move.topic, number, one.target, one.reverted)
        for move in moves
        for number, one in move.moving.items()
    ]
    return _cancellations(about, "cancel", moving, _throttled(moves), (), time)


def cancelled(
    about: AboutCommand, moves: "Collection[TopicMove]", ends: "Iterable[PartitionEnd]", left: Iterable[str], time: str
) -> list[dict[str, Any]]:
    """What became of it; ``moves`` are as they were read before."""
    before = {(move.topic, number): one for move in moves for number, one in move.moving.items()}
    found = []
    for end in ends:
        one = before[end.topic, end.partition]
        place = (end.topic, end.partition, one.target, one.reverted)
        found.append(CancelledPartition(*place, str(end.ending), end.code, end.message))
    return _cancellations(about, "cancelled", found, _throttled(moves), tuple(left), time)


def cleaning(about: AboutCommand, action: str, bindings: Sequence[AclBinding], time: str) -> list[dict[str, Any]]:
    """``remove``: what is about to be removed; ``left``: what is still there, which is a line also where nothing is."""
    parts = _parts(bindings, _BINDINGS_A_LINE)
    return [{"record": "cleanup", **CLEANUP.write(CleanupRecord(about, action, part, time))} for part in parts]


def break_glass_lines(
    about: AboutCommand, action: Sight, bindings: Sequence[AclBinding], end: datetime.datetime, time: str
) -> list[dict[str, Any]]:
    """What is said of this access, which ends at ``end``."""
    parts = _parts(bindings, _BINDINGS_A_LINE)
    return [
        {"record": "break-glass", **BREAK_GLASS.write(BreakGlassRecord(about, action, moment_text(end), part, time))}
        for part in parts
    ]


def _cancellations(
    about: AboutCommand,
    action: str,
    partitions: Sequence[CancelledPartition],
    throttled: tuple[str, ...],
    left: tuple[str, ...],
    time: str,
) -> list[dict[str, Any]]:
    parts = _parts(partitions, _PARTITIONS_A_LINE)
    written = (CancellationRecord(about, action, part, throttled, left, time) for part in parts)
    return [{"record": "cancellation", **CANCELLATION.write(one)} for one in written]


def _throttled(moves: "Iterable[TopicMove]") -> tuple[str, ...]:
    return tuple(move.topic for move in moves if move.throttle)


def _parts(items: Sequence[Any], size: int) -> list[tuple[Any, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)] or [()]
