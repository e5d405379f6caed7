"""What a comparison asks of a kind of resource, and how listed kinds answer. ACLs and topics each have a module here.

A declared resource of a listed kind against the live one, all of its values together. Values that this version does not
know stay as they are, unless they are declared: they are listed, and nothing is planned against them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from reconciler.model.desired import DesiredItem, DesiredState
from reconciler.model.listing import Change, Create, Delete, ListedItem, Update, resource_of
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason


class Kind(Protocol):
    """A kind of resource."""

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """What differs between the two states of this kind; what ``scope`` does not own never does."""
        ...

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """What the manifests say against a change that was planned earlier, in words for a person.

        ``None``: nothing, or the change is of another kind. What is declared and over is to be neither created nor
        altered: the plan may be from before anybody declared its end.
        """
        ...


_UNDECLARED = "no manifest declares it: declare it, ignore it, or let the cluster's document prune it"
_UNRESOLVED = (
    "only the brokers' resolver knows its address, and what is declared for that address, perhaps the {}, would no "
    "longer be enforced: delete both by hand, and apply again"
)
_UNKNOWN = "this version does not know the key, which stays as it is"


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Declared resources in order, then those to be pruned; all are skipped where they could not be read."""
        declared, listing = desired.of(self._resource), live.listing(self._resource)
        prune = self._resource.KIND in rules.prune
        if listing.items is None:
            gap = listing.gap or f"the {self._resource.WORDS} of this cluster were not read"
            return Comparison(skipped=tuple(self._unread(declared, gap, prune=prune)))
        changes: list[DeclaredChange] = []
        skipped: list[Skipped] = []
        there = listing.by_key
        for key in sorted(declared):
            wanted = declared[key]
            known, unknown = _understood(wanted.item, there.get(key))
            found = _change(wanted.item, known, goes=wanted.goes)
            place = wanted.declaration.origin
            refused = None if wanted.goes else wanted.item.refusal(live.kafka_version)
            if refused is None:
                changes += [DeclaredChange(change, wanted.declaration) for change in found]
            else:
                skipped += [
                    Skipped(SkipReason.IMPOSSIBLE, wanted.item.subject, refused.message, change, place)
                    for change in found
                ]
            skipped += [
                Skipped(SkipReason.UNSUPPORTED, f"{wanted.item.subject}: {name}", _UNKNOWN, None, place)
                for name in unknown
            ]
        for key in sorted(there.keys() - declared.keys()) if prune else ():
            # Only where include names it: without include a directory answers for what it declares only.
            if scope.owns_listed(there[key], declared=False):
                nothing = there[key].with_values({})
                changes += map(DeclaredChange, _change(nothing, _understood(nothing, there[key])[0], goes=True))
        sharing = _Sharing(declared, there, changes)
        doubts = list(sharing.doubts())
        if rules.report_topics and not prune:
            doubtful = {resource_of(doubt.change).key for doubt in doubts if doubt.change is not None}
            skipped += self._undeclared(
                declared, {key: item for key, item in there.items() if key not in doubtful}, scope
            )
        return Comparison(tuple(sharing.changes()), (*skipped, *doubts))

    def _undeclared(self, declared: Mapping[Any, Any], there: Mapping[Any, Any], scope: Scope) -> Iterator[Skipped]:
        """As of topics: whoever declares none of a kind does not answer for it."""
        for key in sorted(there.keys() - declared.keys()) if declared else ():
            if scope.owns_listed(there[key], declared=False):
                yield Skipped(SkipReason.UNDECLARED, there[key].subject, _UNDECLARED, Delete(there[key]))

    def _unread(self, declared: Mapping[Any, DesiredItem[Any]], gap: str, *, prune: bool) -> Iterator[Skipped]:
        for _, wanted in sorted(declared.items()):
            yield Skipped(SkipReason.UNREADABLE, wanted.item.subject, gap, origin=wanted.declaration.origin)
        if prune:
            yield Skipped(SkipReason.UNREADABLE, f"{self._resource.WORDS} that no manifest declares", gap)

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """Values to set have to be those declared; what is to be deleted has to be unwanted."""
        item = resource_of(change)
        if not isinstance(item, self._resource):
            return None
        wanted = desired.of(self._resource).get(item.key)
        if isinstance(change, Delete):
            if wanted is not None and not wanted.goes:
                return "not to be declared"
            again = None if item.again is None else desired.of(self._resource).get(item.again.key)
            if item.again is not None and (again is None or again.goes):
                return f"{item.again.subject} to be declared, which is set again"
            gone = wanted is not None or self._resource.KIND in rules.prune
            return None if gone else "to be declared absent"
        if wanted is None or wanted.absent or wanted.item != item:
            return "to be declared so"
        return "to be declared, and not over" if wanted.expired else None


