"""Who gains and who loses access between two states: exact over every possible principal, host and name.

A principal can differ from everybody else only on names that its own bindings match. So there are rows for everybody
else, and rows for single principals, which override them on the names they cover. No row is about super users.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import PROBE, Authorizer, may_on_some_resource
from reconciler.access.comparison import CLUSTER_NAMES, IDEMPOTENT, ON_EVERY_TOPIC, AccessComparison, permitted_by_api
from reconciler.access.group import DENIED, BindingGroup, changed_keys, operations_in
from reconciler.access.hosts import Hosts
from reconciler.access.interpretation import ROW, Interpretation, Interpretations, Work, unnamed_principal
from reconciler.access.names import (
    ALL_NAMES,
    NO_EFFECT,
    AccessEffect,
    NameSet,
    ResourceEffect,
    ResourceSet,
    literal,
    meets,
    meets_any,
    names_of,
    outermost,
)
from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType
from reconciler.model.says import Says

# Where access may differ between two interpretations, and what changes there, for everybody else and each principal.
#
# Only what differs in the entries is compared, so that a difference of a few bindings is fast on a large cluster.

_WRITE_BIT: Final = 1 << AclOperation.WRITE | 1 << AclOperation.WRITE + DENIED
#: Where the APIs accept a right on another type instead.
_OTHER_TYPE: Final = {ResourceType.CLUSTER: ResourceType.TOPIC, ResourceType.TOPIC: ResourceType.CLUSTER}
#: Principals with more on one resource type are compared one by one.
_MANY_ENTRIES: Final = 64
#: What is unknown is the same in both.
InterpretationPair: TypeAlias = tuple[Interpretation, Interpretation]
_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


class InterpretationDifference:
    """The access difference in one comparison: of two interpretations, or of several pairs together."""

    __slots__ = (
        "_answers",
        "_changed",
        "_everyone",
        "_hidden",
        "_movers",
        "_pairs",
        "_reaching",
        "comparison",
        "direct",
    )

    def __init__(
        self, comparison: AccessComparison, pairs: Sequence[InterpretationPair], hidden: frozenset[str]
    ) -> None:
        """``hidden`` are the super users before or after; outside what changes in ``pairs`` nothing is compared."""
        self.comparison = comparison
        self._pairs = pairs
        self._hidden = hidden
        self._answers: dict[tuple[frozenset[object] | None, ...], list[ResourceEffect]] = {}
        # Only groups (resource type and principal) whose bindings differ need a comparison: a difference of a few
        # bindings is fast, however many the cluster has.
        changed = {group for before, after in pairs for group in before.index.changed_groups(after.index)}
        self._changed = changed
        self._movers = {principal for _, principal in changed}
        self._everyone: dict[ResourceType, list[NameSet]] = {}
        # In this order, because CLUSTER asks what changes on TOPIC (see _idempotence_may_change).
        for kind in _TYPES:
            self._everyone[kind] = outermost({key for pair in pairs for key in self._everyone_keys(kind, *pair)})
        # Of a principal whose bindings stay, nothing changes on other types.
        self._reaching = tuple(kind for kind in _TYPES if kind in _OTHER_TYPE or self._everyone[kind])
        #: The principals whose own bindings change.
        self.direct = sorted({who for _, who in changed if ":" in who} - hidden - {WILDCARD_PRINCIPAL})

    def _everyone_keys(self, kind: ResourceType, before: Interpretation, after: Interpretation) -> Iterator[NameSet]:
        """The names on which access may change for principals without bindings of their own."""
        if (kind, WILDCARD_PRINCIPAL) in self._changed:
            yield from self._changed_keys(kind, WILDCARD_PRINCIPAL)
        # Default-allow turns missing coverage into access. If it stays on, only names that become covered or uncovered
        # change.
        if before.default_allow != after.default_allow:
            yield ALL_NAMES
        elif before.default_allow and any(changed is kind for changed, _ in self._changed):
            old, new = before.coverage(kind), after.coverage(kind)
            # A new pattern inside a covered one changes nothing, and neither does removing such a pattern.
            yield from (key for key in _moved_names(kind, before, after) if old.covers(key) is not new.covers(key))
        # CREATE and DELETE on CLUSTER apply to every topic (ControllerApis.createTopics, deleteTopics).
        if kind is ResourceType.TOPIC and self._cluster_changes(self.comparison.unnamed):
            yield ALL_NAMES
        if kind is ResourceType.CLUSTER and self._idempotence_may_change(WILDCARD_PRINCIPAL):
            yield CLUSTER_NAMES

    def _idempotence_may_change(self, principal: str) -> bool:
        """Whether WRITE on topics changes: it also permits to start an idempotent producer."""
        open_by_default = any(item.default_allow for pair in self._pairs for item in pair)
        # Of the names that default-allow opens and closes, brokers ask about one only; else entries decide.
        zones = self._everyone[ResourceType.TOPIC] if principal == WILDCARD_PRINCIPAL and open_by_default else ()
        if any(zone.matches(PROBE) for zone in zones):
            return True
        changed = (ResourceType.TOPIC, principal) in self._changed
        return changed and bool(self._changed_keys(ResourceType.TOPIC, principal, _WRITE_BIT))

    def _changed_keys(self, kind: ResourceType, principal: str, bits: int = -1) -> set[NameSet]:
        keys: set[NameSet] = set()
        for before, after in self._pairs:
            old, new = (interpretation.index.group(kind, principal) for interpretation in (before, after))
            keys |= changed_keys(old, new, bits)
        return keys

    def _cluster_changes(self, principal: str) -> bool:
        """Whether what CLUSTER grants on every topic changes."""
        comparison = self.comparison
        texts = {t for group in comparison.groups(principal, ResourceType.CLUSTER) for t in group.tables}
        for host in comparison.classes(frozenset(texts - {WILDCARD})):
            asked = (principal, host.sample, ResourceType.CLUSTER, CLUSTER_NAMES)
            if any((before.access(*asked) ^ after.access(*asked)) & ON_EVERY_TOPIC for before, after in self._pairs):
                return True
        return False

    def _own_zones(self, kind: ResourceType, principal: str) -> list[NameSet]:
        """The names on which access may change differently for a principal than for everybody else."""
        everyone = self._everyone[kind]
        on_topics, on_cluster = (self._has_own(t, principal) for t in (ResourceType.TOPIC, ResourceType.CLUSTER))
        # Nothing changes for everybody else, and no binding of this principal changes.
        if not everyone and not on_cluster and principal not in self._movers:
            return []
        zones = self._changed_keys(kind, principal) if (kind, principal) in self._changed else set()
        # Where everybody else's access changes, a principal with bindings on those names may keep its own.
        if everyone:
            for keys in self._own_keys(kind, principal):
                zones.update(meets(keys, everyone))
        if kind is ResourceType.TOPIC and on_cluster:
            zones.update(everyone)
            if self._cluster_changes(principal):
                zones.add(ALL_NAMES)
        reached = bool(everyone and (on_topics or on_cluster))
        if kind is ResourceType.CLUSTER and (reached or self._idempotence_may_change(principal)):
            zones.add(CLUSTER_NAMES)
        return outermost(zones)

    def _own_keys(self, kind: ResourceType, principal: str) -> list[list[NameSet]]:
        groups = (interpretation.index.group(kind, principal) for interpretation in self.comparison.interpretations)
        return [group.ordered for group in dict.fromkeys(groups) if group is not None]

    def _has_own(self, kind: ResourceType, principal: str) -> bool:
        return any(interpretation.index.bindings(kind, principal) for interpretation in self.comparison.interpretations)

    def everyone_pieces(self) -> Iterator[ResourceEffect]:
        """What changes for everybody else."""
        for kind, zones in self._everyone.items():
            for zone in zones:
                yield from self.comparison.pieces(self.comparison.unnamed, kind, zone)

    def own_pieces(self, principal: str) -> Iterator[ResourceEffect]:
        """What changes for one principal, and where nothing changes although it does for everybody else."""
        # Principals with the same entries share an answer: hundreds of them may meet hundreds of changed names. To find
        # out whether many entries are the same takes longer than to look at the few that meet such names.
        if not any(self._everyone.values()) or self._has_many(principal):
            yield from self._own_pieces(principal)
            return
        entries = self._entries(principal)
        answer = self._answers.get(entries)
        if answer is None:
            answer = self._answers[entries] = list(self._own_pieces(principal))
        self.comparison.work.spend(ROW * len(answer))
        yield from answer

    def _has_many(self, principal: str) -> bool:
        index = self.comparison.after.index
        return any(len(index.bindings(kind, principal)) > _MANY_ENTRIES for kind in self._kinds(principal))

    def _entries(self, principal: str) -> tuple[frozenset[object] | None, ...]:
        """What a principal's own bindings say, without its name, on the types that count."""
        entries: list[frozenset[object] | None] = []
        for kind in self._kinds(principal):
            last: Collection[AclBinding] | None = None
            for interpretation in self.comparison.interpretations:
                bindings = interpretation.index.bindings(kind, principal)
                # As in the interpretation before: the same list, as a rule.
                same = bindings is last
                entries.append(None if same else frozenset([(pattern, entry[1:]) for pattern, entry in bindings]))
                last = bindings
        return tuple(entries)

    def _kinds(self, principal: str) -> tuple[ResourceType, ...]:
        """The types that its pieces can be of, and those that decide about them."""
        return _TYPES if principal in self._movers else self._reaching

    def _own_pieces(self, principal: str) -> Iterator[ResourceEffect]:
        for kind in self._kinds(principal):
            # Where everybody else's access changes, this principal needs a row even if its own does not change: the
            # row says that it is an exception.
            everyone = self._everyone[kind]
            zones = [(zone, meets_any(zone, everyone)) for zone in self._own_zones(kind, principal)]
            if zones:
                yield from self.comparison.pieces_of_zones(principal, kind, zones)

    def reached(self) -> list[str]:
        """Principals whose own bindings stay but match names on which everybody else's access may change; sorted."""
        # A guess that denies is in the strictest interpretation only, and may make an exception of its principal.
        indexes = {interpretation.index for interpretation in self.comparison.interpretations}
        principals: set[str] = set()
        for kind, zones in self._everyone.items():
            for index in indexes if zones else ():
                principals |= index.principals(kind, zones)
                if kind in _OTHER_TYPE:
                    principals |= index.principals(_OTHER_TYPE[kind], self._decisive(kind))
        return sorted(principals - set(self.direct) - self._hidden - {WILDCARD_PRINCIPAL})

    def _decisive(self, kind: ResourceType) -> list[NameSet]:
        """The names of the other type on which a principal's own bindings may decide about a change on ``kind``."""
        worlds = self.comparison.interpretations
        alike = len(worlds) <= 2 and len({world.default_allow for world in worlds}) == 1
        probed = any(zone.matches(PROBE) for zone in self._everyone[ResourceType.TOPIC])
        if kind is ResourceType.CLUSTER and alike and not probed and not any(of is kind for of, _ in self._changed):
            groups = [world.index.group(ResourceType.TOPIC, WILDCARD_PRINCIPAL) for world in worlds]
            # Where User:* is allowed no WRITE, an own ALLOW decides, and what changes on its names.
            if not any(group is not None and group.may_say(1 << AclOperation.WRITE) for group in groups):
                return outermost(self._changed_keys(ResourceType.TOPIC, WILDCARD_PRINCIPAL, _WRITE_BIT))
        return [ALL_NAMES]


