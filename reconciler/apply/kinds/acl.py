"""ACL bindings: how many go into a request, what others changed, and how a change is reverted.

The controller scans every live binding for each filter of a deletion, on the thread that also keeps brokers alive, so
a request gets about half a second of its time and is followed by a pause as long.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.kinds.interface import Kind, Moved, UndoDraft
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.characters import ticked
from reconciler.model.desired import Declaration
from reconciler.model.listing import Change, Create, Delete, resource_of
from reconciler.model.scope import Scope, is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.acl import touched_bindings
from reconciler.plan.overlap import pattern_indexes
from reconciler.plan.proposal import bindings_after
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest

#: Far below the 10,000 records that some brokers do not survive (KAFKA-19347).
MAX_BINDINGS: Final = 1_000
#: A broker performs what comes on one connection one by one: more would only wait there, and run into its timeout.
_CREATIONS_AT_ONCE: Final = 3
#: Seconds for one filter against one live binding, measured on Kafka 4.3.
SECONDS_PER_SCAN: Final = 0.35e-6
#: Seconds of the controller's time that one delete request may take.
DELETE_BUDGET: Final = 0.5


def delete_batch(live_bindings: int) -> int:
    """How many exact filters one delete request may hold."""
    return max(1, min(MAX_BINDINGS, int(DELETE_BUDGET / (SECONDS_PER_SCAN * max(1, live_bindings)))))


def _expired(step: Step, binding: AclBinding, draft: UndoDraft) -> bool:
    """Whether the grant went because its day was over; manifests that want it again decide otherwise."""
    if binding.entry.permission_type is not AclPermissionType.ALLOW or binding in draft.declared.bindings:
        return False
    return binding in draft.declared.expired or step.expires is not None


class Acls(Kind):
    """ACL bindings."""

    TYPES = (AclBinding,)

    def request(self, changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
        """All bindings, always: coverage and foreign changes are about more than what changes."""
        return replace(request, acls=True)

    def batches(self, steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
        """Creates by number, deletions by what the controller has to scan, which every request makes less."""
        deletes = isinstance(steps[0].change, Delete)
        start = 0
        while start < len(steps):
            size = delete_batch(len(live.bindings) - start) if deletes else MAX_BINDINGS
            yield steps[start : start + size]
            start += size

    def in_flight(self, change: Change) -> int:
        """Of creations a few: the next is written while a broker performs the last.

        Deletions leave the controller time.
        """
        return _CREATIONS_AT_ONCE if isinstance(change, Create) else 1

    def pause_after(self, change: Change, seconds: float) -> float:
        """After a deletion as long as it took, within bounds."""
        return min(seconds, 2 * DELETE_BUDGET) if isinstance(change, Delete) else 0.0

    def outside(self, change: Change, scope: Scope) -> str | None:
        """The binding, if it is not in scope."""
        binding: AclBinding = resource_of(change)
        return None if scope.owns(binding) else str(binding)

    def foreign_changes(self, moved: Moved) -> tuple[str, ...]:
        """Bindings that neither were there nor are ours, on a pattern that shares a name with one of the plan.

        Sentinels, of this or another run, do not count.
        """
        own = set(touched_bindings(step.change for step in moved.touched))
        others = (bindings_after(moved.start.bindings, moved.done) ^ moved.now.bindings) - own
        foreign = sorted(binding for binding in others if not is_reserved(binding.pattern.name))
        if not foreign:
            return ()
        touched = pattern_indexes(
            binding.pattern for binding in touched_bindings(step.change for step in moved.planned)
        )
        return tuple(
            f"{binding} {'went' if binding in moved.start.bindings else 'appeared'}"
            for binding in foreign
            if (index := touched.get(binding.pattern.resource_type)) is not None
            and any(True for _ in index.overlapping(binding.pattern))
        )

    def keep(self, draft: UndoDraft) -> None:
        """Every live binding in scope: what a desired state leaves out is deleted."""
        place = Declaration(draft.origin)
        draft.bindings.update((binding, place) for binding in sorted(draft.live.bindings) if draft.scope.owns(binding))

    def revert(self, step: Step, draft: UndoDraft) -> Iterator[str]:
        """Take a created binding out; put a deleted one back, unless its grant has expired."""
        binding: AclBinding = resource_of(step.change)
        if isinstance(step.change, Create):
            draft.bindings.pop(binding, None)
        elif _expired(step, binding, draft):
            yield f"{ticked(describe(step.change))} stays: the grant has expired"
        else:
            wanted = draft.declared.bindings.get(binding)
            draft.bindings[binding] = wanted._replace(origin=draft.origin) if wanted else Declaration(draft.origin)


KIND: Final = Acls()
