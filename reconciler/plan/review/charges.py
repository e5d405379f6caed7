"""Which steps account for a change of access that a guard refuses: those that are left out, so that the rest can go on.

A row of access says who gains or loses what on which names. The steps that move it are known by their bindings. What
is left is judged again, so a step too few costs another look and never lets a refused change through.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.access import DifferenceRow, NameSet
from reconciler.access.name_set import ASTERISK_NAMES, names_of
from reconciler.access.nested_names import inside
from reconciler.access.operations import IMPLICATIONS
from reconciler.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Change,
    ResourceType,
)
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.refusal import Refusal
from reconciler.plan.step import Step


class Charge(NamedTuple):
    """A refusal, and the rows of access that it is for; none where the guard judges the plan as a whole."""

    refusal: Refusal
    rows: tuple[DifferenceRow, ...] = ()


class RowsByPlace:
    """Rows of access by principal and names, asked for those that share a name with others."""

    def __init__(self, rows: Iterable[DifferenceRow]) -> None:
        """Keep them; in the order given where they are on the same names."""
        self._by_key: dict[tuple[str | None, ResourceType], dict[NameSet, list[DifferenceRow]]] = {}
        for row in rows:
            zones = self._by_key.setdefault((row.principal, row.region.resource_type), {})
            zones.setdefault(row.region.names, []).append(row)
        self._ordered = {place: sorted(zones) for place, zones in self._by_key.items()}

    @property
    def principals(self) -> frozenset[str | None]:
        """Whom there is a row for; ``None`` is everybody else."""
        return frozenset(principal for principal, _ in self._by_key)

    def meeting(self, principal: str | None, resource_type: ResourceType, key: NameSet) -> Iterator[DifferenceRow]:
        """The principal's rows on sets of names that hold ``key``, or that it holds."""
        place = (principal, resource_type)
        zones = self._by_key.get(place)
        if not zones:
            return
        outer = [ASTERISK_NAMES, *(NameSet(key.text[:length]) for length in range(len(key.text) + 1))]
        for zone in sorted({*outer, *inside(self._ordered[place], key)}):
            yield from zones.get(zone, ())


def accountable(charges: Sequence[Charge], steps: Sequence[Step]) -> Mapping[Refusal, Sequence[Change]]:
    """The changes without which each refusal would not be; none of one that no step accounts for.

    Those whose binding gives or takes what a row says; where there is none, all that are on the row's names: under
    default-allow anybody's binding there may matter.
    """
    found = _moving(charges, steps, exact=True)
    return {**found, **_moving([one for one in charges if one.refusal not in found], steps, exact=False)}


def _moving(charges: Sequence[Charge], steps: Sequence[Step], *, exact: bool) -> dict[Refusal, list[Change]]:
    of_row: dict[int, list[Refusal]] = {}
    for charge in charges:
        for row in charge.rows:
            of_row.setdefault(id(row), []).append(charge.refusal)
    found: dict[Refusal, list[Change]] = {}
    if not of_row:
        return found
    index = RowsByPlace({id(row): row for charge in charges for row in charge.rows}.values())
    for step in steps:
        if (binding := touched_binding(step.change)) is None:
            continue
        everybody = not exact or binding.entry.principal == WILDCARD_PRINCIPAL
        kind, key = binding.pattern.resource_type, names_of(binding.pattern)
        near = (
            row
            for principal in (index.principals if everybody else (binding.entry.principal,))
            for row in index.meeting(principal, kind, key)
            if row.region.meets(key) and (not exact or _moves(step.change, binding, row))
        )
        for refusal in dict.fromkeys(refusal for row in near for refusal in of_row[id(row)]):
            found.setdefault(refusal, []).append(step.change)
    return found


def _moves(change: Change, binding: AclBinding, row: DifferenceRow) -> bool:
    """Whether a binding that comes or goes gives what a row gains, or takes what it loses."""
    allows = binding.entry.permission_type is AclPermissionType.ALLOW
    moved = row.gained if (change.before is None) is allows else row.lost
    operation = binding.entry.operation
    meant = {operation, IMPLICATIONS.get(operation)}
    return bool(moved) and (operation is AclOperation.ALL or not moved.isdisjoint(meant))
