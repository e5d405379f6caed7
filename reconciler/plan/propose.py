"""From two states to a plan: compare, leave out what may not or cannot be done, order, guard."""

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import ticked
from reconciler.model.desired import Control, DesiredState, instant_of
from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change
from reconciler.model.locks import denials_of_locks, lock_marks, locks, unlock_marks, without_locks
from reconciler.model.markers import BreakGlass, break_glass_marks, running_break_glass, without_own
from reconciler.model.secrets import NOTHING_PERMITTED, SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan import guards, leftovers
from reconciler.plan.bridges import bridges, lockout_protection
from reconciler.plan.difference import Comparison, DeclaredChange, Skipped, SkipReason
from reconciler.plan.guards import StepCharge, Surroundings
from reconciler.plan.kinds import compare, deletions, describe, kind_of, logins_at_risk
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, is_acl_change, touched_bindings
from reconciler.plan.kinds.interface import Conditions, LoginAtRisk
from reconciler.plan.order import Blockers, ordered, prove
from reconciler.plan.overlap import CoverageChange, coverage_change, covering_patterns, opaque_patterns, perhaps_in_use
from reconciler.plan.proposal import Counts, Options, Plan, Terms, each_binding_after
from reconciler.plan.refusal import AcceptedGuard, Judges, Refusal, in_order
from reconciler.plan.review.access_change import Transition, transition
from reconciler.plan.review.access_review import AccessReview, confusable, review, with_later
from reconciler.plan.review.callouts import LOGIN, Callout, accountable, interruptions, meaning_charges
from reconciler.plan.review.ends import Later, later, new_paths
from reconciler.plan.review.topics import review_topics
from reconciler.plan.review.warnings import kind_warnings, login_warnings, plan_warnings, topic_warnings
from reconciler.plan.step import Step

#: Why a change is skipped that takes something away.
_HELD_BACK = "deletions need --allow-deletes"


class UnsafeSelectionError(ValueError):
    """``--only`` or ``--exclude`` keeps a step and leaves out one that makes it safe."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a plan depends on besides the two states and the cluster's terms.

    ``unsupported`` says why the client cannot carry a binding, or ``None``; ``expected_live`` is how many bindings
    in scope an earlier look saw. ``going_on`` are live bindings on reserved names whose runs may be going on: every
    other one there is a difference. ``report_topics``: so is a topic in scope that ``desired`` does not have.
    ``login`` is the principal of the connection, if known; ``permit`` says which references to secrets are followed.

    ``locked`` are the principals that the operator's file locks for good.
    Not ``guarded``: a report, which tells of all differences and refuses nothing.
    """

    as_of: datetime.date
    options: Options = Options()
    accepted: tuple[AcceptedGuard, ...] = ()
    unsupported: Callable[[AclBinding], str | None] = lambda _: None
    expected_live: int | None = None
    warnings: tuple[str, ...] = ()
    tool_version: str = ""
    source_commit: str | None = None
    going_on: frozenset[AclBinding] = frozenset()
    created_at: str | None = None
    report_topics: bool = True
    login: str | None = None
    permit: SecretPermit = NOTHING_PERMITTED
    guarded: bool = True
    locked: Collection[str] = ()
    controls: tuple[Control, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    """The steps that guards leave, with all that was found about them; ``refusals`` are of these and of the others."""

    steps: tuple[Step, ...]
    coverage: CoverageChange
    risks: tuple[LoginAtRisk, ...]
    transition: Transition | None
    ends: Later
    refusals: tuple[Refusal, ...]


@dataclass(slots=True)
class _Filter:
    """Changes on their way into a plan: what is kept, what is skipped and why."""

    kept: list[DeclaredChange]
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, reason: SkipReason, why: Callable[[Change], str | None]) -> list[Change]:
        """Skip each change for which ``why`` gives a reason; returns those changes."""
        out: list[Change] = []
        kept: list[DeclaredChange] = []
        for declared in self.kept:
            if (detail := why(declared.change)) is None:
                kept.append(declared)
                continue
            out.append(declared.change)
            self.skipped.append(Skipped(reason, describe(declared.change), detail, declared.change, declared.origin))
        self.kept = kept
        return out


