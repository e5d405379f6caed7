"""What applying asks of a kind of resource. Each other module of this folder is one kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits, TopicUse
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest


class Right(NamedTuple):
    """What a broker asks of us before it performs a change: ``operation`` on any one of ``places``."""

    operation: AclOperation
    places: tuple[tuple[ResourceType, str], ...]


class Left(NamedTuple):
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
    known: CreatedByRuns = NOTHING_KNOWN
    own: list[str] = field(default_factory=list)
    bindings: dict[AclBinding, Declaration] = field(default_factory=dict)
    topics: dict[str, DesiredTopic] = field(default_factory=dict)
    listed: dict[str, dict[Any, DesiredItem[Any]]] = field(default_factory=dict)

    def want(self, wish: DesiredItem[Any]) -> None:
        """Adds a resource of a listed kind, or that it must not exist."""
        self.listed.setdefault(wish.item.KIND, {})[wish.item.key] = wish


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

    def left(self, change: Change, live: ClusterState) -> Left | None:
        """What brokers still have to do of a change after they accepted it; ``None``: it is done when accepted."""
        return None

    def next_batch(self, change: Change, live: ClusterState, limits: MoveLimits) -> Batch | str:
        """What of a change that is not done has to move next, or why nothing may; only where ``left`` is something."""
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
