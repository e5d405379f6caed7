"""Holders of a duty: who may do it under its own name, and, where flows count, by which moves of records.

Records are in *zones*, sets of topics that share no name, each with the move that brings them there. Whoever gets at
a zone is looked up by name, once; so the work grows with the bindings, not with principals times topics.
"""

from bisect import insort
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from reconciler.access.authorizer import AccessRequest
from reconciler.access.comparison import ON_EVERY_TOPIC
from reconciler.access.group import EVERY, about, bits, operations_in
from reconciler.access.hosts import EXAMPLE_HOST
from reconciler.access.names import (
    ALL_NAMES,
    NameSet,
    ResourceSet,
    common,
    literal,
    meets,
    meets_any,
    names_of,
    outermost,
    shortest_name,
)
from reconciler.access.reach import ByNames, Hop, HopKind, Piece, Reach, Rights, within
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from reconciler.model.desired import Duty

_O, _T = AclOperation, ResourceType
_READ, _WRITE = 1 << _O.READ, 1 << _O.WRITE
#: Of more principals than that, all known ones are gone through in their order.
_MANY: Final = 64


class HeldRight(NamedTuple):
    """One of some operations on some resource of a set, with an example; ``moves``: how records get there, or from."""

    resources: ResourceSet
    request: AccessRequest
    moves: tuple[Hop, ...] = ()


class _DutyPart(NamedTuple):
    """An operation on a zone, with what everybody may do there."""

    operation: AclOperation
    zone: ResourceSet
    rights: Rights
    everybodys: list[Piece]


class DutyHolders:
    """Who may do one of a duty's operations on one of its names, under its own name."""

    __slots__ = ("_differs", "_flows", "_holding", "_masks", "_near", "_reach", "_rights", "_zones")

    def __init__(self, reach: Reach, duty: Duty, *, flow: bool = False, trusted: Collection[str] = ()) -> None:
        """With ``flow``, READ and WRITE also of what records could move to or from; ``trusted`` move none."""
        self._reach = reach
        self._rights: dict[str, HeldRight | None] = {}
        self._holding: dict[frozenset[str], str | None] = {}
        mask = bits(duty.operations)
        self._masks = {item: mask & reach.comparison(-1).supported[item.resource_type] for item in duty.patterns}
        #: Bindings on these names, about these operations, may give a principal what others lack, or refuse it.
        self._near: dict[ResourceType, tuple[list[NameSet], int]] = {}
        self._zones: list[_DutyPart] = []
        for item, some in self._masks.items():
            kind = item.resource_type
            self._notice(kind, names_of(item), some)
            if kind is _T.TOPIC and some & ON_EVERY_TOPIC:
                self._notice(_T.CLUSTER, ALL_NAMES, some)
            if kind is _T.CLUSTER and some >> _O.IDEMPOTENT_WRITE & 1:
                self._notice(_T.TOPIC, ALL_NAMES, EVERY)
            for operation in sorted(operations_in(some)):
                rights, zone = reach.rights(kind, operation), ResourceSet(kind, names_of(item))
                self._zones.append(_DutyPart(operation, zone, rights, rights.everybodys(zone)))
        self._differs: dict[str, bool] = {}
        topics = [ResourceSet(_T.TOPIC, names_of(item)) for item in duty.patterns if item.resource_type is _T.TOPIC]
        followed = [reading for bit, reading in ((_READ, True), (_WRITE, False)) if mask & bit]
        self._flows = [Flow(reach, topics, reading=item, trusted=trusted) for item in followed if flow and topics]

    def of(self, principal: str) -> HeldRight | None:
        """An example of what a principal may do, the shortest name first; ``None`` if it holds nothing of the duty."""
        if principal not in self._rights:
            self._rights[principal] = self._direct(principal) or self._moved(principal)
        return self._rights[principal]

    def differs(self, principal: str) -> bool:
        """Whether what it holds may be other than what everybody else does."""
        return self._is_near(principal) or any(flow.differs(principal) for flow in self._flows)

    @property
    def unlike(self) -> frozenset[str] | None:
        """All of whom :meth:`differs` may hold, by the names on which they have bindings; ``None``: not known so."""
        index = self._reach.world.index
        met = (index.principals(kind, zones) for kind, (zones, _) in self._near.items())
        return None if self._flows else frozenset().union(*met)

    def _notice(self, kind: ResourceType, names: NameSet, mask: int) -> None:
        there, before = self._near.get(kind, ([], 0))
        self._near[kind] = outermost([*there, names]), before | mask

    def _is_near(self, principal: str) -> bool:
        results = self._differs.get(principal)
        if results is None:
            of = self._reach.world.index.bindings
            results = self._differs[principal] = any(
                about(entry, mask) and meets_any(names_of(pattern), zones)
                for kind, (zones, mask) in self._near.items()
                for pattern, entry in of(kind, principal)
            )
        return results

    def among(self, principals: frozenset[str]) -> str | None:
        """The first of these that holds something."""
        # The same sets come again with each principal that may act as all of them.
        if principals not in self._holding:
            if len(principals) < _MANY:
                order: Iterable[str] = sorted(principals)
            else:
                people = self._reach.known
                order = (item for item in (people.unnamed, *people.principals) if item in principals)
            self._holding[principals] = next((item for item in order if self.of(item) is not None), None)
        return self._holding[principals]

    def _direct(self, principal: str) -> HeldRight | None:
        if principal != self._reach.known.unnamed and not self._is_near(principal):
            return _of(self._direct_of_all(), principal)
        best: HeldRight | None = None
        for operation, zone, rights, everybodys in self._zones:
            kind = zone.resource_type
            for piece in rights.pieces(principal, zone, everybodys):
                if best is None or len(piece.name) < len(best.request.resource_name):
                    best = HeldRight(piece.resources, AccessRequest(principal, piece.host, operation, kind, piece.name))
        return best

    def _direct_of_all(self) -> HeldRight | None:
        results = self.of(self._reach.known.unnamed)
        return None if results is None or results.moves else results

    def _moved(self, principal: str) -> HeldRight | None:
        return next((results for flow in self._flows if (results := flow.of(principal)) is not None), None)

    def anything(self, hop: Hop | None, principal: str) -> HeldRight | None:
        """The right of somebody who may do anything; ``None`` if no resource can have such a name."""
        host = hop.request.host if hop is not None and hop.request is not None else EXAMPLE_HOST
        for pattern, mask in self._masks.items():
            kind, names = pattern.resource_type, names_of(pattern)
            name = shortest_name(kind, names) if mask else None
            if name is not None:
                operation = min(operations_in(mask))
                return HeldRight(ResourceSet(kind, names), AccessRequest(principal, host, operation, kind, name))
        return None


