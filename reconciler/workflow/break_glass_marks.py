"""The marks of break-glass access around a run that gives or prolongs it: there before the access, gone after it.

Access that is there already may be prolonged: its new mark is on the cluster before the old one goes, so that at no
moment it has no end.
"""

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from reconciler.adapters.clock import SystemClock
from reconciler.apply import Result
from reconciler.model import (
    AclBinding,
    AclPermissionType,
    ClusterState,
    Create,
    Delete,
    DesiredState,
    break_glass,
    break_glass_mark,
    is_reserved,
    moment_text,
    read_break_glass,
    running_break_glass,
)
from reconciler.model.break_glass import LONGEST
from reconciler.plan import Plan, created_bindings
from reconciler.ports import Cluster, ClusterError
from reconciler.retry import attempts
from reconciler.workflow.options import now
from reconciler.workflow.reasons import LongerAccessError, RequestError, StaleError, WorkflowError


def check_break_glass(plan: Plan, live: ClusterState, at: datetime.datetime) -> None:
    """Refuse a break-glass plan that does more, ends too late or is over, or what somebody else gave; else nothing.

    Raises :class:`RequestError` or :class:`StaleError`.
    """
    given = plan.options.break_glass
    if given is None:
        return
    if given.end <= at:
        raise StaleError(f"the access of this plan ended at {given}", "make it again, with a later end")
    check_end(given.end, at)
    bindings = created_bindings(step.change for step in plan.steps)
    only_allows = all(
        one.entry.permission_type is AclPermissionType.ALLOW and not is_reserved(one.pattern.name) for one in bindings
    )
    if not only_allows or len(bindings) != len(plan.steps):
        raise RequestError("a break-glass plan creates ALLOWs, and this one does more", "plan again")
    check_free(bindings, given.end, live, at)


def check_end(end: datetime.datetime, at: datetime.datetime) -> None:
    """Raise :class:`RequestError` where break-glass access would last too long."""
    if end - at > LONGEST:
        raise RequestError(
            "break-glass access ends within 24 hours", "name an earlier end; for longer, merge the grant"
        )


def check_free(
    bindings: Sequence[AclBinding], end: datetime.datetime, live: ClusterState, at: datetime.datetime
) -> None:
    """Raise :class:`RequestError` where a mark would end what somebody has for longer."""
    known = dict(known_ends(bindings, live, at))
    for binding in live.bindings.intersection(bindings):
        if binding not in known:
            raise RequestError(f"{binding} is there already, without an end: nothing was changed")
        if known[binding] > end:
            raise LongerAccessError(
                f"{binding} is there already, until {moment_text(known[binding])}: nothing was changed"
            )


def known_ends(
    bindings: Sequence[AclBinding], live: ClusterState, at: datetime.datetime
) -> Iterator[tuple[AclBinding, datetime.datetime]]:
    """Those of the bindings that are there as break-glass access, each with its end."""
    known = break_glass(live.bindings, at)
    yield from ((one, known[one].end) for one in bindings if one in known)


@contextmanager
def marked(plan: Plan, live: ClusterState, cluster: Cluster) -> Iterator[None]:
    """Write the ends of a break-glass plan down before anything else; raises :class:`WorkflowError` where that fails.

    Where the body raises, no step was sent, and the new marks go again.
    """
    new = [mark for mark in marks_of(plan) if mark not in live.bindings]
    if new:
        _send_marks(cluster, new)
    try:
        yield
    except Exception:  # whatever else happens, a mark stays with what it marks
        drop_marks(cluster, new)
        raise


def marks_of(plan: Plan) -> list[AclBinding]:
    """The marks of what a break-glass plan gives; of any other none."""
    given = plan.options.break_glass
    if given is None:
        return []
    return [break_glass_mark(one, given.end) for one in created_bindings(step.change for step in plan.steps)]


def settled(result: Result, plan: Plan, live: ClusterState, cluster: Cluster, wanted: DesiredState | None) -> Result:
    """After a run: the earlier marks of what it prolonged go, or those of what it declares for longer."""
    if not result.succeeded:
        return result
    if plan.options.break_glass is not None:
        new = set(marks_of(plan))
        bindings = set(created_bindings(step.change for step in plan.steps))
        drop_marks(cluster, [one for one in live_marks(live, bindings) if one not in new])
    elif wanted is not None:
        drop_marks(cluster, _taken_over(live, wanted))
    return result


def _taken_over(live: ClusterState, wanted: DesiredState) -> list[AclBinding]:
    """Break-glass access that applied manifests declare for longer is access like any other: its marks go.

    Only a run that succeeded says so, with whatever review and approval it takes here. A mark that stays ends the
    access at its time, and the next apply gives it again.
    """
    found = set()
    for binding, one in running_break_glass(live.bindings, now()).items():
        said = wanted.bindings.get(binding)
        if said is not None and (said.expires is None or said.expires.end > one.end):
            found.add(binding)
    return live_marks(live, found)


def live_marks(live: ClusterState, bindings: "set[AclBinding]") -> list[AclBinding]:
    """Every mark of these bindings that is there, in order."""
    return sorted(
        mark for mark in live.bindings if (one := read_break_glass(mark)) is not None and one.binding in bindings
    )


def _send_marks(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    why = ""
    for _ in attempts(SystemClock()):
        try:
            answers = cluster.send([Create(mark) for mark in marks])
        except ClusterError as error:
            why = str(error)
            continue
        failed = next((answer for answer in answers if not answer.good), None)
        if failed is None:
            return
        why = f"{failed.code}: {failed.message}"
    raise WorkflowError(f"when the access ends could not be written down, so none was given: {why}")


def drop_marks(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    """Remove marks; one that stays marks nothing, or ends what it marks, and goes when its time is over."""
    if marks:
        with suppress(ClusterError):
            cluster.send([Delete(mark) for mark in marks])