def _moved_names(kind: ResourceType, before: Interpretation, after: Interpretation) -> set[NameSet]:
    """The names of the patterns on which bindings come or go."""
    moved = before.cover.moved(after.cover)
    return {names_of(pattern) for (of_kind, _), group in moved.items() if of_kind is kind for pattern, _ in group}


# What a change does for certain, and what it may do, where some entries of a cluster are guesses.
#
# The law, for every truth that the guesses allow: what truly changes at a request is in :class:`PossibleChange`, and
# what is in :class:`CertainChange` truly changes.
#
# Certain is what even the least permissive state after permits and not even the most permissive state before. For
# what is possible, the extremes are no use: wherever a guess may deny or allow everything, they say the same before
# and after (see ``reconciler.access.interpretation``). So each reading is compared with itself, and the results are
# united.
#
# Some APIs accept either of two rights. A guess may decide about one of them and not about the other, so each right
# is compared on its own; a change of one counts unless the other is held for certain.

_WRITE: Final = 1 << AclOperation.WRITE
_NO_WRITE: Final = 1 << AclOperation.WRITE + DENIED
_PROBED: Final = literal(PROBE)


class _GuessedComparison(AccessComparison):
    """Two states of whose entries some are guesses, the same ones before and after."""

    __slots__ = ("_extremes",)

    def __init__(self, before: Interpretations, after: Interpretations, unnamed: str, work: Work | None = None) -> None:
        super().__init__(before.least, after.least, unnamed, work=work)
        self._extremes = (before, after)
        # Names and hosts are divided by the rules of all of them, so that every reading is constant on each part.
        self.interpretations = tuple(
            dict.fromkeys(item for side in self._extremes for item in (*side.both, *side.readings))
        )


