"""Reach: as whom a principal could act, and where records could be moved. What a stolen credential gets.

A *hop* is a right by which a principal acts as another one. Each rule is Kafka's:

- CREATE_TOKENS on USER: a delegation token for that user (KIP-373, ``KafkaApis.handleCreateTokenRequest``). Whoever has
  the token logs in as the user.
- DESCRIBE_TOKENS on USER, or DESCRIBE on DELEGATION_TOKEN: the answer has the HMAC of tokens, which is all that a login
  takes (``KafkaApis.handleDescribeTokensRequest``, ``DelegationTokenManager.filterToken``). An ACL does not say whose a
  token is, so by the second of these somebody acts as anybody.
- A token that is there: whoever asked for it or renews it reads its secret without an ACL
  (``TokenInformation.ownerOrRenewer``).
- A session that logged in with a token neither creates nor describes one (``KafkaApis.allowTokenRequests``).
- ALTER on CLUSTER: every ACL (``AclApis``), and the SCRAM password of everybody
  (``KafkaApis.handleAlterUserScramCredentialsRequest``).
- ALTER_CONFIGS on CLUSTER: a new listener with logins of its own, super users included
  (``DynamicListenerConfig.ReconfigurableConfigs``).
- CLUSTER_ACTION on CLUSTER: a follower's fetch reads every topic (``KafkaApis.handleFetchRequest``); an envelope to a
  controller names the principal of the request inside (KIP-590, ``ControllerApis.handleEnvelopeRequest``).
- WRITE on a control topic: the service that obeys its records acts with its own principal. Manifests declare which.

Records *could* move from one topic to another where one principal may READ the one and WRITE the other, and from a
topic to the dead letter queue of a share group that somebody reads it with (KIP-1191). That they do is another
question.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.api_rights import CLUSTER_NAMES
from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.comparison import AccessComparison
from reconciler.access.effective import candidates
from reconciler.access.interpretation import Interpretation, unnamed_principal
from reconciler.access.names import ALL_NAMES, NameSet, Region, RegionEffect, common, literal, names_of, shortest_name
from reconciler.access.operations import bits, operations_in
from reconciler.access.questions import instead
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Declaration, Origin
from reconciler.model.duty import Control, Duty, Links

_O, _T = AclOperation, ResourceType


class HopKind(StrEnum):
    """By which rule somebody acts as somebody else, or records move."""

    ALTER = "alter"
    ALTER_CONFIGS = "alter-configs"
    CLUSTER_ACTION = "cluster-action"
    CREATE_TOKENS = "create-tokens"
    DESCRIBE_TOKENS = "describe-tokens"
    HOLDING = "holding"
    CONTROL = "control"
    MEMBER = "member"
    FLOW = "flow"
    DEAD_LETTERS = "dead-letters"


_OVER_CLUSTER: Final = {
    _O.ALTER: HopKind.ALTER,
    _O.ALTER_CONFIGS: HopKind.ALTER_CONFIGS,
    _O.CLUSTER_ACTION: HopKind.CLUSTER_ACTION,
}
_OVER_USER: Final = {_O.CREATE_TOKENS: HopKind.CREATE_TOKENS, _O.DESCRIBE_TOKENS: HopKind.DESCRIBE_TOKENS}
#: Of a principal's bindings on each resource type, those that make or deny a hop name one of these.
_RELEVANT: Final[Mapping[ResourceType, frozenset[AclOperation]]] = {
    _T.CLUSTER: frozenset({_O.ALL, *_OVER_CLUSTER}),
    _T.USER: frozenset({_O.ALL, *_OVER_USER}),
    _T.DELEGATION_TOKEN: frozenset(_O),
    _T.TOPIC: frozenset({_O.ALL, _O.WRITE}),
}
#: A session that logged in so may not do the same again.
_BY_TOKEN: Final = frozenset({*_OVER_USER.values(), HopKind.HOLDING})
_HOPS: Final = bits((*_OVER_CLUSTER, *_OVER_USER))
_READ, _WRITE, _DESCRIBE = (1 << operation for operation in (_O.READ, _O.WRITE, _O.DESCRIBE))


class Hop(NamedTuple):
    """A principal acts as others by one right, of which ``request`` is an example on ``region``.

    ``acts_as`` are known principals; ``None``: anybody, and so everything. Without a request there is no right: by a
    token it takes none, and it is not known who is a member of a group.
    """

    kind: HopKind
    principal: str
    region: Region
    acts_as: frozenset[str] | None
    request: AccessRequest | None = None
    #: Where records move: the WRITE beside the READ.
    writes: AccessRequest | None = None
    control: Control | None = None
    #: How a mover of records comes to act as those who may READ and WRITE.
    via: "tuple[Hop, ...]" = ()

    @property
    def requests(self) -> "Iterator[AccessRequest]":
        """Every right that it takes."""
        for hop in self.via:
            yield from hop.requests
        yield from (request for request in (self.request, self.writes) if request is not None)

    def by(self, principal: str) -> "Hop":
        """The same of another principal with the same right."""
        if principal == self.principal:
            return self
        request = None if self.request is None else self.request._replace(principal=principal)
        return self._replace(principal=principal, request=request)


class ReachRow(NamedTuple):
    """Whom a principal could act as by a hop of one of an earlier row, ``before``; ``None``: anybody.

    The first row is the principal itself, without a hop.
    """

    principals: frozenset[str] | None
    hop: Hop | None
    before: int
    depth: int

    @property
    def by_token(self) -> bool:
        """Whether the login was by a token."""
        return self.hop is not None and self.hop.kind in _BY_TOKEN


class Known(NamedTuple):
    """Who there is: principals, sorted; super users; one whom no ACL names, who stands for everybody else.

    ``claimed`` are perhaps super users: whoever acts as one may do anything, and by themselves they are like others.
    """

    principals: tuple[str, ...]
    super_users: frozenset[str]
    claimed: frozenset[str]
    unnamed: str

    @classmethod
    def of(cls, authorizer: Authorizer, links: Links, claimed: Iterable[str] = ()) -> "Known":
        """All that ACLs or control topics name."""
        worlds = [world.index for world in authorizer.interpretations.both]
        named = {who for index in worlds for _, who in index.group_keys() if ":" in who}
        named |= {control.acts for control in links.controls} | authorizer.super_users | {*claimed}
        named |= {who for owner, holders in links.tokens for who in (owner, *holders)}
        unnamed = unnamed_principal(worlds, named)
        results = tuple(sorted(named - {WILDCARD_PRINCIPAL, unnamed}))
        return cls(results, authorizer.super_users, frozenset(claimed), unnamed)

    def may_do_anything(self, principals: frozenset[str] | None) -> bool:
        """Whether one of them is a super user, at least perhaps; ``None`` is anybody."""
        return principals is None or not principals.isdisjoint(self.super_users | self.claimed)


class HeldRight(NamedTuple):
    """One of some operations on some name of a region, with an example; ``moves``: how records get there, or from."""

    region: Region
    request: AccessRequest
    moves: tuple[Hop, ...] = ()


class Reach:
    """Who could act as whom in one interpretation; ``perhaps``: with what is not known of members of groups."""

    __slots__ = ("_comparisons", "_hops", "_may_hop", "_selected", "known", "links", "perhaps", "topics", "world")

    def __init__(self, world: Interpretation, people: Known, links: Links, *, perhaps: bool = False) -> None:
        """Nothing is computed yet."""
        self.world, self.known, self.links, self.perhaps = world, people, links, perhaps
        self._comparisons: dict[int, AccessComparison] = {}
        self._hops: dict[str, tuple[Hop, ...]] = {}
        self._selected: dict[Region, frozenset[str]] = {}
        self._may_hop: frozenset[str] | None = None
        #: What each principal may READ and WRITE; filled as flows are followed.
        self.topics: dict[str, tuple[tuple[RegionEffect, ...], tuple[RegionEffect, ...]]] = {}

    def comparison(self, mask: int) -> AccessComparison:
        """What somebody may do, limited to some operations."""
        if mask not in self._comparisons:
            self._comparisons[mask] = AccessComparison(None, self.world, self.known.unnamed, mask)
        return self._comparisons[mask]

    @property
    def may_hop(self) -> frozenset[str]:
        """Those with a hop that is not everybody else's, or with fewer; members of groups are not among them."""
        if self._may_hop is None:
            index, results = self.world.index, set[str]()
            zones = [names_of(item) for control in self.links.controls for item in control.patterns]
            for kind, operations in _RELEVANT.items():
                near = index.principals(kind).meeting(zones if kind is _T.TOPIC else [ALL_NAMES])
                results |= {
                    item for item in near if any(b.entry.operation in operations for b in index.bindings(kind, item))
                }
            results |= {who for _, holders in self.links.tokens for who in holders}
            self._may_hop = frozenset(results - {WILDCARD_PRINCIPAL})
        return self._may_hop

    def hops(self, principal: str) -> tuple[Hop, ...]:
        """What a principal may do by itself to act as somebody else; a super user need not."""
        who = principal if principal in self.may_hop else self.known.unnamed
        if who not in self._hops:
            self._hops[who] = tuple(self._found(who))
        results = self._hops[who] if who == principal else tuple(hop.by(principal) for hop in self._hops[who])
        return (*results, *self._memberships(principal)) if self.perhaps else results

    def _found(self, principal: str) -> Iterator[Hop]:
        # The gravest first: of several ways the first is shown.
        pieces = self.comparison(_HOPS).pieces(principal, _T.CLUSTER, CLUSTER_NAMES)
        for operation, kind in _OVER_CLUSTER.items():
            if results := next((piece for piece in pieces if piece.effect.gained >> operation & 1), None):
                yield self._hop(kind, principal, operation, results, None)
        for piece in self.comparison(_DESCRIBE).pieces(principal, _T.DELEGATION_TOKEN, ALL_NAMES):
            yield self._hop(HopKind.DESCRIBE_TOKENS, principal, _O.DESCRIBE, piece, None)
            break
        users = self.comparison(_HOPS).pieces(principal, _T.USER, ALL_NAMES)
        for operation, kind in _OVER_USER.items():
            for piece in users:
                others = self._users(piece.region) - {principal} if piece.effect.gained >> operation & 1 else ()
                if others:
                    yield self._hop(kind, principal, operation, piece, frozenset(others))
        owners = frozenset(owner for owner, holders in self.links.tokens if principal in holders)
        if owners:
            yield Hop(HopKind.HOLDING, principal, Region(_T.USER), owners)
        for control in self.links.controls:
            # Its own, too: who logged in as it with a token may do more by its records.
            for pattern in control.patterns:
                for piece in self.comparison(_WRITE).pieces(principal, _T.TOPIC, names_of(pattern))[:1]:
                    hop = self._hop(HopKind.CONTROL, principal, _O.WRITE, piece, frozenset({control.acts}))
                    yield hop._replace(control=control)

    @staticmethod
    def _hop(
        kind: HopKind, principal: str, operation: AclOperation, piece: RegionEffect, acts_as: frozenset[str] | None
    ) -> Hop:
        request = AccessRequest(principal, piece.host, operation, piece.region.resource_type, piece.name)
        return Hop(kind, principal, piece.region, acts_as, request)

    def _users(self, region: Region) -> frozenset[str]:
        """The principals that a region of USER names: known ones, and for all others one whom no ACL names."""
        if region not in self._selected:
            results = frozenset(region.select(self.known.principals))
            if not region.names.literal:
                results |= {self.known.unnamed}
            elif ":" in region.names.text:
                results |= {region.names.text}
            self._selected[region] = results
        return self._selected[region]

    def _memberships(self, principal: str) -> Iterator[Hop]:
        if principal.startswith("User:"):
            types = self.links.memberships
            groups = frozenset(item for item in self.known.principals if item.partition(":")[0] in types)
            if groups:
                yield Hop(HopKind.MEMBER, principal, Region(_T.USER), groups)

    def reached(self, principal: str, most: int | None = None) -> list[ReachRow]:
        """As whom a principal could act, by at most ``most`` hops, the nearest first; ends with anybody, if it may."""
        rows = [ReachRow(frozenset({principal}), None, -1, 0)]
        if principal in self.known.super_users:
            return [rows[0]._replace(principals=None)]
        full, by_token, common = {principal}, set[str](), set[HopKind]()
        for number, row in enumerate(rows):  # grows meanwhile
            for hop in self._hops_of(row, common) if most is None or row.depth < most else ():
                acts_as = hop.acts_as
                if acts_as is None or self.known.may_do_anything(acts_as):
                    return [*rows, ReachRow(None, hop, number, row.depth + 1)]
                token = hop.kind in _BY_TOKEN
                fresh = acts_as - full - by_token if token else acts_as - full
                if fresh:
                    (by_token if token else full).update(fresh)
                    rows.append(ReachRow(fresh, hop, number, row.depth + 1))
        return rows

    def _hops_of(self, row: ReachRow, common: set[HopKind]) -> Iterator[Hop]:
        """The hops of all in a row; those that everybody else has are followed once for each way to log in."""
        principals = row.principals or frozenset()
        alike = principals - self.may_hop
        followed = HopKind.CREATE_TOKENS if row.by_token else HopKind.CONTROL
        if alike and followed not in common:
            common.add(followed)
        else:
            alike = frozenset()
        for principal in (*sorted(principals & self.may_hop), *([min(alike)] if alike else [])):
            hops = self.hops(principal)
            yield from (hop for hop in hops if not (row.by_token and hop.kind in _BY_TOKEN))

    def path(self, rows: Sequence[ReachRow], number: int, principal: str | None = None) -> tuple[Hop, ...]:
        """The hops to a row, the first one first; the last acts as ``principal`` alone, if one is given."""
        results: list[Hop] = []
        while (hop := rows[number].hop) is not None:
            acts_as = hop.acts_as if principal is None else frozenset({principal})
            results.append(hop._replace(acts_as=acts_as))
            number, principal = rows[number].before, hop.principal
        return tuple(reversed(results))

    def topic_pieces(self, principal: str) -> tuple[tuple[RegionEffect, ...], tuple[RegionEffect, ...]]:
        """The topics that a principal itself may READ, and those that it may WRITE."""
        if principal not in self.topics:
            pieces = self.comparison(_READ | _WRITE).pieces(principal, _T.TOPIC, ALL_NAMES)
            reads, writes = (tuple(item for item in pieces if item.effect.gained & bit) for bit in (_READ, _WRITE))
            self.topics[principal] = reads, writes
        return self.topics[principal]


