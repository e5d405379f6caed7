"""What an apply works with: a cluster, a clock, somewhere to write, and how to ask every node."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any

from reconciler.apply.barriers.interface import BarrierFactory
from reconciler.apply.progress import Progress
from reconciler.codec import AnyText, Says
from reconciler.dataclass import dataclass
from reconciler.model import MoveLimits
from reconciler.ports import Clock, Cluster, Ledger, PipelinedWriter, ReplicationRates, TopicInspector


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Who takes the lease, and whose leases may be broken for it."""

    holder: str
    breaks: tuple[str, ...] = ()
    #: How long it lasts without renewal, on top of twice the time that a barrier may take.
    seconds: float = 150.0


@dataclass(frozen=True, slots=True)
class LeasePatience:
    """What a run does where somebody else holds the lease: it waits so many seconds, and then gives up or goes on.

    What only takes away in an emergency goes on: a run whose plan it touches sees that and stops.
    """

    seconds: float = 0.0
    goes_on: bool = False


class NoLedger:
    """Keeps nothing."""

    def write(self, *records: Mapping[str, Any]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Approver:
    """A person whose signature of the plan's file counted: by which name, with which key, and when it was verified."""

    name: Annotated[str, Says("The person, as the file of allowed signers names them.", "alice@example.com")]
    key: Annotated[
        str, Says("The fingerprint of the key that signed.", "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")
    ]
    verified: Annotated[str, Says("When the signature was verified, in UTC.", "2026-11-21T05:17:00Z")]


@dataclass(frozen=True, slots=True)
class ApprovalEvidence:
    """By which rule signatures were checked, and whose there were.

    ``required`` people had to sign. ``allowed_signers`` is the digest of the file that says whose key is whose.
    ``authors`` are people whose signatures do not count, ``left_out`` signatures that did not, each with the reason.
    """

    required: Annotated[int, Says("How many people had to sign.", 2)]
    allowed_signers: Annotated[str, Says("The digest of the file of allowed signers.", f"sha256:{'0' * 64}")]
    approvers: Annotated[tuple[Approver, ...], Says("The people whose signatures counted.")]
    authors: Annotated[tuple[str, ...], Says("People whose signatures do not count, because the change is theirs.")]
    left_out: Annotated[tuple[AnyText, ...], Says("Signatures that did not count, each with the reason.")]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which run this is, and who performs it.

    ``approvals`` are the signatures of its plan, where any were asked for. ``plan_ids`` are the change id and the plan
    id that were approved, where they are known: a plan is performed under the terms that its cluster's declaration has
    by now, which are not those that its ids bind.
    """

    run: str = "unnamed"
    operator: str = ""
    file_digest: str | None = None
    plan_ids: tuple[str, str] | None = None
    approvals: ApprovalEvidence | None = None


@dataclass(frozen=True, slots=True)
class ApplyEnvironment:
    """What an apply works with; ``interrupted`` turns true once you ask to stop.

    ``max_batch`` makes requests smaller than they would be. ``barrier`` makes what a run waits by between phases
    (``None``: a fixed wait); with ``lease_request`` no other run of ours goes on at the same time. ``redact`` takes the
    secrets of the connections out of a text. ``throttle`` limits how fast each broker copies replicas that a plan
    moves, in bytes a second, by ``rates``; without one a run still removes what an earlier run of its plan left there.
    ``move_limits`` bounds how much moves at a time.
    ``uses`` tells what topics hold: what was empty when a plan was made is asked about again before it is deleted.
    ``pipeline`` is the cluster, where it takes a request before it has answered the last one. ``prepare`` says that the
    cluster will be read again soon.
    """

    cluster: Cluster
    clock: Clock
    progress: Progress
    interrupted: Callable[[], bool] = lambda: False
    identity: Identity = Identity()
    journal: Ledger = field(default_factory=NoLedger)
    audit: Ledger = field(default_factory=NoLedger)
    max_batch: int | None = None
    barrier: BarrierFactory | None = None
    lease_request: LeaseRequest | None = None
    lease_patience: LeasePatience = LeasePatience()
    redact: Callable[[str], str] = str
    throttle: int | None = None
    rates: ReplicationRates | None = None
    move_limits: MoveLimits = MoveLimits()
    uses: TopicInspector | None = None
    pipeline: PipelinedWriter | None = None
    prepare: Callable[[], None] = lambda: None