def propose(desired: DesiredState, live: ClusterState, terms: Terms, request: Request) -> Plan:
    """Plan what turns ``live`` into ``desired`` inside the scope; raises :class:`UnsafeSelectionError`.

    That no moment of the plan breaks the safety law is proven each time: were the order at fault, there is no plan but
    :class:`UnsafeOrderError`. Raises :class:`TooMuchToDecideError` rather than to show a part of what changes.
    """
    emergency = running_break_glass(live.bindings, request.as_of)
    marks = break_glass_marks(live.bindings, request.as_of) | lock_marks(live.bindings)
    marks |= unlock_marks(live.bindings, instant_of(request.as_of))
    held, whole = locks(live.bindings), live
    unfinished = (
        *leftovers.partial_locks(held),
        *leftovers.leftovers_skipped(live, terms.default_allow, request.going_on | marks),
    )
    open_to_all = leftovers.bridge_callouts(live, terms.default_allow)
    # What runs put there for themselves is told apart: a plan would delete it while a run needs it.
    # Nor is a lock compared: the same DENY in manifests does not take it over, and that they say nothing ends nothing.
    apart = denials_of_locks(live.bindings, request.options.unlock)
    live = without_own(without_locks(live, request.options.unlock), terms.default_allow)
    compared = compare(
        desired.without(apart), live, terms.scope, replace(terms.diff_rules, report_topics=request.report_topics)
    )
    filtered = _filtered(compared, live, terms, request, emergency)
    judged = _judged(filtered, desired, live, terms, request, compared.owned)
    steps, acl_transition = judged.steps, judged.transition
    interrupted = (
        prove(acl_transition.stated, steps, default_allow=terms.default_allow, work=acl_transition.work)
        if acl_transition is not None
        else ()
    )
    missing = created_bindings(item.change for item in compared.changes)
    standing_out = (*interruptions(interrupted), *confusable(live, desired, missing))
    reviewed = review(acl_transition, steps, live, desired, terms.facts, standing_out)
    return Plan(
        cluster_id=live.cluster_id,
        terms=terms,
        options=request.options,
        as_of=request.as_of,
        steps=steps,
        # What is refused comes first: it is no choice of whoever planned.
        skipped=tuple(
            sorted(
                (*compared.skipped, *filtered.skipped, *unfinished),
                key=lambda item: item.reason is not SkipReason.REFUSED,
            )
        ),
        warnings=(
            *request.warnings,
            *leftovers.lock_lines(held, request.options.unlock),
            *leftovers.break_glass_reviews(whole, desired.bindings.keys(), request.as_of),
            *leftovers.unheld(request.locked, held),
            *plan_warnings(live, steps, terms, bool(judged.coverage)),
            *topic_warnings(steps, live, terms),
            *kind_warnings(steps, live),
            *(risk.text for risk in judged.risks if not risk.certain),
        ),
        login_warnings=tuple(login_warnings(live, steps)),
        accepted=_used(request),
        coverage=judged.coverage,
        counts=_counts(desired, live, compared),
        refusals=judged.refusals,
        access=_calling_out(
            with_later(reviewed, judged.ends.rows, desired, terms.facts),
            (
                *open_to_all,
                *leftovers.lock_callouts(held, reviewed, request.options.unlock),
                *_logins(steps, live),
                *new_paths(acl_transition, reviewed.access_changes, request.controls, terms.facts.super_users),
            ),
        ),
        bridges=bridges(live, steps, terms),
        topics=review_topics(steps, live.broker_defaults),
        tool_version=request.tool_version,
        source_commit=request.source_commit,
        created_at=request.created_at,
    )


def _used(request: Request) -> tuple[AcceptedGuard, ...]:
    return in_order(request.accepted)


