"""Who gains and who loses which access, in rows that a person reviews and a file can hold.

The rows are exact over all names, principals and hosts there could be (``reconciler.access``).
"""

import datetime
import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Annotated, Final, NamedTuple, TypeAlias

from reconciler.access import AccessDifference, DifferenceRow, NameSet, Region, Witness, supported
from reconciler.access.operations import IMPLICATIONS
from reconciler.access.region import REGION
from reconciler.codec import REQUIRED, FieldGroup, Flat, Says, array, by_name, word
from reconciler.codec.values import MOMENT
from reconciler.dataclass import dataclass
from reconciler.model import AclOperation, AclPermissionType, FactSource, ResourceType, moment_text

#: Principals outside the change that are followed one by one; the rest are counted.
MAX_REACHED: Final = 200
#: How a row's missing principal is called.
EVERYBODY_ELSE: Final = "everybody else"
_TOPICS_NAMED: Final = 20
_NEWEST: Final = (4, 4)
#: So many operations at least are called ``everything``.
_MANY: Final = 4
_OPERATIONS: Final = array(by_name(item for item in AclOperation if item > AclOperation.ALL))
_TOPICS: Final = FieldGroup("topics", "Topics among the names.")
_Operations: TypeAlias = Annotated[tuple[AclOperation, ...], _OPERATIONS]
_Reading: TypeAlias = Annotated[str, word("least", "most", "perhaps")]


class DeclaredEnd(NamedTuple):
    """The first instant at which something is over that manifests declare with an end; whether a DENY is among it."""

    instant: Annotated[
        datetime.datetime, MOMENT, Says("The first instant at which it is over.", "2027-02-23T00:00:00Z")
    ]
    permission: Annotated[AclPermissionType, Says("DENY: one ends.", "DENY", name="permissionType")]


def ending_words(ending: DeclaredEnd) -> str:
    """``on 2027-02-23, when a DENY ends``."""
    midnight = ending.instant.time() == datetime.time()
    when = f"on {ending.instant.date()}" if midnight else f"at {moment_text(ending.instant)}"
    return f"{when}, when {'a' if ending.permission is AclPermissionType.DENY else 'an'} {ending.permission.name} ends"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """One row: on these names, from these hosts, this principal (``None``: everybody else) gains and loses this.

    ``topics`` are the first of the topics that exist, or will, among the names; ``topic_count`` is how many.
    ``reading`` is ``None`` where the row is certain; ``least`` or ``most`` where it holds only if default-allow, which
    is not established, is off, or on; ``perhaps`` where entries that cannot be named, or hosts in doubt, decide.
    ``super_user`` says who states that the principal is a super user, whom no ACL limits: the row counts for the day on
    which the brokers' ``super.users`` no longer holds it. ``since``: nothing changes before that end.
    """

    principal: Annotated[
        str | None,
        Says("Kafka's text form; null: everybody who has no row or exception of their own.", "User:svc-orders"),
    ]
    hosts: Annotated[str, Says("The addresses that this holds for, in words.", "anywhere")]
    region: Annotated[Region, REGION, Flat]
    gained: Annotated[_Operations, Says("Operations that are permitted afterwards and were not before.")]
    lost: Annotated[_Operations, Says("Operations that were permitted before and are not afterwards.")]
    witness: Annotated[Witness, Says("One request for which it is so.")]
    topics: Annotated[
        tuple[str, ...], Says("The first of them by name.", name="first", default=REQUIRED, group=_TOPICS)
    ] = ()
    topic_count: Annotated[
        int, Says("How many there are.", 3, name="count", default=REQUIRED, group=_TOPICS, before="topics")
    ] = 0
    reading: Annotated[_Reading | None, Says("null: certain, whatever is not known.", "least", default=REQUIRED)] = None
    super_user: Annotated[
        FactSource | None,
        Says(
            "Who states that the principal is a super user, so that no ACL limits it; null: nobody.",
            "manifests",
            default=REQUIRED,
        ),
    ] = None
    since: Annotated[
        DeclaredEnd | None,
        Says(
            "The end that is declared and before which nothing changes; left out: the plan changes it.",
            omit=True,
            null=True,
        ),
    ] = None


