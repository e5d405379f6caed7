"""Locks around a run: one that ends a lock writes that down first, and no other run deletes a DENY of one.

A lock may come at any time, also between a reading of a run and its next request. So a run that deletes DENYs of that
form looks for marks right before each request, and puts back what it deleted of a lock that came meanwhile.
"""

import datetime
from dataclasses import field

from reconciler.apply.audit import LockAction, LockRecord, about_command, lock_line
from reconciler.apply.environment import GOOD, Outcome
from reconciler.apply.lease import time_of
from reconciler.apply.run import Run, StoppedError, create, remove
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name
from reconciler.model.desired import moment_text
from reconciler.model.locks import LockMark, UnlockMark, is_lock_denial, lock_denials, locks
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.leftovers import deletes_of_locks
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
        if found := deletes_of_locks(self.run.plan, live):
            raise StoppedError("; ".join(f"{item.guard}: {item.message}" for item in found))

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
    _said: tuple[AclBinding, ...] = field(default=())
    _known: frozenset[LockMark] = field(init=False)

    def __post_init__(self) -> None:
        """The marks that the plan ends: those that are there."""
        self._known = self._marks(self.run.start)

    def _marks(self, live: ClusterState) -> frozenset[LockMark]:
        lock = locks(live.bindings).get(self.principal)
        return frozenset() if lock is None else frozenset(lock.marks)

    def admit(self, live: ClusterState) -> None:
        """Refuse where somebody has locked since the plan was made. What is of a time to come proves nothing."""
        made, now = self.run.plan.created_at, time_of(self.run.environment.clock)
        since = None if made is None else datetime.datetime.fromisoformat(made)
        marks = self._marks(live)
        newer = {mark for mark in marks if since is not None and since < mark.since <= now} | (marks - self._known)
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
        self._said = (UnlockMark(self.principal, at).binding,)
        create(run, self._said, "the mark that says that a person ended the lock")

    def settle(self) -> tuple[str, ...]:
        """Remove the marks of the lock once all of its DENYs are gone; what stays, in sentences."""
        run = self.run
        if not run.batches and any(item.outcome not in GOOD for item in run.all_outcomes()):
            remove(run, self._said)
            return ()
        try:
            there = run.environment.cluster.read(ReadRequest(all_topics=False)).bindings
        except ClusterError as error:
            return (f"whether the lock is gone could not be read: {error}",)
        left = [denial for denial in lock_denials(self.principal) if denial in there]
        if left:
            return ()  # the run names what it did not delete
        gone = [mark.binding for mark in self._known if mark.binding in there]
        return tuple(f"{item}: could not be removed; run unlock again" for item in remove(run, gone))
