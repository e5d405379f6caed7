"""What the audit log says of writes that no plan names: reassignments that are cancelled, leftovers that are removed.

There is a line before anything is sent, and one with what a reading shows after. No journal has them: to go on, run the
same command again, which reads what is left to do.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reconciler.apply.environment import Identity
from reconciler.codec import ANY_TEXT, COUNT, TEXT, TEXTS, Record, array, field, flat, group, integer, record
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding

if TYPE_CHECKING:
    from reconciler.apply.reassignments import PartitionEnd, TopicMove

#: A line is one message of a topic: Kafka's own limit of 1 MiB holds as many names of the longest kind.
_BINDINGS_A_LINE: Final = 500
_PARTITIONS_A_LINE: Final = 1_000


@dataclass(frozen=True, slots=True)
class AboutCommand:
    """Which run, whose, on which cluster."""

    run: str
    operator: str
    cluster_id: str
    cluster_name: str


@dataclass(frozen=True, slots=True)
class CancelledPartition:
    """One partition: where brokers were moving it, where it is to go back to, and what became of that."""

    topic: str
    partition: int
    target: tuple[int, ...]
    reverted: tuple[int, ...]
    ending: str = ""
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CancellationRecord:
    """Reassignments are about to be cancelled, or were; ``throttled`` are topics whose throttle goes too."""

    about: AboutCommand
    action: str
    partitions: tuple[CancelledPartition, ...]
    throttled: tuple[str, ...]
    left: tuple[str, ...]
    time: str


@dataclass(frozen=True, slots=True)
class CleanupRecord:
    """Leftovers of runs are about to be removed, or were; then these are the ones that are still there."""

    about: AboutCommand
    action: str
    bindings: tuple[AclBinding, ...]
    time: str


_ABOUT: Final = flat(
    record(
        AboutCommand,
        field("run", TEXT, "The name of this command's run.", "20261121T051700Z-0a1b2c3d"),
        field("operator", ANY_TEXT, "Who ran it.", "ci@build-7"),
        group(
            "cluster",
            "The cluster.",
            field("id", TEXT, "The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw", attr="cluster_id"),
            field("name", TEXT, "Its name in the manifests.", "prod", attr="cluster_name"),
        ),
    ),
    "about",
)
_TIME: Final = field("time", TEXT, "When, in UTC.", "2026-11-21T05:17:00Z")
_BROKERS: Final = array(integer(0))
_PARTITION: Final[Record[CancelledPartition]] = record(
    CancelledPartition,
    field("topic", ANY_TEXT, "The topic.", "payments.orders"),
    field("partition", COUNT, "The number of the partition.", 0),
    field("target", _BROKERS, "The replicas that brokers were moving it to, by broker."),
    field("cancelled", _BROKERS, "The replicas that it goes back to.", attr="reverted"),
    field("ending", TEXT, "What became of it, once that is known.", "cancelled", default="", omit=True),
    field("code", ANY_TEXT, "Kafka's name of the error.", "INVALID_REPLICA_ASSIGNMENT", default="", omit=True),
    field("message", ANY_TEXT, "The broker's words, or what was read.", "it had finished", default="", omit=True),
)
CANCELLATION: Final[Record[CancellationRecord]] = record(
    CancellationRecord,
    _ABOUT,
    field("action", TEXT, "cancel: about to be sent; cancelled: what became of it.", "cancel"),
    field("partitions", array(_PARTITION), "The partitions of which replicas are moving."),
    field("throttled", TEXTS, "The topics whose throttle is taken away."),
    field("left", array(ANY_TEXT), "Why a throttle stays, a sentence each."),
    _TIME,
)
CLEANUP: Final[Record[CleanupRecord]] = record(
    CleanupRecord,
    _ABOUT,
    field("action", TEXT, "remove: about to be sent; left: what is still there at the end.", "remove"),
    field("bindings", array(BINDING), "The bindings."),
    _TIME,
)
#: The records that no run of a plan writes, by their name.
COMMAND_RECORDS: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    CancellationRecord: ("cancellation", CANCELLATION),
    CleanupRecord: ("cleanup", CLEANUP),
}


def about_command(identity: Identity, cluster_id: str, cluster: str) -> AboutCommand:
    """The same for all lines of one command."""
    return AboutCommand(identity.run, identity.operator, cluster_id, cluster)


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