def _of(right: HeldRight | None, principal: str) -> HeldRight | None:
    return None if right is None else right._replace(request=right.request._replace(principal=principal))


# Where records could be, or could come from: sets of topics, each with the move that brings them there.


class _Zone(NamedTuple):
    """Topics, and by which move of records of an earlier zone, ``before``; the first ones are what was asked about."""

    resources: ResourceSet
    move: Hop | None = None
    before: int = -1


class _Zones:
    """Sets of topics that share no name: of each one that is added, the names that are in none before."""

    __slots__ = ("_lengths", "_literals", "_prefixes")

    def __init__(self) -> None:
        #: By the prefix of a resource set the names inside it that are still in none, disjoint and sorted.
        self._prefixes: dict[str, list[NameSet]] = {}
        self._lengths: list[int] = []
        self._literals: set[str] = set()

    def new(self, resources: ResourceSet) -> list[ResourceSet]:
        """The parts of a resource set that are new; they are in it from now on."""
        text, parts = resources.names.text, [resources]
        if resources.names.literal and text in self._literals:
            return []
        for length in self._lengths:
            if length > len(text):
                break
            if (rest := self._prefixes.get(text[:length])) is not None:
                shared = ((part, names) for part in parts for names in meets([part.names], rest))
                results = (common(part, ResourceSet(resources.resource_type, names)) for part, names in shared)
                parts = [part for part in results if part is not None]
                if not parts:
                    return []
        for part in parts:
            self._enter(part)
        return parts

    def _enter(self, part: ResourceSet) -> None:
        text = part.names.text
        if part.names.literal:
            self._literals.add(text)
            return
        cuts, rest = outermost(part.cuts), self._prefixes.get(text)
        self._prefixes[text] = cuts if rest is None else outermost(meets(rest, cuts))
        if len(text) not in self._lengths:
            insort(self._lengths, len(text))


