"""Who gains and who loses access between two states: exact over every possible principal, host and name.

A principal can differ from everybody else only on names that its own bindings match. So there are rows for everybody
else, and rows for single principals, which override them on the names they cover. No row is about super users.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import CLUSTER_NAMES, ON_EVERY_TOPIC, AccessComparison, RegionEffect
from reconciler.access.hosts import Hosts
from reconciler.access.index import changed_keys, meets, outermost
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ALL_NAMES, NameSet
from reconciler.access.operations import DENIED, operations_in
from reconciler.access.region import Region
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType

_WRITE: Final = 1 << AclOperation.WRITE | 1 << AclOperation.WRITE + DENIED
_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


class Witness(NamedTuple):
    """A connection and a resource name: an example of what a row says."""

    principal: str
    host: str
    resource_name: str


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What changes on a region; ``principal=None`` is everybody else: all who have no row or exception there.

    ``reading`` is ``None`` if the row is certain. Otherwise it holds only if everything unknown about the cluster is as
    strict as possible (``least``) or as permissive as possible (``most``). If only default-allow is unknown, that
    means: off, or on.
    """

    principal: str | None
    hosts: Hosts
    region: Region
    gained: frozenset[AclOperation]
    lost: frozenset[AclOperation]
    witness: Witness
    reading: str | None = None

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: by resource type, everybody else first, then by region and hosts."""
        who = (self.principal is not None, self.principal or "")
        return (self.region.resource_type, *who, self.region, self.hosts, sorted(self.gained), self.reading or "")


class InterpretationDifference:
    """The access difference between two interpretations."""

    __slots__ = ("_changed", "_everyone", "_hidden", "_movers", "comparison", "direct")

    def __init__(self, before: Interpretation, after: Interpretation, hidden: frozenset[str]) -> None:
        """``hidden`` are the super users before or after."""
        names = (interpretation.index for interpretation in (before, after))
        self.comparison = AccessComparison(before, after, unnamed_principal(names, hidden))
        self._hidden = hidden
        # Only groups (resource type and principal) whose bindings differ need a comparison: a difference of a few
        # bindings is fast, however many the cluster has.
        changed = set(before.index.changed_groups(after.index))
        self._changed = changed
        self._movers = {principal for _, principal in changed}
        self._everyone: dict[ResourceType, list[NameSet]] = {}
        # In this order, because CLUSTER asks what changes on TOPIC (see _idempotence_may_change).
        for kind in _TYPES:
            self._everyone[kind] = outermost(self._everyone_keys(kind, before, after))
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
            yield from (key for key in new.keys - old.keys if not old.covers(key))
            yield from (key for key in old.keys - new.keys if not new.covers(key))
        # CREATE and DELETE on CLUSTER apply to every topic (ControllerApis.createTopics, deleteTopics).
        if kind is ResourceType.TOPIC and self._cluster_changes(self.comparison.unnamed):
            yield ALL_NAMES
        if kind is ResourceType.CLUSTER and self._idempotence_may_change(WILDCARD_PRINCIPAL, before, after):
            yield CLUSTER_NAMES

    def _idempotence_may_change(self, principal: str, *interpretations: Interpretation) -> bool:
        """Whether WRITE on topics changes: it also permits to start an idempotent producer."""
        if principal == WILDCARD_PRINCIPAL and any(interpretation.default_allow for interpretation in interpretations):
            return bool(self._everyone[ResourceType.TOPIC])
        changed = (ResourceType.TOPIC, principal) in self._changed
        return changed and bool(self._changed_keys(ResourceType.TOPIC, principal, _WRITE))

    def _changed_keys(self, kind: ResourceType, principal: str, bits: int = -1) -> set[NameSet]:
        old, new = (interpretation.index.group(kind, principal) for interpretation in self.comparison.interpretations)
        return changed_keys(old, new, bits)

    def _cluster_changes(self, principal: str) -> bool:
        """Whether what CLUSTER grants on every topic changes."""
        comparison = self.comparison
        texts = {t for group in comparison.groups(principal, ResourceType.CLUSTER) for t in group.tables}
        for host in comparison.classes(frozenset(texts - {WILDCARD})):
            asked = (principal, host.sample, ResourceType.CLUSTER, CLUSTER_NAMES)
            old, new = (interpretation.access(*asked) & ON_EVERY_TOPIC for interpretation in comparison.interpretations)
            if old != new:
                return True
        return False

    def _own_zones(self, kind: ResourceType, principal: str) -> list[NameSet]:
        """The names on which access may change differently for a principal than for everybody else."""
        everyone = self._everyone[kind]
        on_topics, on_cluster = (self._has_own(t, principal) for t in (ResourceType.TOPIC, ResourceType.CLUSTER))
        # Nothing changes for everybody else, and no binding of this principal changes.
        if not everyone and not on_cluster and principal not in self._movers:
            return []
        found = self._changed_keys(kind, principal) if (kind, principal) in self._changed else set()
        # Where everybody else's access changes, a principal with bindings on those names may keep its own.
        if everyone:
            found.update(meets(self._own_keys(kind, principal), everyone))
        if kind is ResourceType.TOPIC and on_cluster:
            found.update(everyone)
            if self._cluster_changes(principal):
                found.add(ALL_NAMES)
        reached = bool(everyone and (on_topics or on_cluster))
        if kind is ResourceType.CLUSTER and (reached or self._idempotence_may_change(principal)):
            found.add(CLUSTER_NAMES)
        return outermost(found)

    def _own_keys(self, kind: ResourceType, principal: str) -> list[NameSet]:
        groups = (interpretation.index.group(kind, principal) for interpretation in self.comparison.interpretations)
        return sorted({key for group in groups if group is not None for key in group.ordered})

    def _has_own(self, kind: ResourceType, principal: str) -> bool:
        return any(interpretation.index.bindings(kind, principal) for interpretation in self.comparison.interpretations)

    def everyone_pieces(self) -> Iterator[RegionEffect]:
        """What changes for everybody else."""
        for kind, zones in self._everyone.items():
            for zone in zones:
                yield from self.comparison.pieces(self.comparison.unnamed, kind, zone)

    def own_pieces(self, principal: str) -> Iterator[RegionEffect]:
        """What changes for one principal, and where nothing changes although it does for everybody else."""
        for kind in _TYPES:
            for zone in self._own_zones(kind, principal):
                # Where everybody else's access changes, this principal needs a row even if its own does not change: the
                # row says that it is an exception.
                overrides = bool(meets([zone], self._everyone[kind]))
                yield from self.comparison.pieces(principal, kind, zone, unchanged=overrides)

    def reached(self) -> list[str]:
        """Principals whose own bindings stay but match names on which everybody else's access may change; sorted."""
        index = self.comparison.after.index
        found: set[str] = set()
        for kind, zones in self._everyone.items():
            if zones:
                found |= index.principals(kind).meeting(zones)
                if kind is ResourceType.CLUSTER:
                    found |= index.principals(ResourceType.TOPIC).meeting([ALL_NAMES])
                if kind is ResourceType.TOPIC:
                    found |= index.principals(ResourceType.CLUSTER).meeting([ALL_NAMES])
        return sorted(found - set(self.direct) - self._hidden - {WILDCARD_PRINCIPAL})