def _judged(
    changes: _Filter, desired: DesiredState, live: ClusterState, terms: Terms, request: Request, owned: int
) -> _Judged:
    """Leave out what guards refuse about single steps, with what waits for that, until they refuse no step more."""
    logins = conditions_of(terms, request.login, request.permit).logins
    reported: dict[Refusal, None] = {}
    whole: Mapping[Change, Step] = {}
    # Ends: each round leaves out a step that was kept until then, or is the last.
    while True:
        steps = _steps(changes.kept, live, terms)
        # What waits for what is as in the whole plan: without the deletion of a topic, nothing would wait for it.
        whole = whole or {step.change: step for step in steps}
        risks = tuple(logins_at_risk([step.change for step in steps], live, logins))
        alone = [
            *guards.step_charges(steps),
            *guards.login_charges(risks),
            *leftovers.lock_charges(steps, live, request.options.unlock),
        ]
        alone += guards.protected_charges(steps, live, terms.facts.protect)
        # Not before these have left out theirs: to compare access takes long.
        if _leave_out(changes, alone, whole, terms, request, reported):
            continue
        acl_transition = transition(live, steps, terms.facts, default_allow=terms.default_allow)
        ends = later(acl_transition, live, desired, terms.facts, default_allow=terms.default_allow, as_of=request.as_of)
        meant = (*meaning_charges(acl_transition, terms.facts), *ends.charges) if request.guarded else ()
        moving = accountable(meant, steps)
        together = [StepCharge(item.refusal, tuple(moving.get(item.refusal, ()))) for item in meant]
        if _leave_out(changes, together, whole, terms, request, reported):
            continue
        coverage = _coverage(live, steps, terms)
        around = _surroundings(desired, live, terms, request, owned, coverage)
        around = replace(around, listed=deletions([step.change for step in steps], live, terms.scope))
        # No step accounts for these: so they are about all that is left.
        others = (replace(item.refusal, judges=Judges.PLAN) for item in (*alone, *together))
        rest = (*guards.plan_refusals(steps, around), *others)
        refusals = (*reported, *guards.not_accepted(rest, request.accepted)) if request.guarded else ()
        return _Judged(steps, coverage, risks, acl_transition, ends, refusals)


def _leave_out(
    changes: _Filter,
    charges: Sequence[StepCharge],
    whole: Mapping[Change, Step],
    terms: Terms,
    request: Request,
    reported: dict[Refusal, None],
) -> bool:
    """Skip the steps that guards refuse, and what waits for them; adds to ``reported`` why. Whether there are any."""
    refused = set(guards.not_accepted((charge.refusal for charge in charges), request.accepted))
    by_change: dict[Change, dict[Refusal, None]] = {}
    for item in charges if request.guarded else ():
        if item.refusal.guard.judges is Judges.STEPS and item.refusal in refused:
            for change in item.changes:
                by_change.setdefault(change, {})[item.refusal] = None
                reported[item.refusal] = None

    def why(change: Change) -> str | None:
        # How each is accepted stands with the refusals: without it, all that one guard refuses has one reason.
        names = sorted({str(item.guard) for item in by_change.get(change, ())})
        return "; ".join(f"the safety check {guard} refuses it" for guard in names) or None

    missing = changes.skip(SkipReason.REFUSED, why) if by_change else []
    _skip_dependents(changes, missing, whole, terms, (SkipReason.REFUSED, "which is not performed"))
    return bool(missing)


def _surroundings(
    desired: DesiredState, live: ClusterState, terms: Terms, request: Request, owned: int, coverage: CoverageChange
) -> Surroundings:
    """What the guards weigh the steps against."""
    return Surroundings(
        cluster=terms.cluster,
        owned=owned,
        desired=len(desired.bindings),
        limits=terms.limits,
        default_allow=terms.default_allow,
        coverage=coverage,
        in_use=perhaps_in_use(coverage.closed, live),
        expected_live=request.expected_live,
        live=len(live.bindings) + len(live.opaque),
        flavor=terms.flavor,
        expired=desired.expired,
    )


def _logins(steps: Sequence[Step], live: ClusterState) -> Iterator[Callout]:
    for step in steps:
        for principal, text in kind_of(step.change).logins(step.change, live):
            yield Callout(LOGIN, principal, text)


def conditions_of(terms: Terms, login: str | None, permit: SecretPermit, locked: Collection[str] = ()) -> Conditions:
    """What holds for every change, the login of this very connection included."""
    return Conditions({**terms.logins, **({login: "our own login"} if login else {})}, permit, locked)


def _calling_out(reviewed: AccessReview, more: Sequence[Callout]) -> AccessReview:
    return replace(reviewed, callouts=(*sorted(more), *reviewed.callouts)) if more else reviewed


