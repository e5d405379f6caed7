"""What planning asks of a kind of resource."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from reconciler.codec.codec import Codec
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.model.flavor import Flavor, IntermediateValue
from reconciler.model.listing import Change
from reconciler.model.scope import Scope, Selector
from reconciler.model.secrets import NOTHING_PERMITTED, SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DiffRules
from reconciler.plan.observed import Observed
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


class FirstStep(NamedTuple):
    """A change that has to come before another one of the same resource: of ``config``, which ``via`` is between."""

    change: Change
    intermediate: IntermediateValue

    def __str__(self) -> str:
        """``config=value``, as it is between."""
        return f"{self.intermediate.config}={self.intermediate.via}"


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
    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """What differs between the two states of this kind; what ``scope`` does not own never does."""

    @abstractmethod
    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """What the manifests say against a change that was planned earlier, in words for a person; ``None``: nothing.

        What is declared and over is to be neither created nor altered: the plan may be from before anybody declared
        its end.
        """

    @abstractmethod
    def has_ended(self, change: Change, desired: DesiredState) -> bool:
        """Whether what changes is declared with an end that is over."""

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
    def first_step(self, change: Change, flavor: Flavor) -> FirstStep | None:
        """The change that a service of this flavor wants to be made before; ``None``: it takes the change as it is."""

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
