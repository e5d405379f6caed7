"""What a plan means, for its reviewer: access changes, the effect of each step, what stands out.

Only what a reviewer saw may be granted: apply computes the access changes again and holds them against these.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final, TypeAlias

from reconciler.access.comparison import CLUSTER_NAMES
from reconciler.access.difference import AccessDifference, AskedNames
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import ALL_NAMES, NameSet, ResourceSet, around, inside, less, names_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType
from reconciler.model.characters import LookAlikes, as_name, mixed_scripts
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState
from reconciler.plan.observed import NO_FACTS, Facts
from reconciler.plan.review.access_change import (
    AccessChange,
    ExemptPrincipal,
    Transition,
    access_changes,
    exceptions,
    reached,
)
from reconciler.plan.review.callouts import KEPT, Callout, RowsByPlace, callouts
from reconciler.plan.review.effects import Effect, effects
from reconciler.plan.step import Step

# Callouts about principals that lose in a plan exactly what another gains: a rename, which interrupts its clients.

RENAMED: Final = "renamed"
#: So many renames are told one by one; a plan with more is one decision, and one callout.
_NAMED: Final = 3

#: Hosts, names, operations, and under which reading of what is not known.
_Part: TypeAlias = tuple[str, ResourceSet, tuple[AclOperation, ...], str | None]


def renames(rows: Iterable[AccessChange]) -> tuple[Callout, ...]:
    """Principals whose whole loss is another's whole gain, each with that other; sorted.

    The order of a plan keeps what both states permit. They permit nothing to both names, and only people know when
    the clients have changed their login.
    """
    lost: dict[str, set[_Part]] = defaultdict(set)
    gained: dict[str, set[_Part]] = defaultdict(set)
    for row in rows:
        if row.principal is not None:
            for side, operations in ((lost, row.lost), (gained, row.gained)):
                if operations:
                    side[row.principal].add((row.hosts, row.resources, operations, row.reading))
    heirs: dict[frozenset[_Part], list[str]] = defaultdict(list)
    # Who both gains and loses was given other access, not another name.
    for principal in sorted(gained.keys() - lost.keys()):
        heirs[frozenset(gained[principal])].append(principal)
    pairs = [
        (old, heirs[access][0])
        for old in sorted(lost.keys() - gained.keys())
        if (access := frozenset(lost[old])) in heirs
    ]
    shown = [_renamed(old, new) for old, new in pairs[:_NAMED]]
    if more := len(pairs) - len(shown):
        text = f"{more:,} more principals lose in this plan what others gain: clients with the old logins are refused"
        shown.append(Callout(RENAMED, pairs[_NAMED][0], text))
    return tuple(shown)


def _renamed(old: str, new: str) -> Callout:
    text = (
        f"{as_name(old)} loses in this plan what {as_name(new)} gains: clients that still log in as {as_name(old)} are "
        "refused. To rename without an outage, grant both first and remove the old name in a later plan"
    )
    return Callout(RENAMED, old, text)


# Callouts about names that a reviewer could take for others: what a plan brings, against all that is known.

LOOKS_LIKE: Final = "confusable"
MIXED: Final = "mixed-scripts"
_PRINCIPAL: Final = "principal"


def confusable(live: ClusterState, desired: DesiredState, missing: Iterable[AclBinding]) -> tuple[Callout, ...]:
    """Principals and names that are declared anew and look like another known one, or mix scripts; sorted.

    ``missing`` are the declared bindings that are not live, as the comparison found them: every other name is live.
    """
    declared = {name for name, topic in desired.topics.items() if not topic.absent}
    existing = live.topics.keys() | live.topic_names
    brought = _names(missing, declared - existing)
    if not brought:
        return ()
    alikes = {what: LookAlikes(names) for what, names in brought.items()}
    for what, names in _names(live.bindings, existing).items():
        if what in alikes:
            alikes[what].see(names)
    warnings: set[Callout] = set()
    for what, names in brought.items():
        warnings.update(_mixed(what, names))
        for alike in alikes[what].sets():
            warnings.update(_alike(what, name, alike) for name in alike if name in names)
    return tuple(sorted(warnings))


def _names(bindings: Iterable[AclBinding], topics: Iterable[str]) -> Mapping[str, set[str]]:
    """Names by what they name: principals, and each type of resource."""
    by_type: dict[ResourceType, set[str]] = defaultdict(set)
    principals = set()
    # Indexes into tuples instead of attribute access: there can be a million.
    for pattern, entry in bindings:
        by_type[pattern[0]].add(pattern[1])
        principals.add(entry[0])
    by_type[ResourceType.TOPIC].update(topics)
    by_noun = {resource_type.noun: names for resource_type, names in by_type.items()}
    return {what: names for what, names in {**by_noun, _PRINCIPAL: principals}.items() if names}


def _alike(what: str, name: str, alike: Sequence[str]) -> Callout:
    others = [as_name(other) for other in alike if other != name][:_NAMED]
    text = f"the {what} {as_name(name)} looks like {', '.join(others)}, and is another {what}"
    return Callout(LOOKS_LIKE, name, text)


def _mixed(what: str, names: Iterable[str]) -> Iterator[Callout]:
    for name in names:
        scripts = mixed_scripts(name)
        if scripts:
            yield Callout(MIXED, name, f"the {what} {as_name(name)} mixes letters of {' and '.join(scripts)}")


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
    def kept(self) -> tuple[Callout, ...]:
        """Who keeps access that the base ends earlier: no row says so, for nothing changes by the plan."""
        return tuple(callout for callout in self.callouts if callout.rule == KEPT)

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
    transition: Transition | None,
    steps: Sequence[Step],
    live: ClusterState,
    desired: DesiredState,
    facts: Facts = NO_FACTS,
    more: Iterable[Callout] = (),
) -> AccessReview:
    """The review of ``steps``, which make of ``live`` what ``transition`` says; ``more`` also stands out."""
    if transition is None:
        return AccessReview(effects=(None,) * len(steps), callouts=tuple(more))
    plain = difference_review(transition.difference, known_topics(live, desired))
    rows = tuple(_of_super_users(plain.access_changes, facts))
    return replace(
        plain,
        access_changes=rows,
        effects=effects(steps, transition, desired),
        callouts=callouts(rows, desired, (*more, *renames(rows))),
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
    super_users = frozenset(facts.super_users)
    for row in rows:
        yield replace(row, super_user=facts.sources.super_users) if row.principal in super_users else row


# Grants that nobody reviewed: what would be gained now and is in no row of the plan.
#
# A row of everybody else holds for a principal on the names of which no row or exception of its own speaks; those
# hold for every host between them.

#: Readings of gains that need not be: only if all unknown is permissive, and only for some truths.
_POSSIBLE: Final = ("most", "perhaps")


def unreviewed(now: AccessReview, reviewed: AccessReview) -> Iterator[AccessChange]:
    """The rows of ``now`` that grant something on a name, to somebody, where ``reviewed`` does not."""
    new, old = _GainedRows(now), _GainedRows(reviewed)
    for principal in sorted(new.principals | old.principals, key=lambda name: (name is not None, name or "")):
        former = list(old.own(principal))
        gained = list(new.own(principal))
        if principal is not None and new.zones(principal) != old.zones(principal):
            former += old.inherited(principal)
            gained += new.inherited(principal)
        # Nearly every row is reviewed on just its names: to compare each with all others would be a square of them.
        alike: dict[ResourceSet, list[AccessChange]] = {}
        for earlier in former:
            alike.setdefault(earlier.resources, []).append(earlier)
        for row in gained:
            if not _reviewed(row, alike.get(row.resources, ())) and not _reviewed(row, former):
                yield row


class ReviewedGains:
    """What is reviewed as gained, by principal; rows of ends join them."""

    __slots__ = ("_names", "_ordered", "_rows")

    def __init__(self, reviewed: AccessReview) -> None:
        self._rows = RowsByPlace[AccessChange](())
        #: The names on which no row of everybody else holds for a principal, and those principals.
        self._names: dict[ResourceType, dict[NameSet, set[str]]] = {}
        self._ordered: dict[ResourceType, list[NameSet]] = {}
        self.add(reviewed.access_changes)
        for exempt in reviewed.exceptions:
            self._exempt(exempt.principal, exempt.resources.resource_type, exempt.resources.names)

    def move(self, bindings: Iterable[AclBinding]) -> None:
        """These come or go: their principals had other access before than everybody else."""
        for pattern, entry in bindings:
            if entry.principal != WILDCARD_PRINCIPAL:
                self._exempt(entry.principal, pattern.resource_type, names_of(pattern))
                # Rights on CLUSTER count on topics as well, and the other way round.
                if pattern.resource_type is ResourceType.CLUSTER:
                    self._exempt(entry.principal, ResourceType.TOPIC, ALL_NAMES)
                elif pattern.resource_type is ResourceType.TOPIC:
                    self._exempt(entry.principal, ResourceType.CLUSTER, CLUSTER_NAMES)

    def add(self, rows: Iterable[AccessChange]) -> None:
        """These are reviewed from now on, for each later time."""
        for row in rows:
            if row.gained:
                self._rows.add(replace(row, since=None))
            if row.principal is not None:
                self._exempt(row.principal, row.resources.resource_type, row.resources.names)

    def _exempt(self, principal: str, kind: ResourceType, names: NameSet) -> None:
        of_type = self._names.setdefault(kind, {})
        if names not in of_type:
            of_type[names] = set()
            insort(self._ordered.setdefault(kind, []), names)
        of_type[names].add(principal)

    def exempt(self, resources: ResourceSet) -> Iterator[AskedNames]:
        """Who a row of everybody else does not speak of, and on which of its names."""
        of_type = self._names.get(resources.resource_type, {})
        wider = [names for names in around(resources.names) if names in of_type]
        for names in dict.fromkeys((*wider, *inside(self._ordered.get(resources.resource_type, []), resources.names))):
            # Sets that meet are nested, and a set sorts before its subsets.
            inner = max(names, resources.names)
            yield from (AskedNames(principal, resources.resource_type, inner) for principal in of_type[names])

    def news(self, rows: Iterable[AccessChange]) -> Iterator[AccessChange]:
        """The rows that grant something, with no operation that is reviewed on all of their names."""
        for row in rows:
            kind, names = row.resources.resource_type, row.resources.names
            near = [
                item for item in self._rows.meeting(row.principal, kind, names) if item.resources.names.meets(names)
            ]
            gained = tuple(right for right in row.gained if not _reviewed(replace(row, gained=(right,)), near))
            if gained:
                yield replace(row, gained=gained)


class _GainedRows:
    """What is gained, by principal; ``None`` is everybody else."""

    def __init__(self, access: AccessReview) -> None:
        self._own: dict[str | None, list[AccessChange]] = {}
        self._zones: dict[str, set[ResourceSet]] = {}
        for row in access.access_changes:
            self._own.setdefault(row.principal, []).append(row)
            if row.principal is not None:
                self._zones.setdefault(row.principal, set()).add(row.resources)
        for exempt in access.exceptions:
            self._zones.setdefault(exempt.principal, set()).add(exempt.resources)

    @property
    def principals(self) -> set[str | None]:
        """Everybody of whom a row or an exception speaks."""
        return {*self._own, *self._zones}

    def own(self, principal: str | None) -> Iterator[AccessChange]:
        """The rows of a principal itself that grant something."""
        return (row for row in self._own.get(principal, ()) if row.gained)

    def zones(self, principal: str) -> set[ResourceSet]:
        """The names on which rows of everybody else do not hold for a principal."""
        return self._zones.get(principal, set())

    def inherited(self, principal: str) -> Iterator[AccessChange]:
        """What a principal gains as everybody else does."""
        for row in self.own(None):
            for part in less([row.resources], self.zones(principal)):
                yield replace(row, principal=principal, resources=part)


def _reviewed(row: AccessChange, rows: Sequence[AccessChange]) -> bool:
    comparable = [other for other in rows if other.hosts in (row.hosts, str(ANY_HOST)) and _stands_for(other, row)]
    return all(
        _within(row.resources, [other.resources for other in comparable if operation in other.gained])
        for operation in row.gained
    )


def _stands_for(reviewed: AccessChange, row: AccessChange) -> bool:
    """Whether a reviewed row includes another: a gain that somebody reviewed as possible is no certain one.

    Neither is one that was reviewed for a later time one of now.
    """
    if reviewed.since is not None and (row.since is None or row.since.instant < reviewed.since.instant):
        return False
    return reviewed.reading not in _POSSIBLE or row.reading in _POSSIBLE


def _within(resources: ResourceSet, others: Sequence[ResourceSet]) -> bool:
    """Whether every name of ``resources`` is one of some of the others."""
    return resources in others or not any(True for _ in less([resources], others))