class CertainChange(_GuessedComparison):
    """What changes whatever the guesses are."""

    __slots__ = ()

    def effect(
        self, principal: str, host: str, resource_type: ResourceType, key: NameSet, on_cluster: str | None = None
    ) -> AccessEffect:
        """Permitted by the strictest reading after and not by the most permissive before; for losses the other way."""
        before, after = self._extremes
        asked = (principal, host, resource_type, key, on_cluster)
        kept = self.supported[resource_type]
        gained = permitted_by_api(after.least, *asked) & ~permitted_by_api(before.most, *asked) & kept
        lost = permitted_by_api(before.least, *asked) & ~permitted_by_api(after.most, *asked) & kept
        return AccessEffect(gained, lost) if gained or lost else NO_EFFECT


class PossibleChange(_GuessedComparison):
    """What changes for at least one truth that the guesses allow; an operation may be both gained and lost."""

    __slots__ = ("_moves", "_pairs")

    def __init__(self, before: Interpretations, after: Interpretations, unnamed: str, work: Work | None = None) -> None:
        super().__init__(before, after, unnamed, work)
        self._pairs = list(dict.fromkeys(zip(before.readings, after.readings, strict=True)))
        self._moves: dict[str, tuple[bool, bool]] = {}

    def effect(
        self, principal: str, host: str, resource_type: ResourceType, key: NameSet, on_cluster: str | None = None
    ) -> AccessEffect:
        """The changes of all readings, of each of the rights that permit something."""
        before, after = self._extremes
        gained, lost = self._of_right(principal, host, resource_type, key)
        if resource_type is ResourceType.TOPIC:
            other = (principal, on_cluster or host, ResourceType.CLUSTER, CLUSTER_NAMES)
            more, less = (part & ON_EVERY_TOPIC for part in self._of_right(*other))
            # Held through CLUSTER for certain, a right on the topic is nothing new, and its end takes nothing away.
            gained = gained & ~(before.least.access(*other) & ON_EVERY_TOPIC)
            lost = lost & ~(after.least.access(*other) & ON_EVERY_TOPIC)
        elif resource_type is ResourceType.CLUSTER:
            old, new = (self._starts(side, principal, host) for side in self._extremes)
            # A guess may move WRITE as well as the change does: count it only where the change can be the cause.
            up, down = self._write_moves(principal)
            more = IDEMPOTENT if up and new[1] and not old[0] else 0
            less = IDEMPOTENT if down and old[1] and not new[0] else 0
            gained = gained & ~(IDEMPOTENT if old[0] else 0)
            lost = lost & ~(IDEMPOTENT if new[0] else 0)
        else:
            more = less = 0
        # The other way round too: what CLUSTER adds is nothing new where the topic's own ACLs permit it for certain.
        gained |= more & ~before.least.access(principal, host, resource_type, key) if more else 0
        lost |= less & ~after.least.access(principal, host, resource_type, key) if less else 0
        kept = self.supported[resource_type]
        return AccessEffect(gained & kept, lost & kept) if (gained | lost) & kept else NO_EFFECT

    def _of_right(self, principal: str, host: str, kind: ResourceType, key: NameSet) -> tuple[int, int]:
        """What the ACLs on these names alone come to permit, and cease to, in any reading."""
        gained = lost = 0
        for before, after in self._pairs:
            old, new = (reading.access(principal, host, kind, key) for reading in (before, after))
            gained |= new & ~old
            lost |= old & ~new
        return gained, lost

    @staticmethod
    def _starts(side: Interpretations, principal: str, host: str) -> tuple[bool, bool]:
        """Whether WRITE on some topic lets an idempotent producer start: for certain, and perhaps.

        Brokers compare patterns for this, so many guesses decide together, and no reading stands for all mixtures of
        them. Least and most do: more ALLOWs never forbid it, and more DENYs never permit it.
        """
        asked = (principal, host, AclOperation.WRITE, ResourceType.TOPIC)
        least, most = (may_on_some_resource(extreme, *asked) for extreme in side.both)
        return least, most

    def _write_moves(self, principal: str) -> tuple[bool, bool]:
        """Whether something of the change can permit WRITE on some topic, and whether something can forbid it.

        Without this, two states between which nothing changes would differ wherever guesses leave it open.
        """
        if principal not in self._moves:
            self._moves[principal] = (self._forward(principal, self._pairs), self._forward(principal, self._turned()))
        return self._moves[principal]

    def _turned(self) -> list[tuple[Interpretation, Interpretation]]:
        return [(after, before) for before, after in self._pairs]

    @staticmethod
    def _forward(principal: str, pairs: Sequence[tuple[Interpretation, Interpretation]]) -> bool:
        """Whether an ALLOW of WRITE comes, a DENY goes, or a name is left to default-allow."""
        kind = ResourceType.TOPIC
        for old, new in pairs:
            was, now = (item.default_allow and not item.coverage(kind).covers(_PROBED) for item in (old, new))
            if now and not was:
                return True
            for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):
                before, after = old.index.group(kind, who), new.index.group(kind, who)
                if before is not after and (_more(before, after, _WRITE) or _more(after, before, _NO_WRITE)):
                    return True
        return False