class Flow:
    """With ``reading``, where records of some topics could get to; else from where some topics could get records.

    ``trusted`` principals move none, and no super user does: what they do is not a matter of ACLs.
    """

    __slots__ = (
        "_alike_moved",
        "_far",
        "_far_remaining",
        "_groups",
        "_held_rights",
        "_joined_by_all",
        "_joining",
        "_moved",
        "_near",
        "_of_all",
        "_own",
        "_reach",
        "_reading",
        "_there",
        "_trusted",
        "_undecided",
        "_written",
        "zones",
    )

    def __init__(
        self, reach: Reach, topics: Iterable[ResourceSet], *, reading: bool, trusted: Collection[str] = ()
    ) -> None:
        """Follow every move once."""
        self._reach, self._reading = reach, reading
        self._trusted = frozenset(trusted) | reach.known.super_users
        self._near, self._far = (
            reach.rights(_T.TOPIC, item) for item in ((_O.READ, _O.WRITE) if reading else (_O.WRITE, _O.READ))
        )
        self._held_rights: dict[str, HeldRight] = {}
        self._moved: set[str] = set()
        self._alike_moved = False
        #: The principals whose far topics are zones, and those of everybody that are none yet.
        self._written: set[str] = set()
        self._far_remaining = self._far.everybodys(ResourceSet(_T.TOPIC))
        #: Share groups and their dead letter queues.
        self._groups = dict(reach.links.dead_letters or {})
        joining = reach.rights(_T.GROUP, _O.READ)
        self._joined_by_all = {
            group: joining.everybodys(ResourceSet(_T.GROUP, literal(group))) for group in self._groups
        }
        self.zones: list[_Zone] = []
        self._there = _Zones()
        for resources in topics:
            if resources.witness() is not None:
                self._add(resources, None, -1)
        named = [
            (kind, who) for kind, who in reach.world.index.group_keys() if ":" in who and who != WILDCARD_PRINCIPAL
        ]
        self._of_all = frozenset(who for kind, who in named if kind is _T.TOPIC)
        self._joining = frozenset(who for kind, who in named if kind is _T.GROUP)
        #: Those who have bindings on topics and get at no zone yet; like everybody on names that these are not about.
        self._undecided = dict.fromkeys(sorted(self._of_all - reach.known.super_users))
        own = ((who, piece) for who in self._undecided for piece in self._near.of(who).own)
        self._own = ByNames((piece.resources.names, (who, piece)) for who, piece in own)
        self._start()
        for number, zone in enumerate(self.zones):  # grows meanwhile
            self._enter(number, zone)

    def of(self, principal: str) -> HeldRight | None:
        """An example of how a principal itself gets at the records; ``None`` if it could not."""
        if principal in self._of_all or principal == self._reach.known.unnamed:
            return self._held_rights.get(principal)
        return _of(self._held_rights.get(self._reach.known.unnamed), principal)

    def differs(self, principal: str) -> bool:
        """Whether it may get at other records than everybody else."""
        return principal in self._of_all

    def _start(self) -> None:
        """Those who may do anything: whatever there is, they could move it everywhere."""
        results = ((mover, via) for mover, via in self._reach.acting[1].items() if mover not in self._trusted)
        if self.zones and (first := next(results, None)) is not None:
            mover, via = first
            self._add(ResourceSet(_T.TOPIC), Hop(HopKind.FLOW, mover, ResourceSet(_T.TOPIC), None, via=via), 0)

    def _add(self, resources: ResourceSet, move: Hop | None, before: int) -> None:
        self.zones += [_Zone(part, move, before) for part in self._there.new(resources)]

    def _enter(self, number: int, zone: _Zone) -> None:
        """Everybody who gets at a zone and was at none before; and where they could move records."""
        if not self._reading:
            self._lost_letters(number, zone)
        results = self._arriving(zone.resources)
        for principal in sorted(results):
            operation = _O.READ if self._reading else _O.WRITE
            resources, host, name = results[principal]
            right = HeldRight(resources, AccessRequest(principal, host, operation, _T.TOPIC, name), self.moves(number))
            self._held_rights[principal] = right
            self._undecided.pop(principal, None)
            if self._reading:
                self._dead_letters(number, principal)
            for mover in dict.fromkeys((principal, *self._reach.acting[0].get(principal, ()))):
                if mover not in self._trusted and mover not in self._moved:
                    self._moved.add(mover)
                    self._move(number, mover, right.request)

    def _arriving(self, zone: ResourceSet) -> dict[str, Piece]:
        """Those who may READ, or else WRITE, some topic of a zone, and got at none before."""
        near, unnamed = self._near, self._reach.known.unnamed
        results: dict[str, Piece] = {}
        for principal, piece in self._own.meeting(zone.names):
            if principal in self._undecided and principal not in results:
                part = within(piece, zone)
                if part is not None:
                    results[principal] = part
        # A right of everybody counts beside everybody's own ones.
        everybodys = near.everybodys(zone)
        if everybodys:
            if unnamed not in self._held_rights:
                results[unnamed] = everybodys[0]
            for principal in self._undecided.keys() - results.keys():
                held = near.of(principal)
                some = (part for piece in everybodys for part in near.outside(piece, held.but)) if held.alike else ()
                if (part := next(iter(some), None)) is not None:
                    results[principal] = part
        return results

    def _move(self, number: int, mover: str, here: AccessRequest) -> None:
        """The other end of all that somebody could move, as itself or as anybody that it could act as."""
        operation = _O.WRITE if self._reading else _O.READ
        rows = self._reach.reached(mover)
        if here.principal == mover and not (self._reach.differs(mover) or self._reach.perhaps):
            # All who are like everybody else act as the same others.
            rows, self._alike_moved = (rows[:1] if self._alike_moved else rows), True
        at = next(at for at, row in enumerate(rows) if here.principal in (row.principals or ()))
        first = self._reach.path(rows, at, here.principal)
        for at, row in enumerate(rows):
            for principal in sorted((row.principals or frozenset()) - self._written):
                for piece in self._other_end(principal):
                    if not (parts := self._there.new(piece.resources)):
                        continue
                    there = AccessRequest(principal, piece.host, operation, _T.TOPIC, piece.name)
                    both = (here, there) if self._reading else (there, here)
                    via = (*first, *self._reach.path(rows, at, principal))
                    move = Hop(HopKind.FLOW, mover, piece.resources, None, *both, via=via)
                    self.zones += [_Zone(part, move, number) for part in parts]

    def _other_end(self, principal: str) -> Iterator[Piece]:
        """The far topics of a principal, but for everybody's that are zones; asked for once, and then all are zones."""
        self._written.add(principal)
        held = self._far.of(principal)
        yield from held.own
        if held.alike:
            rest = []
            for piece in self._far_remaining:
                parts = list(self._far.outside(piece, held.but))
                yield from parts
                if parts != [piece]:
                    rest.append(piece)
            self._far_remaining = rest

    def _dead_letters(self, number: int, principal: str) -> None:
        """Somebody reads these topics: with a share group that has a dead letter queue, so do the readers of that."""
        own = self._reach.rights(_T.GROUP, _O.READ).of(principal) if self._groups else None
        for group, topic in tuple(self._groups.items()):
            # Most have no binding on groups.
            everybodys = self._joined_by_all[group]
            if own is None or not (everybodys or own.own):
                continue
            resources = ResourceSet(_T.TOPIC, literal(topic))
            if resources.witness() is not None and (right := self._may_join(principal, group)) is not None:
                self._add(resources, Hop(HopKind.DEAD_LETTERS, principal, resources, None, right), number)
                del self._groups[group]

    def _lost_letters(self, number: int, zone: _Zone) -> None:
        """The topics whose records a share group could give up to a dead letter queue in a zone."""
        for group, topic in self._groups.items():
            if not zone.resources.contains(topic):
                continue
            joining = self._joining
            if self._joined_by_all[group]:
                joining = joining.union(self._of_all, (self._reach.known.unnamed,))
            for principal in sorted(joining - self._written):
                if (right := self._may_join(principal, group)) is not None:
                    for piece in self._other_end(principal):
                        move = Hop(HopKind.DEAD_LETTERS, principal, piece.resources, None, right)
                        self._add(piece.resources, move, number)

    def _may_join(self, principal: str, group: str) -> AccessRequest | None:
        zone = ResourceSet(_T.GROUP, literal(group))
        for piece in self._reach.rights(_T.GROUP, _O.READ).pieces(principal, zone, self._joined_by_all[group]):
            return AccessRequest(principal, piece.host, _O.READ, _T.GROUP, group)
        return None

    def moves(self, number: int) -> tuple[Hop, ...]:
        """The moves between a zone and what was asked about, in the order of the records."""
        results: list[Hop] = []
        while (move := self.zones[number].move) is not None:
            results.append(move)
            number = self.zones[number].before
        return tuple(reversed(results)) if self._reading else tuple(results)
