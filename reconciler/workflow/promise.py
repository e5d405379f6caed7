"""What an edit promises of declared access, and whether it keeps that, on its day and whenever something ends later."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Final

from reconciler.access import compare_access
from reconciler.access.difference import AccessDifference, DifferenceRow
from reconciler.dataclass import dataclass
from reconciler.manifest import ClusterDeclaration
from reconciler.model import WILDCARD_PRINCIPAL, AclBinding, Declaration, DesiredState, moment_text
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview, difference_review
from reconciler.report.review_text import access_lines_of, line_words
from reconciler.workflow.states import authorizer
from reconciler.workflow.terms import claimed_super_users


class AssumedDefault(Enum):
    """What ``allow.everyone.if.no.acl.found`` is taken as where a promise is judged."""

    #: As it is stated; where nobody states it, on and off.
    STATED = "stated"
    #: As it is stated; where nobody states it, off: so nobody is kept from taking a last ACL away.
    LIKELY = "likely"
    #: Off: what it opens was proven on the whole state of the cluster, of which manifests declare a part.
    PROVEN = "proven"


@dataclass(frozen=True, slots=True)
class Promise:
    """What an edit does to declared access at most: only ``gaining`` gain, only ``losing`` lose; ``None``: anybody.

    ``words`` say so, after "an edit that promises". ``asked`` are bindings by cluster of which somebody said by name
    that they go, whatever they grant: the promise is about the access that is left without them.
    """

    words: str
    gaining: frozenset[str] | None
    losing: frozenset[str] | None
    assumed: AssumedDefault
    asked: Mapping[str, Collection[AclBinding]] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether it promises nothing of access."""
        return self.gaining is None and self.losing is None

    def broken_by(self, row: DifferenceRow | AccessChange) -> bool:
        """Whether it says that this does not happen."""
        return any(
            bool(operations) and allowed is not None and row.principal not in allowed
            for operations, allowed in ((row.gained, self.gaining), (row.lost, self.losing))
        )


_NOBODY: Final = frozenset[str]()
#: Nobody gains or loses anything.
SAME_ACCESS: Final = Promise("that access stays as it is", _NOBODY, _NOBODY, AssumedDefault.STATED)
#: Rights only get narrower.
NO_GAIN: Final = Promise("that nobody gains access", _NOBODY, None, AssumedDefault.PROVEN)
#: What happens is what somebody asked for, and is shown.
AS_SHOWN: Final = Promise("nothing about access", None, None, AssumedDefault.LIKELY)


def gain_of(*principals: str) -> Promise:
    """Only these gain access; others may lose it, where a DENY or a first ACL comes."""
    words = f"that nobody but {', '.join(principals) or 'nobody'} gains access"
    return Promise(words, _only(principals), None, AssumedDefault.LIKELY)


def loss_of(principal: str) -> Promise:
    """Nobody gains access, and only this principal loses it."""
    words = f"that nobody gains access, and nobody but {principal} loses it"
    return Promise(words, _NOBODY, _only([principal]), AssumedDefault.LIKELY)


def change_of(principal: str) -> Promise:
    """Only the access of this principal changes."""
    only = _only([principal])
    return Promise(f"that only the access of {principal} changes", only, only, AssumedDefault.LIKELY)


def _only(principals: Collection[str]) -> frozenset[str] | None:
    return None if WILDCARD_PRINCIPAL in principals else frozenset(principals)


def instants(states: Iterable[DesiredState], day: datetime.date) -> list[datetime.date]:
    """The day, and each instant after it at which a binding of one of the states ends, in order."""
    ends = {said.expires for state in states for said in state.bindings.values() if said.expires is not None}
    return [day, *sorted({one.end for one in ends if not one.over(day)})]


def in_force(state: DesiredState, when: datetime.date) -> dict[AclBinding, Declaration]:
    """The bindings that have not ended at an instant, or when a day begins."""
    found = state.bindings.items()
    return {one: said for one, said in found if said.expires is None or not said.expires.over(when)}


def differences(
    declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[tuple[datetime.date, AccessDifference]]:
    """What changes on the day and whenever something ends after it, where the two states then differ."""
    for when in instants(states, day):
        before, after = (in_force(state, when) for state in states)
        if before.keys() != after.keys():
            yield when, compare_access(authorizer(declaration, before), authorizer(declaration, after))


def reviews(
    declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[tuple[datetime.date, AccessReview]]:
    """What changes on the day, and later on what did not change before."""
    known = set[AccessChange]()
    for when, difference in differences(declaration, states, day):
        review = difference_review(difference)
        if when == day or not known.issuperset(review.access_changes):
            yield when, review
        known |= set(review.access_changes)


def broken(
    promise: Promise, declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[str]:
    """How the second state breaks the promise, now or later; by the first instant at which it does."""
    if promise.is_any:
        return
    asked = frozenset(promise.asked.get(declaration.name, ())) - states[1].bindings.keys()
    left = {one: said for one, said in states[0].bindings.items() if one not in asked}
    for when, difference in differences(
        doubted(declaration, promise), [replace(states[0], bindings=left), states[1]], day
    ):
        if any(promise.broken_by(row) for row in (*difference.rows, *difference.reached())):
            since = "" if when == day else f", from {moment_text(when)} on"
            review = difference_review(difference)
            # Of very many whom User:* reaches, the review names the first.
            rows = tuple(row for row in review.access_changes if promise.broken_by(row)) or review.access_changes
            lines = access_lines_of(replace(review, access_changes=rows), expand=False)
            yield from (f"{declaration.name}{since}: {line.sign} {line_words(line)}" for line in lines)
            return


def doubted(declaration: ClusterDeclaration, promise: Promise) -> ClusterDeclaration:
    """The facts by which a promise is judged: no word of the manifests on super users hides what happens to them."""
    found = replace(declaration, super_users=tuple({*declaration.super_users} - {*claimed_super_users(declaration)}))
    unstated = found.allow_everyone_if_no_acl_found is None
    off = promise.assumed is AssumedDefault.PROVEN or (promise.assumed is AssumedDefault.LIKELY and unstated)
    return replace(found, allow_everyone_if_no_acl_found=False) if off else found