def _more(old: BindingGroup | None, new: BindingGroup | None, bit: int) -> bool:
    """Whether ``new`` sets a bit on some host and names where ``old`` does not."""
    before = {} if old is None else old.rules
    after = {} if new is None else new.rules
    return any(
        mask & bit and not before.get(host, {}).get(key, 0) & bit
        for host, rules in after.items()
        for key, mask in rules.items()
    )


# Builds a named tuple without its Python-level constructor: there is one for each row.
_new: Final = tuple.__new__


class Witness(NamedTuple):
    """A connection and a resource name: an example of what a row says."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    host: Annotated[str, Says("The address that it connects from.", "10.0.0.1")]
    resource_name: Annotated[str, Says("The name of the resource.", "orders", name="name")]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What changes on a resource set; ``principal=None`` is everybody else: all who have no row or exception there.

    ``reading`` is ``None`` if the row is certain. If only default-allow is unknown, other rows hold if it is off
    (``least``) or on (``most``). If entries are opaque or hosts doubtful, what holds for some of the truths that they
    allow is ``perhaps``; such a row includes what is certain on its names.
    """

    principal: str | None
    hosts: Hosts
    resources: ResourceSet
    gained: frozenset[AclOperation]
    lost: frozenset[AclOperation]
    witness: Witness
    reading: str | None = None

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: by resource type, everybody else first, then by resource set and hosts."""
        resources, principal = self.resources, self.principal
        # The parts of the resource set, not itself: tuples are compared quickly, and each principal may have a row.
        who, where = (principal is not None, principal or ""), (resources.names, resources.cuts, self.hosts)
        return (resources.resource_type, who, where, sorted(self.gained), self.reading or "")


class AskedNames(NamedTuple):
    """Names on which a principal's access is asked about; ``principal=None`` is everybody else."""

    principal: str | None
    resource_type: ResourceType
    names: NameSet


