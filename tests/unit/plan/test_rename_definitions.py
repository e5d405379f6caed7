"""Renames stated pair by pair: one principal's whole loss is another's whole gain, and neither has anything else."""

from itertools import product
from random import Random
from typing import Final

from reconciler.access.difference import Witness
from reconciler.access.names import NameSet, ResourceSet
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import renames

READ, WRITE = (AclOperation.READ,), (AclOperation.WRITE,)
PRINCIPALS: Final = (None, *(f"User:{letter}" for letter in "abcdefgh"))
PARTS: Final = [
    *product(("any host", "10.0.0.1"), (NameSet("t"), NameSet("u")), (READ, WRITE), (None, "most")),
]


def _row(
    who: str | None, part: tuple[str, NameSet, tuple[AclOperation, ...], str | None], *, gains: bool
) -> AccessChange:
    hosts, names, operations, reading = part
    gained, lost = (operations, ()) if gains else ((), operations)
    witness = Witness("User:w", "10.0.0.1", "t")
    return AccessChange(who, hosts, ResourceSet(ResourceType.TOPIC, names), gained, lost, witness, (), 0, reading)


def test_who_loses_exactly_what_another_gains_was_renamed_to_the_first_of_those() -> None:
    random, met = Random(1), set()
    for _ in range(1_500):
        few = random.sample(PARTS, 2)
        rows = {
            (who, random.choice(few), random.random() < 0.5)
            for who in PRINCIPALS
            for _ in range(random.choice((0, 1, 1, 1, 2)))
        }
        shuffled = sorted(rows, key=repr)
        random.shuffle(shuffled)
        told = renames(_row(who, part, gains=gains) for who, part, gains in shuffled)
        moved = {
            who: (
                {part for one, part, gains in rows if one == who and gains},
                {part for one, part, gains in rows if one == who and not gains},
            )
            for who in PRINCIPALS
            if who is not None
        }
        pairs = [
            (old, new)
            for old in sorted(moved)
            for new in [next((other for other in sorted(moved) if moved[other] == (moved[old][1], set())), None)]
            if moved[old][1] and not moved[old][0] and new is not None
        ]
        assert [(one.rule, one.principal) for one in told] == [("renamed", old) for old, _ in pairs[:4]]
        for one, (old, new) in zip(told[:3], pairs[:3], strict=True):
            assert one.text.startswith(f"{old} loses in this plan what {new} gains: ")
        if len(pairs) > 3:
            assert told[3].text.startswith(f"{len(pairs) - 3} more principals lose in this plan")
        met.add(len(pairs))
    assert {0, 1, 2, 3, 4} <= met
