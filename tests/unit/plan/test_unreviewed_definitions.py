"""Grants that nobody reviewed, stated name by name; and that a file keeps every row and region as it is."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final

import pytest

from reconciler.access.difference import Witness
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, ResourceSet, literal
from reconciler.codec.annotated import record_of
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.state import FactSource
from reconciler.plan.review import access_review
from reconciler.plan.review.access_change import AccessChange, ExemptPrincipal
from reconciler.plan.review.access_review import AccessReview, unreviewed

ANY: Final = str(ANY_HOST)
NAMES: Final = ("x", "xa", "xab", "xb", "y", "z")
SETS: Final = (ALL_NAMES, NameSet("x"), NameSet("xa"), literal("x"), literal("xa"), literal("y"))
REGIONS: Final = [
    ResourceSet(ResourceType.TOPIC, names, tuple(cuts))
    for names in SETS
    for cuts in ([], *([one] for one in SETS if one != names and names.contains(one)))
]
READINGS: Final = (None, None, "least", "most", "perhaps")
OPERATIONS: Final = ((), (AclOperation.READ,), (AclOperation.WRITE,), (AclOperation.READ, AclOperation.WRITE))
ROW, EXEMPT = record_of(AccessChange), record_of(ExemptPrincipal)
PRINCIPALS: Final = (None, "User:a", "User:b")


def _row(random: Random) -> AccessChange:
    return AccessChange(
        random.choice(PRINCIPALS),
        random.choice((ANY, ANY, "10.0.0.1", "10.0.0.2")),
        random.choice(REGIONS),
        random.choice(OPERATIONS),
        random.choice(OPERATIONS),
        Witness("User:w", "10.0.0.1", "x"),
        reading=random.choice(READINGS),
    )


def _review(random: Random) -> AccessReview:
    rows = tuple(_row(random) for _ in range(random.randrange(4)))
    exempt = tuple(
        ExemptPrincipal(random.choice(("User:a", "User:b")), random.choice(REGIONS)) for _ in range(random.randrange(2))
    )
    return AccessReview(access_changes=rows, exceptions=exempt)


def _own_names(review: AccessReview, principal: str) -> set[str]:
    """The names of which a row or exception of the principal itself speaks."""
    speaking: list[AccessChange | ExemptPrincipal] = [*review.access_changes, *review.exceptions]
    return {name for one in speaking if one.principal == principal for name in NAMES if one.resources.contains(name)}


def _zones(review: AccessReview, principal: str) -> set[ResourceSet]:
    speaking: list[AccessChange | ExemptPrincipal] = [*review.access_changes, *review.exceptions]
    return {one.resources for one in speaking if one.principal == principal}


def _grants(
    review: AccessReview, principal: str | None, *, everybody: bool
) -> Iterator[tuple[AccessChange, str, AclOperation]]:
    """Each row that grants the principal an operation on a name; those of everybody else where asked for."""
    own = set() if principal is None else _own_names(review, principal)
    for row, name, operation in product(review.access_changes, NAMES, (AclOperation.READ, AclOperation.WRITE)):
        if operation in row.gained and row.resources.contains(name):
            inherits = everybody and row.principal is None and name not in own
            if row.principal == principal or inherits:
                yield row, name, operation


def _covers(reviewed: AccessChange, row: AccessChange) -> bool:
    """Whether a gain that was reviewed is for the same hosts, or for all, and as certain."""
    possible = ("most", "perhaps")
    return reviewed.hosts in (ANY, row.hosts) and (reviewed.reading not in possible or row.reading in possible)


def _expected(now: AccessReview, reviewed: AccessReview) -> set[tuple[str | None, str, str | None, str, AclOperation]]:
    """Principal, hosts, reading, name and operation of every grant that no reviewed one covers."""
    found = set()
    for principal in PRINCIPALS:
        # Where a principal's own rows and exceptions are about the same names, everybody's rows are compared once.
        apart = principal is not None and _zones(now, principal) != _zones(reviewed, principal)
        known = [*_grants(reviewed, principal, everybody=apart)]
        for row, name, operation in _grants(now, principal, everybody=apart):
            if not any(
                (other_name, other_operation) == (name, operation) and _covers(other, row)
                for other, other_name, other_operation in known
            ):
                found.add((principal, row.hosts, row.reading, name, operation))
    return found


def test_a_grant_on_a_name_that_no_reviewed_row_covers_is_told() -> None:
    random, some = Random(6), 0
    for _ in range(1_500):
        reviewed = _review(random)
        now = reviewed if random.random() < 0.1 else _review(random)
        if random.random() < 0.5:
            rows = (*reviewed.access_changes, *now.access_changes[:1])
            now = AccessReview(access_changes=rows, exceptions=now.exceptions)
        told = [*unreviewed(now, reviewed)]
        expected = _expected(now, reviewed)
        said = {
            (row.principal, row.hosts, row.reading, name, operation)
            for row in told
            for name, operation in product(NAMES, row.gained)
            if row.resources.contains(name)
        }
        # A row is told whole: with what of it was reviewed.
        assert expected <= said
        for row in told:
            assert any(
                (row.principal, row.hosts, row.reading, name, operation) in expected
                for name, operation in product(NAMES, row.gained)
                if row.resources.contains(name)
            ), row
        some += bool(expected)
    assert 300 < some < 1_400


def test_a_file_keeps_each_row_and_exception() -> None:
    random = Random(7)
    group = ResourceSet(ResourceType.GROUP, ALL_NAMES, (ASTERISK_NAMES, literal("*")))
    resource_sets = (*REGIONS, group, ResourceSet(ResourceType.GROUP, ASTERISK_NAMES))
    for resources, source in product(resource_sets, (None, *FactSource)):
        row = _row(random)
        whole = AccessChange(
            row.principal, row.hosts, resources, row.gained, row.lost, row.witness, ("x", "y"), 7, row.reading, source
        )
        assert ROW.read(ROW.write(whole)) == whole
        exempt = ExemptPrincipal("User:a", resources)
        assert EXEMPT.read(EXEMPT.write(exempt)) == exempt


def test_what_is_reviewed_on_just_its_names_is_compared_with_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an apply of 10,000 ACLs of one principal would compare a hundred million rows."""
    really, compared = access_review._stands_for, list[AccessChange]()

    def stands_for(reviewed: AccessChange, row: AccessChange) -> bool:
        compared.append(row)
        return really(reviewed, row)

    monkeypatch.setattr(access_review, "_stands_for", stands_for)
    witness, read = Witness("User:w", "10.0.0.1", "x"), (AclOperation.READ,)
    names = [ResourceSet(ResourceType.TOPIC, literal(f"t{number}"), ()) for number in range(100)]
    review = AccessReview(access_changes=tuple(AccessChange("User:a", ANY, name, read, (), witness) for name in names))
    assert [*unreviewed(review, review)] == []
    assert len(compared) == len(names)
