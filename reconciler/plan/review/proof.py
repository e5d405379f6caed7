"""Proof that no moment of a plan is more open, or more closed, than both the state before and the state after.

Inside a phase bindings only come or only go, all of one permission, so access moves one way: the extremes are the
states between phases. Each is compared with both ends; what is gained first and lost later was open too early, what
is lost first and gained later was interrupted. Every suspicion is settled by asking the three authorizers for one
name. With default-allow a first binding may interrupt (design: "Default-allow"), so there only openness is proven.

Some APIs take either of two rights (``reconciler.access.comparison``). No order of phases is safe where one goes and
the other comes: such an interruption is told, not forbidden.
"""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import AccessDifference, DifferenceRow, compare_access
from reconciler.access.interpretation import Work
from reconciler.access.names import shortest_name
from reconciler.access.questions import instead
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.review.access_change import narrower
from reconciler.plan.review.effects import RowIndex, pattern_of
from reconciler.plan.step import Step

_GAINED: Final = attrgetter("gained")
_LOST: Final = attrgetter("lost")
_TOO_OPEN: Final = "too open"
_INTERRUPTED: Final = "interrupted"
#: Permitted before, now, after.
_WRONG: Final = {_TOO_OPEN: (False, True, False), _INTERRUPTED: (True, False, True)}


@dataclass(frozen=True, slots=True)
class Violation:
    """After ``phase`` this request is answered otherwise than both before and after the plan."""

    phase: Phase
    kind: str
    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str

    def __str__(self) -> str:
        """One sentence."""
        return (
            f"after “{TITLES[self.phase]}”, {self.principal} {self.operation.name} {self.resource_type.name} "
            f"{self.name} would be {self.kind}"
        )


class UnsafeOrderError(Exception):
    """The steps, in this order, pass through a state that the safety law forbids."""

    def __init__(self, violation: Violation) -> None:
        """Keep the violation; ``str()`` is its sentence."""
        super().__init__(str(violation))
        self.violation = violation


def prove(
    before: Authorizer, steps: Iterable[Step], *, default_allow: bool | None, work: Work | None = None
) -> tuple[Violation, ...]:
    """Raise :class:`UnsafeOrderError` if some state between phases breaks the law; steps may be in any order.

    Returns the interruptions of what an API permits by either of two rights: the first of each principal, operation and
    resource type.
    """
    work = work or Work()
    states = list(_states(before, steps))
    # With one phase of ACLs there is no state between: the only moment after it is the end.
    if len(states) < 2:
        return ()
    after = states[-1][1]
    told: dict[tuple[str, AclOperation, ResourceType], Violation] = {}
    for phase, state in states[:-1]:
        first, second = (_all_rows(compare_access(*pair, work=work)) for pair in ((before, state), (state, after)))
        judge = _Judge(phase, before, state, after)
        judge.settle(_TOO_OPEN, _suspicions(first, second, _TOO_OPEN, work))
        if default_allow is False:
            for found in judge.settle(_INTERRUPTED, _suspicions(first, second, _INTERRUPTED, work)):
                told.setdefault((found.principal, found.operation, found.resource_type), found)
    return tuple(told.values())


def _states(before: Authorizer, steps: Iterable[Step]) -> Iterator[tuple[Phase, Authorizer]]:
    """The authorizer after each run of ACL steps of one phase, in the order of the steps."""
    state, phase = before, None
    added: list[AclBinding] = []
    removed: list[AclBinding] = []
    for step in steps:
        if (binding := touched_binding(step.change)) is None:
            continue
        # Within a phase brokers take requests in any order: only between phases is there a state to prove.
        if phase is not None and step.phase is not phase:
            state = state.with_changes(added, removed)
            yield phase, state
            added, removed = [], []
        phase = step.phase
        (added if step.change.before is None else removed).append(binding)
    if phase is not None:
        yield phase, state.with_changes(added, removed)


_Ask = tuple[str, str, AclOperation, ResourceType, str]


def _all_rows(difference: AccessDifference) -> tuple[DifferenceRow, ...]:
    return (*difference.rows, *difference.reached())


def _suspicions(
    first: Iterable[DifferenceRow], second: Iterable[DifferenceRow], kind: str, work: Work
) -> Iterator[_Ask]:
    """One request for each pair of rows that share a name, an operation and possibly a connection.

    Too open may be what is gained first and lost later, interrupted what is lost first and gained later.
    """
    moved, back = (_GAINED, _LOST) if kind == _TOO_OPEN else (_LOST, _GAINED)
    index = RowIndex(row for row in second if back(row))
    for row in first:
        if moved(row):
            for other in index.overlapping(pattern_of(row.region)):
                work.spend(1)
                yield from _shared(row, other, moved(row) & back(other))


def _shared(row: DifferenceRow, other: DifferenceRow, operations: frozenset[AclOperation]) -> Iterator[_Ask]:
    if None not in (row.principal, other.principal) and row.principal != other.principal:
        return
    key = narrower(row.region.names, other.region.names)
    if key is None or not operations:
        return
    name = shortest_name(row.region.resource_type, key, (*row.region.cuts, *other.region.cuts))
    if name is None:
        return
    for principal in dict.fromkeys((row.witness.principal, other.witness.principal)):
        for host in dict.fromkeys((row.witness.host, other.witness.host)):
            for operation in sorted(operations):
                yield principal, host, operation, row.region.resource_type, name


@dataclass(frozen=True, slots=True)
class _Judge:
    """Settles suspicions by asking what is permitted before, now, and after."""

    phase: Phase
    before: Authorizer
    now: Authorizer
    after: Authorizer

    def settle(self, kind: str, asks: Iterable[_Ask]) -> list[Violation]:
        """Raise for the first request that is answered so; the rest are such by the other right that an API takes."""
        wrong, told = _WRONG[kind], []
        for ask in asks:
            states = (self.before, self.now, self.after)
            if tuple(state.authorize(*ask).allowed for state in states) == wrong:
                raise UnsafeOrderError(Violation(self.phase, kind, *ask))
            if tuple(_by_either_right(state, AccessRequest(*ask)) for state in states) == wrong:
                told.append(Violation(self.phase, kind, *ask))
        return told


def _by_either_right(state: Authorizer, request: AccessRequest) -> bool | None:
    other = instead(state, request)
    return other is not None and (other.allowed or state.authorize(*request).allowed)
