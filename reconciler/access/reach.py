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

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.comparison import CLUSTER_NAMES, ON_EVERY_TOPIC, AccessComparison
from reconciler.access.group import DENIED, IMPLIED, bits
from reconciler.access.hosts import address_range, is_dead
from reconciler.access.interpretation import Interpretation, unnamed_principal
from reconciler.access.names import (
    ALL_NAMES,
    ASTERISK_NAMES,
    NameSet,
    ResourceEffect,
    ResourceSet,
    common,
    inside,
    less,
    meets,
    meets_any,
    names_of,
    outermost,
)
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType
from reconciler.model.desired import Control, Links

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
#: By which operations on each resource type somebody acts as others, whatever manifests say of topics.
ACTS_AS: Final[Mapping[ResourceType, frozenset[AclOperation]]] = {
    _T.CLUSTER: frozenset(_OVER_CLUSTER),
    _T.USER: frozenset(_OVER_USER),
    _T.DELEGATION_TOKEN: frozenset({_O.DESCRIBE}),
}
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
_DESCRIBE: Final = 1 << _O.DESCRIBE
#: Of more principals than that it is cheaper to know all who differ.
_FEW: Final = 64
_NO_NAMES: Final[tuple[NameSet, ...]] = ()


class Hop(NamedTuple):
    """A principal acts as others by one right, of which ``request`` is an example on ``resources``.

    ``acts_as`` are known principals; ``None``: anybody, and so everything. Without a request there is no right: by a
    token it takes none, and it is not known who is a member of a group.
    """

    kind: HopKind
    principal: str
    resources: ResourceSet
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


# Who may do one operation: everybody's resource sets once, and for each principal only what its own bindings change.


class Piece(NamedTuple):
    """Names on which an operation is permitted, with an example: the shortest name, and a host."""

    resources: ResourceSet
    host: str
    name: str


class HeldNames(NamedTuple):
    """What one principal may do: ``own``, and, if it is ``alike``, what everybody may on names outside of ``but``.

    ``but`` are disjoint and sorted.
    """

    own: tuple[Piece, ...]
    but: tuple[NameSet, ...] = _NO_NAMES
    alike: bool = True


_NOTHING: Final = HeldNames(())
_ItemT = TypeVar("_ItemT")


def within(piece: Piece, zone: ResourceSet) -> Piece | None:
    """The names of a piece that are in a zone, too; ``None`` if there are none."""
    resources = piece.resources
    if not zone.cuts and zone.names.contains(resources.names):
        return piece
    shared = common(resources, zone)
    return None if shared is None else Piece(shared, piece.host, shared.witness() or piece.name)


class ByNames(Generic[_ItemT]):
    """Items by the name sets of their resource sets: those that may share a name with a set, by look-up."""

    __slots__ = ("_lengths", "_literals", "_ordered", "_prefixes")

    def __init__(self, items: Iterable[tuple[NameSet, _ItemT]] = ()) -> None:
        self._prefixes: dict[str, list[_ItemT]] = {}
        self._literals: dict[str, list[_ItemT]] = {}
        for names, item in items:
            (self._literals if names.literal else self._prefixes).setdefault(names.text, []).append(item)
        self._lengths = sorted({len(text) for text in self._prefixes})
        self._ordered = sorted({*self._prefixes, *self._literals})

    def meeting(self, names: NameSet) -> Iterator[_ItemT]:
        """The items whose set is around a set, the widest first, and those inside it."""
        text, prefixes = names.text, self._prefixes
        for length in self._lengths:
            if length > len(text) or (length == len(text) and not names.literal):
                break
            yield from prefixes.get(text[:length], ())
        if names.literal:
            yield from self._literals.get(text, ())
            return
        for at in range(bisect_left(self._ordered, text), len(self._ordered)):
            inner = self._ordered[at]
            if not inner.startswith(text):
                return
            yield from prefixes.get(inner, ())
            yield from self._literals.get(inner, ())


