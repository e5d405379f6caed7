"""The marks of break-glass access around the run that gives it: there before the access, and longer than it.

A run may stand still between any two of its requests, and a request may arrive late. So the end and the marks are
looked at again right before the access is sent, and after it: access that was given too late, or beside a mark that is
gone, is taken away again. A mark goes only where nothing of this run can arrive any more.
"""

import datetime
from dataclasses import field

from reconciler.apply.audit import Sight, about_command, break_glass_lines
from reconciler.apply.environment import GOOD, Outcome
from reconciler.apply.lease import time_of
from reconciler.apply.run import Run, StoppedError, create, remove
from reconciler.apply.verification import exact_read
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Expiry
from reconciler.model.markers import break_glass_mark, marks_for, running_break_glass
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.proposal import Plan


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
        left = remove(run, self._not_given_by_others(gone))
        return tuple(f"{one}: could not be taken away again; its end is {self.end}" for one in left)

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