class AccessDifference:
    """Gained and lost access. ``rows`` and ``exceptions`` are about everybody else and the principals of the change.

    An exception says that nothing changes for a principal where a row says that something does for everybody else.
    :meth:`reached` adds the principals that are affected only through ``User:*`` or coverage.

    With ``within`` only these principals on these names are compared: without exceptions, and nobody is reached.
    """

    __slots__ = ("_guessed", "_reached", "_shifts", "after", "before", "exceptions", "rows")

    def __init__(
        self,
        before: Authorizer,
        after: Authorizer,
        *,
        work: Work | None = None,
        within: Collection[AskedNames] | None = None,
    ) -> None:
        """Compare; what the rows cost counts towards ``work``, which may raise :class:`TooMuchToDecideError`."""
        self.before = before
        self.after = after
        # Who becomes or stops being a super user is reported on its own, not as rows about every resource.
        hidden = before.super_users | after.super_users
        self._guessed = before.interpretations.guesses or after.interpretations.guesses
        compared = list(_comparisons(before.interpretations, after.interpretations, hidden, work or Work()))
        self._reached: list[DifferenceRow] | None = None
        if within is None:
            self._shifts = [InterpretationDifference(comparison, pairs, hidden) for comparison, pairs in compared]
            merged = self._merged([list(_direct_rows(shift)) for shift in self._shifts])
        else:
            self._shifts = []
            merged = self._merged([list(_rows_within(comparison, within)) for comparison, _ in compared])
        self.rows = tuple(row for row in merged if row.gained or row.lost)
        self.exceptions = tuple(row for row in merged if not row.gained and not row.lost)

    @property
    def super_users_added(self) -> frozenset[str]:
        """Principals that become super users and may then do anything."""
        return self.after.super_users - self.before.super_users

    @property
    def super_users_removed(self) -> frozenset[str]:
        """Principals that stop being super users; ``access_of`` says what they keep."""
        return self.before.super_users - self.after.super_users

    @property
    def is_empty(self) -> bool:
        """Whether access is the same for every principal, host and name in every interpretation."""
        return not (self.rows or self.super_users_added or self.super_users_removed) and not any(
            row for row in self.reached()
        )

    def reached_principals(self) -> list[str]:
        """Principals outside the change that it may affect through ``User:*`` or coverage, sorted."""
        return sorted({principal for shift in self._shifts for principal in shift.reached()})

    def reached(self, limit: int | None = None) -> tuple[DifferenceRow, ...]:
        """Rows of the first ``limit`` reached principals, or of all of them, without exceptions."""
        return tuple(row for row in self.reached_with_exceptions(limit) if row.gained or row.lost)

    def all_rows(self) -> tuple[DifferenceRow, ...]:
        """The rows of everybody."""
        return (*self.rows, *self.reached())

    def gives(self) -> bool:
        """Whether anybody gains anything."""
        return any(row.gained for row in self.all_rows())

    def reached_with_exceptions(
        self, limit: int | None = None, among: Container[str] | None = None
    ) -> list[DifferenceRow]:
        """The same, including exceptions. The rows of all principals are computed once and cached."""
        # Callers that print a limited number of rows, or ask about some, must not pay for a principal more.
        if among is not None:
            return self._rows_of(who for who in self.reached_principals() if who in among)
        if limit is not None:
            return self._rows_of(islice(self.reached_principals(), limit))
        if self._reached is None:
            self._reached = self._rows_of(self.reached_principals())
        return list(self._reached)

    def _rows_of(self, principals: Iterable[str]) -> list[DifferenceRow]:
        chosen = list(principals)
        return self._merged(
            [[row for principal in chosen for row in _own_rows(shift, principal)] for shift in self._shifts]
        )

    def _merged(self, readings: list[list[DifferenceRow]]) -> list[DifferenceRow]:
        """Merge the rows of one comparison or two: rows of both are certain, others depend on what is unknown."""
        if not readings:
            return []
        if len(readings) == 1:
            return sorted(readings[0], key=lambda row: row.order)
        first, second = (dict.fromkeys(rows) for rows in readings)
        merged = [row for row in first if row in second]
        only_first, only_second = ([row for row in a if row not in b] for a, b in ((first, second), (second, first)))
        if self._guessed:
            # What is certain is also possible, as a part of a row that says more.
            merged += [*only_first, *(replace(row, reading="perhaps") for row in only_second)]
        else:
            merged += [replace(row, reading="least") for row in only_first]
            merged += [replace(row, reading="most") for row in only_second]
        return sorted(merged, key=lambda row: row.order)


