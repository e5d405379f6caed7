"""Separation of duty: who could hold several duties together, by which ways, and the least to take away."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from reconciler.access.assertion import AssertionOutcome, PrincipalSelection
from reconciler.access.assertions import may_break
from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.holders import DutyHolders, HeldRight
from reconciler.access.questions import GivenBy, Grounds, deciding
from reconciler.access.reach import Hop, HopKind, Known, Reach, ReachRow
from reconciler.dataclass import dataclass
from reconciler.model.acl import CLUSTER_NAME, WILDCARD_PRINCIPAL, AclBinding, ResourcePattern, ResourceType
from reconciler.model.desired import NO_LINKS, Duty, Links, Through
from reconciler.model.frozen import without_collector

#: So many states are judged to find the least to take away from one principal; flows are followed anew in each.
_TRIED: Final = {Through.ACL: 64, Through.IDENTITY: 64, Through.FLOW: 16}
#: On as many bindings as that, a state takes seconds where flows count.
_MANY: Final = 20_000


@dataclass(frozen=True, slots=True)
class Separation:
    """No selected principal may hold all ``duties``. ``excluded`` are trusted: they break nothing and move nothing."""

    duties: tuple[Duty, ...]
    through: Through = Through.ACL
    include_super_users: bool = False


class Way(NamedTuple):
    """How somebody holds a duty: the hops to whom it acts as, and then the right."""

    hops: tuple[Hop, ...]
    right: HeldRight

    @property
    def requests(self) -> Iterator[AccessRequest]:
        """Every right on the way."""
        for hop in (*self.hops, *self.right.moves):
            yield from hop.requests
        yield self.right.request


@dataclass(frozen=True, slots=True)
class Combination:
    """A principal that could hold all duties, a way for each. ``everybody``: it stands for all whom no ACL names.

    ``fix`` is the least to take away, so that it no longer could; ``None``: not looked for, or there is none.
    ``evidence`` has the bindings that give each right on the ways.
    """

    principal: str
    ways: tuple[Way, ...]
    everybody: bool = False
    certain: bool = True
    fix: tuple[AclBinding, ...] | None = None
    evidence: GivenBy = field(default_factory=dict)


class Combinations(NamedTuple):
    """All who break a separation, those who do for certain first; ``reason`` says why others are undecided."""

    outcome: AssertionOutcome
    breaking: tuple[Combination, ...] = ()
    reason: str | None = None


class Separations:
    """Decides separations on one state."""

    __slots__ = ("_authorizer", "_claimed", "_evidence", "_links", "_many", "_people", "_worlds")

    def __init__(self, authorizer: Authorizer, links: Links = NO_LINKS, claimed: Collection[str] = ()) -> None:
        """``claimed`` super users may be none."""
        self._authorizer, self._links, self._claimed = authorizer, links, frozenset(claimed)
        self._people = Known.of(authorizer, links, claimed)
        self._evidence = Grounds(authorizer)
        self._many = len(authorizer.bindings) > _MANY
        least, most = authorizer.interpretations.both
        certain = Reach(least, self._people, links)
        self._worlds = [certain]
        if most is not least or links.memberships:
            self._worlds.append(Reach(most, self._people, links, perhaps=True))

    def decide(self, separation: Separation, selection: PrincipalSelection) -> Combinations:
        """Who breaks it. Super users are exempt in ``selection``, and break it only with ``include_super_users``."""
        with without_collector():  # a third of the time, with many bindings and many ways
            return self._decided(separation, selection)

    def _decided(self, separation: Separation, selection: PrincipalSelection) -> Combinations:
        first, *others = [self._in(world, separation, selection) for world in self._worlds]
        sure = [self._combination(*item, certain=True) for item in first.items()]
        more = [
            self._combination(who, ways, certain=False)
            for results in others
            for who, ways in results.items()
            if who not in first
        ]
        if sure:
            return Combinations(AssertionOutcome.FAIL, (*sure, *more), self._doubt(more) if more else None)
        if more:
            return Combinations(AssertionOutcome.UNDECIDED, tuple(more), self._doubt(more))
        if (reason := self._unknown(separation)) is not None:
            return Combinations(AssertionOutcome.UNDECIDED, (), reason)
        return Combinations(AssertionOutcome.PASS)

    def _in(self, reach: Reach, separation: Separation, selection: PrincipalSelection) -> dict[str, tuple[Way, ...]]:
        holders, unnamed = _holders(reach, separation, selection), self._people.unnamed
        results: dict[str, tuple[Way, ...]] = {}
        for who in self._asked(reach, holders, selection):
            # Of those who are like everybody else, everybody else stands for all.
            alike = unnamed in results and not (reach.differs(who) or any(duty.differs(who) for duty in holders))
            if selection.includes(who) and not alike:
                ways = ways_of(reach, holders, who, separation.through)
                results |= {} if ways is None else {who: ways}
        if separation.include_super_users:
            for who in sorted(self._people.super_users):
                if (ways := _of_super_user(holders, who)) is not None:
                    results[who] = ways
        return results

    def _asked(self, reach: Reach, holders: Iterable[DutyHolders], selection: PrincipalSelection) -> Iterable[str]:
        """The selected that are asked one by one: not each of many whom nothing tells from everybody else."""
        if selection.named is not None:
            return sorted(selection.named)
        unlike, unnamed = [duty.unlike for duty in holders], self._people.unnamed
        # Whoever may be a member of a group is told apart by its name alone.
        if not selection.includes(unnamed) or reach.perhaps or None in unlike:
            return (unnamed, *self._people.principals)
        distinct = reach.may_hop.union(*filter(None, unlike)) - {WILDCARD_PRINCIPAL, unnamed}
        return (unnamed, *sorted(who for who in distinct if ":" in who))

    def _combination(self, who: str, ways: tuple[Way, ...], *, certain: bool) -> Combination:
        given = self._evidence.of(request for way in ways for request in way.requests)
        return Combination(who, ways, who == self._people.unnamed, certain, None, given)

    def _unknown(self, separation: Separation) -> str | None:
        """Why it is no pass that nobody breaks it."""
        patterns = [pattern for duty in separation.duties for pattern in duty.patterns]
        if separation.through is not Through.ACL:
            patterns += [*_IDENTITIES, *(item for control in self._links.controls for item in control.patterns)]
        if any(may_break(binding, patterns) for binding in self._authorizer.broker_defects.bindings):
            return "some bindings make brokers fail on such resources"
        if separation.through is Through.FLOW and self._links.dead_letters is None:
            return "the configs of groups are not known, and with them the dead letter queues of share groups"
        return None

    def _doubt(self, breaking: Iterable[Combination]) -> str:
        hops = {hop.kind for item in breaking for way in item.ways for hop in way.hops}
        if HopKind.MEMBER in hops:
            return f"no ACL says who is a member of a {' or '.join(sorted(self._links.memberships))}"
        reason = "it depends on allow.everyone.if.no.acl.found, or on entries that cannot be read"
        if self._authorizer.interpretations.doubtful:
            reason += ", or on whether a host is a range: Kafka's version is not known"
        return reason

    def fixed(self, combination: Combination, separation: Separation, selection: PrincipalSelection) -> Combination:
        """The same with the fewest bindings without which somebody no longer holds all duties, if a few are enough."""
        many = separation.through is Through.FLOW and self._many
        if many or not combination.certain or combination.principal in self._people.super_users:
            return combination

        def ways(removed: Collection[AclBinding]) -> tuple[Way, ...] | None:
            authorizer = self._authorizer.with_changes((), removed)
            reach = Reach(authorizer.interpretations.least, self._people, self._links)
            holders = _holders(reach, separation, selection)
            return ways_of(reach, holders, combination.principal, separation.through)

        return replace(combination, fix=self._least(combination, ways, separation.through))

    def _least(
        self,
        item: Combination,
        ways: Callable[[Collection[AclBinding]], tuple[Way, ...] | None],
        through: Through,
    ) -> tuple[AclBinding, ...] | None:
        """The fewest bindings without which somebody no longer holds all duties; ``None`` if a few are not enough.

        Each repair takes away some right on the ways that are left, with every binding that gives it. So all smaller
        sets are tried before larger ones, and the first that is enough is the least.
        """
        number = count()
        tried: set[frozenset[AclBinding]] = set()
        waiting: list[tuple[int, int, frozenset[AclBinding], tuple[Way, ...] | None]] = []
        heappush(waiting, (0, next(number), frozenset(), item.ways))
        judged = 0
        while waiting:
            *_, removed, ways_left = heappop(waiting)
            if removed:
                judged += 1
                if judged > _TRIED[through]:
                    return None
                ways_left = ways(removed)
            if ways_left is None:
                return tuple(sorted(removed))
            for bindings in self._giving(ways_left, removed):
                more = removed | bindings
                if more not in tried:
                    tried.add(more)
                    heappush(waiting, (len(more), next(number), more, None))
        return None

    def _giving(self, ways: Iterable[Way], removed: Collection[AclBinding]) -> Iterator[frozenset[AclBinding]]:
        """For each right on some ways, the bindings that give it."""
        authorizer = self._authorizer.with_changes((), removed)
        for request in dict.fromkeys(request for way in ways for request in way.requests):
            if bindings := frozenset(deciding(authorizer, request)):
                yield bindings


#: Where a defective binding may break a broker that is asked whether somebody acts as somebody else.
_IDENTITIES: Final = (ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME), ResourcePattern(ResourceType.USER, "*"))


def _holders(reach: Reach, separation: Separation, selection: PrincipalSelection) -> list[DutyHolders]:
    flow = separation.through is Through.FLOW
    return [DutyHolders(reach, duty, flow=flow, trusted=selection.exempt) for duty in separation.duties]


def ways_of(reach: Reach, holders: Sequence[DutyHolders], principal: str, through: Through) -> tuple[Way, ...] | None:
    """A shortest way to each duty; ``None`` if there is none to one of them."""
    rows = reach.reached(principal) if through is not Through.ACL else _itself(reach, principal)
    results = []
    for duty in holders:
        if (way := _way(reach, duty, rows)) is None:
            return None
        results.append(way)
    return tuple(results)


def _itself(reach: Reach, principal: str) -> list[ReachRow]:
    """Itself, and anybody if it may ALTER the cluster, for it grants itself whatever an ACL can; perhaps its groups."""
    rows = [ReachRow(frozenset({principal}), None, -1, 0)]
    own = (hop for hop in reach.hops(principal) if hop.kind in (HopKind.ALTER, HopKind.MEMBER))
    return rows + [ReachRow(hop.acts_as, hop, 0, 1) for hop in own]


def _way(reach: Reach, duty: DutyHolders, rows: Sequence[ReachRow]) -> Way | None:
    for number, row in enumerate(rows):
        if row.principals is None:
            hops = reach.path(rows, number)
            right = duty.anything(row.hop, hops[-1].principal)
            return None if right is None else Way(hops, right)
        holder = duty.among(row.principals)
        right = None if holder is None else duty.of(holder)
        if right is not None:
            return Way(reach.path(rows, number, holder), right)
    return None


def _of_super_user(holders: Iterable[DutyHolders], principal: str) -> tuple[Way, ...] | None:
    rights = [duty.anything(None, principal) for duty in holders]
    return tuple(Way((), right) for right in rights if right is not None) if None not in rights else None
