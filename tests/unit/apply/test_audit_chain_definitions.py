"""What is found of an audit log, stated line by line: over logs that were cut, edited, and copied into a topic."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from random import Random

from reconciler.apply.audit import GENESIS, LogIdentity, TopicCopy, chained, previous_of, verify


def _digest(line: bytes) -> str:
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def _previous(line: bytes) -> str | None:
    try:
        found = json.loads(line)["previous"]
    except (ValueError, KeyError):
        return None
    return found if isinstance(found, str) else None


def _id(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["log"]["id"])
    except (ValueError, KeyError):
        return None


def _log(length: int, mark: str) -> list[bytes]:
    return chained(
        [{"record": "step", "mark": mark, "number": number} for number in range(length)],
        GENESIS,
        LogIdentity(mark, mark, f"/{mark}"),
    )[0]


def _edited(random: Random, lines: list[bytes]) -> list[bytes]:
    """The log after one thing that may happen to it."""
    lines = [*lines]
    at = random.randrange(len(lines))
    match random.randrange(7):
        case 0:
            del lines[at]
        case 1:
            lines[at] = lines[at].replace(b'"number"', b'"numbers"')
        case 2:
            lines[at] = lines[at][: random.randrange(len(lines[at]))]  # a crash
        case 3:
            lines.insert(at, b'{"record":"step","previous":7}')
        case 4:
            lines[at:] = lines[at + 1 :] + lines[at : at + 1]
        case 5:
            lines.insert(at, lines[at])
    return lines


Findings = tuple[list[str], list[str]]


def _of_chain(lines: Sequence[bytes]) -> Findings:
    """Each whole line carries the digest of the line before."""
    problems = []
    for number, line in enumerate(lines):
        before = _digest(lines[number - 1]) if number else GENESIS
        if _previous(line) not in (None, before):
            problems.append(
                f"line {number + 1} does not follow line {number}: a line was changed, dropped, added or moved here"
                if number
                else "line 1 is not the first line of a log: what was before it is gone"
            )
    cut = [number + 1 for number, line in enumerate(lines) if _previous(line) is None]
    return problems, [f"line {number} is incomplete: a crash cut it off" for number in cut]


def _of_heads(place: Mapping[str, int], count: int, heads: Sequence[str]) -> Findings:
    """Each head is a line, and none follows the last of them; an empty log has a head of its own."""
    later = [(head, count - 1 - place[head]) for head in heads if head in place]
    problems = [head for head in heads if head not in place and head != GENESIS]
    return (
        [f"no line has the digest {head}: lines were cut off at the end, or changed" for head in problems],
        [f"{after} lines follow the head {head}" for head, after in later if after],
    )


def _of_copy(place: Mapping[str, int], lines: Sequence[bytes], copy: TopicCopy) -> Findings:
    """The topic has each whole line once, in order in each partition; older ones may be gone from it."""
    problems, notes = [], []
    there = {_digest(line): line for part in copy.partitions for line in part}
    for part in copy.partitions:
        numbers = [place[_digest(line)] for line in part if _digest(line) in place]
        for at, number in enumerate(numbers):
            furthest = max(numbers[:at], default=-1)
            if number < furthest:
                problems.append(f"line {number + 1} comes after line {furthest + 1} in the topic")
    strange = {digest: line for digest, line in there.items() if digest not in place}
    # Whatever its link, a line that carries the log's id is one of it.
    ids = {_id(line) for line in lines} - {None}
    ours = {digest for digest, line in strange.items() if _id(line) in ids}
    lost = ours | _linked_with(set(place) | ours, strange)
    if lost:
        problems.append(f"the topic has {len(lost)} lines of this log that the file has not")
    # Of lines that are equal, the last one counts as the one that is there.
    found = {place[digest] for digest in there if digest in place}
    missing = [number for number, line in enumerate(lines) if number not in found and _previous(line) is not None]
    if copy.trimmed and found and missing == [*range(len(missing))]:
        notes += [f"the topic no longer has the first {len(missing)} lines"] if missing else []
    else:
        problems += [f"line {number + 1} is not in the topic" for number in missing]
    if others := len(strange) - len(lost):
        notes.append(f"the topic has {others} lines of other logs")
    return problems, notes


def _linked_with(known: set[str], strange: Mapping[str, bytes]) -> set[str]:
    """The lines that follow a known one, or one that does; every log begins with GENESIS, which links none."""
    lost: set[str] = set()
    while True:
        before = (known | lost) - {GENESIS}
        more = {digest for digest, line in strange.items() if digest not in lost and _previous(line) in before}
        if not more:
            return lost
        lost |= more


def _expected(
    lines: Sequence[bytes], heads: Sequence[str], copy: TopicCopy | None
) -> tuple[list[str], list[str], int | None]:
    """Problems, notes, and how many lines the topic has too."""
    place = {_digest(line): number for number, line in enumerate(lines)}
    parts = [_of_chain(lines), _of_heads(place, len(lines), heads)]
    vouched, copied = any(head in place for head in heads), None
    if copy is not None:
        parts.append(_of_copy(place, lines, copy))
        copied = len({place[_digest(line)] for part in copy.partitions for line in part if _digest(line) in place})
    nothing = "nothing vouches for the last line: pass its digest, or compare with the topic"
    notes = [note for _, notes in parts for note in notes] + [nothing] * bool(lines and not vouched and not copied)
    return [problem for problems, _ in parts for problem in problems], notes, copied


def _copy(random: Random, lines: Sequence[bytes], other: Sequence[bytes]) -> TopicCopy:
    """A topic that has most lines of the log and some of another one, in one partition or two."""
    kept = [line for line in lines if random.random() < 0.9][random.choice((0, 0, 1, 2)) :]
    every = [*kept, *random.sample(other, random.randrange(len(other)))]
    if random.random() < 0.4:
        random.shuffle(every)
    cut = random.randint(0, len(every))
    return TopicCopy((tuple(every[:cut]), tuple(every[cut:])), random.random() < 0.5)


def test_a_log_is_as_it_was_written_where_each_line_follows_and_something_vouches_for_the_last() -> None:
    random = Random(8)
    met = set[str]()
    for _ in range(1_500):
        written, other = _log(random.randint(1, 6), "ours"), _log(4, "other")
        lines = _edited(random, written) if random.random() < 0.7 else written
        if random.random() < 0.03:
            lines = []
        pool = [GENESIS, *map(_digest, (*written, *lines, other[0]))]
        heads = random.sample(pool, random.choice((0, 1, 1, 2)))
        copy = _copy(random, random.choice((lines, written)), other) if random.random() < 0.6 else None
        problems, notes, copied = _expected(lines, heads, copy)
        found = verify("f", lines, heads, copy)
        assert [*found.problems] == problems, (lines, heads, copy)
        assert [*found.notes] == notes
        assert (found.copied, found.lines, found.file) == (copied, len(lines), "f")
        assert found.head == (_digest(lines[-1]) if lines else GENESIS)
        assert found.intact is (not problems)
        met.update(text.split("line")[0] for text in (*problems, *notes))
    assert len(met) > 6


def test_a_line_carries_a_digest_or_is_none_of_a_log() -> None:
    assert previous_of(_log(1, "x")[0]) == GENESIS
    for line in (b"", b"{", b"\xff", b'{"record":"step"}', b'{"previous":7}', b'{"previous":null}'):
        assert previous_of(line) is None


def test_of_many_findings_of_one_kind_twenty_are_named() -> None:
    """Lines that a crash cut short, and lines that do not follow: each kind is counted by itself."""
    for count in (19, 20, 21, 23):
        *cut, _ = verify("f", [b"{"] * count, []).notes
        named = [f"line {number + 1} is incomplete: a crash cut it off" for number in range(min(count, 20))]
        assert cut == [*named, *([f"and {count - 20} more"] if count > 20 else [])]
        strange = [b'{"previous":"%d"}' % number for number in range(count)]
        broken = verify("f", strange, []).problems
        assert len(broken) == min(count, 21)
        assert (broken[-1] == f"and {count - 20} more lines do not follow the one before") is (count > 20)
