"""Listed kinds: how many go into a request, and how a change is reverted."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.apply.kinds.interface import Kind, Right, UndoDraft
from reconciler.codec.document import differences
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.listing import Change, Create, Delete, ListedItem, Update, resource_of, values_of
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import listed
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest

_MAX_ITEMS: Final = 500
#: Seconds after which brokers have read a change: they ask for metadata at least twice a second.
_SETTLED_AFTER: Final = 1.0


class ListedKind(Kind):
    """One listed kind; to alter one twice is the same as once, so no error means that it was done already."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource
        self.TYPES = (resource,)

    def request(self, changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
        """All of them, where one changes: Kafka lists them in one answer."""
        touched = any(isinstance(resource_of(change), self._resource) for change in changes)
        return request.also(self._resource.KIND) if touched else request

    def batches(self, steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
        """By number; one that has another set again goes alone, for two may have the same one set."""
        for alone, group in groupby(steps, key=lambda step: resource_of(step.change).again is not None):
            found, size = list(group), 1 if alone else _MAX_ITEMS
            yield from (found[start : start + size] for start in range(0, len(found), size))

    def pause_after(self, change: Change, seconds: float) -> float:
        """A moment where another resource is in force once this one is gone (``ListedItem.enforced``).

        A broker that reads both changes at once takes them in any order (``ClientQuotasDelta``).
        """
        item: ListedItem = resource_of(change)
        return _SETTLED_AFTER if isinstance(change, Delete) and item.enforced != item.key else 0.0

    def outside(self, change: Change, scope: Scope) -> str | None:
        """The resource, if it is not in scope."""
        item: ListedItem = resource_of(change)
        return None if scope.owns_listed(item, declared=True) else item.subject

    def lacking_right(self, live: ClusterState) -> str | None:
        """The right to alter any of them."""
        lacking = listed(self._resource).lacking_right(live)
        return lacking and f"{lacking.right} on CLUSTER kafka-cluster"

    def right(self, change: Change) -> Right | None:
        """On the resource that it is about, else on the cluster."""
        operation, place = listed(self._resource).right(change)
        return Right(operation, ((place.resource_type, place.name),))

    def revert(self, step: Step, draft: UndoDraft) -> Iterator[str]:
        """Put the values back that were there before, unless somebody has changed them since."""
        item: ListedItem = resource_of(step.change)
        live, declared = draft.live.listing(self._resource), draft.declared.of(self._resource).get(item.key)
        after = None if isinstance(step.change, Delete) else item
        if declared is not None and declared.expired:
            yield f"{item.subject} stays: it has expired"
        elif live.items is None:
            yield f"{item.subject} stays: {live.gap or f'the {item.WORDS} were not read'}"
        elif values_of(live.by_key.get(item.key)) != values_of(after):
            now = dict(values_of(live.by_key.get(item.key)))
            yield f"{item.subject} stays: somebody has changed it since: {differences(dict(values_of(after)), now)}"
        elif item.again is not None:
            yield f"{item.subject} stays away: it is of the same address as the {item.again.subject}"
        elif (lost := listed(self._resource).irreversible(step.change)) is not None:
            yield f"{item.subject} stays: {lost}"
        else:
            before = step.change.before if isinstance(step.change, Update | Delete) else item.with_values({})
            draft.want(DesiredItem(before, Declaration(draft.origin), absent=isinstance(step.change, Create)))
