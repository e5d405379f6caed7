"""Grants that nobody reviewed: what would be gained now and stands in no row of the plan."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from reconciler.access import Region
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import shortest_name
from reconciler.plan.access_review import AccessReview
from reconciler.plan.consequence import Consequence, narrower


def unreviewed(now: Iterable[Consequence], reviewed: AccessReview) -> Iterator[Consequence]:
    """The rows of ``now`` that grant something on a name, to somebody, where ``reviewed`` does not."""
    known: dict[str | None, list[Consequence]] = defaultdict(list)
    for row in reviewed.consequences:
        known[row.principal].append(row)
    spoken_of = known.keys() | set(reviewed.excepted)
    for row in now:
        who = row.principal if row.principal in spoken_of else None
        if row.gained and not _reviewed(row, known.get(who, ())):
            yield row


def _reviewed(row: Consequence, rows: Sequence[Consequence]) -> bool:
    comparable = [other for other in rows if other.hosts in (row.hosts, str(ANY_HOST))]
    return all(
        _within(row.region, [other.region for other in comparable if operation in other.gained])
        for operation in row.gained
    )


def _within(region: Region, others: Sequence[Region]) -> bool:
    """Whether every name of ``region`` is one of some of the others: what each leaves over goes to the next."""
    if region in others:
        return True
    left = [region]
    for other in others:
        if other.resource_type is region.resource_type and other.key.meets(region.key):
            left = [part for piece in left for part in _without(piece, other)]
    return all(shortest_name(part.resource_type, part.key, part.cuts) is None for part in left)


def _without(region: Region, other: Region) -> Iterator[Region]:
    """The names of ``region`` that are none of ``other``, as regions."""
    if not other.key.meets(region.key):
        yield region
        return
    if not other.key.contains(region.key):
        yield Region(region.resource_type, region.key, (*region.cuts, other.key))
    for cut in other.cuts:
        if (key := narrower(cut, region.key)) is not None and not any(own.contains(key) for own in region.cuts):
            yield Region(region.resource_type, key, tuple(own for own in region.cuts if key.contains(own)))
