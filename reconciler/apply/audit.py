"""The audit log: records of runs and commands, chained by digests.

The audit log as a chain: each line carries the digest of the line before, so that a change shows at the next line.

The chain finds what is changed, dropped, added or moved before some line that is known to be right. Nothing in a file
can vouch for its own last line: a run prints its digest, the *head*, and a topic of the cluster holds a copy. Nor can a
file show that there was another one in its place: so each line carries the log's id, which is random, and its place.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

from reconciler.apply.environment import Identity, Outcome, StepOutcome
from reconciler.apply.records import FORMS, About, BridgesRecord, EndRecord, RunCluster, RunRecord, ThrottleRecord, Time
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec, SchemaError, text
from reconciler.codec.document import compact, load
from reconciler.codec.objects import Record, tagged
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import escape_invisible_json
from reconciler.model.desired import moment_text
from reconciler.model.says import AnyText, Flat, Says
from reconciler.plan.file_codec import STEP
from reconciler.plan.step import Step

#: What the first line of a log carries instead of a digest.
GENESIS: Final = f"sha256:{'0' * 64}"
#: How many findings of one kind are named; the rest is counted.
_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """Which log a line is of, and where it was written: ``path`` is ``None`` for a run that keeps no file."""

    id: Annotated[str, Says("The log's id: random, the same in each of its lines.", "5f0c6e1f2a9b4c7d8e3f0a1b2c3d4e5f")]
    host: Annotated[str, Says("The machine that wrote the line.", "build-7")]
    path: Annotated[
        str | None, Says("The log's file there; null: the run kept none.", "/var/lib/reconciler/audit.jsonl")
    ]

    @property
    def place(self) -> tuple[str, str] | None:
        """Where only one log can be at a time."""
        return None if self.path is None else (self.host, self.path)


LOG_IDENTITY: Final = record_of(LogIdentity)


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What was found of a log: ``problems`` mean that it is not as it was written, ``notes`` what nothing vouches for.

    ``head`` is the digest of the last line. ``copied`` is how many lines the topic has too, ``None`` if none was asked.
    """

    file: Annotated[str, Says("The log.", "audit.jsonl")]
    lines: Annotated[int, Says("How many lines it has.", 14)]
    head: Annotated[str, Says("The digest of its last line.", GENESIS)]
    copied: Annotated[int | None, Says("How many lines the topic has too; null: no topic was read.", 14)]
    problems: Annotated[tuple[str, ...], Says("Why it is not as it was written; empty: it is.")]
    notes: Annotated[tuple[str, ...], Says("What nothing vouches for.")]

    @property
    def intact(self) -> bool:
        """Whether the log is as it was written, as far as can be told."""
        return not self.problems


AUDIT_CHECK: Final = record_of(AuditCheck)


def line_digest(line: bytes) -> str:
    """The digest of a line, without its line end."""
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def chained(records: Iterable[Mapping[str, Any]], previous: str, log: LogIdentity) -> tuple[list[bytes], str]:
    """The lines of ``records``, without line ends, after the line with the digest ``previous``; and the new head."""
    lines = []
    for item in records:
        whole = {"record": item["record"], "previous": previous, "log": LOG_IDENTITY.write(log), **item}
        lines.append(escape_invisible_json(compact(whole)).encode())
        previous = line_digest(lines[-1])
    return lines, previous


def previous_of(line: bytes) -> str | None:
    """The digest that a line carries; ``None`` for what is no line of a log, such as what a crash left of one."""
    previous = _document(line).get("previous")
    return previous if isinstance(previous, str) else None


def log_of(line: bytes) -> LogIdentity | None:
    """Which log a line says that it is of; ``None`` for what is no line of a log."""
    try:
        return LOG_IDENTITY.read(_document(line).get("log"))
    except SchemaError:
        return None


