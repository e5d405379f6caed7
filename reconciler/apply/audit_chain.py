"""The audit log as a chain: each line carries the digest of the line before, so that a change shows at the next line.

The chain finds what is changed, dropped, added or moved before some line that is known to be right. Nothing in a file
can vouch for its own last line: a run prints its digest, the *head*, and a topic of the cluster holds a copy.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reconciler.codec import COUNT, TEXT, TEXTS, Record, compact, field, load, nullable, record
from reconciler.dataclass import dataclass
from reconciler.model.escape import escape_invisible_json

#: What the first line of a log carries instead of a digest.
GENESIS: Final = f"sha256:{'0' * 64}"
#: How many findings of one kind are named; the rest is counted.
_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What was found of a log: ``problems`` mean that it is not as it was written, ``notes`` what nothing vouches for.

    ``head`` is the digest of the last line. ``copied`` is how many lines the topic has too, ``None`` if none was asked.
    """

    file: str
    lines: int
    head: str
    copied: int | None
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def intact(self) -> bool:
        """Whether the log is as it was written, as far as can be told."""
        return not self.problems


AUDIT_CHECK: Final[Record[AuditCheck]] = record(
    AuditCheck,
    field("file", TEXT, "The log.", "audit.jsonl"),
    field("lines", COUNT, "How many lines it has.", 14),
    field("head", TEXT, "The digest of its last line.", GENESIS),
    field("copied", nullable(COUNT), "How many lines the topic has too; null: no topic was read.", 14),
    field("problems", TEXTS, "Why it is not as it was written; empty: it is."),
    field("notes", TEXTS, "What nothing vouches for."),
)


def line_digest(line: bytes) -> str:
    """The digest of a line, without its line end."""
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def chained(records: Iterable[Mapping[str, Any]], previous: str) -> tuple[list[bytes], str]:
    """The lines of ``records``, without line ends, after the line with the digest ``previous``; and the new head."""
    lines = []
    for item in records:
        whole = {"record": item["record"], "previous": previous, **item}
        lines.append(escape_invisible_json(compact(whole)).encode())
        previous = line_digest(lines[-1])
    return lines, previous


def previous_of(line: bytes) -> str | None:
    """The digest that a line carries; ``None`` for what is no line of a log, such as what a crash left of one."""
    try:
        found = load(line.decode("utf-8", "surrogatepass")).get("previous")
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def verify(file: str, lines: Sequence[bytes], heads: Iterable[str], copy: "TopicCopy | None" = None) -> AuditCheck:
    """Check a log of ``lines`` against the heads that were written down elsewhere, and against its copy in a topic."""
    digests = [line_digest(line) for line in lines]
    carried = [previous_of(line) for line in lines]
    problems, notes = [], []
    incomplete = {number for number, previous in enumerate(carried) if previous is None}
    for number, previous in enumerate(carried):
        before = digests[number - 1] if number else GENESIS
        # A line that a crash cut short carries nothing to compare. The next line's digest covers it as it stands.
        if previous is not None and previous != before:
            problems.append(_broken(number))
    problems = _some(problems, "more lines do not follow the one before")
    notes += _some([f"line {number + 1} is incomplete: a crash cut it off" for number in sorted(incomplete)], "more")
    anchored = _check_heads(digests, tuple(heads), problems, notes)
    copied = None
    if copy is not None:
        copied = _check_copy(digests, incomplete, copy, problems, notes)
        anchored = anchored or bool(copied)
    if lines and not anchored:
        notes.append("nothing vouches for the last line: pass --head, or compare with the topic")
    return AuditCheck(file, len(lines), digests[-1] if digests else GENESIS, copied, tuple(problems), tuple(notes))


def _broken(number: int) -> str:
    if not number:
        return "line 1 is not the first line of a log: what was before it is gone"
    return f"line {number + 1} does not follow line {number}: a line was changed, dropped, added or moved here"


def _check_heads(digests: Sequence[str], heads: Sequence[str], problems: list[str], notes: list[str]) -> bool:
    places = {digest: number for number, digest in enumerate(digests)}
    for head in heads:
        if head == GENESIS:
            continue  # the head of an empty log, which every log begins with
        if head not in places:
            problems.append(f"no line has the digest {head}: lines were cut off at the end, or changed")
        elif after := len(digests) - 1 - places[head]:
            notes.append(f"{after} lines follow the head {head}")
    return any(head in places for head in heads)


@dataclass(frozen=True, slots=True)
class TopicCopy:
    """The records of an audit topic, by partition in the order of their offsets; ``trimmed`` if older ones are gone."""

    partitions: tuple[tuple[bytes, ...], ...]
    trimmed: bool = False


def _check_copy(
    digests: Sequence[str], incomplete: set[int], copy: TopicCopy, problems: list[str], notes: list[str]
) -> int:
    """Compare a log with its copy, which may hold other logs too, and return how many lines both have."""
    places = {digest: number for number, digest in enumerate(digests)}
    seen: set[int] = set()
    foreign: dict[str, str | None] = {}
    moved = []
    for records in copy.partitions:
        last = -1
        for line in records:
            digest = line_digest(line)
            place = places.get(digest)
            if place is None:
                foreign[digest] = previous_of(line)
                continue
            if place < last:
                moved.append(f"line {place + 1} comes after line {last + 1} in the topic")
            # In a partition the lines of several hosts interleave, but those of one host never overtake each other.
            last = max(last, place)
            seen.add(place)
    problems += _some(moved, "more lines are in another order in the topic")
    lost = _linked(foreign, set(places))
    if lost:
        problems.append(f"the topic has {lost} lines of this log that the file has not")
    missing = sorted(set(range(len(digests))) - seen - incomplete)
    # Retention removes from the front only. A gap anywhere else is a loss, whatever the topic's retention.
    if copy.trimmed and missing == list(range(len(missing))) and seen:
        notes += [f"the topic no longer has the first {len(missing)} lines"] if missing else []
    else:
        problems += _some([f"line {number + 1} is not in the topic" for number in missing], "more lines are not")
    if others := len(foreign) - lost:
        notes.append(f"the topic has {others} lines of other logs")
    return len(seen)


def _linked(foreign: Mapping[str, str | None], known: set[str]) -> int:
    """How many lines that the file has not are linked with it, one after another."""
    after: dict[str, list[str]] = {}
    for digest, previous in foreign.items():
        # Every log begins with GENESIS: to follow it would link the logs of other hosts with this one.
        if previous is not None and previous != GENESIS:
            after.setdefault(previous, []).append(digest)
    found: set[str] = set()
    reached = list(known)
    while reached:
        for digest in after.get(reached.pop(), ()):
            if digest not in found:
                found.add(digest)
                reached.append(digest)
    return len(found)


def _some(texts: Sequence[str], rest: str) -> list[str]:
    left = len(texts) - _NAMED
    return [*texts[:_NAMED], *([f"and {left:,} {rest}"] if left > 0 else [])]
