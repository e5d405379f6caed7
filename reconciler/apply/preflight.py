"""Whether a plan may still be performed: the same cluster, nothing stale, the same order, every guard satisfied.

Only the steps and what they expect are taken from the plan; everything else is computed again from the cluster as it
is and the declaration as it is.
"""

import datetime
from dataclasses import field, replace

from reconciler.apply.kinds import kind_of, request_for
from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern
from reconciler.model.listing import Change
from reconciler.model.locks import without_locks
from reconciler.model.markers import without_own
from reconciler.model.state import ClusterState
from reconciler.plan.bridges import bridges, lockout_protection
from reconciler.plan.difference import DeclaredChange
from reconciler.plan.guards import Surroundings, not_accepted, protected_charges, refusals
from reconciler.plan.kinds import deletions, describe
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_bindings
from reconciler.plan.leftovers import deletes_of_locks, lock_charges
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.order import ordered
from reconciler.plan.overlap import CoverageChange, coverage_change, covering_patterns, opaque_patterns, perhaps_in_use
from reconciler.plan.proposal import Plan, Terms, bindings_after
from reconciler.plan.refusal import Refusal, as_ended, standing
from reconciler.plan.review.access_change import transition
from reconciler.plan.review.access_review import AccessReview, difference_review, unreviewed
from reconciler.plan.review.callouts import meaning_refusals
from reconciler.plan.review.ends import gains_not_in_force
from reconciler.plan.step import Bridges
from reconciler.ports import ClusterError, ReadRequest


class StalePlanError(Exception):
    """The cluster or the declaration is not what the plan was made for; ``findings`` name each object."""

    def __init__(self, message: str, findings: tuple[Observed, ...] = ()) -> None:
        """Keep the findings; ``str()`` is the message."""
        super().__init__(message)
        self.findings = findings


class RefusedError(Exception):
    """A guard refuses the plan; ``refusals`` name each guard and object."""

    def __init__(self, refused: tuple[Refusal, ...]) -> None:
        """Keep the refusals."""
        super().__init__("; ".join(f"{refusal.guard}: {refusal.message}" for refusal in refused))
        self.refusals = refused


