"""What audit logs say was done, by which run and whom: entries, and questions that select them.

Several logs are read together: copies of one log count once, and two that continue one log differently are refused.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Annotated, Final

from reconciler.apply import audit
from reconciler.apply.records import About, BridgesRecord, EndRecord, RunRecord, ThrottleRecord
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import SchemaError
from reconciler.codec.document import load
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.desired import read_moment
from reconciler.model.listing import Change
from reconciler.model.locks import lock_denials
from reconciler.model.says import AnyText, Says
from reconciler.model.scope import NameSelector, Selector
from reconciler.plan.kinds import describe, kind_of
from reconciler.plan.kinds.acl import touched_binding


class LogsError(Exception):
    """Logs that cannot be read together; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of an audit log that can be read: where it is, and what it says."""

    file: str
    number: int
    log: str
    content: object


def log_lines(logs: Mapping[str, Sequence[bytes]]) -> Iterator[LogLine]:
    """The lines of several logs, by file; a line that a crash cut short says nothing.

    Of two copies of one log the longer one counts. Raises :class:`LogsError` for two files that continue one log
    differently, and for a line of another format.
    """
    kept: dict[str, tuple[str, Sequence[bytes]]] = {}
    for file, lines in sorted(logs.items(), key=lambda item: len(item[1])):
        log_id = next((header.id for line in lines if (header := audit.log_of(line)) is not None), None)
        if log_id is None:
            if any(lines):
                raise LogsError(f"{file} is not an audit log")
            continue
        if log_id in kept:
            other, shorter = kept[log_id]
            apart = next((n for n, (a, b) in enumerate(zip(shorter, lines, strict=False), 1) if a != b), None)
            if apart is not None:
                raise LogsError(
                    f"{other} and {file} both say that they are the log {log_id}, and differ from line {apart} on: "
                    "one was copied and continued, or altered"
                )
        kept[log_id] = (file, lines)
    for log, (file, lines) in sorted(kept.items()):
        for number, line in enumerate(lines, 1):
            if audit.previous_of(line) is not None:
                yield LogLine(file, number, log, _content(file, number, line))


def _content(file: str, number: int, line: bytes) -> object:
    try:
        return audit.AUDIT.read(load(line.decode("utf-8", "surrogatepass"))).content
    except (SchemaError, ValueError) as error:
        raise LogsError(f"{file}: line {number} cannot be read: {error}") from error


def broken_at(lines: Sequence[bytes]) -> int | None:
    """The number of the first line that does not follow the one before it; ``None``: the chain is whole."""
    for number, (before, line) in enumerate(pairwise(lines), 2):
        if f'"previous":"{audit.line_digest(before)}"'.encode() not in line and audit.previous_of(line) is not None:
            return number
    return None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done or tried, and everything that is known of whose it was."""

    time: Annotated[str, Says("When, in UTC.", "2026-11-21T05:17:00Z")]
    what: Annotated[AnyText, Says("What was done, in words.", "create ACL User:b ALLOW READ on TOPIC x")]
    outcome: Annotated[str, Says("What became of it.", "done")]
    cluster: Annotated[AnyText, Says("The cluster's name in the manifests.", "prod")]
    run: Annotated[str, Says("The run's name.", "20261121T051700Z-0a1b2c3d")]
    operator: Annotated[AnyText, Says("Who ran it.", "ci@build-7")]
    proposer: Annotated[AnyText | None, Says("The author of the commit, unverified; null: not known.", "bob@x.org")]
    approved_by: Annotated[tuple[AnyText, ...], Says("Who approved it, by signatures that were verified.")]
    keys: Annotated[tuple[str, ...], Says("The keys of these signatures, in the same order.")]
    authors: Annotated[tuple[AnyText, ...], Says("Whose signatures did not count, because the change is theirs.")]
    plan: Annotated[str | None, Says("The plan's id; null: there was none.", f"plan-{'0' * 64}")]
    commit: Annotated[str | None, Says("The commit of the manifests; null: not known.", "0123abc")]
    url: Annotated[AnyText | None, Says("Where the pipeline shows the run; null: in none.", "https://ci/17")]
    reason: Annotated[AnyText | None, Says("Why, as the declaration says; null: it does not.", "nightly loads")]
    ticket: Annotated[AnyText | None, Says("The ticket; null: none.", "OPS-42")]
    log: Annotated[str, Says("The id of the log that says so.", "5f0c6e1f2a9b4c7d8e3f0a1b2c3d4e5f")]
    line: Annotated[str, Says("The file and line that say so.", "audit.jsonl:14")]


AUDIT_ENTRY: Final = record_of(AuditEntry)


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """Which entries are meant: all that are given have to hold. ``by`` may end in ``*``."""

    topic: str | None = None
    principal: str | None = None
    by: str | None = None
    since: datetime.datetime | None = None

    def selects(self, entry: AuditEntry, changes: Sequence[Change], bindings: Sequence[AclBinding]) -> bool:
        """Whether an entry is meant that is about these."""
        if self.since is not None and read_moment(entry.time) < self.since:
            return False
        people = (entry.operator, entry.proposer or "", *entry.approved_by, *entry.keys)
        if self.by is not None and not any(fnmatchcase(person, _literal(self.by)) for person in people):
            return False
        topic, principal = self.topic, self.principal
        if topic is not None and not any(
            (*(concerns_topic(change, topic) for change in changes), *(_covers(binding, topic) for binding in bindings))
        ):
            return False
        return principal is None or any(
            (
                *(concerns_principal(change, principal) for change in changes),
                *(binding.entry.principal == principal for binding in bindings),
            )
        )


