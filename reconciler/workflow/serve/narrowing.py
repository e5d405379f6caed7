"""What may be taken away without anybody being asked: access whose time is over. Everything else is a plan for people.

The plan of it is an ordinary one, with the same guards, order and proof. It wants of the cluster what is there, less
what has expired, so that a mistake in the manifests or in this comparison cannot delete anything else.

What may not go does not hold up the rest: else a merge of one expired rule would prolong the access of others.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from random import SystemRandom
from typing import Final, NamedTuple, TypeAlias

from reconciler.model import (
    AclBinding,
    AclPermissionType,
    Declaration,
    DesiredState,
    FrozenMap,
    Origin,
    ResourcePattern,
    break_glass_over,
    is_reserved,
    running_break_glass,
    standing_bridges,
)
from reconciler.plan import AccessTrend, Guard, Plan, Refusal, propose
from reconciler.workflow.access_checks import ownerships_of
from reconciler.workflow.clusters import Target
from reconciler.workflow.options import PlanOptions
from reconciler.workflow.planning import Planned, request_on
from reconciler.workflow.terms import terms

_STAYS: Final = Declaration(Origin("", 1, 1))
_BREAK_GLASS: Final = _STAYS._replace(reason="break-glass access is over")
#: Guards that judge all that is deleted together: a part that they let pass would lead round them.
_OF_ALL: Final = frozenset({Guard.LIMIT, Guard.EMPTY_LIVE})
#: So many plans one round makes to find what may go: it ends in time, and the next one goes on with what is left.
#: In another order each time: whoever names what has to stay must not decide that nothing else is reached.
_MOST_TRIES: Final = 16
_OPENS: Final = "it takes the last ACL from a pattern, which default-allow may open to everybody"
_NOT_THEIRS: Final = "the file that ends it may not declare it (Ownership)"
_UNTRIED: Final = "not judged in this round"

_Make: TypeAlias = Callable[[frozenset[AclBinding]], Plan]


class Revocation(NamedTuple):
    """The plan of what may go, ``None`` for nothing; and how many expired bindings stay, by the reason."""

    plan: Plan | None = None
    staying: Mapping[str, int] = FrozenMap()


def expired_access(planned: Planned, vouched: Collection[AclBinding] = frozenset()) -> frozenset[AclBinding]:
    """The ALLOWs in scope that are live although their time is over, as the manifests or a break-glass mark says.

    A mark's end counts for ``vouched`` access only, and for nothing that the manifests declare: merged, it has had the
    review of any other grant.

    A DENY is never among them: its end gives access, and that is for a person to see.
    """
    scope, live = planned.declaration.scope, planned.live.bindings
    ended = planned.desired.expired.keys() & live - running_break_glass(live, planned.plan.as_of).keys()
    over = break_glass_over(live, planned.plan.as_of).keys() - planned.desired.bindings.keys()
    return frozenset(
        binding
        for binding in ended | over.intersection(vouched)
        if binding.entry.permission_type is AclPermissionType.ALLOW and scope.owns(binding)
    )


def revocation(
    planned: Planned,
    target: Target,
    options: PlanOptions,
    commit: str | None,
    vouched: Collection[AclBinding] = frozenset(),
) -> Revocation:
    """The plan that deletes as much of :func:`expired_access` as may go without a person, and nothing else.

    ``planned`` is the whole comparison of the same reading. A file ends nothing that it may not declare.
    """
    over = expired_access(planned, vouched)
    barred = _not_theirs(planned, over.difference(vouched)) if over else frozenset[AclBinding]()
    found = _revocation(planned, target, options, commit, over - barred)
    return found._replace(staying={**found.staying, _NOT_THEIRS: len(barred)}) if barred else found


def _not_theirs(planned: Planned, over: frozenset[AclBinding]) -> frozenset[AclBinding]:
    """Those that end by a file which Ownership does not let speak for them, and by no mark that is vouched for."""
    rules = ownerships_of(planned.manifests, planned.declaration.name, planned.plan.as_of)
    expired = planned.desired.expired
    return frozenset(
        binding
        for binding in over
        if (said := expired.get(binding)) is not None and any(one.forbids(binding, said) for one in rules)
    )


def _revocation(
    planned: Planned, target: Target, options: PlanOptions, commit: str | None, over: frozenset[AclBinding]
) -> Revocation:
    """The plan that deletes as much of ``over`` as may go without a person."""
    if not over:
        return Revocation()

    def make(chosen: frozenset[AclBinding]) -> Plan:
        return _plan(planned, target, options, commit, chosen)

    whole = make(over)
    why = why_not_narrowing(whole)
    if why is None:
        return Revocation(whole)
    if of_all := [refusal for refusal in whole.refusals if refusal.guard in _OF_ALL]:
        return Revocation(None, {_said(of_all): len(over)})
    opened = _may_open(whole)
    candidates = [one for one in over if one.pattern not in opened]
    SystemRandom().shuffle(candidates)
    return _most(make, candidates, len(over) - len(candidates))


def _may_open(plan: Plan) -> frozenset[ResourcePattern]:
    """The patterns without any ACL after it, where default-allow is not established to be off."""
    return frozenset() if plan.terms.established_default_allow is False else frozenset(plan.coverage.opened)


def _most(make: _Make, candidates: list[AclBinding], opening: int) -> Revocation:
    """As many as may go together: all, else halves, each judged on top of those before it."""
    staying = Counter({_OPENS: opening} if opening else {})
    chosen, found = frozenset[AclBinding](), None
    parts = [candidates] if candidates else []
    for _ in range(_MOST_TRIES):
        if not parts:
            break
        part = parts.pop()
        plan = make(chosen | frozenset(part))
        why = why_not_narrowing(plan)
        if why is None:
            chosen, found = chosen | frozenset(part), plan
        elif len(part) == 1:
            staying[why] += 1
        else:
            half = len(part) // 2
            parts += [part[half:], part[:half]]
    if parts:
        staying[_UNTRIED] += sum(map(len, parts))
    return Revocation(found, staying)


def _plan(
    planned: Planned, target: Target, options: PlanOptions, commit: str | None, over: frozenset[AclBinding]
) -> Plan:
    """The plan that deletes these and nothing else."""
    live, present = planned.live, terms(planned.declaration)
    # What runs put there for themselves is left out of a plan's comparison; wanted here, it would be created.
    ours = standing_bridges(live.bindings)
    stays = (
        binding
        for binding in live.bindings - over - ours
        if present.scope.owns(binding) and not is_reserved(binding.pattern.name)
    )
    declared = planned.desired.bindings
    wanted = DesiredState(
        bindings={binding: declared.get(binding, _STAYS) for binding in stays},
        expired={binding: planned.desired.expired.get(binding, _BREAK_GLASS) for binding in over},
    )
    request = replace(
        request_on(target, "", replace(options, allow_deletes=True), live),
        source_commit=commit,
        report_topics=False,
    )
    # Nothing but ACLs is compared, so nothing else may be pruned; the terms of the cluster hold when it is performed.
    made = propose(wanted, live, replace(present, prune=frozenset()), request)
    return replace(made, terms=present)


def why_not_narrowing(plan: Plan) -> str | None:
    """Why a plan may not be performed without a person; ``None``: all that it does is to take access away.

    Under default-allow the end of a binding may open a pattern to everybody: then it is not narrowing at all.
    """
    if any(step.change.after is not None for step in plan.steps):
        return "it does more than to delete"
    if _may_open(plan):
        return _OPENS
    if plan.access.trend not in (AccessTrend.NONE, AccessTrend.NARROWING):
        return "somebody would gain access"
    if plan.refusals:
        return _said(plan.refusals)
    return None


def _said(refusals: Sequence[Refusal]) -> str:
    return "; ".join(f"{refusal.guard}: {refusal.message}" for refusal in refusals)
