"""Changes to ordered steps, and the proof of the order. The order itself is the list in ``plan/phase.py``."""

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any, Final, TypeAlias

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import DifferenceRow, compare_access
from reconciler.access.interpretation import Work
from reconciler.access.names import shortest_name
from reconciler.access.questions import instead
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.listing import Change, Create, Delete
from reconciler.plan.difference import DeclaredChange
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_binding
from reconciler.plan.kinds.interface import PhaseContext
from reconciler.plan.kinds.topic import created_topics, deleted_topics
from reconciler.plan.overlap import OverlapIndex, TopicReach
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.review.access_change import narrower, pattern_of
from reconciler.plan.review.effects import RowIndex
from reconciler.plan.step import Step

_ALLOW = AclPermissionType.ALLOW


def ordered(
    changes: Iterable[DeclaredChange],
    after: Iterable[ResourcePattern],
    *,
    default_allow: bool | None,
    lockout_protection: Collection[AclBinding] = (),
) -> tuple[Step, ...]:
    """Give each change its phase and sort; any input order gives the same steps.

    ``after`` are the patterns of every binding that exists after the plan; ``default_allow`` is the broker's
    ``allow.everyone.if.no.acl.found``, ``None`` where nobody declared it; ``lockout_protection`` are bindings that are
    created before, or deleted after, everything else (``default_allow/lockout_protection.py``).
    """
    declared = list(changes)
    bare = [item.change for item in declared]
    vanishing = (binding for binding in deleted_bindings(bare) if binding.entry.permission_type is _ALLOW)
    reached = TopicReach(binding.pattern for binding in vanishing)
    # Not known counts as on: a revocation that waits for its topic to go costs little, an open topic may cost much.
    opened = () if default_allow is False else _uncovered_topics(bare, after)
    context = PhaseContext(lockout_protection, reached, opened)
    steps = [_step(item, kind_of(item.change).phase(item.change, context)) for item in declared]
    # Sorted to the last field: ids are over the steps as they stand, so equal plans must list them alike.
    return tuple(sorted(steps, key=lambda step: (step.phase, kind_of(step.change).key(step.change))))


def _step(declared_change: DeclaredChange, phase: Phase) -> Step:
    change, declared = declared_change
    if declared is None:
        return Step(phase, change)
    return Step(phase, change, declared.origin, declared.expires, declared.reason, declared.ticket, declared.role)


def _uncovered_topics(changes: Iterable[Change], after: Iterable[ResourcePattern]) -> tuple[str, ...]:
    """Topics that the plan deletes and that no binding will cover any more once it is through.

    With default-allow such a topic would be open to everyone between the last revocation and its own deletion.
    """
    deleted = [topic.name for topic in deleted_topics(changes)]
    if not deleted:
        return ()
    covered = TopicReach(after)
    return tuple(name for name in deleted if not covered.reaches(name))


# Which steps must not be performed because another one was not.
#
# A step that failed, is unknown, blocked or left out holds back only what would be unsafe without it (design:
# "Order"): an ALLOW its DENY, a revocation the grants that replace it, a lifted DENY the revocations after it, a
# topic the bindings that reach it. Under default-allow, what covers a resource waits for what shall cover it instead.
# Topic steps never hold back ACL steps: one team's rejected topic must not hold up an urgent revocation. The one
# exception is a binding that waits for a topic to go, which exists for that topic only.

_Operation: TypeAlias = type[Create[Any]] | type[Delete[Any]]
_Kinds: TypeAlias = dict[Phase, tuple[tuple[_Operation, AclPermissionType], ...]]

_WAITS_FOR: _Kinds = {
    # A grant without the DENY that narrows it permits what neither state permits.
    Phase.CREATE_ALLOW: ((Create, AclPermissionType.DENY),),
    # A revocation before the grant that replaces it interrupts whoever both states permit.
    Phase.DELETE_ALLOW: ((Create, AclPermissionType.ALLOW),),
    Phase.DELETE_WAITING_ALLOW: ((Create, AclPermissionType.ALLOW),),
    # A DENY that goes lets old grants through, and what the DENY that replaces it is to hold back.
    Phase.DELETE_DENY: ((Delete, AclPermissionType.ALLOW), (Create, AclPermissionType.DENY)),
    # On the cluster: while anybody's binding covers it, ours must exist.
    Phase.DELETE_LAST: (
        (Delete, AclPermissionType.DENY),
        (Delete, AclPermissionType.ALLOW),
        (Create, AclPermissionType.ALLOW),
    ),
}

#: Where an uncovered resource is open to everyone, what still covers it waits for whatever shall cover it instead.
_COVERS_UNTIL: _Kinds = {
    Phase.DELETE_ALLOW: ((Create, AclPermissionType.DENY),),
    Phase.DELETE_WAITING_ALLOW: ((Create, AclPermissionType.DENY),),
    Phase.DELETE_DENY: ((Create, AclPermissionType.ALLOW),),
}