# Who holds a duty, in one interpretation: by name, and where flows count, by what records could reach.


class DutyHolders:
    """Who may do one of a duty's operations on one of its names, under its own name."""

    __slots__ = ("_candidates", "_duty", "_flows", "_holding", "_masks", "_reach", "_rights")

    def __init__(self, reach: Reach, duty: Duty, *, flow: bool = False, trusted: Collection[str] = ()) -> None:
        """With ``flow``, READ and WRITE also of what records could move to or from; ``trusted`` move none."""
        self._reach, self._duty = reach, duty
        self._rights: dict[str, HeldRight | None] = {}
        self._holding: dict[frozenset[str], str | None] = {}
        mask = bits(duty.operations)
        self._masks = {item: mask & reach.comparison(-1).supported[item.resource_type] for item in duty.patterns}
        self._candidates: frozenset[str] = frozenset().union(
            *(
                candidates(reach.world, operation, pattern.resource_type, names_of(pattern))
                for pattern, results in self._masks.items()
                for operation in operations_in(results)
            )
        ) - {WILDCARD_PRINCIPAL}
        topics = [Region(_T.TOPIC, names_of(item)) for item in duty.patterns if item.resource_type is _T.TOPIC]
        followed = [reading for bit, reading in ((_READ, True), (_WRITE, False)) if mask & bit]
        self._flows = [Flow(reach, topics, reading=item, trusted=trusted) for item in followed if flow and topics]

    def of(self, principal: str) -> HeldRight | None:
        """An example of what a principal may do, the shortest name first; ``None`` if it holds nothing of the duty."""
        if principal not in self._rights:
            self._rights[principal] = self._direct(principal) or self._moved(principal)
        return self._rights[principal]

    def differs(self, principal: str) -> bool:
        """Whether what it holds may be other than what everybody else does."""
        return principal in self._candidates or any(flow.differs(principal) for flow in self._flows)

    def among(self, principals: frozenset[str]) -> str | None:
        """The first of these that holds something."""
        # The same sets come again with each principal that may act as all of them.
        if principals not in self._holding:
            self._holding[principals] = next((item for item in sorted(principals) if self.of(item) is not None), None)
        return self._holding[principals]

    def _direct(self, principal: str) -> HeldRight | None:
        if principal not in self._candidates and principal != self._reach.known.unnamed:
            return _of(self._direct_of_all(), principal)
        best: HeldRight | None = None
        for pattern, mask in self._masks.items():
            kind = pattern.resource_type
            for piece in self._reach.comparison(mask).pieces(principal, kind, names_of(pattern)) if mask else ():
                if best is None or len(piece.name) < len(best.request.resource_name):
                    operation = min(operations_in(piece.effect.gained & mask))
                    best = HeldRight(piece.region, AccessRequest(principal, piece.host, operation, kind, piece.name))
        return best

    def _direct_of_all(self) -> HeldRight | None:
        unnamed = self._reach.known.unnamed
        if unnamed not in self._rights:
            self._rights[unnamed] = self._direct(unnamed) or self._moved(unnamed)
        results = self._rights[unnamed]
        return None if results is None or results.moves else results

    def _moved(self, principal: str) -> HeldRight | None:
        return next((results for flow in self._flows if (results := flow.of(principal)) is not None), None)

    def anything(self, hop: Hop | None, principal: str) -> HeldRight | None:
        """The right of somebody who may do anything; ``None`` if no resource can have such a name."""
        host = hop.request.host if hop is not None and hop.request is not None else _ANY_HOST
        for pattern, mask in self._masks.items():
            kind, names = pattern.resource_type, names_of(pattern)
            name = shortest_name(kind, names) if mask else None
            if name is not None:
                operation = min(operations_in(mask))
                return HeldRight(Region(kind, names), AccessRequest(principal, host, operation, kind, name))
        return None


