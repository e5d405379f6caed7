"""Listed kinds: the values of one resource are created, altered and deleted together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.codec import Codec
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.kinds import Kind as JsonKind
from reconciler.dataclass import dataclass
from reconciler.model import (
    CLUSTER_NAME,
    AclOperation,
    Change,
    ClusterState,
    Create,
    Delete,
    ListedItem,
    ResourcePattern,
    ResourceType,
    Selector,
    Update,
    altered,
    resource_of,
    values_of,
)
from reconciler.model.listing import Item, narrowed, parts
from reconciler.plan.kinds.interface import Conditions, Halves, LackingRight, LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.observed import DONE, PENDING, Observed, StepState
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Refusal
from reconciler.policy.laws import LAWS, Law, Lost

_VERBS: Final = {Create: "create", Update: "alter", Delete: "delete"}
_CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)


def _difference(before: ListedItem, after: ListedItem) -> str | None:
    return None if before.key == after.key else f"before and after are not of the same {_sort(before)}"


def _sort(item: ListedItem) -> str:
    return item.WORDS.removesuffix("s")


@dataclass(frozen=True, eq=False)
class ListedKind:
    """One listed kind: its JSON, its ``noun`` in actions (``Quota`` in ``CreateQuota``), its phase, and our right.

    ``operation`` is what brokers ask of us before a change: on the resource that it is about, else on the cluster.
    """

    json: JsonKind
    noun: str
    when: Phase
    operation: AclOperation

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each kind
        """The type of its resources."""
        return (self.json.TYPE,)

    @property
    def CODECS(self) -> Mapping[str, Codec[Any]]:  # noqa: N802 - a constant of each kind
        """An object with both sides, by action."""
        codec = self.json.CODEC
        return {
            f"Create{self.noun}": created(codec),
            f"Alter{self.noun}": updated(codec, _difference),
            f"Delete{self.noun}": deleted(codec),
        }

    def law(self, change: Change) -> Law:
        """The one of its kind."""
        return LAWS[self.json.TYPE.KIND]

    def action(self, change: Change) -> str:
        """``CreateQuota``, ``AlterQuota`` or ``DeleteQuota``."""
        return f"{_VERBS[type(change)].capitalize()}{self.noun}"

    def describe(self, change: Change) -> str:
        """``alter quota of user alice``."""
        return f"{_VERBS[type(change)]} {resource_of(change).subject}"

    def key(self, change: Change) -> tuple[str, Any]:
        """By the resource's own key."""
        return self.noun.lower(), resource_of(change).key

    def touches(self, change: Change) -> frozenset[object]:
        """The resource."""
        return frozenset(((self.json.TYPE.KIND, resource_of(change).key),))

    def is_reversible(self, change: Change) -> bool:
        """Always: values that went can be set again."""
        return True

    def is_destructive(self, change: Change) -> bool:
        """Whether it goes."""
        return isinstance(change, Delete)

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """The one of its kind."""
        return self.when

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Whether the values that change are those before, or those after; other values do not matter."""
        item: ListedItem = resource_of(change)
        listing = live.listing(self.json.TYPE)
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
        """Each value that changes is as before or as after, and both are found."""
        item: ListedItem = resource_of(change)
        there, items = live.listing(self.json.TYPE).by_key.get(item.key), live.listing(self.json.TYPE).items
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
        left = narrowed(change, rest)
        return Halves(Create(reached) if change.before is None else Update(change.before, reached), left)

    def lacking_right(self, live: ClusterState) -> LackingRight | None:
        """The right to alter any of them."""
        kind = self.json.TYPE
        return (
            LackingRight(f"alter {kind.WORDS}", self.operation.name) if live.listing(kind).may_alter is False else None
        )

    def right(self, change: Change) -> tuple[AclOperation, ResourcePattern]:
        """What a broker asks of us before it performs a change, and on what."""
        return self.operation, resource_of(change).place or _CLUSTER

    def obstacle(self, change: Change, conditions: Conditions) -> str | None:
        """None: values are set and removed as they are."""
        return None

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

    def references(self, change: Change) -> tuple[str, ...]:
        """None: values are written out."""
        return ()

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """None."""
        yield from ()

    def logins(self, change: Change, live: ClusterState) -> Iterator[tuple[str, str]]:
        """None."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """None; a kind whose law is a guard says which."""
        raise NotImplementedError

    def refusals(self, change: Change) -> Iterator[Refusal]:
        """None: it grants nothing and loses nothing."""
        yield from ()

    def is_selected(self, change: Change, selector: Selector) -> bool:
        """By its principal or its name."""
        return selector.selects_listed(resource_of(change))

    def irreversible(self, change: Change) -> str | None:
        """Nothing: values that went can be set again; a kind that loses something says what."""
        if self.law(change).lost is not Lost.NOTHING:
            raise NotImplementedError
        return None

    def broker_defaults(self, change: Change) -> Iterator[str]:
        """None."""
        yield from ()


def items_after(kind: type[Item], items: Iterable[Item], changes: Iterable[Change]) -> frozenset[Item]:
    """Live resources of one kind with changes made, those of other kinds passed over."""
    after: dict[Any, Any] = {item.key: item for item in items}
    for change in changes:
        item = resource_of(change)
        if isinstance(item, kind):
            there = after.get(item.key, item.with_values({}))
            after[item.key] = there.with_values(altered(there.values, change.before, change.after))
    return frozenset(item for item in after.values() if item.values)


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={'unset' if value is None else value}" for name, value in values.items())
