"""Whether a plan may be performed at all: it is the one required, signed, young enough, wanted, and permitted.

Nothing here asks the cluster; what it says is compared in ``reconciler.apply.preflight``.
"""

import datetime
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final

from reconciler.app.options import ApprovalRule, moment, now
from reconciler.app.reasons import FewerApprovalsError, LongerAccessError, RequestError, StaleError, WorkflowError
from reconciler.apply.environment import ApprovalEvidence, Result
from reconciler.apply.marks import marks_of
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import Emergency
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.characters import as_name
from reconciler.model.desired import DesiredState, moment_text
from reconciler.model.listing import Create, Delete
from reconciler.model.locks import lock_denials, locks
from reconciler.model.markers import LONGEST, break_glass, break_glass_mark, every_break_glass, marks_for
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.file import ids, whole_id
from reconciler.plan.kinds import describe, objection
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.proposal import Options, Plan, Terms
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
        binding.entry.permission_type is AclPermissionType.ALLOW and not is_reserved(binding.pattern.name)
        for binding in bindings
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
    for name in sorted({binding.entry.principal for binding in bindings} & held.keys()):
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
    ends = dict(known_ends(bindings, live, at))
    for binding in live.bindings.intersection(bindings):
        if binding not in ends:
            raise RequestError(f"{binding} is there already, without an end: nothing was changed")
        if ends[binding] > end:
            raise LongerAccessError(
                f"{binding} is there already, until {moment_text(ends[binding])}: nothing was changed"
            )


def known_ends(
    bindings: Sequence[AclBinding], live: ClusterState, at: datetime.datetime
) -> Iterator[tuple[AclBinding, datetime.datetime]]:
    """Those of the bindings that are there as break-glass access, each with its end."""
    given = break_glass(live.bindings, at)
    yield from ((binding, given[binding].end) for binding in bindings if binding in given)


def settled(result: Result, plan: Plan, live: ClusterState, cluster: Cluster, wanted: DesiredState | None) -> Result:
    """After a run: the earlier marks of what it prolonged go, or those of what it declares for longer."""
    if not result.succeeded:
        return result
    if plan.options.break_glass is not None:
        new = set(marks_of(plan))
        bindings = set(created_bindings(step.change for step in plan.steps))
        # Those of access that had ended stay until they are a day old: a review counts how often there was need.
        marks, at = every_break_glass(live.bindings), now()
        earlier = {item.mark for item in marks if item.binding in bindings and item.end > at}
        drop_marks(cluster, sorted(earlier - new))
    elif wanted is not None:
        drop_marks(cluster, _taken_over(live, wanted))
    return result


def _taken_over(live: ClusterState, wanted: DesiredState) -> list[AclBinding]:
    """Break-glass access that applied manifests declare for longer is access like any other: its marks go.

    Only a run that succeeded says so, with whatever review and approval it takes here.
    """
    taken_over = set()
    for binding, given in break_glass(live.bindings, now()).items():
        declaration = wanted.bindings.get(binding)
        if declaration is not None and (declaration.expires is None or declaration.expires.end > given.end):
            taken_over.add(binding)
    return marks_for(taken_over, live.bindings)


def end_marks(cluster: Cluster, access: Collection[AclBinding], live: ClusterState) -> None:
    """After access ended early: one mark of it that is over stays, and those that are not over go.

    Where that one cannot be written, the others stay: what arrives late has an end at any rate.
    """
    at = now().replace(microsecond=0)
    ends = [mark for mark in every_break_glass(live.bindings) if mark.binding in access]
    over = {mark.binding for mark in ends if mark.end <= at}
    latest = {mark.binding: mark for mark in sorted(ends, key=lambda mark: (mark.end, mark.mark))}
    rows = [(mark, at, latest[mark].since, latest[mark].overrode) for mark in sorted(latest.keys() - over)]
    with suppress(WorkflowError):
        _send_marks(cluster, [break_glass_mark(*row) for row in rows])
        drop_marks(cluster, sorted(mark.mark for mark in ends if mark.end > at))


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


#: How far the clock of the machine that planned may be ahead of ours.
_CLOCKS_DIFFER: Final = datetime.timedelta(minutes=5)