def _filtered(
    compared: Comparison,
    live: ClusterState,
    terms: Terms,
    request: Request,
    emergency: Mapping[AclBinding, BreakGlass],
) -> _Filter:
    changes = _Filter(list(compared.changes))
    changes.skip(SkipReason.BREAK_GLASS, lambda change: leftovers.not_yet(change, emergency))
    stays = request.options.selection.predicate()
    excluded = changes.skip(SkipReason.EXCLUDED, lambda change: None if stays(change) else "left out by the selection")
    conditions = conditions_of(terms, request.login, request.permit, request.locked)
    changes.skip(SkipReason.IMPOSSIBLE, lambda change: kind_of(change).obstacle(change, conditions))
    if not request.options.allow_deletes:
        changes.skip(SkipReason.HELD_BACK, lambda change: _HELD_BACK if change.after is None else None)
    selected = list(changes.kept)
    unsupported = changes.skip(SkipReason.UNSUPPORTED, lambda change: _unsupported(change, request, live, terms.flavor))
    # A person can choose otherwise, so an unsafe selection is refused; what a client cannot carry nobody can help.
    _refuse_unsafe_selection(changes.kept, excluded, terms)
    if unsupported:
        whole = {step.change: step for step in _steps(selected, live, terms)}
        _skip_dependents(changes, unsupported, whole, terms, (SkipReason.UNSUPPORTED, "which cannot be created"))
    return changes


def _unsupported(change: Change, request: Request, live: ClusterState, flavor: Flavor) -> str | None:
    """Why a change cannot be made: the client cannot carry its binding, or brokers would not take it as it is.

    A binding of an alias can be neither created nor deleted: it is listed under another name, which would look
    undeclared.
    """
    reasons = (_alias(binding, flavor) or request.unsupported(binding) for binding in touched_bindings([change]))
    return next(filter(None, reasons), None) or kind_of(change).unsupported(change, live)


def _alias(binding: AclBinding, flavor: Flavor) -> str | None:
    if not flavor.is_alias(binding.entry.principal):
        return None
    name = binding.entry.principal
    return (
        f"{name} is a second name of an account of {flavor.title}, or one of a deleted account: what is done to it "
        "is done to both names; use the resource id (User:sa-…)"
    )


def _refuse_unsafe_selection(kept: Sequence[DeclaredChange], excluded: Sequence[Change], terms: Terms) -> None:
    if not excluded:
        return
    undone = Blockers((change for change in excluded if is_acl_change(change)), default_allow=terms.default_allow)
    for step in ordered(kept, (), default_allow=terms.default_allow):
        if (other := undone.blocking(step)) is not None:
            raise UnsafeSelectionError(
                f"the selection keeps “{describe(step.change)}” but leaves out “{describe(other)}”, "
                "without which it would not be safe: select both or neither"
            )


def _skip_dependents(
    changes: _Filter,
    missing: list[Change],
    whole: Mapping[Change, Step],
    terms: Terms,
    cause: tuple[SkipReason, str],
) -> None:
    """What waits for a change that is not made has to wait as well, and so has what waits for that.

    ``whole`` are the steps of all changes, these too; ``cause`` is the reason, with words about what is waited for.
    """
    reason, words = cause
    # Ends: each round skips a change that was kept until then, or is the last.
    while missing:
        undone = Blockers(missing, default_allow=terms.default_allow)

        def waits(change: Change, undone: Blockers = undone) -> str | None:
            other = undone.blocking(whole[change])
            return f"waits for {ticked(describe(other))}, {words}" if other else None

        missing = changes.skip(reason, waits)


def _steps(kept: Sequence[DeclaredChange], live: ClusterState, terms: Terms) -> tuple[Step, ...]:
    gone = set(deleted_bindings(change for change, _ in kept))
    created = {binding.pattern for binding in created_bindings(change for change, _ in kept)}
    # Not as a set: they are asked for only where a topic goes.
    after = chain(created, opaque_patterns(live), (binding.pattern for binding in live.bindings if binding not in gone))
    frame = lockout_protection((change for change, _ in kept), live, terms.facts, default_allow=terms.default_allow)
    return ordered(kept, after, default_allow=terms.default_allow, lockout_protection=frame)


def _coverage(live: ClusterState, steps: Sequence[Step], terms: Terms) -> CoverageChange:
    """What default-allow would turn into access; nothing where it is established to be off."""
    # Established, not stated: a proposal must not hide what it opens by declaring default-allow off in its manifests.
    if terms.established_default_allow is False:
        return CoverageChange()
    after = {*opaque_patterns(live), *(binding.pattern for binding in each_binding_after(live.bindings, steps))}
    return coverage_change(covering_patterns(live), after)


def _counts(desired: DesiredState, live: ClusterState, compared: Comparison) -> Counts:
    return Counts(
        live_bindings=len(live.bindings),
        owned=compared.owned,
        ignored=compared.ignored,
        outside=compared.outside,
        opaque=len(live.opaque),
        live_topics=len(live.topics),
        desired_bindings=len(desired.bindings),
        desired_topics=sum(not topic.absent for topic in desired.topics.values()),
    )