class Rights:
    """Who may do one operation on which names of one resource type, in one interpretation.

    A principal may do what its own ALLOWs and those of everybody permit, without the names that a DENY is about. So
    only its own bindings are looked at, ALLOWs of an address too. Ranges of hosts, DENYs of an address,
    guesses about entries that cannot be read, and rights that other resource types give are compared in full.
    """

    __slots__ = (
        "_bit",
        "_by_names",
        "_comparison",
        "_denied",
        "_held",
        "_host",
        "_pieces",
        "_plain",
        "_world",
        "_zone",
        "kind",
    )

    def __init__(self, world: Interpretation, comparison: AccessComparison, everybody: str, kind: ResourceType) -> None:
        """``comparison`` is about the one operation; ``everybody`` is whom no binding names."""
        self._world, self._comparison, self.kind = world, comparison, kind
        self._bit = bit = comparison.supported[kind]
        self._zone = CLUSTER_NAMES if kind is _T.CLUSTER else ALL_NAMES
        group = world.index.group(kind, WILDCARD_PRINCIPAL)
        rules = {} if group is None else group.rules
        self._denied = {
            host: outermost(names for names, mask in of_host.items() if mask >> DENIED & bit)
            for host, of_host in rules.items()
        }
        addresses = frozenset(rules) - {WILDCARD}
        self._host = comparison.classes(addresses)[0].sample
        self._plain = (
            world.index is world.cover
            and (group is None or group.ranges is None)
            and kind is not _T.CLUSTER
            and not (kind is _T.TOPIC and bit & ON_EVERY_TOPIC)
            and not any(names.text.startswith(WILDCARD) for some in self._denied.values() for names in some)
        )
        pieces = self._compared(everybody) if bit else ()
        #: By ALLOW what it permits to those without a DENY of their own: many have the same.
        self._pieces: dict[tuple[NameSet, str], Piece | None] = {}
        self._held: dict[str, HeldNames] = {everybody: _NOTHING, WILDCARD_PRINCIPAL: _NOTHING}
        self._by_names = ByNames((piece.resources.names, piece) for piece in pieces)

    def _compared(self, principal: str) -> tuple[Piece, ...]:
        results = self._comparison.pieces(principal, self.kind, self._zone)
        return tuple(Piece(item.resources, item.host, item.name) for item in results if item.effect.gained)

    def of(self, principal: str) -> HeldNames:
        """What somebody may do."""
        results = self._held.get(principal)
        if results is None:
            results = self._held[principal] = self._holding(principal)
        return results

    def _holding(self, principal: str) -> HeldNames:
        index, bit = self._world.index, self._bit
        group = index.group(self.kind, principal)
        elsewhere = self.kind in _OVER_OTHERS and not self._plain
        elsewhere = elsewhere and any(index.bindings(kind, principal) for kind in _OVER_OTHERS)
        if not bit or not (group or elsewhere):
            return _NOTHING
        allowed: list[tuple[NameSet, str]] = []
        denied: list[NameSet] = []
        plain = self._plain
        for host, rules in () if group is None else group.rules.items():
            if host != WILDCARD and is_dead(host, index.version):
                continue
            for names, mask in rules.items():
                denies = mask >> DENIED & bit
                if not (denies or (mask | mask >> IMPLIED) & bit):
                    continue
                plain = plain and not names.text.startswith(WILDCARD)
                if denies:
                    plain = plain and host == WILDCARD
                    denied.append(names)
                else:
                    plain = plain and (host == WILDCARD or address_range(host, index.version) is None)
                    allowed.append((names, host))
        if not plain:
            return HeldNames(self._compared(principal), alike=False)
        but = outermost(denied)
        if self.kind is not _T.TOPIC and ALL_NAMES in but:  # but for longer names that begin with an asterisk
            return HeldNames(self._compared(principal), alike=False)
        own = (self._piece(names, host, but) if but else self._common_piece(names, host) for names, host in allowed)
        return HeldNames(tuple(piece for piece in own if piece is not None), tuple(but))

    def _common_piece(self, names: NameSet, host: str) -> Piece | None:
        key = names, host
        if key not in self._pieces:
            self._pieces[key] = self._piece(names, host, [])
        return self._pieces[key]

    def _piece(self, names: NameSet, host: str, but: list[NameSet]) -> Piece | None:
        """The names of an ALLOW without those of the DENYs."""
        if host == WILDCARD:
            refused, host = [self._denied.get(WILDCARD, []), but], self._host
        else:
            refused = [self._denied.get(WILDCARD, []), self._denied.get(host, []), but]
        if any(some and meets([names], some) == [names] for some in refused):
            return None
        cuts = outermost(cut for some in refused if some for cut in inside(some, names))
        if names == ALL_NAMES and self.kind is not _T.TOPIC:
            cuts = outermost([*cuts, ASTERISK_NAMES])
        resources = ResourceSet(self.kind, names, tuple(cuts))
        name = resources.witness()
        return None if name is None else Piece(resources, host, name)

    def everybodys(self, zone: ResourceSet) -> list[Piece]:
        """What everybody may do in a zone."""
        results = (within(piece, zone) for piece in self._by_names.meeting(zone.names))
        return [piece for piece in results if piece is not None]

    def pieces(self, principal: str, zone: ResourceSet, everybodys: Sequence[Piece] | None = None) -> Iterator[Piece]:
        """What somebody may do in a zone; ``everybodys`` is :meth:`everybodys` of it, if that is known."""
        held = self.of(principal)
        for piece in held.own:
            if (part := within(piece, zone)) is not None:
                yield part
        if held.alike:
            for piece in self.everybodys(zone) if everybodys is None else everybodys:
                yield from self.outside(piece, held.but)

    def outside(self, piece: Piece, but: Sequence[NameSet]) -> Iterator[Piece]:
        """A piece without some names."""
        refused = meets([piece.resources.names], list(but)) if but else []
        if not refused:
            yield piece
        elif refused != [piece.resources.names]:
            for resources in less([piece.resources], [ResourceSet(self.kind, names) for names in refused]):
                if (name := resources.witness()) is not None:
                    yield Piece(resources, piece.host, name)


