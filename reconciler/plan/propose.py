"""From two states to a plan: compare, leave out what may not or cannot be done, order, guard."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from reconciler.diff import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason, compare
from reconciler.model import AclBinding, Change, ClusterState, DesiredState, without_own
from reconciler.plan.coverage import (
    CoverageChange,
    coverage_change,
    covering_patterns,
    opaque_patterns,
    perhaps_in_use,
)
from reconciler.plan.default_allow.bridging import bridges
from reconciler.plan.default_allow.lockout_protection import lockout_protection
from reconciler.plan.dependencies import Blockers
from reconciler.plan.guards import GuardAcknowledgement, Surroundings, refusals, unacknowledged
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, is_acl_change
from reconciler.plan.order import ordered
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Counts, Options, Plan, Terms, bindings_after
from reconciler.plan.review.access_review import review
from reconciler.plan.review.meaning import meaning_refusals
from reconciler.plan.review.proof import prove
from reconciler.plan.review.topic_review import review_topics
from reconciler.plan.review.topic_warnings import topic_warnings
from reconciler.plan.review.transition import transition
from reconciler.plan.step import Step

_HELD_BACK = "deletions need --allow-deletes"


class UnsafeSelectionError(ValueError):
    """``--only`` or ``--exclude`` keeps a step and leaves out one that makes it safe."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything a plan depends on besides the two states and the cluster's terms.

    ``unsupported`` says why the client cannot carry a binding, or ``None``; ``expected_live`` is how many bindings
    in scope an earlier look saw.
    """

    as_of: datetime.date
    options: Options = Options()
    acknowledgements: tuple[GuardAcknowledgement, ...] = ()
    unsupported: Callable[[AclBinding], str | None] = lambda _: None
    expected_live: int | None = None
    warnings: tuple[str, ...] = ()
    tool_version: str = ""
    source_commit: str | None = None


@dataclass(slots=True)
class _Filter:
    """Changes on their way into a plan: what is kept, what is skipped and why."""

    kept: list[DeclaredChange]
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, reason: SkipReason, why: Callable[[Change], str | None]) -> list[Change]:
        """Skip each change for which ``why`` gives a reason; returns those changes."""
        out: list[Change] = []
        kept: list[DeclaredChange] = []
        for found in self.kept:
            if (detail := why(found.change)) is None:
                kept.append(found)
                continue
            out.append(found.change)
            self.skipped.append(Skipped(reason, describe(found.change), detail, found.change, found.origin))
        self.kept = kept
        return out


def propose(desired: DesiredState, live: ClusterState, terms: Terms, request: Request) -> Plan:
    """Plan what turns ``live`` into ``desired`` inside the scope; raises :class:`UnsafeSelectionError`.

    That no moment of the plan breaks the safety law is proven each time: were the order at fault, there is no plan but
    :class:`UnsafeOrderError`.
    """
    live = without_own(live)
    rules = DiffRules(terms.prune_topics, terms.ignore_configs, terms.prune_quotas)
    compared = compare(desired, live, terms.scope, rules)
    filtered = _filtered(compared, terms, request)
    steps = _steps(filtered.kept, live, terms)
    counts = _counts(desired, live, compared)
    coverage = _coverage(live, steps, terms)
    around = Surroundings(
        cluster=terms.cluster,
        owned=compared.owned,
        desired=len(desired.bindings),
        limits=terms.limits,
        default_allow=terms.default_allow,
        coverage=coverage,
        in_use=perhaps_in_use(coverage.closed, live),
        expected_live=request.expected_live,
    )
    used = tuple(sorted(set(request.acknowledgements)))
    found = transition(live, steps, terms.facts, default_allow=terms.default_allow)
    interrupted = prove(found.before, steps, default_allow=terms.default_allow) if found is not None else ()
    return Plan(
        cluster_id=live.cluster_id,
        terms=terms,
        options=request.options,
        as_of=request.as_of,
        steps=steps,
        skipped=(*compared.skipped, *filtered.skipped),
        warnings=(
            *request.warnings,
            *_warnings(live, terms, steps, bool(coverage)),
            *topic_warnings(steps, live, terms),
        ),
        acknowledgements=used,
        coverage=coverage,
        counts=counts,
        refusals=(
            *refusals(steps, around, used),
            *unacknowledged(meaning_refusals(found, terms.facts), used),
        ),
        access=review(found, steps, live, desired, interrupted),
        bridges=bridges(live, steps, terms),
        topics=review_topics(steps, live.broker_defaults),
        tool_version=request.tool_version,
        source_commit=request.source_commit,
    )


def _filtered(compared: Comparison, terms: Terms, request: Request) -> _Filter:
    changes = _Filter(list(compared.changes))
    stays = request.options.selection.predicate()
    excluded = changes.skip(SkipReason.EXCLUDED, lambda change: None if stays(change) else "left out by the selection")
    if not request.options.allow_deletes:
        changes.skip(
            SkipReason.HELD_BACK,
            lambda change: _HELD_BACK if change.after is None else None,
        )
    unsupported = changes.skip(SkipReason.UNSUPPORTED, lambda change: _unsupported(change, request))
    _refuse_unsafe_selection(changes.kept, excluded, terms)
    _skip_dependents(changes, unsupported, terms)
    return changes


def _unsupported(change: Change, request: Request) -> str | None:
    return next(map(request.unsupported, created_bindings([change])), None)


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


def _skip_dependents(changes: _Filter, missing: list[Change], terms: Terms) -> None:
    """What waits for a binding that the client cannot carry has to wait as well, and so has what waits for that."""
    while missing:
        undone = Blockers(missing, default_allow=terms.default_allow)
        phases = {step.change: step for step in ordered(changes.kept, (), default_allow=terms.default_allow)}

        def waits(change: Change, undone: Blockers = undone, phases: dict[Change, Step] = phases) -> str | None:
            other = undone.blocking(phases[change])
            return f"waits for “{describe(other)}”, which this client cannot carry" if other else None

        missing = changes.skip(SkipReason.UNSUPPORTED, waits)


def _steps(kept: Sequence[DeclaredChange], live: ClusterState, terms: Terms) -> tuple[Step, ...]:
    gone = set(deleted_bindings(change for change, _ in kept))
    made = {binding.pattern for binding in created_bindings(change for change, _ in kept)}
    after = {*made, *opaque_patterns(live), *(binding.pattern for binding in live.bindings - gone)}
    frame = lockout_protection((change for change, _ in kept), live, terms.facts, default_allow=terms.default_allow)
    return ordered(kept, after, default_allow=terms.default_allow, lockout_protection=frame)


def _coverage(live: ClusterState, steps: Sequence[Step], terms: Terms) -> CoverageChange:
    """What default-allow would turn into access; nothing where it is known to be off."""
    if terms.default_allow is False:
        return CoverageChange()
    after = {*opaque_patterns(live), *(binding.pattern for binding in bindings_after(live.bindings, steps))}
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


def _warnings(live: ClusterState, terms: Terms, steps: Sequence[Step], coverage_moves: bool) -> Iterator[str]:
    if live.may_alter_acls is False and any(is_acl_change(step.change) for step in steps):
        yield "this login may not change ACLs: apply with a login that has ALTER on the cluster"
    if live.may_alter_quotas is False and any(step.phase is Phase.ALTER_QUOTAS for step in steps):
        yield "this login may not alter quotas: apply with a login that has ALTER_CONFIGS on the cluster"
    if live.opaque:
        yield f"{len(live.opaque)} live ACL entries are of a kind that this client cannot name; they stay as they are"
    if live.acl_gap:
        yield f"the ACL listing may not be whole: {live.acl_gap}"
    if live.topic_gap and terms.prune_topics:
        yield f"undeclared topics are pruned only as far as they are seen: {live.topic_gap}"
    if coverage_moves and terms.default_allow is None:
        yield (
            "allowEveryoneIfNoAclFound is not declared: the patterns above change between having a binding and having "
            "none, which opens or closes them to everyone if it is true; declare it in Cluster before applying"
        )
