"""What applying asks of a kind of resource, and how listed kinds answer. ACLs and topics each have a module here."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from reconciler.codec.document import differences
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change, ListedItem, resource_of, values_of
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits, TopicUse
from reconciler.plan.kinds import listed
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest


class Right(NamedTuple):
    """What a broker asks of us before it performs a change: ``operation`` on any one of ``places``."""

    operation: AclOperation
    places: tuple[tuple[ResourceType, str], ...]


class Remaining(NamedTuple):
    """What is left of a change that brokers perform over hours: partitions that move or wait, and bytes to copy."""

    moving: int
    waiting: int
    copied: int


class Batch(NamedTuple):
    """What of a change moves next: a change from what is there to what is there then; ``begun``: it moves already."""

    change: Change
    begun: bool


class Marks(StrEnum):
    """Whose throttle the configs are that say which replicas it is about."""

    NOBODYS = "nobody's"
    OURS = "ours"
    OTHERS = "somebody else's"


class Copying(NamedTuple):
    """What brokers copy for a change. ``mark`` says which replicas a throttle is about, ``unmark`` takes that away.

    ``brokers`` are those that send or receive, ``is_moving`` whether they do by now, whoever had them begin.
    """

    subject: str
    brokers: frozenset[int]
    mark: Change
    unmark: Change
    marks: Marks
    is_moving: bool


class Moved(NamedTuple):
    """What a reading is held against: the state before the run, and what the run has done since.

    ``done`` are steps whose after-state is there, ``touched`` those with any outcome, ``planned`` all of the plan.
    """

    start: ClusterState
    now: ClusterState
    done: Sequence[Step]
    touched: Sequence[Step]
    planned: Sequence[Step]


class CreatedByRuns(NamedTuple):
    """What is known of what runs created: the ids that Kafka gave, by step, and what topics hold by now, by name."""

    identities: Mapping[str, str] = MappingProxyType({})
    uses: Mapping[str, TopicUse] = MappingProxyType({})


#: Of runs whose journal has no ids, on a cluster that was not asked.
NOTHING_KNOWN: Final = CreatedByRuns()


@dataclass(slots=True)
class UndoDraft:
    """The desired state of an undo while it is made; each kind begins with what has to stay as it is.

    ``declared`` is what the manifests say today, ``origin`` what asks for the undo. ``own`` are the topics that go and
    are known to be those that the runs created, as they created them, with no record written since.
    """

    live: ClusterState
    scope: Scope
    declared: DesiredState
    origin: Origin
    created_by_runs: CreatedByRuns = NOTHING_KNOWN
    own: list[str] = field(default_factory=list)
    bindings: dict[AclBinding, Declaration] = field(default_factory=dict)
    topics: dict[str, DesiredTopic] = field(default_factory=dict)
    listed: dict[str, dict[Any, DesiredItem[Any]]] = field(default_factory=dict)

    def want(self, desired_item: DesiredItem[Any]) -> None:
        """Adds a resource of a listed kind, or that it must not exist."""
        self.listed.setdefault(desired_item.item.KIND, {})[desired_item.item.key] = desired_item


class Kind(ABC):
    """A kind of resource. Changes and steps are of this kind only, unless a function says otherwise."""

    #: Which types the sides of its changes have.
    TYPES: tuple[type, ...]
    #: Error names with which a broker also answers a request that it performed already and received twice.
    REPEATED: frozenset[str] = frozenset()

    @abstractmethod
    def request(self, changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
        """``request``, and what has to be read to hold changes of this kind, if there are any, against the cluster."""

    @abstractmethod
    def batches(self, steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
        """Steps of one action, cut into requests that no broker is harmed by; order kept."""

    def in_flight(self, change: Change) -> int:
        """How many requests of such changes of one phase may be unanswered at a time."""
        return 1

    def pause_after(self, change: Change, seconds: float) -> float:
        """Seconds to leave the controller alone after a request of such changes that took ``seconds``."""
        return 0.0

    def remaining(self, change: Change, live: ClusterState) -> Remaining | None:
        """What brokers still have to do of a change after they accepted it; ``None``: it is done when accepted."""
        return None

    def next_batch(self, change: Change, live: ClusterState, limits: MoveLimits) -> Batch | str:
        """What of a change that is not done has to move next, or why nothing may; only if there is a ``remaining``."""
        return "it is done when it is accepted"

    def copying(self, change: Change, live: ClusterState) -> Copying | None:
        """What brokers copy for a change, and whether that is throttled in ``live``; ``None``: they copy nothing."""
        return None

    @abstractmethod
    def outside(self, change: Change, scope: Scope) -> str | None:
        """The name of what a change touches, if ``scope`` does not own it."""

    def foreign_changes(self, moved: Moved) -> tuple[str, ...]:
        """What somebody else changed of what the plan touches, a few words each."""
        return ()

    def is_recreated(self, change: Change, live: ClusterState) -> bool:
        """Whether what a change deletes is there again, as another one of the same name."""
        return False

    def identity(self, change: Change, live: ClusterState) -> str | None:
        """The id that Kafka gave to what a change creates, empty while it does not show; ``None``: it gives none."""
        return None

    def lacking_right(self, live: ClusterState) -> str | None:
        """The right that we are known to lack for any change of this kind; ``None``: nothing is known to be missing."""
        return None

    def right(self, change: Change) -> Right | None:
        """What we need to be asked in advance about a change (KIP-108); ``None``: Kafka cannot be asked about it."""
        return None

    def keep(self, draft: UndoDraft) -> None:
        """Put into ``draft`` what stays as it is, before any step is reverted."""
        return

    @abstractmethod
    def revert(self, step: Step, draft: UndoDraft) -> Iterator[str]:
        """Revert one step in ``draft``; yields a sentence for what cannot be restored, or only in part."""


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
            members, size = list(group), 1 if alone else _MAX_ITEMS
            yield from (members[start : start + size] for start in range(0, len(members), size))

    def pause_after(self, change: Change, seconds: float) -> float:
        """A moment where another resource is in force once this one is gone (``ListedItem.enforced``).

        A broker that reads both changes at once takes them in any order (``ClientQuotasDelta``).
        """
        item: ListedItem = resource_of(change)
        return _SETTLED_AFTER if change.after is None and item.enforced != item.key else 0.0

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
        after = None if step.change.after is None else item
        before, new = step.change.before, step.change.before is None
        ended = declared.expired if declared is not None else step.change.after is None and step.expires is not None
        if ended and not new:
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
            place = (
                Declaration(draft.origin) if declared is None else declared.declaration._replace(origin=draft.origin)
            )
            draft.want(DesiredItem(item.with_values({}) if new else before, place, absent=new))
