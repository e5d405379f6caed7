"""What a plan means, for its reviewer: access changes, the effect of each step, what stands out.

Only what a reviewer saw may be granted: apply computes the access changes again and holds them against these.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from reconciler.access import AccessDifference
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, DesiredState
from reconciler.plan.facts import NO_FACTS, Facts
from reconciler.plan.review.access_change import AccessChange, ExemptPrincipal, access_changes, exceptions, reached
from reconciler.plan.review.callouts import Callout, callouts, interruptions
from reconciler.plan.review.confusable import confusable
from reconciler.plan.review.effects import Effect, effects
from reconciler.plan.review.proof import Violation
from reconciler.plan.review.renames import renames
from reconciler.plan.review.transition import Transition
from reconciler.plan.step import Step


class AccessTrend(StrEnum):
    """A plan's effect in one word, for gates in pipelines."""

    NONE = "none"
    NARROWING = "narrowing"
    WIDENING = "widening"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class AccessReview:
    """All access changes of a plan, one effect for each step (``None`` for topics), and what stands out.

    ``exceptions`` say for whom, and where, a row of everybody else does not hold. ``more_principals`` gain or lose
    through ``User:*`` or coverage, and are only counted; ``denials`` is a digest of what is denied to all reached so,
    and of what they gain.
    """

    access_changes: tuple[AccessChange, ...] = ()
    effects: tuple[Effect | None, ...] = ()
    callouts: tuple[Callout, ...] = ()
    exceptions: tuple[ExemptPrincipal, ...] = ()
    more_principals: int = 0
    denials: str = ""

    @property
    def at_once(self) -> "AccessReview":
        """Without what changes only at a later end."""
        rows = tuple(row for row in self.access_changes if row.since is None)
        return self if len(rows) == len(self.access_changes) else replace(self, access_changes=rows)

    @property
    def trend(self) -> AccessTrend:
        """Widening if anything is gained, narrowing if anything is lost, mixed if both."""
        gains = any(row.gained for row in self.access_changes)
        losses = any(row.lost for row in self.access_changes)
        if gains and losses:
            return AccessTrend.MIXED
        if gains:
            return AccessTrend.WIDENING
        return AccessTrend.NARROWING if losses else AccessTrend.NONE


def difference_review(difference: AccessDifference, topics: Sequence[str] = ()) -> AccessReview:
    """The review of an access difference alone; ``topics`` are those that are known, sorted."""
    others = reached(difference)
    return AccessReview(
        access_changes=access_changes(difference, others, topics),
        exceptions=exceptions(difference, others),
        more_principals=others.more,
        denials=others.digest,
    )


def review(
    found: Transition | None,
    steps: Sequence[Step],
    live: ClusterState,
    desired: DesiredState,
    facts: Facts = NO_FACTS,
    moments: Sequence[Violation] = (),
) -> AccessReview:
    """The review of ``steps``, which make of ``live`` what ``found`` says; ``moments`` is what their proof told."""
    if found is None:
        return AccessReview(effects=(None,) * len(steps))
    plain = difference_review(found.difference, known_topics(live, desired))
    rows = tuple(_of_super_users(plain.access_changes, facts))
    return replace(
        plain,
        access_changes=rows,
        effects=effects(steps, found, desired),
        callouts=callouts(rows, desired, (*interruptions(moments), *renames(rows), *confusable(live, desired))),
    )


def with_later(
    reviewed: AccessReview, later: Sequence[AccessChange], desired: DesiredState, facts: Facts
) -> AccessReview:
    """The review with what changes only at ends after the plan."""
    if not later:
        return reviewed
    rows = tuple(_of_super_users(later, facts))
    return replace(
        reviewed,
        access_changes=(*reviewed.access_changes, *rows),
        callouts=(*reviewed.callouts, *callouts(rows, desired)),
    )


def known_topics(live: ClusterState, desired: DesiredState) -> list[str]:
    """The names of the topics that exist, or are declared, sorted."""
    declared = {name for name, topic in desired.topics.items() if not topic.absent}
    return sorted(declared | live.topics.keys() | live.topic_names)


def _of_super_users(rows: Iterable[AccessChange], facts: Facts) -> Iterator[AccessChange]:
    """The rows, those of stated super users tagged."""
    known = frozenset(facts.super_users)
    for row in rows:
        yield replace(row, super_user=facts.sources.super_users) if row.principal in known else row