#: Bindings on these resource types may give rights on others, too.
_OVER_OTHERS: Final = (_T.TOPIC, _T.CLUSTER)


class Reach:
    """Who could act as whom in one interpretation; ``perhaps``: with what is not known of members of groups."""

    __slots__ = (
        "_acting",
        "_alike",
        "_comparisons",
        "_differs",
        "_holders",
        "_hops",
        "_may_hop",
        "_rights",
        "_selected",
        "_zones",
        "known",
        "links",
        "perhaps",
        "world",
    )

    def __init__(self, world: Interpretation, people: Known, links: Links, *, perhaps: bool = False) -> None:
        """Nothing is computed yet."""
        self.world, self.known, self.links, self.perhaps = world, people, links, perhaps
        self._comparisons: dict[int, AccessComparison] = {}
        self._hops: dict[str, tuple[Hop, ...]] = {}
        self._selected: dict[ResourceSet, frozenset[str]] = {}
        self._may_hop: frozenset[str] | None = None
        self._differs: dict[str, bool] = {people.unnamed: False, WILDCARD_PRINCIPAL: False}
        self._rights: dict[tuple[ResourceType, AclOperation], Rights] = {}
        self._alike: list[ReachRow] | None = None
        self._acting: tuple[Mapping[str, Sequence[str]], Mapping[str, tuple[Hop, ...]]] | None = None
        self._holders = {who for _, holders in links.tokens for who in holders} - {WILDCARD_PRINCIPAL}
        self._zones = outermost(names_of(item) for control in links.controls for item in control.patterns)

    def comparison(self, mask: int) -> AccessComparison:
        """What somebody may do, limited to some operations."""
        if mask not in self._comparisons:
            self._comparisons[mask] = AccessComparison(None, self.world, self.known.unnamed, mask)
        return self._comparisons[mask]

    def rights(self, kind: ResourceType, operation: AclOperation) -> Rights:
        """Who may do an operation on which names of a resource type."""
        key = kind, operation
        if key not in self._rights:
            self._rights[key] = Rights(self.world, self.comparison(1 << operation), self.known.unnamed, kind)
        return self._rights[key]

    @property
    def may_hop(self) -> frozenset[str]:
        """Those with a hop that is not everybody else's, or with fewer; members of groups are not among them."""
        if self._may_hop is None:
            keys = {who for kind, who in self.world.index.group_keys() if kind in _RELEVANT and ":" in who}
            self._may_hop = frozenset(filter(self.differs, keys | self._holders))
        return self._may_hop

    def differs(self, principal: str) -> bool:
        """Whether somebody is one of ``may_hop``; by its own bindings, so that nobody else's are looked at."""
        results = self._differs.get(principal)
        if results is None:
            of = self.world.index.bindings
            results = self._differs[principal] = principal in self._holders or any(
                entry.operation in operations and (kind is not _T.TOPIC or meets_any(names_of(pattern), self._zones))
                for kind, operations in _RELEVANT.items()
                for pattern, entry in (of(kind, principal) if kind is not _T.TOPIC or self._zones else ())
            )
        return results

    def hops(self, principal: str) -> tuple[Hop, ...]:
        """What a principal may do by itself to act as somebody else; a super user need not."""
        who = principal if self.differs(principal) else self.known.unnamed
        if who not in self._hops:
            self._hops[who] = tuple(self._find_hops(who))
        results = self._hops[who] if who == principal else tuple(hop.by(principal) for hop in self._hops[who])
        return (*results, *self._memberships(principal)) if self.perhaps else results

    def _find_hops(self, principal: str) -> Iterator[Hop]:
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
                others = self._users(piece.resources) if piece.effect.gained >> operation & 1 else frozenset[str]()
                # The unnamed one acts as others whom no ACL names, too.
                if principal != self.known.unnamed:
                    others -= {principal}
                if others:
                    yield self._hop(kind, principal, operation, piece, others)
        owners = frozenset(owner for owner, holders in self.links.tokens if principal in holders)
        if owners:
            yield Hop(HopKind.HOLDING, principal, ResourceSet(_T.USER), owners)
        for control in self.links.controls:
            # Its own, too: who logged in as it with a token may do more by its records.
            for pattern in control.patterns:
                zone = ResourceSet(_T.TOPIC, names_of(pattern))
                writing = next(self.rights(_T.TOPIC, _O.WRITE).pieces(principal, zone), None)
                if writing is not None:
                    hop = self._hop(HopKind.CONTROL, principal, _O.WRITE, writing, frozenset({control.acts}))
                    yield hop._replace(control=control)

    @staticmethod
    def _hop(
        kind: HopKind,
        principal: str,
        operation: AclOperation,
        piece: ResourceEffect | Piece,
        acts_as: frozenset[str] | None,
    ) -> Hop:
        request = AccessRequest(principal, piece.host, operation, piece.resources.resource_type, piece.name)
        return Hop(kind, principal, piece.resources, acts_as, request)

    def _users(self, resources: ResourceSet) -> frozenset[str]:
        """The principals that a resource set of USER names: known ones, and for all others one whom no ACL names."""
        if resources not in self._selected:
            results = frozenset(resources.select(self.known.principals))
            if not resources.names.literal:
                results |= {self.known.unnamed}
            elif ":" in resources.names.text:
                results |= {resources.names.text}
            self._selected[resources] = results
        return self._selected[resources]

    def _memberships(self, principal: str) -> Iterator[Hop]:
        if principal.startswith("User:"):
            types = self.links.memberships
            groups = frozenset(item for item in self.known.principals if item.partition(":")[0] in types)
            if groups:
                yield Hop(HopKind.MEMBER, principal, ResourceSet(_T.USER), groups)

    def reached(self, principal: str, most: int | None = None) -> list[ReachRow]:
        """As whom a principal could act, by at most ``most`` hops, the nearest first; ends with anybody, if it may.

        A later row may have the principal itself, which then logs in otherwise.
        """
        first = ReachRow(frozenset({principal}), None, -1, 0)
        if principal in self.known.super_users:
            return [first._replace(principals=None)]
        if most is not None or self.differs(principal) or (self.perhaps and self.links.memberships):
            return self._followed(first, {principal}, most)
        # All who are like everybody else act as the same others, and as others like themselves.
        if self._alike is None:
            self._alike = self._followed(ReachRow(frozenset({self.known.unnamed}), None, -1, 0), set(), None)
        rows = self._alike[1:]
        return [
            first,
            *(row if row.before or row.hop is None else row._replace(hop=row.hop.by(principal)) for row in rows),
        ]

    @property
    def acting(self) -> tuple[Mapping[str, Sequence[str]], Mapping[str, tuple[Hop, ...]]]:
        """By principal those who could act as it, but for itself; and how some could do anything."""
        if self._acting is None:
            results: dict[str, list[str]] = {}
            anything: dict[str, tuple[Hop, ...]] = {}
            for mover in (*sorted(self.may_hop), self.known.unnamed):
                rows = self.reached(mover)
                if rows[-1].principals is None:
                    anything[mover] = self.path(rows, len(rows) - 1)
                for row in rows[1:]:
                    for principal in row.principals or ():
                        results.setdefault(principal, []).append(mover)
            self._acting = results, anything
        return self._acting

    def _followed(self, first: ReachRow, full: set[str], most: int | None) -> list[ReachRow]:
        rows = [first]
        by_token, common = set[str](), set[HopKind]()
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
        few = len(principals) < _FEW
        differing = sorted(filter(self.differs, principals) if few else principals & self.may_hop)
        followed = HopKind.CREATE_TOKENS if row.by_token else HopKind.CONTROL
        if len(differing) < len(principals) and followed not in common:
            common.add(followed)
            differing.append(min(principals.difference(differing)))
        for principal in differing:
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