class AccessDifference:
    """Gained and lost access. ``rows`` and ``exceptions`` are about everybody else and the principals of the change.

    An exception says that nothing changes for a principal where a row says that something does for everybody else.
    :meth:`reached` adds the principals that are affected only through ``User:*`` or coverage.
    """

    __slots__ = ("_reached", "_shifts", "after", "before", "exceptions", "rows")

    def __init__(self, before: Authorizer, after: Authorizer) -> None:
        self.before = before
        self.after = after
        # Who becomes or stops being a super user is reported on its own, not as rows about every resource.
        hidden = before.super_users | after.super_users
        # Least with least and most with most; one pair if everything is known.
        pairs = dict.fromkeys(zip(before.interpretations.both, after.interpretations.both, strict=True))
        self._shifts = [InterpretationDifference(old, new, hidden) for old, new in pairs]
        self._reached: list[DifferenceRow] | None = None
        found = _merged([list(_direct_rows(shift)) for shift in self._shifts])
        self.rows = tuple(row for row in found if row.gained or row.lost)
        self.exceptions = tuple(row for row in found if not row.gained and not row.lost)

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

    def reached_with_exceptions(self, limit: int | None = None) -> list[DifferenceRow]:
        """The same, including exceptions. The rows of all principals are computed once and cached."""
        # Callers that print a limited number of rows must not pay for a principal more.
        if limit is not None:
            return self._rows_of(islice(self.reached_principals(), limit))
        if self._reached is None:
            self._reached = self._rows_of(self.reached_principals())
        return list(self._reached)

    def _rows_of(self, principals: Iterable[str]) -> list[DifferenceRow]:
        chosen = list(principals)
        return _merged([[row for principal in chosen for row in _own_rows(shift, principal)] for shift in self._shifts])


def compare_access(before: Authorizer, after: Authorizer) -> AccessDifference:
    """The access difference; fastest if ``after`` is ``before.with_changes(…)``: the two then share their tables."""
    return AccessDifference(before, after)


def _direct_rows(shift: InterpretationDifference) -> Iterator[DifferenceRow]:
    for piece in shift.everyone_pieces():
        yield _row(None, shift.comparison.unnamed, piece)
    for principal in shift.direct:
        yield from _own_rows(shift, principal)


def _own_rows(shift: InterpretationDifference, principal: str) -> Iterator[DifferenceRow]:
    for piece in shift.own_pieces(principal):
        yield _row(principal, principal, piece)


def _row(principal: str | None, example: str, piece: RegionEffect) -> DifferenceRow:
    gained, lost = (operations_in(part) for part in piece.effect)
    return DifferenceRow(principal, piece.hosts, piece.region, gained, lost, Witness(example, piece.host, piece.name))


def _merged(readings: list[list[DifferenceRow]]) -> list[DifferenceRow]:
    """Merge the rows of one interpretation or two: rows of both are certain, others depend on what is unknown."""
    if len(readings) == 1:
        return sorted(readings[0], key=lambda row: row.order)
    least, most = (dict.fromkeys(rows) for rows in readings)
    found = [row for row in least if row in most]
    found += [replace(row, reading="least") for row in least if row not in most]
    found += [replace(row, reading="most") for row in most if row not in least]
    return sorted(found, key=lambda row: row.order)