class Blockers:
    """Changes that were not performed, asked for the first one that holds a step back."""

    def __init__(self, changes: Iterable[Change], *, default_allow: bool | None) -> None:
        """Unless default-allow is known to be off, bindings of different principals and hosts hold each other back."""
        all_changes = list(changes)
        # Under default-allow the last binding on a pattern opens it to all: other principals' bindings matter too.
        self._covering = default_allow is not False
        self._topics = {topic.name: Create(topic) for topic in created_topics(all_changes)} | {
            topic.name: Delete(topic) for topic in deleted_topics(all_changes)
        }
        acls: dict[tuple[_Operation, AclPermissionType], list[AclBinding]] = {}
        both: tuple[tuple[_Operation, list[AclBinding]], ...] = (
            (Create, created_bindings(all_changes)),
            (Delete, deleted_bindings(all_changes)),
        )
        for operation, bindings in both:
            for binding in bindings:
                acls.setdefault((operation, binding.entry.permission_type), []).append(binding)
        self._bindings = acls
        self._index = {
            kind: OverlapIndex(bindings, any_entry=default_allow is not False) for kind, bindings in acls.items()
        }

    def blocking(self, step: Step, phase: Phase | None = None) -> Change | None:
        """The change that was not performed and that ``step`` has to wait for, or ``None``.

        ``phase`` is the phase that it was moved to, if it was.
        """
        phase = step.phase if phase is None else phase
        if (binding := touched_binding(step.change)) is not None:
            return self._acl(phase, binding)
        # A new topic waits for every binding on it: a producer that finds it without its DENYs may write at once.
        for topic in created_topics([step.change]):
            return self._reaching(topic.name, Create, None) or self._waiting(phase, topic.name)
        for topic in deleted_topics([step.change]):
            return self._reaching(topic.name, Delete, AclPermissionType.ALLOW)
        return None

    def _acl(self, phase: Phase, binding: AclBinding) -> Change | None:
        covering = _COVERS_UNTIL.get(phase, ()) if self._covering else ()
        for kind, permission_type in (*_WAITS_FOR.get(phase, ()), *covering):
            index = self._index.get((kind, permission_type))
            if index is not None and (other := index.first(binding)) is not None:
                return kind(other)
        if phase is Phase.DELETE_WAITING_ALLOW:
            return next((c for n, c in self._topics.items() if binding.pattern.matches(n)), None)
        return None

    def _waiting(self, phase: Phase, name: str) -> Change | None:
        if phase is not Phase.CREATE_WAITING_TOPIC:
            return None
        return self._reaching(name, Delete, AclPermissionType.ALLOW)

    def _reaching(self, name: str, kind: _Operation, permission_type: AclPermissionType | None) -> Change | None:
        permissions = (permission_type,) if permission_type else (AclPermissionType.DENY, AclPermissionType.ALLOW)
        for permission in permissions:
            for binding in self._bindings.get((kind, permission), ()):
                if binding.pattern.resource_type is ResourceType.TOPIC and binding.pattern.matches(name):
                    return kind(binding)
        return None


# Proof that no moment of a plan is more open, or more closed, than both the state before and the state after.
#
# Inside a phase bindings only come or only go, all of one permission, so access moves one way: the extremes are the
# states between phases. Each is compared with both ends; what is gained first and lost later was open too early, what
# is lost first and gained later was interrupted. Every suspicion is settled by asking the three authorizers for one
# name. With default-allow a first binding may interrupt (design: "Default-allow"), so there only openness is proven.
#
# Some APIs take either of two rights (``reconciler.access.comparison``). No order of phases is safe where one goes and
# the other comes: such an interruption is told, not forbidden.

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
    violations: dict[tuple[str, AclOperation, ResourceType], Violation] = {}
    for phase, state in states[:-1]:
        first, second = (compare_access(*pair, work=work).all_rows() for pair in ((before, state), (state, after)))
        judge = _Judge(phase, before, state, after)
        judge.settle(_TOO_OPEN, _suspicions(first, second, _TOO_OPEN, work))
        if default_allow is False:
            for violation in judge.settle(_INTERRUPTED, _suspicions(first, second, _INTERRUPTED, work)):
                violations.setdefault((violation.principal, violation.operation, violation.resource_type), violation)
    return tuple(violations.values())


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
            for other in index.overlapping(pattern_of(row.resources)):
                work.spend(1)
                yield from _shared(row, other, moved(row) & back(other))


def _shared(row: DifferenceRow, other: DifferenceRow, operations: frozenset[AclOperation]) -> Iterator[_Ask]:
    if None not in (row.principal, other.principal) and row.principal != other.principal:
        return
    key = narrower(row.resources.names, other.resources.names)
    if key is None or not operations:
        return
    name = shortest_name(row.resources.resource_type, key, (*row.resources.cuts, *other.resources.cuts))
    if name is None:
        return
    for principal in dict.fromkeys((row.witness.principal, other.witness.principal)):
        for host in dict.fromkeys((row.witness.host, other.witness.host)):
            for operation in sorted(operations):
                yield principal, host, operation, row.resources.resource_type, name


@dataclass(frozen=True, slots=True)
class _Judge:
    """Settles suspicions by asking what is permitted before, now, and after."""

    phase: Phase
    before: Authorizer
    now: Authorizer
    after: Authorizer

    def settle(self, kind: str, asks: Iterable[_Ask]) -> list[Violation]:
        """Raise for the first request that is answered so; the rest are such by the other right that an API takes."""
        wrong, by_other_right = _WRONG[kind], []
        for ask in asks:
            states = (self.before, self.now, self.after)
            if tuple(state.authorize(*ask).allowed for state in states) == wrong:
                raise UnsafeOrderError(Violation(self.phase, kind, *ask))
            if tuple(_by_either_right(state, AccessRequest(*ask)) for state in states) == wrong:
                by_other_right.append(Violation(self.phase, kind, *ask))
        return by_other_right


def _by_either_right(state: Authorizer, request: AccessRequest) -> bool | None:
    other = instead(state, request)
    return other is not None and (other.allowed or state.authorize(*request).allowed)
