"""What a run does about the marks of locks and of break-glass access, which other runs may set or end meanwhile.

A lock may come at any time, also between a reading of a run and its next request. So a run that deletes DENYs of that
form looks for marks right before each request, and puts back what it deleted of a lock that came meanwhile. A run that
ends a lock writes that down first.

A run may stand still between any two of its requests, and a request may arrive late. So the end and the marks of
break-glass access are looked at again right before the access is sent, and after it: access that was given too late, or
beside a mark that is gone, is taken away again. A mark goes only where nothing of this run can arrive any more.
"""

import datetime
from dataclasses import field

from reconciler.apply.audit import LockAction, LockRecord, Sight, about_command, break_glass_lines, lock_line
from reconciler.apply.environment import GOOD, Outcome
from reconciler.apply.lease import time_of
from reconciler.apply.run import Run, StoppedError, create, exact_read, remove
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name
from reconciler.model.desired import Expiry, moment_text
from reconciler.model.locks import LockMark, UnlockMark, is_lock_denial, lock_denials, locks
from reconciler.model.markers import break_glass_mark, marks_for, running_break_glass
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.leftovers import deletes_of_locks
from reconciler.plan.proposal import Plan
from reconciler.ports import ClusterError, ReadRequest


def lock_watch(run: Run) -> "LockWatch | None":
    """What keeps a run from locks; ``None`` where nothing that it deletes could belong to one."""
    gone = deleted_bindings(step.change for step in run.plan.steps)
    return LockWatch(run) if any(map(is_lock_denial, gone)) else None


@dataclass(slots=True)
class LockWatch:
    """Keeps a run from the DENYs of locks, but for the one that it ends; implements ``run.SendGuard``."""

    run: Run
    placed: tuple[AclBinding, ...] = ()

    def admit(self, live: ClusterState) -> None:
        """Refuse what is locked by now."""
        if refusals := deletes_of_locks(self.run.plan, live):
            raise StoppedError("; ".join(f"{item.guard}: {item.message}" for item in refusals))

    def check(self) -> None:
        """Right before a request: look once more."""
        try:
            self.admit(self.run.environment.cluster.read(ReadRequest(all_topics=False)))
        except ClusterError as error:
            raise StoppedError(f"whether somebody is locked by now could not be read: {error}") from error

    def settle(self) -> tuple[str, ...]:
        """Put back what was deleted of a lock that came at the same moment; what could not be, in sentences."""
        run = self.run
        sent = [item.step.change for item in run.all_outcomes() if item.outcome in (Outcome.DONE, Outcome.UNKNOWN)]
        gone = {binding for binding in deleted_bindings(sent) if is_lock_denial(binding)}
        if not gone:
            return ()
        try:
            held = locks(run.environment.cluster.read(ReadRequest(all_topics=False)).bindings)
            missing = [item for lock in held.values() for item in lock.missing if item in gone]
            missing = [item for item in missing if item.entry.principal != run.plan.options.unlock]
            if missing:
                create(run, missing, "what was deleted of a lock that came meanwhile")
        except (ClusterError, StoppedError) as error:
            names = ", ".join(sorted({as_name(item.entry.principal) for item in gone}))
            return (f"whether {names} is locked in part could not be mended: {error}; “reconciler locks” shows it",)
        return tuple(f"{item}: deleted while somebody locked, and created again" for item in missing)


@dataclass(slots=True)
class Unlocking:
    """The run that ends a lock: says so on the cluster and in the audit log before, and removes the marks after.

    Who locks again while the plan waits for signatures, or while it runs, is not overruled. It implements
    ``run.SendGuard``.
    """

    run: Run
    principal: str
    placed: tuple[AclBinding, ...] = ()
    _unlock_marks: tuple[AclBinding, ...] = field(default=())
    _marks_before: frozenset[LockMark] = field(init=False)

    def __post_init__(self) -> None:
        """The marks that the plan ends: those that are there."""
        self._marks_before = self._marks(self.run.start)

    def _marks(self, live: ClusterState) -> frozenset[LockMark]:
        lock = locks(live.bindings).get(self.principal)
        return frozenset() if lock is None else frozenset(lock.marks)

    def admit(self, live: ClusterState) -> None:
        """Refuse where somebody has locked since the plan was made. What is of a time to come proves nothing."""
        planned, now = self.run.plan.created_at, time_of(self.run.environment.clock)
        since = None if planned is None else datetime.datetime.fromisoformat(planned)
        marks = self._marks(live)
        newer = {mark for mark in marks if since is not None and since < mark.since <= now} | (
            marks - self._marks_before
        )
        for mark in sorted(newer, key=lambda mark: mark.binding):
            raise StoppedError(f"{as_name(self.principal)} was locked again {mark.words}: unlock it with a new plan")

    def check(self) -> None:
        """Right before a request: look once more."""
        try:
            self.admit(self.run.environment.cluster.read(ReadRequest(all_topics=False)))
        except ClusterError as error:
            raise StoppedError(f"whether somebody has locked again could not be read: {error}") from error

    def place(self) -> None:
        """Write it down, then leave the mark by which servers know that a person ended the lock."""
        self.admit(self.run.start)
        run, at = self.run, time_of(self.run.environment.clock)
        about = about_command(run.environment.identity, run.plan.cluster_id, run.plan.terms.cluster)
        record = LockRecord(about, LockAction.UNLOCK, self.principal, moment_text(at), run.environment.clock.now())
        run.write_audit(lock_line(record))
        self._unlock_marks = (UnlockMark(self.principal, at).binding,)
        create(run, self._unlock_marks, "the mark that says that a person ended the lock")

    def settle(self) -> tuple[str, ...]:
        """Remove the marks of the lock once all of its DENYs are gone; what stays, in sentences."""
        run = self.run
        if not run.batches and any(item.outcome not in GOOD for item in run.all_outcomes()):
            remove(run, self._unlock_marks)
            return ()
        try:
            there = run.environment.cluster.read(ReadRequest(all_topics=False)).bindings
        except ClusterError as error:
            return (f"whether the lock is gone could not be read: {error}",)
        remaining = [denial for denial in lock_denials(self.principal) if denial in there]
        if remaining:
            return ()  # the run names what it did not delete
        gone = [mark.binding for mark in self._marks_before if mark.binding in there]
        return tuple(f"{item}: could not be removed; run unlock again" for item in remove(run, gone))


