"""Unfinished reassignments, and what became of those that were cancelled, as lines and for programs."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.apply.moves import Ending, PartitionEnd, TopicMove
from reconciler.model.characters import Style, counted, plain, safe

_SHOWN: Final = 5


def move_lines(moves: Iterable[TopicMove], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """A line for each topic, and one for each of its partitions: where it is, where it goes, what cancelling gives."""
    for move in moves:
        moving = list(move.moving.items())
        if not moving:
            yield style("title", f"topic {safe(move.topic)}: nothing moves")
        else:
            words = f"{counted(len(moving), 'partition')} moving, {amount(move.bytes_left)} left to copy"
            yield style("title", f"topic {safe(move.topic)}: {words}")
        shown = moving if expand else moving[:_SHOWN]
        for number, one in shown:
            yield f"  partition {number}: to {_listed(one.target)}; cancelling returns it to {_listed(one.reverted)}"
        if len(moving) > len(shown):
            yield style("dim", f"  and {len(moving) - len(shown):,} more partitions: --expand shows them")
        if move.throttle:
            yield f"  throttled on brokers {_listed(sorted(move.throttle))}"
        elif move.is_marked:
            yield "  throttled by somebody else"


def end_lines(ends: Sequence[PartitionEnd], stays: Sequence[str], style: Style = plain) -> Iterator[str]:
    """How many partitions ended how, each that was not cancelled, and what stays throttled."""
    for one in ends:
        if one.ending is not Ending.CANCELLED:
            where = "" if one.replicas is None else f", on {_listed(one.replicas)}"
            words = ": ".join(filter(None, (one.code, one.message)))
            kind = "dim" if one.ending is Ending.OVER else "error"
            subject = f"topic {safe(one.topic)} partition {one.partition}"
            yield style(kind, f"  {subject}: {one.ending}{where}: {safe(words)}")
    yield from (style("error", f"  {safe(text)}") for text in stays)
    counts = Counter(one.ending for one in ends)
    if ends:
        yield ", ".join(f"{counts[ending]:,} {ending}" for ending in Ending if counts[ending])
    elif not stays:
        yield "No longer throttled."


def moves_document(moves: Collection[TopicMove], outside: Collection[str]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "topic": move.topic,
            "inScope": move.topic not in outside,
            "bytesLeft": move.bytes_left,
            "throttledBrokers": sorted(move.throttle),
            "throttledByOthers": move.is_marked and not move.throttle,
            "partitions": [
                {
                    "partition": number,
                    "replicas": list(one.replicas),
                    "adding": list(one.adding),
                    "removing": list(one.removing),
                    "cancelled": list(one.reverted),
                    "bytesLeft": one.bytes_left,
                }
                for number, one in move.moving.items()
            ],
        }
        for move in moves
    ]


def ends_document(ends: Iterable[PartitionEnd]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "topic": one.topic,
            "partition": one.partition,
            "ending": str(one.ending),
            "replicas": None if one.replicas is None else list(one.replicas),
            "code": one.code,
            "message": one.message,
        }
        for one in ends
    ]


def _listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, brokers)) or "no broker"


def amount(size: int) -> str:
    """``1.2 GiB``."""
    for unit, divisor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return counted(size, "byte")
