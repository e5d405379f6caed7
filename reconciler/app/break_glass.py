"""Break-glass access around a run that gives, prolongs or ends it: what is refused, and what becomes of earlier marks.

Access that is there already may be prolonged: its new mark is on the cluster before the old one goes, so that at no
moment it has no end. What ends early keeps a mark that is over: a request that gave it may arrive once more.
"""

import datetime
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final

from reconciler.app.options import now
from reconciler.app.reasons import LongerAccessError, RequestError, StaleError, WorkflowError
from reconciler.apply.environment import Result
from reconciler.apply.marks import marks_of
from reconciler.manifest.parts.clusters import Emergency
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredState, moment_text
from reconciler.model.listing import Create, Delete
from reconciler.model.locks import locks
from reconciler.model.markers import LONGEST, break_glass, break_glass_mark, every_break_glass, marks_for
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.proposal import Options, Plan
from reconciler.ports import Cluster, ClusterError
from reconciler.retry import attempts
from reconciler.system.process import SystemClock

#: What the operator's file calls the checks that break-glass access may break.
OVERRIDABLE: Final = "access-tests"


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
    check_unlocked(bindings, live)
    check_free(bindings, given.end, live, at)


def check_override(options: Options, rules: Emergency, at: datetime.datetime) -> None:
    """Raise :class:`RequestError` where the operator's file does not let break-glass access break access tests so."""
    if not options.override:
        return
    if options.break_glass is None:
        raise RequestError("only break-glass access goes over an access test", "plan again")
    if OVERRIDABLE not in rules.override:
        raise RequestError(
            "the operator's file lets no break-glass access break an access test",
            "give other access, or have breakGlass: {override: [access-tests]} stated there",
        )
    if (options.break_glass.end - at).total_seconds() > rules.override_seconds:
        longest = f"{rules.override_seconds / 60:g} minutes"
        raise RequestError(
            f"over an access test, the operator's file gives access for {longest} at most", "end it sooner"
        )


def check_unlocked(bindings: Sequence[AclBinding], live: ClusterState) -> None:
    """Raise :class:`RequestError` where somebody is locked: no emergency is over a lock."""
    held = locks(live.bindings)
    for name in sorted({one.entry.principal for one in bindings} & held.keys()):
        words = held[name].marks[-1].words
        raise RequestError(f"{as_name(name)} is locked {words}: no access is given", f"reconciler unlock {name} first")


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


def settled(result: Result, plan: Plan, live: ClusterState, cluster: Cluster, wanted: DesiredState | None) -> Result:
    """After a run: the earlier marks of what it prolonged go, or those of what it declares for longer."""
    if not result.succeeded:
        return result
    if plan.options.break_glass is not None:
        new = set(marks_of(plan))
        bindings = set(created_bindings(step.change for step in plan.steps))
        # Those of access that had ended stay until they are a day old: a review counts how often there was need.
        known, at = every_break_glass(live.bindings), now()
        earlier = {item.mark for item in known if item.binding in bindings and item.end > at}
        drop_marks(cluster, sorted(earlier - new))
    elif wanted is not None:
        drop_marks(cluster, _taken_over(live, wanted))
    return result


def _taken_over(live: ClusterState, wanted: DesiredState) -> list[AclBinding]:
    """Break-glass access that applied manifests declare for longer is access like any other: its marks go.

    Only a run that succeeded says so, with whatever review and approval it takes here.
    """
    found = set()
    for binding, one in break_glass(live.bindings, now()).items():
        said = wanted.bindings.get(binding)
        if said is not None and (said.expires is None or said.expires.end > one.end):
            found.add(binding)
    return marks_for(found, live.bindings)


def end_marks(cluster: Cluster, access: Collection[AclBinding], live: ClusterState) -> None:
    """After access ended early: one mark of it that is over stays, and those that are not over go.

    Where that one cannot be written, the others stay: what arrives late has an end at any rate.
    """
    at = now().replace(microsecond=0)
    ends = [one for one in every_break_glass(live.bindings) if one.binding in access]
    over = {one.binding for one in ends if one.end <= at}
    latest = {mark.binding: mark for mark in sorted(ends, key=lambda mark: (mark.end, mark.mark))}
    said = [(mark, at, latest[mark].since, latest[mark].overrode) for mark in sorted(latest.keys() - over)]
    with suppress(WorkflowError):
        _send_marks(cluster, [break_glass_mark(*one) for one in said])
        drop_marks(cluster, sorted(one.mark for one in ends if one.end > at))


def _send_marks(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    if not marks:
        return
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
    raise WorkflowError(f"that the access ends could not be written down, so nothing was changed: {why}")


def drop_marks(cluster: Cluster, marks: Sequence[AclBinding]) -> None:
    """Remove marks of access that others mark, or that manifests declare; one that stays ends what it marks."""
    if marks:
        with suppress(ClusterError):
            cluster.send([Delete(mark) for mark in marks])
