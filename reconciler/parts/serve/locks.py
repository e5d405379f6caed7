"""What a server does about locks: it puts back what vanished of one, and ends one only where the operator's file says.

It remembers the marks that it saw on a whole lock, and those that its audit log has. One that vanishes without a mark
of an unlock is created again with its DENYs, in one request: that only takes access away. A server never ends a lock
for a mark alone: by ``locksEnd`` it ends one whose end it knew before, and of which no mark names another.
"""

import datetime
from collections.abc import Iterable
from dataclasses import field

from reconciler.app.apply import ApplyOptions, perform_now
from reconciler.app.lock import LockTerms, plan_of_unlock, refuse_unlockable
from reconciler.app.options import ConnectionOptions
from reconciler.app.planning import Planned
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import command_ledger, new_run
from reconciler.app.session import Target
from reconciler.apply.audit import AUDIT, AboutCommand, LockAction, LockRecord, about_command, lock_line
from reconciler.apply.environment import Identity
from reconciler.codec.codec import SchemaError
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, counted
from reconciler.model.desired import instant_of, moment_text
from reconciler.model.listing import Create
from reconciler.model.locks import LockMark, lock_denials, locks, unlocked_at
from reconciler.model.state import ClusterState
from reconciler.ports import ClusterError
from reconciler.system.journal import LogTail
from reconciler.system.process import SystemClock

#: By so much the clocks of two machines may differ: a mark of a later time proves nothing yet.
_GRACE = datetime.timedelta(minutes=1)


@dataclass(slots=True)
class SeenLocks:
    """The marks of locks that were seen, or that the audit log has, and that no person has ended since.

    Of each, whether its end was to come when it became known.
    """

    _known: dict[LockMark, bool] = field(default_factory=dict)
    _log: LogTail | None = None

    def look(self, live: ClusterState, at: datetime.datetime, audit: str | None) -> list[tuple[LockAction, LockMark]]:
        """Take in a reading of ``at``; what is news is returned."""
        self._read_log(audit, live.cluster_id)
        news, ended = [], unlocked_at(live.bindings)
        for mark in list(self._known):
            if mark.principal in ended and mark.since <= ended[mark.principal]:
                del self._known[mark]
                news.append((LockAction.UNLOCK, mark._replace(since=ended[mark.principal])))
        for name, lock in locks(live.bindings).items():
            for mark in lock.marks if lock.whole else ():
                later = name not in ended or ended[name] < mark.since
                if later and mark.since <= at + _GRACE and mark not in self._known:
                    self._known[mark] = mark.until is None or at < mark.until
                    news.append((LockAction.SEEN, mark))
        return news

    def missing(self, live: ClusterState) -> dict[str, list[AclBinding]]:
        """What is gone of each lock that nobody ended: DENYs and marks."""
        found: dict[str, list[AclBinding]] = {}
        for mark in self._known:
            gone = [item for item in (*lock_denials(mark.principal), mark.binding) if item not in live.bindings]
            if gone:
                found[mark.principal] = list(dict.fromkeys((*found.get(mark.principal, ()), *gone)))
        return found

    def over(self, live: ClusterState, at: datetime.datetime) -> list[str]:
        """The principals whose lock has come to its end, by every mark that it has."""
        return [
            name
            for name, lock in locks(live.bindings).items()
            if lock.until is not None and lock.until <= at and all(self._known.get(mark, False) for mark in lock.marks)
        ]

    def _read_log(self, audit: str | None, cluster_id: str) -> None:
        if audit is None:
            return
        self._log = self._log or LogTail(audit)
        for record in self._log.records({"lock"}):
            try:
                notes = AUDIT.read(record).content
            except (SchemaError, ValueError):
                continue
            if not isinstance(notes, LockRecord) or notes.about.cluster.id != cluster_id:
                continue
            since = datetime.datetime.fromisoformat(notes.since)
            if notes.action is LockAction.UNLOCK:
                for mark in [item for item in self._known if item.principal == notes.principal and item.since <= since]:
                    del self._known[mark]
            else:
                until = datetime.datetime.fromisoformat(notes.until) if notes.until else None
                by = notes.about.operator if notes.action is LockAction.LOCK else notes.by
                self._known[LockMark(notes.principal, since, until, by, notes.ticket, notes.reason)] = True


def keep_locks(
    seen: SeenLocks, planned: Planned, target: Target, connection: ConnectionOptions, apply: ApplyOptions
) -> list[str]:
    """Put back what vanished, lock whom the operator's file locks, end what it lets end; what a person has to know."""
    live, at, rules = planned.live, instant_of(planned.plan.as_of), planned.declaration.emergency
    news = seen.look(live, at, apply.records.audit)
    wanted = seen.missing(live)
    held = locks(live.bindings)
    refused = []
    for name in rules.locked:
        if name in wanted or (name in held and held[name].whole):
            continue
        terms = LockTerms(name, "the operator's file locks it")
        mark = LockMark(name, at.replace(microsecond=0), None, apply.records.who(), "", terms.reason)
        try:
            refuse_unlockable(terms, target, live)
            wanted[name] = [*lock_denials(name), mark.binding]
        except WorkflowError as error:
            refused.append(f"{as_name(name)} is not locked, as the operator's file demands: {error}")
    about = about_command(Identity(new_run(), apply.records.who()), live.cluster_id, target.name)
    notes = refused + _written(target, apply, (_record(about, action, mark) for action, mark in news))
    for name, bindings in wanted.items():
        notes.append(_put_back(target, name, bindings))
    for name in seen.over(live, at) if rules.locks_end else ():
        notes += _ended(name, planned, target, connection, apply)
    return notes


def _record(about: AboutCommand, action: LockAction, mark: LockMark) -> LockRecord:
    until = "" if mark.until is None else moment_text(mark.until)
    texts = (until, mark.ticket, mark.reason, mark.operator)
    return LockRecord(about, action, mark.principal, moment_text(mark.since), SystemClock().now(), *texts)


def _written(target: Target, apply: ApplyOptions, news: Iterable[LockRecord]) -> list[str]:
    lines = [lock_line(item) for item in news]
    if not lines:
        return []
    with command_ledger(target, apply.records) as ledger:
        why = ledger.conclude(lines)
    return [f"what was seen of locks could not be written down: {why}"] if why else []


def _put_back(target: Target, name: str, bindings: list[AclBinding]) -> str:
    """One request, as the lock was; the next round shows whether it is there."""
    try:
        answers = target.cluster.send([Create(item) for item in bindings])
    except ClusterError as error:
        return f"the lock of {as_name(name)} vanished in part and could not be put back: {error}"
    left = [item for item in answers if not item.good]
    if left:
        return f"the lock of {as_name(name)} vanished in part and could not be put back: {left[0].message}"
    many = counted(len(bindings), "ACL")
    return f"the lock of {as_name(name)} was not whole, and no unlock says why: {many} created again"


def _ended(
    name: str, planned: Planned, target: Target, connection: ConnectionOptions, apply: ApplyOptions
) -> list[str]:
    plan = plan_of_unlock(LockTerms(name, "its end has come"), planned.live, target)
    try:
        result = perform_now(plan, planned.live, target, connection, apply)
    except WorkflowError as error:
        return [f"the lock of {as_name(name)} has come to its end and stays: {error}"]
    return [] if result.succeeded else [f"the lock of {as_name(name)} stays in part: {result.stopped}"]