def compare_access(
    before: Authorizer, after: Authorizer, *, work: Work | None = None, within: Collection[AskedNames] | None = None
) -> AccessDifference:
    """The access difference; fastest if ``after`` is ``before.with_changes(…)``: the two then share their tables."""
    return AccessDifference(before, after, work=work, within=within)


def _comparisons(
    before: Interpretations, after: Interpretations, hidden: frozenset[str], work: Work
) -> Iterator[tuple[AccessComparison, Sequence[InterpretationPair]]]:
    """One comparison if everything is known, else two: default-allow off and on, or what is certain and possible."""
    unnamed = unnamed_principal((item.index for side in (before, after) for item in side.both), hidden)
    if before.guesses or after.guesses:
        pairs = list(dict.fromkeys(zip(before.readings, after.readings, strict=True)))
        yield from ((kind(before, after, unnamed, work), pairs) for kind in (CertainChange, PossibleChange))
        return
    for pair in dict.fromkeys(zip(before.both, after.both, strict=True)):
        yield AccessComparison(*pair, unnamed, work=work), [pair]


def _rows_within(comparison: AccessComparison, places: Collection[AskedNames]) -> Iterator[DifferenceRow]:
    zones: dict[tuple[str | None, ResourceType], set[NameSet]] = {}
    for place in places:
        zones.setdefault((place.principal, place.resource_type), set()).add(place.names)
    for (principal, kind), names in zones.items():
        example = comparison.unnamed if principal is None else principal
        for zone in outermost(names):
            yield from (_row(principal, example, piece) for piece in comparison.pieces(example, kind, zone))


def _direct_rows(shift: InterpretationDifference) -> Iterator[DifferenceRow]:
    for piece in shift.everyone_pieces():
        yield _row(None, shift.comparison.unnamed, piece)
    for principal in shift.direct:
        yield from _own_rows(shift, principal)


def _own_rows(shift: InterpretationDifference, principal: str) -> Iterator[DifferenceRow]:
    for piece in shift.own_pieces(principal):
        yield _row(principal, principal, piece)


def _row(principal: str | None, example: str, piece: ResourceEffect) -> DifferenceRow:
    hosts, resources, (gained, lost), host, name = piece
    witness = _new(Witness, (example, host, name))
    return DifferenceRow(principal, hosts, resources, operations_in(gained), operations_in(lost), witness)
