"""Grants that nobody reviewed: what would be gained now and is in no row of the plan.

A row of everybody else holds for a principal on the names of which no row or exception of its own speaks; those hold
for every host between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from reconciler.access import Region
from reconciler.access.hosts import ANY_HOST
from reconciler.access.region import less
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview

#: Readings of gains that need not be: only if all unknown is permissive, and only for some truths.
_POSSIBLE: Final = ("most", "perhaps")


def unreviewed(now: AccessReview, reviewed: AccessReview) -> Iterator[AccessChange]:
    """The rows of ``now`` that grant something on a name, to somebody, where ``reviewed`` does not."""
    new, old = _GainedRows(now), _GainedRows(reviewed)
    for principal in sorted(new.principals | old.principals, key=lambda name: (name is not None, name or "")):
        known = list(old.own(principal))
        gained = list(new.own(principal))
        if principal is not None and new.zones(principal) != old.zones(principal):
            known += old.inherited(principal)
            gained += new.inherited(principal)
        yield from (row for row in gained if not _reviewed(row, known))


def news(now: AccessReview, reviewed: AccessReview) -> Iterator[AccessChange]:
    """The same rows, with no operation that is reviewed on all of their names."""
    for row in unreviewed(now, reviewed):
        alone = (replace(row, gained=(operation,)) for operation in row.gained)
        new = [one.gained for one in alone if any(unreviewed(AccessReview((one,)), reviewed))]
        yield replace(row, gained=tuple(operation for gained in new for operation in gained))


class _GainedRows:
    """What is gained, by principal; ``None`` is everybody else."""

    def __init__(self, access: AccessReview) -> None:
        self._own: dict[str | None, list[AccessChange]] = {}
        self._zones: dict[str, set[Region]] = {}
        for row in access.access_changes:
            self._own.setdefault(row.principal, []).append(row)
            if row.principal is not None:
                self._zones.setdefault(row.principal, set()).add(row.region)
        for exempt in access.exceptions:
            self._zones.setdefault(exempt.principal, set()).add(exempt.region)

    @property
    def principals(self) -> set[str | None]:
        """Everybody of whom a row or an exception speaks."""
        return {*self._own, *self._zones}

    def own(self, principal: str | None) -> Iterator[AccessChange]:
        """The rows of a principal itself that grant something."""
        return (row for row in self._own.get(principal, ()) if row.gained)

    def zones(self, principal: str) -> set[Region]:
        """The names on which rows of everybody else do not hold for a principal."""
        return self._zones.get(principal, set())

    def inherited(self, principal: str) -> Iterator[AccessChange]:
        """What a principal gains as everybody else does."""
        for row in self.own(None):
            for part in less([row.region], self.zones(principal)):
                yield replace(row, principal=principal, region=part)


def _reviewed(row: AccessChange, rows: Sequence[AccessChange]) -> bool:
    comparable = [other for other in rows if other.hosts in (row.hosts, str(ANY_HOST)) and _stands_for(other, row)]
    return all(
        _within(row.region, [other.region for other in comparable if operation in other.gained])
        for operation in row.gained
    )


def _stands_for(reviewed: AccessChange, row: AccessChange) -> bool:
    """Whether a reviewed row includes another: a gain that somebody reviewed as possible is no certain one.

    Neither is one that was reviewed for a later time one of now.
    """
    if reviewed.since is not None and (row.since is None or row.since.instant < reviewed.since.instant):
        return False
    return reviewed.reading not in _POSSIBLE or row.reading in _POSSIBLE


def _within(region: Region, others: Sequence[Region]) -> bool:
    """Whether every name of ``region`` is one of some of the others."""
    return region in others or not any(True for _ in less([region], others))
