"""What a caller may say about a plan, and about reaching clusters and secrets. Light: a command line starts with it."""

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from reconciler.dataclass import dataclass

if TYPE_CHECKING:
    from reconciler.apply.cleanup import Leftover
    from reconciler.apply.records import PastRun
    from reconciler.manifest.read.problem import Problem
    from reconciler.plan.refusal import AcceptedGuard
    from reconciler.results.access import PastState

#: Before the file that stands for a cluster.
SNAPSHOT: Final = "snapshot:"
#: So far an instant may be from now and still be meant by it.
_CLOCKS_DIFFER: Final = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class LeftoverNote:
    """What a run has on the cluster for its own use ``at`` a time; ``over`` is true once it cannot be going on.

    Answers about access count it (``counted``), for it grants what it grants; plans leave it to its run.
    """

    leftover: "Leftover"
    at: datetime.datetime
    counted: bool
    over: bool = False


@dataclass(frozen=True, slots=True)
class MoreLeftovers:
    """So many further runs of which something is there, and counts: whoever may alter ACLs can forge any number."""

    runs: int


@dataclass(frozen=True, slots=True)
class DefeatedGain:
    """Access that was reviewed and that the plan would not give any more: ``text`` says whose, and which."""

    text: str


@dataclass(frozen=True, slots=True)
class ClientNote:
    """What the Kafka clients leave out: settings of other clients, or how a cluster is read instead; said once."""

    text: str


@dataclass(frozen=True, slots=True)
class UnstatedFlavor:
    """The cluster shows a flavor that nobody states, and without it its ACLs are misread; ``advice`` is the cure."""

    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class VersionNote:
    """The rules of a cluster's Kafka version are not known: ``doubt`` says why."""

    cluster: str
    doubt: str


#: What a person should know and no result holds: an entry of the manifests that has expired, what runs have on the
#: cluster for their own use, an earlier run of the same plan that did not end, a client that could not connect.
Note: TypeAlias = (
    "Problem | LeftoverNote | MoreLeftovers | PastRun | DefeatedGain | ClientNote | UnstatedFlavor | VersionNote"
)
#: Told of each note, as soon as it is known.
Tell: TypeAlias = Callable[[Note], None]


def ignore(note: Note) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How the operator lets use cases reach clusters and secrets.

    ``connections`` is a file with Cluster documents whose connection part replaces the manifests' own; references to
    secrets are followed into the environment variables ``allow_env`` and the directories ``secrets_dirs`` only.
    Without a file, ``trust_manifests`` lets the manifests name addresses and secrets. With ``cleartext_login`` a login
    may leave this machine without TLS. ``proposed``: the file lies inside the manifests, though they are looked at in
    another place. ``implied``: nobody named the file, it is the one that the user keeps, so it need not have every
    cluster. ``default_path`` is where the manifests are where a use case is given no path.
    """

    connections: str | None = None
    allow_env: tuple[str, ...] = ()
    secrets_dirs: tuple[str, ...] = ()
    trust_manifests: bool = False
    cleartext_login: bool = False
    proposed: bool = False
    implied: bool = False
    default_path: str = "."


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """How fast replicas move, in bytes: of each broker a second, and of each topic at a time.

    ``throttle`` ``None``: as fast as brokers can; the others ``None``: as ``MoveLimits`` has it.
    """

    throttle: int | None = None
    batch_partitions: int | None = None
    batch_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan may hold.

    ``as_of`` is the instant, or the begin of the day, that decides what has expired (now if ``None``). Without
    ``allow_deletes`` nothing is deleted.
    ``accept`` lets guards pass the objects that they name. ``only`` selects steps by ``FIELD=NAME``
    (``principals=User:svc-*``, ``topics=payments.orders``) and leaves out those of ``FIELD!=NAME``.
    ``baseline`` is an earlier snapshot file: an empty listing where it has bindings is refused.
    ``guardrails`` is a directory of manifests whose rules hold with
    the proposal's; ``base`` is one with whose rules the proposal's are compared.
    """

    as_of: datetime.date | None = None
    allow_deletes: bool = False
    accept: "tuple[AcceptedGuard, ...]" = ()
    only: tuple[str, ...] = ()
    baseline: str | None = None
    guardrails: str | None = None
    base: str | None = None


def moment() -> datetime.datetime:
    """Now, to the second: what has expired. A use case asks once, so that all of it speaks of one time."""
    return now().replace(microsecond=0)


def today() -> datetime.date:
    """Today in UTC."""
    return now().date()


def now() -> datetime.datetime:
    """Now in UTC; the one place of use cases and commands that asks."""
    return datetime.datetime.now(datetime.UTC)


def against_now(at: datetime.date) -> int:
    """-1 for a time that is past, 1 for one to come, 0 for now: today, or an instant within what clocks differ by."""
    if isinstance(at, datetime.datetime):
        away = at - now()
        return 0 if abs(away) <= _CLOCKS_DIFFER else 1 if away > _CLOCKS_DIFFER else -1
    return (at > today()) - (at < today())


@dataclass(frozen=True, slots=True)
class PastReadings:
    """The store of readings at ``place``, and who knows by it the state of a cluster at a past time.

    ``read`` takes the place, the cluster's name, the time, and audit logs.
    """

    place: str
    read: "Callable[[str, str, datetime.datetime, tuple[str, ...]], PastState]"


@dataclass(frozen=True, slots=True)
class StateRequest:
    """Of which state something is asked: of ``cluster`` as it is, or ``offline`` or without one, as it is declared.

    ``path`` is the directory of manifests (the working directory if ``None``), ``plan`` a saved plan: the states before
    and after it. ``guardrails`` is a directory of manifests whose rules hold with those below ``path``.
    With ``store`` it is asked of the cluster as it was at ``as_of``, by its readings and the logs ``audit``.
    """

    path: str | None = None
    cluster: str | None = None
    offline: bool = False
    plan: str | None = None
    as_of: datetime.date | None = None
    guardrails: str | None = None
    store: PastReadings | None = None
    audit: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Asks the clock, once, where nobody says what decides what has expired."""
        object.__setattr__(self, "as_of", self.as_of or moment())

    @property
    def at(self) -> datetime.date:
        """The time that decides what has expired."""
        return self.as_of or moment()

    @property
    def live(self) -> bool:
        """Whether a cluster is asked."""
        return self.cluster is not None and not self.offline


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """How many people have to have signed a plan, and who counts.

    ``allowed_signers`` is a file in OpenSSH's format; ``not_author`` are principals in it whose signature does not
    count. ``signatures`` are files; without any, those next to the plan count whose names begin with the plan's and end
    in ``.sig``.
    """

    required: int
    allowed_signers: str
    not_author: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
