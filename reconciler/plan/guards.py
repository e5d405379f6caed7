"""Safety checks of a plan, and guardrails that a proposal changes.

What a plan must not do unless a person named it: one refusal for each thing, each with its own guard.

An exception names the guard and the object, is given when the plan is made, and is part of the plan's id.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import text
from reconciler.dataclass import dataclass
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrails import GuardrailChange
from reconciler.manifest.manifests import GuardrailNotice, Manifests
from reconciler.manifest.safeguards import coverage_notices
from reconciler.model.acl import AclBinding, ResourcePattern
from reconciler.model.characters import pattern_name
from reconciler.model.flavor import APACHE, Flavor
from reconciler.model.listing import Change
from reconciler.model.says import REQUIRED, Says
from reconciler.model.scope import Selector
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.kinds.interface import Deletions, LoginAtRisk
from reconciler.plan.overlap import CoverageChange
from reconciler.plan.refusal import AcceptedGuard, Guard, Refusal, refusal
from reconciler.plan.step import Step


@dataclass(frozen=True, slots=True)
class DeleteLimits:
    """How many deletions one plan may hold; ``None`` is no limit.

    The share is of what is live and in scope of each kind, and counts where more than ``percent_above`` of it go.
    """

    max_deletes: Annotated[
        int | None,
        Says("The largest number of bindings and topics that may be deleted; null: no limit.", 200, default=REQUIRED),
    ] = None
    max_delete_percent: Annotated[
        int | None,
        Says("The largest share of a kind that may be deleted; null: no limit.", 20, default=REQUIRED),
    ] = None
    percent_above: Annotated[
        int, Says("The share counts where more of the kind than this go.", 10, default=REQUIRED)
    ] = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What guards look at besides the steps: the cluster's name, counts of bindings, coverage, default-allow.

    ``in_use`` are the patterns to be closed whose names somebody may use now. ``expected_live`` is the number of live
    bindings in scope that an earlier look (a saved plan, a baseline) saw; ``live`` is the number of all live bindings.
    ``expired`` are the bindings whose end the manifests declare, and which is over. ``listed`` is what goes of listed
    kinds.
    """

    cluster: str
    owned: int
    desired: int
    limits: DeleteLimits
    default_allow: bool | None
    coverage: CoverageChange
    in_use: tuple[ResourcePattern, ...] = ()
    expected_live: int | None = None
    live: int = 0
    flavor: Flavor = APACHE
    expired: Collection[AclBinding] = ()
    listed: tuple[Deletions, ...] = ()


def refusals(steps: Sequence[Step], around: Surroundings, accepted: Collection[AcceptedGuard]) -> tuple[Refusal, ...]:
    """Every guard that refuses, less those accepted."""
    refused = (*(charge.refusal for charge in step_charges(steps)), *plan_refusals(steps, around))
    return not_accepted(refused, accepted)


class StepCharge(NamedTuple):
    """A refusal, and the changes that it is about."""

    refusal: Refusal
    changes: tuple[Change, ...]


def step_charges(steps: Iterable[Step]) -> Iterator[StepCharge]:
    """What kinds refuse about each step alone."""
    for step in steps:
        for refused in kind_of(step.change).refusals(step.change):
            yield StepCharge(refused, (step.change,))


def login_charges(risks: Iterable[LoginAtRisk]) -> Iterator[StepCharge]:
    """What certainly reaches a login that has to work."""
    for risk in risks:
        if risk.certain:
            yield StepCharge(refusal(Guard.LOGIN_LIMIT, risk.object, risk.text), risk.changes)


def login_refusals(risks: Iterable[LoginAtRisk]) -> Iterator[Refusal]:
    """The refusals among them."""
    return (charge.refusal for charge in login_charges(risks))


def protected_charges(steps: Iterable[Step], live: ClusterState, protect: Collection[Selector]) -> Iterator[StepCharge]:
    """Logins of protected principals that change: whoever logs in so has all that the principal may do."""
    named = [selector.principals for selector in protect if selector.principals is not None and selector.names is None]
    for step in steps if named else ():
        for principal, words in kind_of(step.change).logins(step.change, live):
            if any(names.selects_principal(principal) for names in named):
                yield StepCharge(refusal(Guard.PROTECTED, principal, words), (step.change,))


def not_accepted(raised: Iterable[Refusal], accepted: Collection[AcceptedGuard]) -> tuple[Refusal, ...]:
    """The refusals that nobody's word lifts."""
    # Whatever the reason says: a person who words it better has not withdrawn it.
    given = {(ack.guard, ack.object) for ack in accepted}
    return tuple(refusal for refusal in raised if (refusal.guard, refusal.object) not in given)


