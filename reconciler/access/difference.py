"""Who gains and who loses access between two states: exact over every possible principal, host and name.

A principal can differ from everybody else only on names that its own bindings match. So there are rows for everybody
else, and rows for single principals, which override them on the names they cover. No row is about super users.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated, Final, NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import AccessComparison
from reconciler.access.effects import RegionEffect
from reconciler.access.hosts import Hosts
from reconciler.access.interpretation import Interpretations
from reconciler.access.interpretation_difference import InterpretationDifference
from reconciler.access.operations import operations_in
from reconciler.access.possible import CertainChange, PossibleChange
from reconciler.access.region import Region
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.access.work import Work
from reconciler.codec import Says
from reconciler.dataclass import dataclass
from reconciler.model import AclOperation

# Builds a named tuple without its Python-level constructor: there is one for each row.
_new: Final = tuple.__new__


class Witness(NamedTuple):
    """A connection and a resource name: an example of what a row says."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    host: Annotated[str, Says("The address that it connects from.", "10.0.0.1")]
    resource_name: Annotated[str, Says("The name of the resource.", "orders", name="name")]


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What changes on a region; ``principal=None`` is everybody else: all who have no row or exception there.

    ``reading`` is ``None`` if the row is certain. If only default-allow is unknown, other rows hold if it is off
    (``least``) or on (``most``). If entries are opaque or hosts doubtful, what holds for some of the truths that they
    allow is ``perhaps``; such a row includes what is certain on its names.
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
        region, principal = self.region, self.principal
        # The parts of the region, not itself: tuples are compared quickly, and there may be a row for each principal.
        who, where = (principal is not None, principal or ""), (region.names, region.cuts, self.hosts)
        return (region.resource_type, who, where, sorted(self.gained), self.reading or "")


class AccessDifference:
    """Gained and lost access. ``rows`` and ``exceptions`` are about everybody else and the principals of the change.

    An exception says that nothing changes for a principal where a row says that something does for everybody else.
    :meth:`reached` adds the principals that are affected only through ``User:*`` or coverage.
    """

    __slots__ = ("_guessed", "_reached", "_shifts", "after", "before", "exceptions", "rows")

    def __init__(self, before: Authorizer, after: Authorizer, *, work: Work | None = None) -> None:
        """Compare; what the rows cost counts towards ``work``, which may raise :class:`TooMuchToDecideError`."""
        self.before = before
        self.after = after
        # Who becomes or stops being a super user is reported on its own, not as rows about every resource.
        hidden = before.super_users | after.super_users
        self._guessed = before.interpretations.guesses or after.interpretations.guesses
        self._shifts = _shifts(before.interpretations, after.interpretations, hidden, work or Work())
        self._reached: list[DifferenceRow] | None = None
        found = self._merged([list(_direct_rows(shift)) for shift in self._shifts])
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
        return self._merged(
            [[row for principal in chosen for row in _own_rows(shift, principal)] for shift in self._shifts]
        )

    def _merged(self, readings: list[list[DifferenceRow]]) -> list[DifferenceRow]:
        """Merge the rows of one comparison or two: rows of both are certain, others depend on what is unknown."""
        if len(readings) == 1:
            return sorted(readings[0], key=lambda row: row.order)
        first, second = (dict.fromkeys(rows) for rows in readings)
        found = [row for row in first if row in second]
        only_first, only_second = ([row for row in a if row not in b] for a, b in ((first, second), (second, first)))
        if self._guessed:
            # What is certain is also possible, as a part of a row that says more.
            found += [*only_first, *(replace(row, reading="perhaps") for row in only_second)]
        else:
            found += [replace(row, reading="least") for row in only_first]
            found += [replace(row, reading="most") for row in only_second]
        return sorted(found, key=lambda row: row.order)


def compare_access(before: Authorizer, after: Authorizer, *, work: Work | None = None) -> AccessDifference:
    """The access difference; fastest if ``after`` is ``before.with_changes(…)``: the two then share their tables."""
    return AccessDifference(before, after, work=work)


def _shifts(
    before: Interpretations, after: Interpretations, hidden: frozenset[str], work: Work
) -> list[InterpretationDifference]:
    """One comparison if everything is known, else two: default-allow off and on, or what is certain and possible."""
    unnamed = unnamed_principal((one.index for side in (before, after) for one in side.both), hidden)
    if before.guesses or after.guesses:
        pairs = list(dict.fromkeys(zip(before.readings, after.readings, strict=True)))
        return [
            InterpretationDifference(comparison(before, after, unnamed, work), pairs, hidden)
            for comparison in (CertainChange, PossibleChange)
        ]
    found = dict.fromkeys(zip(before.both, after.both, strict=True))
    return [InterpretationDifference(AccessComparison(*pair, unnamed, work=work), [pair], hidden) for pair in found]


def _direct_rows(shift: InterpretationDifference) -> Iterator[DifferenceRow]:
    for piece in shift.everyone_pieces():
        yield _row(None, shift.comparison.unnamed, piece)
    for principal in shift.direct:
        yield from _own_rows(shift, principal)


def _own_rows(shift: InterpretationDifference, principal: str) -> Iterator[DifferenceRow]:
    for piece in shift.own_pieces(principal):
        yield _row(principal, principal, piece)


def _row(principal: str | None, example: str, piece: RegionEffect) -> DifferenceRow:
    hosts, region, (gained, lost), host, name = piece
    witness = _new(Witness, (example, host, name))
    return DifferenceRow(principal, hosts, region, operations_in(gained), operations_in(lost), witness)
