"""What the core needs from outside. ``kafka``, ``snapshot`` and ``system`` implement it, and pass ``tests/contract``.

An answer is never a guess: reading raises :class:`ClusterError` rather than returning less, and each item that
was written gets an :class:`Answer` of its own, in the order in which it was asked.
"""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern
from reconciler.model.listing import Change
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Layout, TopicUse


class ClusterError(Exception):
    """A cluster did not answer, refused, or answered in a way that cannot be believed.

    ``code`` is Kafka's or librdkafka's error name (``CLUSTER_AUTHORIZATION_FAILED``), or ours in lower case;
    ``advice`` says what you can do. Neither text contains a secret.
    """

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        """Keeps the three parts; ``str()`` shows code, ours as words, and message."""
        super().__init__(f"{code.replace('_', ' ') if code.islower() else code}: {message}")
        self.code, self.message, self.advice = code, message, advice


#: The code with which brokers answer requests about ACLs where they have no authorizer.
NO_AUTHORIZER: Final = "SECURITY_DISABLED"


class AnswerStatus(StrEnum):
    """What became of one item that was sent."""

    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one item: ``FAILED`` is known not to be applied, ``UNKNOWN`` may still be applied later."""

    status: AnswerStatus
    code: str = ""
    message: str = ""
    #: Only with ``FAILED``: nothing was applied, and the same request may succeed later.
    retriable: bool = False

    @property
    def good(self) -> bool:
        """Whether the item's after-state is there now."""
        return self.status in (AnswerStatus.DONE, AnswerStatus.ALREADY)


class LoginAnswer(NamedTuple):
    """Whether a login works; ``None``: it could not be tried. ``detail`` says why not, without the password."""

    works: bool | None
    detail: str = ""


DONE: Final = Answer(AnswerStatus.DONE)
#: Of a change that Kafka's protocol can perform, but not validate.
NOT_VALIDATED: Final = Answer(AnswerStatus.UNKNOWN, "not_validated", "Kafka cannot validate this without performing it")