#: Of the addresses set aside for documentation (RFC 5737).
_ANY_HOST: Final = "192.0.2.0"


def _of(right: HeldRight | None, principal: str) -> HeldRight | None:
    return None if right is None else right._replace(request=right.request._replace(principal=principal))


# Where records could be, or could come from: regions of topics, each with the move that brings them there.


class _Zone(NamedTuple):
    """Topics, and by which move of records of an earlier zone, ``before``; the first ones are what was asked about."""

    region: Region
    move: Hop | None = None
    before: int = -1


class Flow:
    """With ``reading``, where records of some topics could get to; else from where some topics could get records.

    ``trusted`` principals move none, and no super user does: what they do is not a matter of ACLs.
    """

    __slots__ = ("_acting", "_found", "_moved", "_of_all", "_reach", "_reading", "_seen", "_trusted", "zones")

    def __init__(self, reach: Reach, topics: Iterable[Region], *, reading: bool, trusted: Collection[str] = ()) -> None:
        """Follow every move once."""
        self._reach, self._reading = reach, reading
        self._trusted = frozenset(trusted) | reach.known.super_users
        self._found: dict[str, HeldRight] = {}
        self._moved: set[str] = set()
        self.zones = [_Zone(region) for region in topics if region.witness() is not None]
        self._seen = {zone.region for zone in self.zones}
        self._of_all = reach.world.index.principals(_T.TOPIC).meeting([ALL_NAMES]) - {WILDCARD_PRINCIPAL}
        self._acting: dict[str, list[str]] = {}
        self._start()
        for number, zone in enumerate(self.zones):  # grows meanwhile
            self._enter(number, zone)

    def of(self, principal: str) -> HeldRight | None:
        """An example of how a principal itself gets at the records; ``None`` if it could not."""
        if principal in self._of_all or principal == self._reach.known.unnamed:
            return self._found.get(principal)
        return _of(self._found.get(self._reach.known.unnamed), principal)

    def differs(self, principal: str) -> bool:
        """Whether it may get at other records than everybody else."""
        return principal in self._of_all

    def _start(self) -> None:
        """Who acts as whom, and those who may do anything: whatever there is, they could move it everywhere."""
        reach = self._reach
        for mover in (*sorted(reach.may_hop), reach.known.unnamed):
            rows = reach.reached(mover) if mover not in self._trusted else []
            if rows and rows[-1].principals is None and self.zones:
                via = reach.path(rows, len(rows) - 1)
                self._add(Region(_T.TOPIC), Hop(HopKind.FLOW, mover, Region(_T.TOPIC), None, via=via), 0)
                return
            for row in rows[1:]:
                for principal in row.principals or ():
                    self._acting.setdefault(principal, []).append(mover)

    def _add(self, region: Region, move: Hop, before: int) -> None:
        if region not in self._seen:
            self._seen.add(region)
            self.zones.append(_Zone(region, move, before))

    def _enter(self, number: int, zone: _Zone) -> None:
        """Everybody who gets at a zone and was at none before; and where they could move records."""
        unnamed = self._reach.known.unnamed
        everybody = self._meets(unnamed, zone.region) is not None
        near = {unnamed} if everybody else set()
        # A right of everybody counts beside everybody's own ones.
        near |= self._of_all if everybody else self._near(zone.region.names)
        if not self._reading:
            self._lost_letters(number, zone)
        for principal in sorted(near - self._found.keys() - self._reach.known.super_users):
            if (right := self._meets(principal, zone.region)) is None:
                continue
            self._found[principal] = right._replace(moves=self.moves(number))
            if self._reading:
                self._dead_letters(number, principal)
            for mover in dict.fromkeys((principal, *self._acting.get(principal, ()))):
                if mover not in self._trusted and mover not in self._moved:
                    self._moved.add(mover)
                    self._move(number, mover, right.request)

    def _near(self, names: NameSet) -> set[str]:
        return self._reach.world.index.principals(_T.TOPIC).meeting([names]) - {WILDCARD_PRINCIPAL}

    def _meets(self, principal: str, region: Region) -> HeldRight | None:
        """What a principal itself may READ, or else WRITE, of a region."""
        operation = _O.READ if self._reading else _O.WRITE
        for piece in self._reach.topic_pieces(principal)[0 if self._reading else 1]:
            if (results := common(piece.region, region)) is not None:
                name = results.witness() or piece.name
                return HeldRight(results, AccessRequest(principal, piece.host, operation, _T.TOPIC, name))
        return None

    def _move(self, number: int, mover: str, here: AccessRequest) -> None:
        """The other end of all that somebody could move, as itself or as anybody that it could act as."""
        operation = _O.WRITE if self._reading else _O.READ
        rows = self._reach.reached(mover)
        at = next(at for at, row in enumerate(rows) if here.principal in (row.principals or ()))
        first = self._reach.path(rows, at, here.principal)
        for at, row in enumerate(rows):
            for principal in sorted(row.principals or ()):
                via = (*first, *self._reach.path(rows, at, principal))
                for piece in self._reach.topic_pieces(principal)[1 if self._reading else 0]:
                    there = AccessRequest(principal, piece.host, operation, _T.TOPIC, piece.name)
                    both = (here, there) if self._reading else (there, here)
                    self._add(piece.region, Hop(HopKind.FLOW, mover, piece.region, None, *both, via=via), number)

    def _dead_letters(self, number: int, principal: str) -> None:
        """Somebody reads these topics: with a share group that has a dead letter queue, so do the readers of that."""
        for group, topic in (self._reach.links.dead_letters or {}).items():
            if (right := self._may_join(principal, group)) is not None:
                region = Region(_T.TOPIC, literal(topic))
                self._add(region, Hop(HopKind.DEAD_LETTERS, principal, region, None, right), number)

    def _lost_letters(self, number: int, zone: _Zone) -> None:
        """The topics whose records a share group could give up to a dead letter queue in a zone."""
        for group, topic in (self._reach.links.dead_letters or {}).items():
            if not zone.region.contains(topic):
                continue
            who = candidates(self._reach.world, _O.READ, _T.GROUP, literal(group)) | self._of_all
            for principal in sorted({*who, self._reach.known.unnamed} - {WILDCARD_PRINCIPAL}):
                if (right := self._may_join(principal, group)) is not None:
                    for piece in self._reach.topic_pieces(principal)[0]:
                        move = Hop(HopKind.DEAD_LETTERS, principal, piece.region, None, right)
                        self._add(piece.region, move, number)

    def _may_join(self, principal: str, group: str) -> AccessRequest | None:
        for piece in self._reach.comparison(_READ).pieces(principal, _T.GROUP, literal(group)):
            return AccessRequest(principal, piece.host, _O.READ, _T.GROUP, group)
        return None

    def moves(self, number: int) -> tuple[Hop, ...]:
        """The moves between a zone and what was asked about, in the order of the records."""
        results: list[Hop] = []
        while (move := self.zones[number].move) is not None:
            results.append(move)
            number = self.zones[number].before
        return tuple(reversed(results)) if self._reading else tuple(results)


# Which bindings give a right, and where they are declared.

#: By request the bindings that permit it, each with its place in the manifests, where it has one.
GivenBy: TypeAlias = Mapping[AccessRequest, tuple[tuple[AclBinding, Origin | None], ...]]


def deciding(authorizer: Authorizer, request: AccessRequest) -> tuple[AclBinding, ...]:
    """The bindings that permit a request, of that right or of one that the API accepts in place of it."""
    decision, other = authorizer.authorize(*request), instead(authorizer, request)
    if decision.allowed is not True and other is not None and other.allowed is not False:
        return other.bindings
    return decision.bindings if decision.allowed is not False else ()


def evidence_of(authorizer: Authorizer, requests: Iterable[AccessRequest]) -> GivenBy:
    """The bindings that permit each request; none where something else does, or it is denied."""
    notes = authorizer.sources.notes
    results = {}
    for request in dict.fromkeys(requests):
        given = ((binding, notes.get(binding)) for binding in deciding(authorizer, request))
        results[request] = tuple(
            (binding, note.origin if isinstance(note, Declaration) else note) for binding, note in given
        )
    return results