EVERYTHING: Final = AuditQuestion()
_LOCK_WORDS: Final = {
    audit.LockAction.LOCK: "lock",
    audit.LockAction.SEEN: "saw the lock of",
    audit.LockAction.UNLOCK: "unlock",
}


def _literal(text: str) -> str:
    """A pattern in which only a final ``*`` is special."""
    return text.replace("[", "[[]").replace("?", "[?]")


def concerns_topic(change: Change, topic: str) -> bool:
    """Whether a change is about a topic: about itself, or about an ACL whose pattern covers its name."""
    binding = touched_binding(change)
    if binding is not None:
        return _covers(binding, topic)
    return kind_of(change).is_selected(change, Selector(None, ResourceType.TOPIC, NameSelector((topic,))))


def concerns_principal(change: Change, principal: str) -> bool:
    """Whether a change is about this very principal."""
    return kind_of(change).is_selected(change, Selector(NameSelector((principal,))))


def _covers(binding: AclBinding, topic: str) -> bool:
    return binding.pattern.resource_type is ResourceType.TOPIC and binding.pattern.matches(topic)


def entries(lines: Iterable[LogLine], question: AuditQuestion = EVERYTHING) -> Iterator[AuditEntry]:
    """What the lines say was done, as far as it is meant; each with what the first line of its run says of whose."""
    runs: dict[str, RunRecord] = {}
    for line in lines:
        if isinstance(line.content, RunRecord):
            runs[line.content.about.run] = line.content
            continue
        for entry, changes, bindings in _entries(line, runs):
            if question.selects(entry, changes, bindings):
                yield entry


def _entries(
    line: LogLine, runs: Mapping[str, RunRecord]
) -> Iterator[tuple[AuditEntry, Sequence[Change], Sequence[AclBinding]]]:
    match line.content:
        case audit.AuditedStep(about=about, step=step, outcome=outcome, time=time):
            of = (step.reason, step.ticket)
            yield _entry(line, runs, about, time, (describe(step.change), outcome.value), of), (step.change,), ()
        case BridgesRecord(about=about, action=action, bridges=bridges, time=time):
            done = (f"{action} {len(bridges)} temporary allow-all ACLs", action)
            yield _entry(line, runs, about, time, done), (), bridges
        case ThrottleRecord(about=about, action=action, subject=subject, time=time):
            yield _entry(line, runs, about, time, (f"throttle of {subject}", action)), (), ()
        case audit.CleanupRecord(about=command, action=action, bindings=bindings, time=time):
            done = (f"remove {len(bindings)} leftovers of runs", action)
            yield _of_command(line, command, time, done), (), bindings
        case audit.BreakGlassRecord(about=command, action=sight, bindings=bindings, time=time, end=end) as content:
            over = f", over {', '.join(f'“{name}”' for name in content.overrode)}" if content.overrode else ""
            done = (f"break-glass access until {end}{over}: {', '.join(map(str, bindings))}", sight.value)
            yield _of_command(line, command, time, done), (), bindings
        case audit.CancellationRecord(about=command, action=action, partitions=partitions, time=time):
            done = (f"cancel the move of {len(partitions)} partitions", action)
            yield _of_command(line, command, time, done), (), ()
        case (
            audit.LockRecord(
                about=command, action=act, principal=name, time=time, reason=reason, ticket=ticket
            ) as content
        ):
            until = f" until {content.until}" if content.until else ""
            done = (f"{_LOCK_WORDS[act]} {name}{until}", act.value)
            of_lock = replace(_of_command(line, command, time, done), reason=reason or None, ticket=ticket or None)
            denied = lock_denials(name)
            yield (of_lock if not content.by else replace(of_lock, operator=content.by)), (), denied
        case EndRecord() | _:
            return


def _entry(
    line: LogLine,
    runs: Mapping[str, RunRecord],
    about: About,
    time: str,
    what: tuple[str, str],
    why: tuple[str | None, str | None] = (None, None),
) -> AuditEntry:
    run = runs.get(about.run)
    approvals = run.approvals if run is not None else None
    return AuditEntry(
        time,
        *what,
        about.cluster.name,
        about.run,
        about.operator,
        run.proposer if run is not None else None,
        tuple(approver.name for approver in approvals.approvers) if approvals is not None else (),
        tuple(approver.key for approver in approvals.approvers) if approvals is not None else (),
        approvals.authors if approvals is not None else (),
        about.plan_id,
        about.commit,
        run.url if run is not None else None,
        *why,
        line.log,
        f"{line.file}:{line.number}",
    )


def _of_command(line: LogLine, about: audit.AboutCommand, time: str, what: tuple[str, str]) -> AuditEntry:
    place = (line.log, f"{line.file}:{line.number}")
    name, run, operator = about.cluster.name, about.run, about.operator
    return AuditEntry(time, *what, name, run, operator, None, (), (), (), None, None, None, None, None, *place)