def marks_of(plan: Plan) -> tuple[AclBinding, ...]:
    """The marks of what a break-glass plan gives; of any other none."""
    end = plan.options.break_glass
    if end is None:
        return ()
    since = _asked_at(plan)
    given = created_bindings(step.change for step in plan.steps)
    return tuple(break_glass_mark(binding, end.end, since, plan.options.override) for binding in given)


def _asked_at(plan: Plan) -> datetime.datetime | None:
    return None if plan.created_at is None else datetime.datetime.fromisoformat(plan.created_at)


@dataclass(slots=True)
class BreakGlassGuard:
    """The marks of one run; implements ``reconciler.apply.run.SendGuard``."""

    run: Run
    end: Expiry
    placed: tuple[AclBinding, ...] = ()
    _new: tuple[AclBinding, ...] = field(default=())

    def place(self) -> None:
        """Write the access and its end down, and then mark it; raises ``StoppedError``."""
        self._check_end()
        run, marks = self.run, marks_of(self.run.plan)
        about = about_command(run.environment.identity, run.plan.cluster_id, run.plan.terms.cluster)
        access = self._access()
        clock, overrode = run.environment.clock, run.plan.options.override
        run.write_audit(*break_glass_lines(about, Sight.GIVE, access, self.end.end, clock.now(), overrode))
        self._new = tuple(mark for mark in marks if mark not in run.start.bindings)
        create(run, self._new, "the mark that says when the access ends")
        self.placed = marks

    def admit(self, live: ClusterState) -> None:
        """Refuse what came meanwhile and has no end; ``live`` is an exact reading."""
        there = live.bindings.intersection(self._access())
        for item in sorted(there):
            if not set(marks_for({item}, live.bindings)) - set(self._new):
                raise StoppedError(f"{item} is there by now, without an end: nothing was changed")

    def check(self) -> None:
        """Right before a request: the marks are there, and the end is to come; raises ``StoppedError``."""
        self._check_end()
        exact_read(self.run, self.placed)
        self._check_end()

    def settle(self) -> tuple[str, ...]:
        """Take away what must not stay; returns what could not be, in sentences."""
        run = self.run
        sent = [
            (binding, item.outcome)
            for item in run.all_outcomes()
            if item.outcome in (Outcome.DONE, Outcome.UNKNOWN)
            for binding in created_bindings([item.step.change])
        ]
        if not run.batches:
            if run.stopped or any(item.outcome not in GOOD for item in run.all_outcomes()):
                remove(run, self._new)
            return ()
        why = self._why_not()
        gone = [binding for binding, outcome in sent if why or outcome is Outcome.UNKNOWN]
        if not gone:
            return ()
        run.stop(StoppedError(why or "no answer came, so the access was taken away again"))
        remaining = remove(run, self._not_given_by_others(gone))
        return tuple(f"{binding}: could not be taken away again; its end is {self.end}" for binding in remaining)

    def _why_not(self) -> str:
        """Why nothing that was sent may stay; empty where it may."""
        try:
            self.check()
        except StoppedError as error:
            return f"{error}; it was taken away again"
        return ""

    def _not_given_by_others(self, bindings: list[AclBinding]) -> list[AclBinding]:
        """Those that no later mark of somebody else keeps."""
        run = self.run
        try:
            live = run.environment.cluster.read(run.request()).bindings
        except Exception:  # what cannot be read is taken away
            return bindings
        others = live.difference(self.placed)
        kept = running_break_glass(others, time_of(run.environment.clock))
        return [binding for binding in bindings if binding not in kept]

    def _access(self) -> tuple[AclBinding, ...]:
        return tuple(created_bindings(step.change for step in self.run.plan.steps))

    def _check_end(self) -> None:
        if self.end.end <= time_of(self.run.environment.clock):
            raise StoppedError(f"the access ended at {self.end}")
