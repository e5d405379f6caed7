"""Who gains and who loses which access, in rows that a person reviews and a file can hold.

The rows are exact over all names, principals and hosts there could be (``reconciler.access``).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.access import Difference, Key, Region, Row, Witness, supported
from reconciler.access.operations import IMPLICATIONS
from reconciler.model import AclOperation, AclPermissionType, ResourceType

#: Principals outside the change that are followed one by one; the rest are counted.
MAX_REACHED: Final = 200
#: How a row's missing principal is called.
EVERYBODY_ELSE: Final = "everybody else"
_TOPICS_NAMED: Final = 20
_NEWEST: Final = (4, 4)
#: So many operations at least are called ``everything``.
_MANY: Final = 4


@dataclass(frozen=True, slots=True)
class Consequence:
    """One row: on these names, from these hosts, this principal (``None``: everybody else) gains and loses this.

    ``topics`` are the first of the topics that exist, or will, among the names; ``topic_count`` is how many.
    ``reading`` is ``None`` where the row is certain; ``least`` or ``most`` where it holds only if what nobody declared
    (default-allow, entries that cannot be named) is as strict, or as permissive, as possible.
    """

    principal: str | None
    hosts: str
    region: Region
    gained: tuple[AclOperation, ...]
    lost: tuple[AclOperation, ...]
    witness: Witness
    topics: tuple[str, ...] = ()
    topic_count: int = 0
    reading: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Spared:
    """A principal whose own bindings keep what happens to everybody else on these names from it."""

    principal: str
    region: Region


def consequences(difference: Difference, topics: Sequence[str] = ()) -> tuple[Consequence, ...]:
    """The rows of a difference, those of reached principals included up to a bound; ``topics`` is sorted."""
    rows = (*difference.rows, *difference.reached(MAX_REACHED))
    return tuple(_consequence(row, topics) for row in rows)


def exceptions(difference: Difference) -> tuple[Spared, ...]:
    """Where a row of everybody else does not hold for a principal, and nothing else does; sorted, each once."""
    rows = (*difference.exceptions, *difference.reached_with_exceptions(MAX_REACHED))
    return tuple(
        sorted({Spared(row.principal, row.region) for row in rows if row.principal and not row.gained and not row.lost})
    )


def more_principals(difference: Difference) -> int:
    """How many principals are reached beyond those that have rows."""
    return max(0, len(difference.reached_principals()) - MAX_REACHED)


def denials(difference: Difference) -> str:
    """A digest of the DENYs of reached principals: what keeps those who are only counted from a gain of everybody else.

    Empty where there is none.
    """
    reached = set(difference.reached_principals())
    if not reached:
        return ""
    found = sorted(
        str(binding)
        for binding in difference.before.bindings
        if binding.entry.permission_type is AclPermissionType.DENY and binding.entry.principal in reached
    )
    return hashlib.sha256("\n".join(found).encode()).hexdigest() if found else ""


def _consequence(row: Row, topics: Sequence[str]) -> Consequence:
    hit = row.region.select(topics) if row.region.resource_type is ResourceType.TOPIC else []
    return Consequence(
        row.principal,
        str(row.hosts),
        row.region,
        tuple(sorted(row.gained)),
        tuple(sorted(row.lost)),
        row.witness,
        tuple(hit[:_TOPICS_NAMED]),
        len(hit),
        row.reading,
    )


def operations_words(operations: Sequence[AclOperation], kind: ResourceType) -> str:
    """``READ, WRITE``: without what they imply, and ``everything`` where a resource type has no others."""
    if len(operations) >= _MANY and supported(kind, _NEWEST) <= set(operations):
        return "everything"
    implied = {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}
    return ", ".join(operation.name for operation in operations if operation not in implied)


def narrower(a: Key, b: Key) -> Key | None:
    """The names of both, which is the narrower of the two keys, or ``None``."""
    if a.contains(b):
        return b
    return a if b.contains(a) else None
