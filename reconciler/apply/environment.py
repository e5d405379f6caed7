"""What an apply is told and tells: propagation check, who it is, progress, outcomes of steps."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change
from reconciler.model.says import AnyText, Apart, Says
from reconciler.model.state import ClusterState
from reconciler.plan.phase import Phase

if TYPE_CHECKING:
    from reconciler.plan.proposal import Plan
    from reconciler.plan.step import Step

# What every barrier promises. A new one is one module here, and whoever builds it puts it into the environment.


class UnprovenError(Exception):
    """What the declaration says of the cluster or of us is not so; ``advice`` says what you can do."""

    def __init__(self, message: str, advice: str = "") -> None:
        """``str()`` is the message."""
        super().__init__(message)
        self.advice = advice


class DefaultAllow(StrEnum):
    """What ``allow.everyone.if.no.acl.found`` was seen to be on every broker; ``UNSEEN`` where nothing shows it."""

    ON = "true"
    OFF = "false"
    UNSEEN = "unseen"


class Barrier(Protocol):
    """What a run does between phases, so that every node enforces what was sent before more is sent.

    Order of the calls: ``start``, ``check``, ``observe_default_allow``, ``wait`` as often as needed, ``end`` always.
    """

    @property
    def placed(self) -> Sequence[AclBinding]:
        """Bindings that this put on the cluster: a reading that lacks one of them is old."""
        ...

    @property
    def verifies(self) -> bool:
        """Whether it verifies what nodes enforce; then the plan is checked again after ``start``, on a new reading."""
        ...

    def start(self) -> None:
        """Prepare; raises :class:`UnprovenError` or ``StoppedError``."""
        ...

    def check(self, live: ClusterState) -> None:
        """Raise :class:`UnprovenError` where bindings make its answers worthless."""
        ...

    def observe_default_allow(self, live: ClusterState) -> DefaultAllow:
        """What brokers do with a resource that no binding covers; ``live`` still has bridges and probe ACLs."""
        ...

    def wait(self) -> None:
        """Return once every node enforces what was sent; raises ``StoppedError`` naming those that do not."""
        ...

    def end(self) -> tuple[AclBinding, ...]:
        """Remove what this put there; what could not be removed is returned."""
        ...


# What an apply tells while it runs.


class Progress:
    """Receives what happens, in order, and by itself shows nothing; must not raise."""

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase with so many steps begins."""

    def sent(self, steps: int) -> None:
        """So many steps of the phase have an outcome."""

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins, after which every broker should enforce what was sent."""

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """These brokers and the active controller are known to enforce what was sent; it took so long."""

    def moving(self, text: str, remaining: int) -> None:
        """Brokers go on with what they accepted: what they move, in words, and the bytes that are left to copy."""

    def note(self, text: str) -> None:
        """Something you should know."""


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
    signature: Annotated[
        str, Says("The digest of the signature, which is kept beside the audit log by it.", f"sha256:{'0' * 64}")
    ]


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
    #: The signatures that counted, by their digests: kept beside the audit log.
    texts: Annotated[Mapping[str, str], Apart()] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which run this is, and who performs it.

    ``approvals`` are the signatures of its plan, where any were asked for. ``plan_ids`` are the change id and the plan
    id that were approved, where they are known: a plan is performed under the terms that its cluster's declaration has
    by now, which are not those that its ids bind. ``proposer`` is the author of its commit, as git names them, which
    nobody verified. ``url`` is where its pipeline shows the run.
    """

    run: str = "unnamed"
    operator: str = ""
    file_digest: str | None = None
    plan_ids: tuple[str, str] | None = None
    approvals: ApprovalEvidence | None = None
    proposer: str | None = None
    url: str | None = None


# What became of each step, and of the whole.


class Outcome(StrEnum):
    """One for each step. ``UNKNOWN`` may still be applied later: it was read again and did not show."""

    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"
    NOT_ATTEMPTED = "not-attempted"


#: With these the step's after-state is there.
GOOD = frozenset({Outcome.DONE, Outcome.ALREADY})


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """A step's outcome; ``code`` and ``message`` are the broker's words, ``blocked_by`` the change it waits for.

    ``identity`` is the id that Kafka gave to what the step created, empty where it gives none or was not asked.
    """

    step: "Step"
    outcome: Outcome
    code: str = ""
    message: str = ""
    blocked_by: Change | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """A login with a password that the run set; ``works`` is ``None`` if it could not be tried, ``detail`` says why."""

    principal: str
    mechanism: str
    works: bool | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The end of an apply, honest about what is not as it should be.

    ``stopped`` says why the run ended early (``""``: it did not); ``differences`` name what the last reading does
    not show although it was reported done; ``verified`` is whether that reading took place.
    ``notes`` say whom the plan may have refused for a moment where nothing could bridge it. ``audit_head`` is the
    digest of the run's last line in the audit log, empty where there is no log. ``doubt`` says why brokers may not
    enforce what the last reading shows, empty where nothing speaks for that or a probe saw that they do.
    ``logins`` are those that were tried with new passwords.
    """

    plan: "Plan"
    outcomes: tuple[StepOutcome, ...]
    verified: bool
    differences: tuple[str, ...] = ()
    stopped: str = ""
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    audit_head: str = ""
    doubt: str = ""
    logins: tuple[LoginCheck, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the last reading showed every step's after-state, and no new password was refused."""
        good = all(outcome.outcome in GOOD for outcome in self.outcomes)
        return good and self.verified and not self.differences and not self.stopped and not self.refused_logins

    @property
    def refused_logins(self) -> tuple[LoginCheck, ...]:
        """The new passwords that do not log in."""
        return tuple(login for login in self.logins if login.works is False)

    def count(self, outcome: Outcome) -> int:
        """How many steps ended so."""
        return sum(item.outcome is outcome for item in self.outcomes)
