"""How all listed kinds answer what planning asks.

The values of one resource of a listed kind are created, altered and deleted together.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from reconciler.codec.codec import Codec
from reconciler.codec.kinds import json_kind
from reconciler.codec.values import created, deleted, updated
from reconciler.model.acl import CLUSTER_NAME, AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import DesiredItem, DesiredState
from reconciler.model.flavor import Flavor
from reconciler.model.listing import (
    Change,
    Create,
    Delete,
    ListedItem,
    Update,
    narrowed,
    parts,
    resource_of,
    values_of,
)
from reconciler.model.scope import Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.plan.kinds.interface import (
    Deletions,
    Halves,
    Kind,
    LackingRight,
    LoginAtRisk,
    NewPassword,
    PhaseContext,
)
from reconciler.plan.observed import DONE, PENDING, Observed, StepState
from reconciler.plan.phase import Phase
from reconciler.policy.laws import Law

_UNDECLARED = "no manifest declares it: declare it, ignore it, or let the cluster's document prune it"
_UNRESOLVED = (
    "only the brokers' resolver knows its address, and what is declared for that address, perhaps the {}, would no "
    "longer be enforced: delete both by hand, and apply again"
)
_UNKNOWN = "this version does not know the key, which stays as it is"
_VERBS: Final = {Create: "create", Update: "alter", Delete: "delete"}
_CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)


def _difference(before: ListedItem, after: ListedItem) -> str | None:
    return None if before.key == after.key else f"before and after are not of the same {_sort(before)}"


def _sort(item: ListedItem) -> str:
    return item.WORDS.removesuffix("s")


def listed_codecs(resource: type[ListedItem]) -> dict[str, Codec[Any]]:
    """How a change of a listed kind looks in JSON, by action: an object with both sides."""
    codec = json_kind(resource).CODEC
    return {
        f"Create{resource.NOUN}": created(codec),
        f"Alter{resource.NOUN}": updated(codec, _difference),
        f"Delete{resource.NOUN}": deleted(codec),
    }


class ListedKind(Kind, ABC):
    """One listed kind, by the type of its resources; the questions of law have no default.

    ``operation`` is what brokers ask of us before a change: on the resource that it is about, else on the cluster.
    """

    resource: ClassVar[type[ListedItem]]
    operation: ClassVar[AclOperation]

    @property
    @abstractmethod
    def answers(self) -> Law:
        """The answers to the questions of law."""

    @abstractmethod
    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """When it is performed."""

    @abstractmethod
    def irreversible(self, change: Change) -> str | None:
        """A sentence about what no undo brings back; ``None``: values that went can be set again."""

    @abstractmethod
    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """The passwords that a change sets, one for each way to log in with it."""

    @abstractmethod
    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """The logins that changes of any kind may stop by those of this kind; asked where the law is a guard.

        ``logins`` are the principals that have to work, each with what it is.
        """

    def topics_needed(self, items: Iterable[Any]) -> Iterator[str]:
        """The names of topics without whose state nobody can say what the items of manifests do; none."""
        yield from ()

    def deletions(
        self, changes: Sequence[Change], live: ClusterState, scope: Scope, done: Collection[Change] = ()
    ) -> Deletions | None:
        """Without what is set again by the same step."""
        gone = [change for change in changes if change.after is None and resource_of(change).again is None]
        there = sum(scope.owns_listed(item, declared=True) for item in live.listing(self.resource).items or ())
        there += sum((change.after is None) - (change.before is None) for change in done)
        return Deletions(self.resource.KIND, self.resource.WORDS, len(gone), there) if gone else None

    @property
    def types(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self.resource,)

    @property
    def codecs(self) -> Mapping[str, Codec[Any]]:
        """An object with both sides, by action."""
        return listed_codecs(self.resource)

    def law(self, change: Change) -> Law:
        """The one of its kind."""
        return self.answers

    def action(self, change: Change) -> str:
        """``CreateQuota``, ``AlterQuota`` or ``DeleteQuota``."""
        return f"{_VERBS[type(change)].capitalize()}{self.resource.NOUN}"

    def describe(self, change: Change) -> str:
        """``alter quota of user alice``, and what is set again."""
        item: ListedItem = resource_of(change)
        more = f" and set {item.again.subject} again" if item.again is not None else ""
        return f"{_VERBS[type(change)]} {item.subject}{more}"

    def key(self, change: Change) -> tuple[str, Any]:
        """By the resource's own key."""
        return self.resource.NOUN.lower(), resource_of(change).key

    def touches(self, change: Change) -> frozenset[object]:
        """The resource."""
        return frozenset(((self.resource.KIND, resource_of(change).key),))

    def is_reversible(self, change: Change) -> bool:
        """Always: values that went can be set again."""
        return True

    def is_destructive(self, change: Change) -> bool:
        """Whether it goes."""
        return change.after is None

    def first_step(self, change: Change, flavor: Flavor) -> None:
        """None: no flavor that is known wants one."""

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Whether the values that change are those before, or those after; other values do not matter.

        Done once it is gone and what had to be set again is there, whatever it limits by then.
        """
        item: ListedItem = resource_of(change)
        observed = self._observed(change, live)
        if item.again is None or observed.state in (StepState.UNREADABLE, StepState.STALE):
            return observed
        there = live.listing(self.resource).by_key.get(item.again.key)
        if observed.state is StepState.DONE and there is not None:
            return observed
        if there is None:
            gone = "set" if observed.state is StepState.PENDING else "not set"
            text = f"{item.again.subject} not set, {item.subject} {gone}"
            return Observed(StepState.PENDING, item.subject, f"{item.again.subject} set again", text)
        if there.values == item.again.values:
            return observed
        return Observed(StepState.STALE, item.again.subject, _text(item.again.values), _text(there.values))

    def _observed(self, change: Change, live: ClusterState) -> Observed:
        item: ListedItem = resource_of(change)
        listing = live.listing(self.resource)
        if listing.items is None:
            return Observed(
                StepState.UNREADABLE, item.subject, "readable", listing.gap or f"the {item.WORDS} were not read"
            )
        there = values_of(listing.by_key.get(item.key))
        before, after = values_of(change.before), values_of(change.after)
        touched = sorted({*before, *after})
        now, old, new = ({name: values.get(name) for name in touched} for values in (there, before, after))
        if now == new:
            return DONE
        if now == old:
            return PENDING
        if self.halves(change, live) is not None:
            return Observed(StepState.PENDING, item.subject, _text(new), _text(now))
        return Observed(StepState.STALE, item.subject, _text(old), _text(now))

    def parts(self, change: Change) -> tuple[Change, ...]:
        """Value by value, unless Kafka takes all values at once."""
        return parts(change)

    def halves(self, change: Change, live: ClusterState) -> Halves | None:
        """Each value that changes is as before or as after, and both are found; or only what is set again is gone."""
        item: ListedItem = resource_of(change)
        listing = live.listing(self.resource)
        there, items = listing.by_key.get(item.key), listing.items
        if item.again is not None:
            if items is None or item.again.key in listing.by_key:
                return None
            # To delete once more what is gone changes nothing.
            return Halves(Delete(item.again), Create(item.again) if there is None else change)
        if item.ATOMIC or items is None:
            return None
        now, before, after = map(values_of, (there, change.before, change.after))
        touched = {*before, *after}
        done = {name for name in touched if now.get(name) == after.get(name) != before.get(name)}
        rest = {name for name in touched if now.get(name) == before.get(name) != after.get(name)}
        same = {name for name in touched if now.get(name) == before.get(name) == after.get(name)}
        if not done or not rest or touched != done | rest | same:
            return None
        reached = item.with_values({name: value for name, value in now.items() if name in touched})
        remaining = narrowed(change, rest)
        return Halves(Create(reached) if change.before is None else Update(change.before, reached), remaining)

    def lacking_right(self, live: ClusterState) -> LackingRight | None:
        """The right to alter any of them."""
        if live.listing(self.resource).may_alter is not False:
            return None
        return LackingRight(f"alter {self.resource.WORDS}", self.operation.name)

    def right(self, change: Change) -> tuple[AclOperation, ResourcePattern]:
        """What a broker asks of us before it performs a change, and on what."""
        return self.operation, resource_of(change).place or _CLUSTER

    def unsupported(self, change: Change, live: ClusterState) -> str | None:
        """Below the kind's first level of ``metadata.version``; a level that is not known refuses nothing."""
        item: ListedItem = resource_of(change)
        needed, level = item.LEVEL, live.metadata_version
        if level is None or level >= needed.number:
            return None
        return (
            f"{item.WORDS} need metadata.version {needed.number} ({needed.name}), and the cluster's is {level}: "
            "finalize it first"
        )

    def is_selected(self, change: Change, selector: Selector) -> bool:
        """By its principal or its name."""
        return selector.selects_listed(resource_of(change))

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Declared resources in order, then those to be pruned; all are skipped where they could not be read."""
        declared, listing = desired.of(self.resource), live.listing(self.resource)
        prune = self.resource.KIND in rules.prune
        if listing.items is None:
            gap = listing.gap or f"the {self.resource.WORDS} of this cluster were not read"
            return Comparison(skipped=tuple(self._unread(declared, gap, prune=prune)))
        changes: list[DeclaredChange] = []
        skipped: list[Skipped] = []
        there = listing.by_key
        for key in sorted(declared):
            wanted = declared[key]
            understood, unknown = _understood(wanted.item, there.get(key))
            needed = _change(wanted.item, understood, goes=wanted.goes)
            place = wanted.declaration.origin
            refused = None if wanted.goes else wanted.item.refusal(live.kafka_version)
            if refused is None:
                changes += [DeclaredChange(change, wanted.declaration) for change in needed]
            else:
                skipped += [
                    Skipped(SkipReason.IMPOSSIBLE, wanted.item.subject, refused.message, change, place)
                    for change in needed
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
            yield Skipped(SkipReason.UNREADABLE, f"{self.resource.WORDS} that no manifest declares", gap)

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """Values to set have to be those declared; what is to be deleted has to be unwanted."""
        item = resource_of(change)
        wanted = desired.of(self.resource).get(item.key)
        if change.after is None:
            if wanted is not None and not wanted.goes:
                return "not to be declared"
            again = None if item.again is None else desired.of(self.resource).get(item.again.key)
            if item.again is not None and (again is None or again.goes):
                return f"{item.again.subject} to be declared, which is set again"
            gone = wanted is not None or self.resource.KIND in rules.prune
            return None if gone else "to be declared absent"
        if wanted is None or wanted.absent or wanted.item != item:
            return "to be declared so"
        return "to be declared, and not over" if wanted.expired else None

    def has_ended(self, change: Change, desired: DesiredState) -> bool:
        """By the key."""
        wanted = desired.of(self.resource).get(resource_of(change).key)
        return wanted is not None and wanted.expired


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={'unset' if value is None else value}" for name, value in values.items())


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
        self._undeclared_items = [there[key] for key in sorted(unnamed)]

    def changes(self) -> Iterator[DeclaredChange]:
        """The changes, those that delete one with the declared one that is set again after it."""
        for declared in self._changes:
            item = resource_of(declared.change)
            kept = None if item.enforced is None or declared.change.after is not None else self._kept.get(item.enforced)
            if kept is not None:
                yield declared._replace(change=Delete(item.with_again(kept)))
            elif item.enforced is not None or _spelled(self._kept) is None:
                yield declared

    def doubts(self) -> Iterator[Skipped]:
        """What stays beside one of ours, and what cannot go."""
        for item in self._undeclared_items:
            other = _spelled(self._ours) if item.enforced is None else self._ours.get(item.enforced)
            if other is not None:
                yield Skipped(SkipReason.UNDECLARED, item.subject, _same(item, other), Delete(item))
        for declared in self._changes:
            item = resource_of(declared.change)
            if item.enforced is None and (other := _spelled(self._kept)) is not None:
                yield Skipped(SkipReason.IMPOSSIBLE, item.subject, _UNRESOLVED.format(other.subject), declared.change)


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