class _Sharing:
    """Resources that Kafka keeps apart and enforces as one: see ``ListedItem.enforced``."""

    def __init__(
        self, declared: Mapping[Any, DesiredItem[Any]], there: Mapping[Any, ListedItem], changes: list[DeclaredChange]
    ) -> None:
        """``changes`` are those of each resource by itself."""
        stay = {key: wanted.item for key, wanted in declared.items() if not wanted.goes}
        self._changes = changes
        moved = {resource_of(change.change).key for change in changes}
        # What is altered is set by that, after what goes.
        self._kept = {item.enforced: there[key] for key, item in stay.items() if key in there and key not in moved}
        #: What the manifests or the plan decide, by what it is enforced on.
        self._ours: dict[Any, ListedItem] = {
            item.enforced: item for item in (*stay.values(), *(resource_of(change.change) for change in changes))
        }
        unnamed = there.keys() - declared.keys() - moved
        self._left = [there[key] for key in sorted(unnamed)]

    def changes(self) -> Iterator[DeclaredChange]:
        """The changes, those that delete one with the declared one that is set again after it."""
        for found in self._changes:
            item = resource_of(found.change)
            kept = None if item.enforced is None or found.change.after is not None else self._kept.get(item.enforced)
            if kept is not None:
                yield found._replace(change=Delete(item.with_again(kept)))
            elif item.enforced is not None or _spelled(self._kept) is None:
                yield found

    def doubts(self) -> Iterator[Skipped]:
        """What stays beside one of ours, and what cannot go."""
        for item in self._left:
            other = _spelled(self._ours) if item.enforced is None else self._ours.get(item.enforced)
            if other is not None:
                yield Skipped(SkipReason.UNDECLARED, item.subject, _same(item, other), Delete(item))
        for found in self._changes:
            item = resource_of(found.change)
            if item.enforced is None and (other := _spelled(self._kept)) is not None:
                yield Skipped(SkipReason.IMPOSSIBLE, item.subject, _UNRESOLVED.format(other.subject), found.change)


def _spelled(items: Mapping[Any, ListedItem]) -> ListedItem | None:
    """One of the items of which there may be another spelling."""
    return next((item for item in items.values() if item.enforced not in (None, item.key)), None)


def _same(item: ListedItem, other: ListedItem) -> str:
    may = "may be" if item.enforced is None else "is"
    return (
        f"it {may} of the same address as the {other.subject}: brokers enforce only the one that was set last, and "
        "which that is cannot be read; delete this one with absent: true, or let the cluster's document prune it"
    )


def _understood(wanted: ListedItem, live: ListedItem | None) -> tuple[ListedItem, list[str]]:
    """The live resource without values that nobody here understands, and the names of those."""
    values = {} if live is None else live.values
    # A change that named one would remove what nobody here understands.
    unknown = sorted(name for name in values if name not in wanted.values and not wanted.understands(name))
    return wanted.with_values({name: value for name, value in values.items() if name not in unknown}), unknown


def _change(wanted: ListedItem, live: ListedItem, *, goes: bool) -> Iterator[Change]:
    if not live.values:
        if not goes:
            yield Create(wanted)
    elif goes:
        yield Delete(live)
    elif live.values != wanted.values:
        yield Update(live, wanted)