def _document(line: bytes) -> Mapping[str, Any]:
    try:
        return load(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return {}


def verify(
    file: str,
    lines: Sequence[bytes] | None,
    heads: Iterable[str],
    copy: "TopicCopy | None" = None,
    place: tuple[str, str] | None = None,
) -> AuditCheck:
    """Check a log of ``lines`` against the heads that were written down elsewhere, and against its copy in a topic.

    ``place`` is the host and the path where the log is; without ``lines`` there is no file.
    """
    log = _Log(lines or (), place)
    problems, notes = [], []
    if lines is None:
        problems.append("there is no such file")
    for number, previous in enumerate(log.carried):
        before = log.digests[number - 1] if number else GENESIS
        # A line that a crash cut short carries nothing to compare. The next line's digest covers it as it stands.
        if previous is not None and previous != before:
            problems.append(_broken(number))
    problems = _some(problems, "more lines do not follow the one before")
    problems += _some(list(log.mixed()), "more lines are of another log")
    notes += _some(
        [f"line {number + 1} is incomplete: a crash cut it off" for number in sorted(log.incomplete)], "more"
    )
    heads = tuple(heads)
    strangers = _Strangers() if copy is None else _strangers(log, copy, frozenset(heads))
    anchored = _check_heads(log.digests, [head for head in heads if head not in strangers.ends], problems, notes)
    copied = None if copy is None else _check_copy(log, copy, strangers, problems, notes)
    if log.digests and not (anchored or copied):
        notes.append("nothing vouches for the last line: pass its digest, or compare with the topic")
    head = log.digests[-1] if log.digests else GENESIS
    return AuditCheck(file, len(log.digests), head, copied, tuple(problems), tuple(notes))


class _Log:
    """The lines of a file: their digests, those that they carry, and which logs they are of."""

    def __init__(self, lines: Sequence[bytes], place: tuple[str, str] | None) -> None:
        self.digests = [line_digest(line) for line in lines]
        self.carried = [previous_of(line) for line in lines]
        self.incomplete = {number for number, previous in enumerate(self.carried) if previous is None}
        self._logs = [log_of(line) for line in lines]
        self.ids = {log.id for log in self._logs if log is not None}
        places = {log.place for log in self._logs if log is not None}
        self.places = {item for item in (*places, place) if item is not None}

    def mixed(self) -> Iterator[str]:
        """The lines that are of another log than the first one, or do not say of which."""
        first = next((log.id for log in self._logs if log is not None), None)
        for number, log in enumerate(self._logs):
            if number not in self.incomplete and (None if log is None else log.id) != first:
                yield f"line {number + 1} is of another log"


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


def _check_copy(log: _Log, copy: TopicCopy, strangers: "_Strangers", problems: list[str], notes: list[str]) -> int:
    """Compare a log with its copy, which may hold other logs too, and return how many lines both have."""
    places = {digest: number for number, digest in enumerate(log.digests)}
    seen: set[int] = set()
    moved = []
    for records in copy.partitions:
        last = -1
        for place in (places[digest] for digest in map(line_digest, records) if digest in places):
            if place < last:
                moved.append(f"line {place + 1} comes after line {last + 1} in the topic")
            # In a partition the lines of several hosts interleave, but those of one host never overtake each other.
            last = max(last, place)
            seen.add(place)
    problems += _some(moved, "more lines are in another order in the topic")
    problems += strangers.problems
    missing = sorted(set(range(len(log.digests))) - seen - log.incomplete)
    # Retention removes from the front only. A gap anywhere else is a loss, whatever the topic's retention.
    if copy.trimmed and missing == list(range(len(missing))) and seen:
        notes += [f"the topic no longer has the first {len(missing)} lines"] if missing else []
    else:
        problems += _some([f"line {number + 1} is not in the topic" for number in missing], "more lines are not")
    notes += strangers.notes
    return len(seen)


@dataclass(frozen=True, slots=True)
class _Strangers:
    """What the topic has and the file has not; ``ends`` are heads of earlier logs that somebody wrote down."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ends: frozenset[str] = frozenset()


def _strangers(log: _Log, copy: TopicCopy, heads: frozenset[str]) -> _Strangers:
    in_file = set(log.digests)
    lines = {digest: line for part in copy.partitions for line in part if (digest := line_digest(line)) not in in_file}
    foreign = {digest: previous_of(line) for digest, line in lines.items()}
    logs = {digest: log_of(line) for digest, line in lines.items()}
    ours = {digest for digest, of in logs.items() if of is not None and of.id in log.ids}
    lost = ours | _linked(foreign, in_file | ours)
    problems = [f"the topic has {len(lost)} lines of this log that the file has not"] if lost else []
    others: dict[str, set[str]] = {}
    for digest in logs.keys() - lost:
        of = logs[digest]
        others.setdefault(of.id if of is not None else "", set()).add(digest)
    notes, ends, elsewhere = [], set[str](), 0
    for name, digests in sorted(others.items()):
        last = digests.difference(foreign[digest] or "" for digest in digests)
        if not any(of is not None and of.place in log.places for of in map(logs.get, digests)):
            elsewhere += len(digests)
        elif last <= heads:
            ends |= last
            notes.append(f"{len(digests)} lines in the topic are of an earlier log, {name}, which ends as was said")
        else:
            problems.append(
                f"the topic has {len(digests)} lines of an earlier log at this place, {name}: it was deleted, emptied "
                f"or begun anew. If you put it away yourself, pass its last head too: {', '.join(sorted(last))}"
            )
    if elsewhere:
        notes.append(f"the topic has {elsewhere} lines of other logs")
    return _Strangers(tuple(problems), tuple(notes), frozenset(ends))


def _linked(foreign: Mapping[str, str | None], roots: set[str]) -> set[str]:
    """The lines that the file has not and that are linked with it, one after another."""
    after: dict[str, list[str]] = {}
    for digest, previous in foreign.items():
        # Every log begins with GENESIS: to follow it would link the logs of other hosts with this one.
        if previous is not None and previous != GENESIS:
            after.setdefault(previous, []).append(digest)
    linked: set[str] = set()
    reached = list(roots)
    while reached:
        for digest in after.get(reached.pop(), ()):
            if digest not in linked:
                linked.add(digest)
                reached.append(digest)
    return linked


def _some(texts: Sequence[str], rest: str) -> list[str]:
    more = len(texts) - _NAMED
    return [*texts[:_NAMED], *([f"and {more:,} {rest}"] if more > 0 else [])]


# What the audit log says beside the steps of plans: moves that are cancelled, leftovers, break-glass access.
#
# Of cancellations and leftovers there is a line before anything is sent, and one with what a reading shows after. Of
# break-glass access there is one before its marks are sent, and one where a server sees it. No journal has them: to
# go on, run the same command again, which reads what is left to do.

#: A line is one message of a topic: Kafka's own limit of 1 MiB holds as many names of the longest kind.
_BINDINGS_A_LINE: Final = 500


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
    overrode: Annotated[
        tuple[AnyText, ...], Says("The access tests that it was given over.", ["svc never writes"], omit=True)
    ] = ()


class LockAction(StrEnum):
    """What is said of a lock.

    ``LOCK``: it is about to be sent. ``SEEN``: a server saw it, or that it was created again. ``UNLOCK``: a person is
    about to end it, or a server saw that one did.
    """

    LOCK = "lock"
    SEEN = "seen"
    UNLOCK = "unlock"


@dataclass(frozen=True, slots=True)
class LockRecord:
    """A lock, which denies a principal everything: who finds it gone has to know whether a person ended it."""

    about: Annotated[AboutCommand, Flat]
    action: Annotated[
        LockAction,
        Says("lock: about to be sent; seen: a server saw it; unlock: about to end, or a server saw that.", "lock"),
    ]
    principal: Annotated[AnyText, Says("Who is denied everything.", "User:svc-orders")]
    since: Annotated[str, Says("When it was locked, or ended.", "2026-11-21T06:17:00Z")]
    time: Time
    until: Annotated[str, Says("Until when, if somebody named an end.", "2026-11-22T06:17:00Z", omit=True)] = ""
    ticket: Annotated[AnyText, Says("Where it was agreed.", "INC-7", omit=True)] = ""
    reason: Annotated[AnyText, Says("Why.", "key leaked", omit=True)] = ""
    by: Annotated[AnyText, Says("Who locked, where a server saw it.", "anna@ops", omit=True)] = ""


CANCELLATION: Final = record_of(CancellationRecord)
CLEANUP: Final = record_of(CleanupRecord)
BREAK_GLASS: Final = record_of(BreakGlassRecord)
LOCK: Final = record_of(LockRecord)
#: The records that no run of a plan writes, by their name.
COMMAND_RECORDS: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    CancellationRecord: ("cancellation", CANCELLATION),
    CleanupRecord: ("cleanup", CLEANUP),
    BreakGlassRecord: ("break-glass", BREAK_GLASS),
    LockRecord: ("lock", LOCK),
}


def about_command(identity: Identity, cluster_id: str, cluster: str) -> AboutCommand:
    """The same for all lines of one command."""
    return AboutCommand(identity.run, identity.operator, RunCluster(cluster_id, cluster))


def cleaning(about: AboutCommand, action: str, bindings: Sequence[AclBinding], time: str) -> list[dict[str, Any]]:
    """``remove``: what is about to be removed; ``left``: what is still there, which is a line also where nothing is."""
    parts = line_parts(bindings, _BINDINGS_A_LINE)
    return [{"record": "cleanup", **CLEANUP.write(CleanupRecord(about, action, part, time))} for part in parts]


def break_glass_lines(
    about: AboutCommand,
    action: Sight,
    bindings: Sequence[AclBinding],
    end: datetime.datetime,
    time: str,
    overrode: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """What is said of this access, which ends at ``end``."""
    parts = line_parts(bindings, _BINDINGS_A_LINE)
    records = (BreakGlassRecord(about, action, moment_text(end), part, time, overrode) for part in parts)
    return [{"record": "break-glass", **BREAK_GLASS.write(record)} for record in records]


def lock_line(lock: LockRecord) -> dict[str, Any]:
    """What is said of a lock."""
    return {"record": "lock", **LOCK.write(lock)}


def line_parts(items: Sequence[Any], size: int) -> list[tuple[Any, ...]]:
    """What stands on each line, at most ``size`` of the items; one line where there are none."""
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)] or [()]


# The lines of an audit log: each step with who ran it by which plan, complete in itself, and the runs around them.
#
# Lines about writes that no plan names are in ``command_records``.


@dataclass(frozen=True, slots=True)
class AuditedStep:
    """Who did what by which plan, and what became of it: complete in itself."""

    about: Annotated[About, Flat]
    step: Annotated[Step, STEP, Flat]
    outcome: Annotated[Outcome, Says("What became of it.", "done")]
    code: Annotated[AnyText, Says("Kafka's name of the error.", "CLUSTER_AUTHORIZATION_FAILED")]
    message: Annotated[AnyText, Says("The broker's message.", "Request is not authorized.")]
    time: Time


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A record of the audit log, with the digest of the line before it, and of which log it is."""

    previous: Annotated[
        str,
        text("^sha256:[0-9a-f]{64}$"),
        Says("The digest of the line before, zeros in the first.", f"sha256:{'0' * 64}"),
    ]
    log: Annotated[LogIdentity, LOG_IDENTITY, Says("The log that has this line.")]
    content: Annotated[
        RunRecord
        | AuditedStep
        | BridgesRecord
        | ThrottleRecord
        | EndRecord
        | CancellationRecord
        | CleanupRecord
        | BreakGlassRecord
        | LockRecord,
        Flat,
    ]


_STEP_RECORD: Final = "step"
_AUDITED_STEP: Final = record_of(AuditedStep)
_AUDITED: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    AuditedStep: (_STEP_RECORD, _AUDITED_STEP),
    **{kind: FORMS[kind] for kind in (RunRecord, BridgesRecord, ThrottleRecord, EndRecord)},
    **COMMAND_RECORDS,
}
#: One line of an audit log: which class the content has decides which fields there are beside the other two.
AUDIT: Final[Codec[AuditLine]] = tagged(
    "record",
    {name: record_of(AuditLine, codecs={"content": form}) for name, form in _AUDITED.values()},
    lambda line: _AUDITED[type(line.content)][0],
    "What kind of record it is.",
)


def audited(about: About, item: StepOutcome, time: str) -> dict[str, Any]:
    """Who did what by which plan, and what became of it: complete in itself."""
    step = AuditedStep(about, item.step, item.outcome, item.code, item.message, time)
    return {"record": _STEP_RECORD, **_AUDITED_STEP.write(step)}