#: Where a caller has no patterns.
NONE_KNOWN: Final[Mapping[ResourcePattern, ResourcePattern]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What to read: with ``all_topics`` every topic, otherwise only ``topic_names``.

    ``acls`` and ``all_topics`` can be left out where a command does not need them. ``principal`` is our own and
    ``super_users`` the declared ones: a topic listing is whole only if they show that nothing can be hidden from us.
    ``topic_listing`` asks for the names of the other topics that can be seen, and no more of them.
    With ``broker_defaults``, also the brokers' defaults for what a topic leaves out; with ``groups``, which groups
    exist. ``listings`` are listed kinds, by ``KIND``, of which everything is read. ``acl_principals`` is a filter of
    DescribeAcls for a service that names principals otherwise without it (:class:`Flavor`); a snapshot
    has the names under which it was made. ``layout`` are topics whose replicas, with their sizes and unfinished
    reassignments, are read; a topic that does not exist is not in the answer. ``known`` are patterns that the caller
    has, each by itself: a pattern of the answer's bindings that equals one of them is that very object.
    """

    acls: bool = True
    all_topics: bool = True
    topic_names: Collection[str] = ()
    principal: str | None = None
    super_users: Collection[str] = ()
    broker_defaults: bool = False
    groups: bool = False
    topic_listing: bool = False
    listings: Collection[str] = ()
    acl_principals: str | None = None
    layout: Collection[str] = ()
    tokens: bool = False
    known: Mapping[ResourcePattern, ResourcePattern] = field(
        default_factory=lambda: NONE_KNOWN, compare=False, repr=False
    )

    def also(self, kind: str) -> "ReadRequest":
        """The same request, and the listing of one more kind."""
        return replace(self, listings=frozenset({*self.listings, kind}))


@runtime_checkable
class PipelinedWriter(Protocol):
    """Sends a request while answers to earlier ones are still due. Who needs an order waits for the answer first."""

    def begin(self, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """Send as :meth:`Cluster.send` does; what is returned waits for the answers, and is called once.

        Either of the two raises as ``send`` does.
        """
        ...


#: The dynamic configs of a broker that limit how fast it copies replicas, in bytes a second (KIP-73).
REPLICATION_RATES: Final = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")


class Cluster(Protocol):
    """Reads and changes one cluster. Callers choose the batches: what is given to ``send`` is one request."""

    def read(self, request: ReadRequest) -> ClusterState:
        """The state as one broker sees it; raises :class:`ClusterError` if it is refused or cannot be read."""
        ...

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """Perform at most 1,000 changes of one verb and one type, none of them ``Impossible``; no resource twice.

        One answer for each, in order; a refused request refuses each of them. What an answer says depends on the kind:

        - Bindings are created in the given order and deleted by exact filters only. One that is there already, or was
          gone already, is DONE: Kafka cannot tell. What is gone is known only by reading again.
        - Topics are created with their configs: an existing one is FAILED with TOPIC_ALREADY_EXISTS. They are deleted
          by name: a missing one is FAILED with UNKNOWN_TOPIC_OR_PARTITION.
        - Partitions are raised to the count of ``after``: fewer or as many is FAILED with INVALID_PARTITIONS.
        - Replicas: a reassignment to those of ``after`` begins where they differ from ``before``; DONE says that it was
          accepted, not that it is finished. One that is unfinished is replaced: look first. Where only some partitions
          were accepted it is UNKNOWN.
        - Listed kinds: the values of ``after`` are set and those that only ``before`` has are removed; others stay.
        - Configs are set, or with ``None`` reset; those that are not named stay (IncrementalAlterConfigs, KIP-339).
        """
        ...

    def controller_time(self) -> datetime.datetime | None:
        """What the clock of the active controller shows now, in UTC (DescribeQuorum, KIP-836).

        ``None`` where nobody tells: without KRaft, without DESCRIBE on the cluster, or in a snapshot. Never raises.
        """
        ...


class InspectableCluster(Cluster, Protocol):
    """A cluster that also answers a plan's reviewer, and whose moves of replicas can be slowed and cancelled."""

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers that the cluster names; raises :class:`ClusterError`."""
        ...

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """What :meth:`Cluster.send` would answer; ``NOT_VALIDATED`` for what Kafka cannot be asked about.

        Nothing is changed. The cluster runs the whole request, its policies, quotas and limits included, and throws the
        result away (KIP-108).
        """
        ...

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """How each topic is used, with gaps where something was refused; never raises for what one topic refuses."""
        ...

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        """What every broker that the cluster names says of ``configs``, and with ``features`` the finalized ones.

        What one broker refuses is said in the answer; raises :class:`ClusterError` where the cluster cannot be asked
        which brokers it has.
        """
        ...

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """Set both rates of each broker, in bytes a second, or with ``None`` remove them.

        The answer says why it failed, by the broker where it did; never raises for what one broker refuses.
        """
        ...

    def reassignments(self) -> Layout:
        """The topics of which a reassignment is unfinished, with all partitions; raises :class:`ClusterError`."""
        ...

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """Have the brokers go back to the replicas before: one request, one answer for each topic and partition.

        DONE says that it was accepted. Where nothing is moving it is FAILED with NO_REASSIGNMENT_IN_PROGRESS, and with
        INVALID_REPLICA_ASSIGNMENT where only replicas that are out of sync would be left.
        """
        ...


class Clock(Protocol):
    """Time for waiting and for records; nothing else may look at a clock."""

    def sleep(self, seconds: float) -> None:
        """Waits."""
        ...

    def monotonic(self) -> float:
        """Seconds since some start, never going back."""
        ...

    def jitter(self) -> float:
        """A number from 0 up to 1 that spreads repeated attempts."""
        ...

    def now(self) -> str:
        """The time as RFC 3339 in UTC, to the second."""
        ...


class RecordError(Exception):
    """A record that must not be lost could not be kept; ``str()`` says where and why."""


class Ledger(Protocol):
    """Keeps records, in order: a journal, or an audit log."""

    def write(self, *records: Mapping[str, Any]) -> None:
        """Keep the records and return once they are safe; raises :class:`RecordError`."""
        ...


class Visibility(StrEnum):
    """What a node lets a probe's principal do with a topic that does not exist."""

    PERMITTED = "permitted"
    REFUSED = "refused"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """One node's answer to a probe; ``detail`` says why it is ``SILENT``."""

    visibility: Visibility
    detail: str = ""


#: The active controller, where otherwise the id of a broker is given.
CONTROLLER: Final = -1


class Probe(Protocol):
    """Asks single nodes what their own authorizer decides for one principal; changes nothing."""

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers that the cluster names; raises :class:`ClusterError`."""
        ...

    def ask(self, topic: str, nodes: Collection[int]) -> Mapping[int, ProbeAnswer]:
        """Each node's answer for a topic that does not exist, in bounded time; ``CONTROLLER`` can be asked too."""
        ...