def plan_refusals(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    """What guards refuse about the plan as a whole."""
    yield from _limits(steps, around)
    yield from _room(steps, around)
    yield from _empty(steps, around)
    yield from _default_allow(around)


def _limits(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    bindings = len(deleted_bindings(step.change for step in steps))
    # The number counts deletions of every kind, the share not topics: there are few of them, and each has a guard.
    deletes = sum(step.change.after is None for step in steps)
    most, percent = around.limits.max_deletes, around.limits.max_delete_percent
    if most is not None and deletes > most:
        yield refusal(Guard.LIMIT, "maxDeletes", f"{deletes} deletions, but deleteLimits.maxDeletes is {most}")
    above = around.limits.percent_above
    few = f", and more than {above} go" if above else ""
    for kind, words, number, owned in (Deletions("", "bindings", bindings, around.owned), *around.listed):
        if percent is not None and number > above and number * 100 > percent * owned:
            share = (
                f"{number} of {owned} {words} in scope would go, but deleteLimits.maxDeletePercent is {percent}{few}"
            )
            yield refusal(Guard.LIMIT, ":".join(filter(None, ("maxDeletePercent", kind))), share)


def _room(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    """A plan that the service would stop halfway, for it takes no more ACLs: ALLOWs go only after others have come."""
    most, creates = around.flavor.max_bindings, len(created_bindings(step.change for step in steps))
    if most is not None and creates and around.live + creates > most:
        message = (
            f"{around.live:,} ACLs are live and the plan creates {creates:,} before it deletes any, but "
            f"{around.flavor.title} takes {most:,} at most"
        )
        yield refusal(Guard.LIMIT, "maxBindings", message)


def _empty(steps: Sequence[Step], around: Surroundings) -> Iterator[Refusal]:
    # No manifest at all is more often a wrong path or a failed checkout than meant; an end that is declared is meant.
    if not around.desired and any(
        binding not in around.expired for binding in deleted_bindings(step.change for step in steps)
    ):
        message = "the manifests declare no binding at all for this cluster, so every binding in scope would go"
        yield refusal(Guard.EMPTY_DESIRED, around.cluster, message)
    if around.expected_live and not around.owned:
        message = f"no live binding in scope, where {around.expected_live} were seen before: the listing may be wrong"
        yield refusal(Guard.EMPTY_LIVE, around.cluster, message)


def _default_allow(around: Surroundings) -> Iterator[Refusal]:
    # Where nobody declared it there is a warning instead: a refusal would stop every cluster that has it off.
    if around.default_allow is not True:
        return
    for pattern in around.coverage.opened:
        message = f"the last binding on {pattern_name(pattern)} goes, which opens it to everyone"
        yield refusal(Guard.OPEN_BY_DEFAULT, str(pattern), message)
    for pattern in around.in_use:
        message = f"the first binding on {pattern_name(pattern)} shuts out everyone else who uses it now"
        yield refusal(Guard.CLOSED_BY_DEFAULT, str(pattern), message)


# What a reviewer is told about the rules that judged a proposal: which they were, and what it changes about them.

#: What the notices are called that say that a proposal asks for more than the guardrails allow.
_LOOSENING: Final = "guardrail-"


@dataclass(frozen=True, slots=True)
class GuardrailReview:
    """``digest`` names the guardrails that held the proposal, ``None`` where nothing but itself did.

    ``changes`` are the differences from a base, loosening ones first; ``notices`` say where the guardrails held.
    """

    digest: Annotated[
        Annotated[str, text("^sha256:[0-9a-f]{64}$")] | None,
        Says(
            "Of the guardrails that held the proposal; null: it was judged by its own rules alone.",
            f"sha256:{'0' * 64}",
            default=REQUIRED,
        ),
    ] = None
    changes: Annotated[
        tuple[GuardrailChange, ...],
        Says("What differs from the guardrails of --base, loosening differences first.", default=REQUIRED),
    ] = ()
    notices: Annotated[
        tuple[GuardrailNotice, ...],
        Says("Where the guardrails hold although the proposal asks for less.", default=REQUIRED),
    ] = ()

    @property
    def weakened(self) -> bool:
        """Whether the proposal changes its own judge otherwise than to tighten it, or tries to."""
        tries = any(notice.rule.startswith(_LOOSENING) for notice in self.notices)
        return tries or any(change.meaning is not Meaning.TIGHTER for change in self.changes)


GUARDRAILS: Final = record_of(GuardrailReview)
NO_GUARDRAILS: Final = GuardrailReview()


def guardrail_review(manifests: Manifests, cluster: str, changes: tuple[GuardrailChange, ...] = ()) -> GuardrailReview:
    """What a reviewer is told about the rules that judge a cluster's manifests."""
    guardrails = manifests.guardrails
    held_back: tuple[GuardrailNotice, ...] = () if guardrails is None else guardrails.notices[cluster]
    digest = None if guardrails is None else guardrails.digest
    return GuardrailReview(digest, changes, (*held_back, *coverage_notices(manifests, cluster)))
