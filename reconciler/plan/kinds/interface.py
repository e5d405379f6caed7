"""What planning asks of a kind of resource, and how all listed kinds answer.

The values of one resource of a listed kind are created, altered and deleted together.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Final, NamedTuple

from reconciler.codec.codec import Codec
from reconciler.codec.kinds import json_kind
from reconciler.codec.values import created, deleted, updated
from reconciler.dataclass import dataclass
from reconciler.model.acl import CLUSTER_NAME, AclBinding, AclOperation, ResourcePattern, ResourceType
from reconciler.model.listing import (
    Change,
    Create,
    Delete,
    Item,
    ListedItem,
    Update,
    altered,
    narrowed,
    parts,
    resource_of,
    values_of,
)
from reconciler.model.scope import Scope, Selector
from reconciler.model.secrets import NOTHING_PERMITTED, SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan.observed import DONE, PENDING, Observed, StepState
from reconciler.plan.overlap import TopicReach
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Refusal
from reconciler.policy.laws import Law


@dataclass(frozen=True, slots=True)
class PhaseContext:
    """What of the whole plan decides about the phase of one change.

    ``lockout_protection`` are bindings that are created before, or deleted after, everything else; ``vanishing`` are
    the patterns of the ALLOWs that go; ``opened`` are topics that the plan deletes and that nothing covers afterwards.
    """

    lockout_protection: Collection[AclBinding] = ()
    vanishing: TopicReach = field(default_factory=lambda: TopicReach(()))
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """What holds for every change of a run, and that no change may touch or do without.

    ``logins`` are the principals that have to be able to log in as they do now, each with what it is; ``permit`` says
    which references to secrets are followed. ``locked`` are the principals that the operator's file locks for good.
    """

    logins: Mapping[str, str] = field(default_factory=dict)
    permit: SecretPermit = NOTHING_PERMITTED
    locked: Collection[str] = ()


class LackingRight(NamedTuple):
    """``what`` our login may not do, in words, for lack of the ``right`` on the cluster."""

    what: str
    right: str


class Halves(NamedTuple):
    """A change that was cut off between its requests: from before to what is there, and what is still to be sent."""

    done: Change
    rest: Change


class LoginAtRisk(NamedTuple):
    """A login that a plan may stop from working: the object of the guard, and a sentence.

    Not ``certain``: nobody knows whether it is one of those logins. ``changes`` are those that bring it about.
    """

    object: str
    text: str
    changes: tuple[Change, ...]
    certain: bool = True


class Deletions(NamedTuple):
    """How many resources of a kind go, of how many that are in scope; ``kind`` and ``words`` name them."""

    kind: str
    words: str
    number: int
    owned: int


class NewPassword(NamedTuple):
    """A password that a change sets: whose, for which mechanism, and the reference to it; none of a salted one."""

    name: str
    mechanism: str
    reference: str

    @property
    def principal(self) -> str:
        """The principal who logs in with it."""
        return f"User:{self.name}"


class Kind(ABC):
    """A kind of resource. Every method takes changes of this kind only; what most kinds answer alike is inherited."""

    @property
    @abstractmethod
    def types(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""

    @property
    @abstractmethod
    def codecs(self) -> Mapping[str, Codec[Any]]:
        """How a change looks in JSON, by its action: an object with the fields ``before`` and ``after``."""

    @abstractmethod
    def law(self, change: Change) -> Law:
        """The answers of its kind to the questions of law."""

    @abstractmethod
    def action(self, change: Change) -> str:
        """The name of the operation in plan files and reports, ``CreateAcl``; ids contain it, so it never changes."""

    @abstractmethod
    def describe(self, change: Change) -> str:
        """The change in a few words, as reports and refusals name it."""

    @abstractmethod
    def key(self, change: Change) -> tuple[str, Any]:
        """The order inside a phase; the first item is another one in each kind that shares a phase."""

    @abstractmethod
    def touches(self, change: Change) -> frozenset[object]:
        """What no other step of a plan may change."""

    @abstractmethod
    def is_reversible(self, change: Change) -> bool:
        """Whether the state before can be restored."""

    @abstractmethod
    def is_destructive(self, change: Change) -> bool:
        """Whether undoing it does not bring back what was lost or who was cut off."""

    @abstractmethod
    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """When it is performed; raises ``TypeError`` for what is impossible."""

    @abstractmethod
    def observe(self, change: Change, live: ClusterState) -> Observed:
        """The change against a live state: still to do, done, or stale."""

    def parts(self, change: Change) -> tuple[Change, ...]:
        """What is sent in requests of their own, in order; one: the change is performed whole or not at all."""
        return (change,)

    def halves(self, change: Change, live: ClusterState) -> Halves | None:
        """Where some of the parts are done and the others are as before; ``None`` for every other state."""
        return None

    def lacking_right(self, live: ClusterState) -> LackingRight | None:
        """What our login may not do to this kind, if the cluster told so."""
        return None

    def obstacle(self, change: Change, conditions: Conditions) -> str | None:
        """Why a change cannot be made here, whatever a person accepts; ``None`` if it can."""
        return None

    def unsupported(self, change: Change, live: ClusterState) -> str | None:
        """Why brokers of this release, or controllers at this level of ``metadata.version``, refuse the change."""
        return None

    def references(self, change: Change) -> tuple[str, ...]:
        """The references to secrets that performing a change follows."""
        return ()

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """The passwords that a change sets, one for each way to log in with it."""
        yield from ()

    def logins(self, change: Change, live: ClusterState) -> Iterator[tuple[str, str]]:
        """Principals whose login a change alters on this very cluster, each with a sentence about it."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """The logins that changes of any kind may stop by those of this kind; asked where the law is a guard.

        ``logins`` are the principals that have to work, each with what it is.
        """
        yield from ()

    def warnings(self, changes: Sequence[Change], live: ClusterState) -> Iterator[str]:
        """A sentence for each thing that changes of any kind mean for resources of this one, and no guard refuses."""
        yield from ()

    def refusals(self, change: Change) -> Iterator[Refusal]:
        """What a guard refuses about this change alone, unless a person accepted it."""
        yield from ()

    def deletions(
        self, changes: Sequence[Change], live: ClusterState, scope: Scope, done: Collection[Change] = ()
    ) -> Deletions | None:
        """What goes of this kind, of as many as were there before what is ``done``.

        ``None``: guards count it otherwise.
        """
        return None

    @abstractmethod
    def is_selected(self, change: Change, selector: Selector) -> bool:
        """Whether ``--only`` or ``--exclude`` with this selector means it."""

    def irreversible(self, change: Change) -> str | None:
        """A sentence about what no undo brings back."""
        return None

    def broker_defaults(self, change: Change) -> Iterator[str]:
        """Names of the broker's settings that decide what the change leaves open."""
        yield from ()


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
        gone = [change for change in changes if isinstance(change, Delete) and change.before.again is None]
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
        return isinstance(change, Delete)

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Whether the values that change are those before, or those after; other values do not matter.

        Done once it is gone and what had to be set again is there, whatever it limits by then.
        """
        item: ListedItem = resource_of(change)
        found = self._observed(change, live)
        if item.again is None or found.state in (StepState.UNREADABLE, StepState.STALE):
            return found
        there = live.listing(self.resource).by_key.get(item.again.key)
        if found.state is StepState.DONE and there is not None:
            return found
        if there is None:
            gone = "set" if found.state is StepState.PENDING else "not set"
            text = f"{item.again.subject} not set, {item.subject} {gone}"
            return Observed(StepState.PENDING, item.subject, f"{item.again.subject} set again", text)
        if there.values == item.again.values:
            return found
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
        left = narrowed(change, rest)
        return Halves(Create(reached) if change.before is None else Update(change.before, reached), left)

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