def check_signed(file: str, digest: str, rule: ApprovalRule | None, at: datetime.datetime) -> ApprovalEvidence | None:
    """Who signed a plan's file, if the rule asks for it; raises :class:`NotApprovedError` for too few signatures."""
    if rule is None:
        return None
    # Few plans are signed, and cryptography takes 15 ms to import.
    from reconciler.app.approvals import check_approvals

    return check_approvals(file, digest, rule, at)


def check_overriding(plan: Plan, rules: Emergency, approvals: ApprovalRule | None) -> None:
    """Refuse break-glass access over access tests that the operator's file does not permit, or that too few sign."""
    check_override(plan.options, rules, now())
    signed = 0 if approvals is None else approvals.required
    if plan.options.override and signed < max(1, rules.override_approvals):
        needed = max(1, rules.override_approvals)
        raise FewerApprovalsError(f"the operator's file asks for {needed} approvals of access over an access test")


def check_unlock(plan: Plan, rules: Emergency, approvals: ApprovalRule | None) -> None:
    """Refuse the plan of an unlock that does more, or that fewer people have to sign than the operator's file asks."""
    name = plan.options.unlock
    if name is None:
        return
    mine = {Delete(denial) for denial in lock_denials(name)}
    if any(step.change not in mine for step in plan.steps):
        raise RequestError("the plan of an unlock deletes the DENYs of one lock, and this one does more", "plan again")
    if name in rules.locked:
        raise RequestError(f"the operator's file locks {as_name(name)}", "take it out of locked: there first")
    signed = 0 if approvals is None else approvals.required
    if signed < rules.unlock_approvals:
        raise FewerApprovalsError(f"the operator's file asks for {rules.unlock_approvals} approvals of an unlock")


def check_ids(plan: Plan, required: str | None, *digest: str) -> tuple[str, str]:
    """The change id and the plan id; raises :class:`StaleError` if the plan is not the required one.

    ``required`` may be the beginning of an id, with at least eight digits.
    """
    change, whole = ids(plan)
    own_ids = (whole, change, *digest)
    if required is not None and whole_id(required, own_ids) not in own_ids:
        raise StaleError(
            f"this is not the plan {required}; it is\n  " + "\n  ".join(own_ids),
            "plan again and have it reviewed; nothing was sent",
        )
    return change, whole


def check_guardrails(plan: Plan, manifests: Manifests) -> None:
    """A plan that guardrails held is performed under the same: without them, what they forbid could have come since."""
    wanted = plan.guardrails.digest
    if wanted is None:
        return
    if manifests.guardrails is None:
        raise RequestError("this plan was made under guardrails: give the same again")
    if manifests.guardrails.digest != wanted:
        raise StaleError(
            f"this plan was made under the guardrails {wanted}; these are {manifests.guardrails.digest}",
            "plan again and have it reviewed; nothing was sent",
        )


def check_age(plan: Plan, most: datetime.timedelta | None, at: datetime.datetime) -> None:
    """Refuse an old plan.

    The time is in no id but the file's, so this protects against an old plan that lies around, and against somebody
    who can make a pipeline apply another file. Whoever can write the file can write another time into it; only
    signatures, or a required ``file-…`` id, bind the time.
    """
    if most is None:
        return
    if plan.created_at is None:
        raise StaleError("the plan does not say when it was made, and its age is limited", "plan again")
    created = datetime.datetime.fromisoformat(plan.created_at)
    if created - at > _CLOCKS_DIFFER:
        raise StaleError(f"the plan says that it was made in the future, at {plan.created_at}", "check the clocks")
    if at - created > most:
        raise StaleError(f"the plan was made at {plan.created_at}, which is more than {most} ago", "plan again")


def check_wanted(plan: Plan, wanted: DesiredState, terms: Terms) -> None:
    """Refuse steps against what the manifests declare by now.

    What ended as the plan itself says is done, or the plan is refused for that (``preflight``).
    """
    at = moment()
    stale = [
        Observed(StepState.STALE, describe(step.change), problem, "other manifests")
        for step in plan.steps
        if not (step.change.after is not None and step.expires is not None and step.expires.over(at))
        and (problem := objection(step.change, wanted, terms.diff_rules)) is not None
    ]
    if stale:
        raise StaleError("the manifests do not want this plan any more", "plan again; nothing was sent", stale)