class UndeclaredDefaultError(Exception):
    """Something in the plan depends on ``allow.everyone.if.no.acl.found``, which is not declared."""

    def __init__(self, cluster: str, coverage: CoverageChange, observed: str | None = None) -> None:
        """Keep the patterns whose coverage changes, and what the setting was observed to be."""
        super().__init__(
            f"{len(coverage.closed) + len(coverage.opened)} patterns of cluster {cluster} change between having a "
            "binding and having none, and allowEveryoneIfNoAclFound is not declared"
        )
        self.coverage, self.observed = coverage, observed


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found: the state of each step, in the plan's order, and what depends on default-allow.

    ``defeated`` says which reviewed gains of access would not come into force, one sentence each: somebody else changed
    what the plan does not touch. ``undeclared`` are the patterns that depend on default-allow if it is not declared,
    ``bridges`` what is needed if it is on; ``request`` is what has to be read to look again.
    """

    findings: tuple[Observed, ...]
    defeated: tuple[str, ...] = ()
    undeclared: CoverageChange = field(default_factory=CoverageChange)
    bridges: Bridges = field(default_factory=Bridges)
    request: ReadRequest = field(default_factory=lambda: ReadRequest(all_topics=False))


def reading(plan: Plan, terms: Terms) -> ReadRequest:
    """What :func:`check` needs to read; with default-allow on every name, because its coverage may change."""
    request, facts = request_for(plan), terms.facts
    if terms.default_allow is not True or not plan.moves_access:
        return request
    return replace(request, all_topics=True, principal=facts.principal, super_users=facts.super_users, groups=True)


def check(
    plan: Plan,
    live: ClusterState,
    terms: Terms,
    *,
    as_of: datetime.date | None = None,
    observable: bool = False,
    made_of_live: bool = False,
) -> Preflight:
    """Raise what forbids the plan, the worst first; ``terms`` are the cluster's declaration as it is now.

    With ``as_of``, nothing may be outstanding that is over, and no exception counts that is. Where default-allow is
    ``observable``, that it is not declared is left for the observation to decide. A plan that was just now
    ``made_of_live`` means what its making found: its effect on access is not computed again.
    """
    now = plan if as_of is None else replace(plan, accepted=standing(plan.accepted, as_of))
    try:
        return _checked(now, live, terms, as_of=as_of, observable=observable, made_of_live=made_of_live)
    except RefusedError as error:
        raise RefusedError(tuple(as_ended(refusal, plan.accepted) for refusal in error.refusals)) from error


def _checked(
    plan: Plan,
    live: ClusterState,
    terms: Terms,
    *,
    as_of: datetime.date | None,
    observable: bool,
    made_of_live: bool,
) -> Preflight:
    # The worst first: on the wrong cluster every other finding would mislead.
    if live.cluster_id != plan.cluster_id:
        raise StalePlanError(f"the plan is for cluster {plan.cluster_id}, this is cluster {live.cluster_id}")
    # Bridges and probe ACLs are of runs, this one too: they are no part of what the plan was made for. What it touches
    # itself is no bridge, whoever has marked it.
    own = touched_bindings(step.change for step in plan.steps) if terms.default_allow is True else ()
    _check_locks(plan, live)
    created = created_bindings(step.change for step in plan.steps)
    live = without_own(without_locks(live, plan.options.unlock, created), terms.default_allow, own)
    findings = tuple(step.observed(live) for step in plan.steps)
    stale = tuple(finding for finding in findings if finding.state in (StepState.STALE, StepState.UNREADABLE))
    if stale:
        raise StalePlanError("the cluster has changed since the plan was made", stale)
    _check_rights(plan, live, findings)
    if as_of is not None:
        _check_ends(plan, findings, as_of)
    _check_scope(plan, terms)
    _check_order(plan, live, terms)
    coverage = _check_guards(plan, live, terms, findings)
    defeated: tuple[str, ...] = ()
    if not made_of_live:
        defeated = _check_meaning(plan, _at_start(plan, live, findings), terms)
    undeclared = coverage if terms.default_allow is None else CoverageChange()
    if undeclared and not observable:
        raise UndeclaredDefaultError(terms.cluster, undeclared)
    return Preflight(findings, defeated, undeclared, bridges(live, plan.steps, terms), reading(plan, terms))


def _check_locks(plan: Plan, live: ClusterState) -> None:
    """Refuse to delete the DENYs of a lock: the plan was made before it, or by somebody who had no sight of its mark.

    What looks like a lock whose mark is gone needs the same word as when the plan was made.
    """
    of_locks = deletes_of_locks(plan, live)
    unmarked = (charge.refusal for charge in lock_charges(plan.steps, live, plan.options.unlock))
    if refused := (*of_locks, *not_accepted(unmarked, plan.accepted)):
        raise RefusedError(refused)


def _check_rights(plan: Plan, live: ClusterState, findings: tuple[Observed, ...]) -> None:
    """Nothing is sent while a part of it is known to be refused."""
    for step, finding in zip(plan.steps, findings, strict=True):
        right = kind_of(step.change).lacking_right(live) if finding.state is StepState.PENDING else None
        if right is not None:
            message = f"not authorized to {describe(step.change)}: nothing was sent"
            raise ClusterError("CLUSTER_AUTHORIZATION_FAILED", message, f"Grant our principal ALLOW {right}.")


def _check_ends(plan: Plan, findings: tuple[Observed, ...], as_of: datetime.date) -> None:
    """Refuse to create what has expired since the plan was made."""
    late = tuple(
        Observed(
            StepState.STALE, describe(step.change), "a grant that still holds", f"one that ended {step.expires.past}"
        )
        for step, finding in zip(plan.steps, findings, strict=True)
        if step.change.after is not None and step.expires is not None
        if step.expires.over(as_of) and finding.state is not StepState.DONE
    )
    if late:
        raise StalePlanError("the plan creates what has expired since it was made", late)


def _check_scope(plan: Plan, terms: Terms) -> None:
    names = (kind_of(step.change).outside(step.change, terms.scope) for step in plan.steps)
    outside = dict.fromkeys(name for name in names if name is not None)
    if outside:
        raise StalePlanError(
            "the plan touches what the cluster's scope does not include",
            tuple(Observed(StepState.STALE, name, "inside the cluster's scope", "outside it") for name in outside),
        )


def _check_order(plan: Plan, live: ClusterState, terms: Terms) -> None:
    again = ordered(
        (DeclaredChange(step.change) for step in plan.steps),
        _patterns_after(plan, live),
        default_allow=terms.default_allow,
        lockout_protection=lockout_protection(
            (step.change for step in plan.steps), live, terms.facts, default_allow=terms.default_allow
        ),
    )
    if [(step.phase, step.change) for step in again] != [(step.phase, step.change) for step in plan.steps]:
        raise StalePlanError("the steps are not in the order that is safe for this cluster: plan again")


def _check_guards(plan: Plan, live: ClusterState, terms: Terms, findings: tuple[Observed, ...]) -> CoverageChange:
    coverage = (
        CoverageChange()
        if terms.default_allow is False
        else coverage_change(covering_patterns(live), _patterns_after(plan, live))
    )
    pending = any(finding.state is StepState.PENDING for finding in findings)
    around = Surroundings(
        cluster=terms.cluster,
        owned=_owned_at_start(plan, live, terms, findings),
        desired=plan.counts.desired_bindings,
        limits=terms.limits,
        default_allow=terms.default_allow,
        coverage=coverage,
        in_use=perhaps_in_use(coverage.closed, live),
        expected_live=plan.counts.owned if pending else None,
        # Without what an earlier attempt has created: the plan counts it.
        live=len(live.bindings.difference(created_bindings(step.change for step in plan.steps))) + len(live.opaque),
        flavor=terms.flavor,
        listed=deletions([step.change for step in plan.steps], live, terms.scope, _done(plan, findings)),
    )
    logins = (charge.refusal for charge in protected_charges(plan.steps, live, terms.facts.protect))
    refused = (*refusals(plan.steps, around, plan.accepted), *not_accepted(logins, plan.accepted))
    if refused:
        raise RefusedError(refused)
    return coverage


def _check_meaning(plan: Plan, start: ClusterState, terms: Terms) -> tuple[str, ...]:
    """Check the effect of the steps on access: guards, and nothing beyond what the reviewer saw.

    Returns which gains that the reviewer saw would not come into force.
    """
    acl_transition = transition(start, plan.steps, terms.facts, default_allow=terms.default_allow)
    refused = not_accepted(meaning_refusals(acl_transition, terms.facts), plan.accepted)
    if refused:
        raise RefusedError(refused)
    if acl_transition is None:
        return ()
    now = difference_review(acl_transition.difference)
    _check_grants(plan, now)
    # A gain that is none now may be there already: only what the state afterwards does not permit is defeated.
    missing = next(unreviewed(plan.access.at_once, now), None) is not None
    if not missing:
        return ()
    after = replace(start, bindings=bindings_after(start.bindings, plan.steps))
    return gains_not_in_force(plan.access, after, terms.facts, default_allow=terms.default_allow)


def _check_grants(plan: Plan, now: AccessReview) -> None:
    """Refuse access that the reviewer did not see: the cluster may have changed since the plan was made."""
    more = [
        Observed(
            StepState.STALE,
            f"{row.principal or 'everybody else'} on {row.resources}",
            "no other gain of access than was reviewed",
            f"{', '.join(operation.name for operation in row.gained)} from {row.hosts}, "
            f"such as {row.witness.resource_name}",
        )
        for row in unreviewed(now, plan.access)
    ]
    # A digest stands for rows that are too many to list. It cannot say who changed, only that somebody did.
    if now.denials != plan.access.denials:
        subject = "gains and DENYs of principals that are reached through User:* and not listed one by one"
        more.append(Observed(StepState.STALE, subject, "as they were", "others"))
    if more:
        raise StalePlanError("the plan would now grant access that was not reviewed", tuple(more))


def _at_start(plan: Plan, live: ClusterState, findings: tuple[Observed, ...]) -> ClusterState:
    """The live state before any step was performed, so that a resumed plan means what was reviewed."""
    done = [step for step, finding in zip(plan.steps, findings, strict=True) if finding.state is StepState.DONE]
    if not done:
        return live
    created = set(created_bindings(step.change for step in done))
    deleted = set(deleted_bindings(step.change for step in done))
    return replace(live, bindings=(live.bindings - created) | deleted)


def _owned_at_start(plan: Plan, live: ClusterState, terms: Terms, findings: tuple[Observed, ...]) -> int:
    """How many live bindings were in scope before any step: limits count a resumed plan as a whole."""
    done = _done(plan, findings)
    deleted = len(deleted_bindings(done))
    created = len(created_bindings(done))
    return sum(terms.scope.owns(binding) for binding in live.bindings) + deleted - created


def _done(plan: Plan, findings: tuple[Observed, ...]) -> list[Change]:
    return [step.change for step, finding in zip(plan.steps, findings, strict=True) if finding.state is StepState.DONE]


def _patterns_after(plan: Plan, live: ClusterState) -> set[ResourcePattern]:
    return {*opaque_patterns(live), *(binding.pattern for binding in bindings_after(live.bindings, plan.steps))}