@dataclass(frozen=True, slots=True, order=True)
class ExemptPrincipal:
    """A principal whose own bindings keep what happens to everybody else on these names from it."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    region: Annotated[Region, REGION, Flat]


class Reached(NamedTuple):
    """Principals outside the change: the rows of those who are listed, how many more gain or lose, and a digest.

    The digest is of what all of them gain and are denied, where not all are listed, and empty where they are.
    """

    rows: tuple[DifferenceRow, ...] = ()
    more: int = 0
    digest: str = ""


def reached(difference: AccessDifference) -> Reached:
    """Whom a change of ``User:*`` or of coverage reaches, up to a bound: first those who gain, then those who lose."""
    rows = difference.reached_with_exceptions()
    gaining = {row.principal for row in rows if row.principal and row.gained}
    losing = {row.principal for row in rows if row.principal and row.lost} - gaining
    exempt = {row.principal for row in rows if row.principal} - gaining - losing
    # One who loses is listed at any rate: that access is lost has to be seen.
    front = sorted(gaining)[: MAX_REACHED - bool(losing)] + sorted(losing)
    listed = {*[*front, *sorted(gaining), *sorted(exempt)][:MAX_REACHED]}
    everybody = gaining | losing | exempt
    digest = _digest(difference, everybody, rows) if len(everybody) > MAX_REACHED else ""
    return Reached(tuple(row for row in rows if row.principal in listed), len((gaining | losing) - listed), digest)


def _digest(difference: AccessDifference, principals: Collection[str], rows: Iterable[DifferenceRow]) -> str:
    """Of what these principals gain, and of the DENYs that keep them from a gain of everybody else."""
    denied = [
        str(binding)
        for binding in difference.before.bindings
        if binding.entry.permission_type is AclPermissionType.DENY and binding.entry.principal in principals
    ]
    gained = [_gain_text(row) for row in rows if row.gained]
    return hashlib.sha256("\n".join([*sorted(denied), *sorted(gained)]).encode("utf-8", "surrogatepass")).hexdigest()


def _gain_text(row: DifferenceRow) -> str:
    kind, key, cuts = row.region.resource_type, row.region.names, row.region.cuts
    names = " ".join(repr(tuple(part)) for part in (key, *cuts))
    operations = ",".join(operation.name for operation in sorted(row.gained))
    return f"{row.principal} {operations} {kind.name} {names} {row.hosts} {row.reading}"


def access_changes(
    difference: AccessDifference, others: Reached, topics: Sequence[str] = ()
) -> tuple[AccessChange, ...]:
    """The rows of a difference with those of ``others``, whom it reaches; ``topics`` is sorted."""
    moved = (row for row in others.rows if row.gained or row.lost)
    return tuple(_access_change(row, topics) for row in (*difference.rows, *moved))


def exceptions(difference: AccessDifference, others: Reached) -> tuple[ExemptPrincipal, ...]:
    """Where a row of everybody else does not hold for a principal, and nothing else does; sorted, each once."""
    rows = (*difference.exceptions, *others.rows)
    return tuple(
        sorted(
            {
                ExemptPrincipal(row.principal, row.region)
                for row in rows
                if row.principal and not row.gained and not row.lost
            }
        )
    )


def _access_change(row: DifferenceRow, topics: Sequence[str]) -> AccessChange:
    hit = row.region.select(topics) if row.region.resource_type is ResourceType.TOPIC else []
    return AccessChange(
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
    return _operations_words(tuple(operations), kind)


@cache  # asked several times of each of 100,000 rows, which have a few dozen answers
def _operations_words(operations: tuple[AclOperation, ...], kind: ResourceType) -> str:
    if len(operations) >= _MANY and supported(kind, _NEWEST) <= set(operations):
        return "everything"
    implied = {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}
    return ", ".join(operation.name for operation in operations if operation not in implied)


def narrower(a: NameSet, b: NameSet) -> NameSet | None:
    """The names of both, which is the narrower of the two keys, or ``None``."""
    if a.contains(b):
        return b
    return a if b.contains(a) else None
