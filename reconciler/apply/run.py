"""One run of a plan: what has become of each step so far, and what is written down of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from reconciler.access import TooMuchToDecideError
from reconciler.apply import records
from reconciler.apply.audit_records import audited
from reconciler.apply.environment import ApplyEnvironment, NoLedger
from reconciler.apply.kinds import request_for
from reconciler.apply.outcome import GOOD, Outcome, StepOutcome
from reconciler.apply.preflight import Preflight
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, Change, ClusterState, without_bridges
from reconciler.plan import Blockers, Phase, Plan, Step, StepState, touched_bindings
from reconciler.ports import ClusterError, ReadRequest, RecordError


class StoppedError(Exception):
    """The run must not go on; ``str()`` says why."""


class LeaseGuard(Protocol):
    """Keeps other runs of the reconciler away during this one; ``placed`` is what it put on the cluster for that."""

    @property
    def placed(self) -> tuple[AclBinding, ...]:
        """Bindings that a listing has to show."""
        ...

    def renew(self, live: ClusterState | None = None) -> None:
        """Renew the lease in time; raises :class:`StoppedError` if ``live`` shows that it is lost."""
        ...


class NoLeaseGuard:
    """No lease: keeps no other run away."""

    placed: tuple[AclBinding, ...] = ()

    def renew(self, live: ClusterState | None = None) -> None:
        """Nothing."""


class SendGuard(Protocol):
    """Looks at what has to hold before each request of the plan; ``placed`` is what it put on the cluster for that."""

    @property
    def placed(self) -> Sequence[AclBinding]:
        """Bindings that a listing has to show."""
        ...

    def admit(self, live: ClusterState) -> None:
        """Raise :class:`StoppedError` where the exact reading before the first request forbids the plan."""
        ...

    def check(self) -> None:
        """Raise :class:`StoppedError` where a request must not be sent; called right before each."""
        ...


@dataclass(slots=True)
class Run:
    """A plan being performed on a cluster that was read as ``start``; ``batches`` counts the requests of steps.

    Bridges are no part of ``start``. ``touched`` are the bindings of steps, where markers count: a marker on one
    of them must not hide from the run what it creates or deletes.
    """

    plan: Plan
    environment: ApplyEnvironment
    start: ClusterState
    default_allow: bool | None
    outcomes: dict[Step, StepOutcome] = field(default_factory=dict)
    stopped: str = ""
    batches: int = 0
    #: Bindings of the run's own whose creation got no answer, in order: they may still appear after its end.
    in_doubt: dict[AclBinding, None] = field(default_factory=dict)
    #: Whether it is known that gains which were reviewed will not come into force.
    defeated: bool = False
    lease_guard: LeaseGuard = field(default_factory=NoLeaseGuard)
    #: What is still to be sent of steps that an earlier run was cut off in.
    rests: dict[Step, Change] = field(default_factory=dict)
    send_guards: list[SendGuard] = field(default_factory=list)
    #: What stays throttled, in words, by topic.
    still_throttled: dict[str, str] = field(default_factory=dict)
    touched: frozenset[AclBinding] = frozenset()
    about: records.About = field(init=False)

    def __post_init__(self) -> None:
        """Compute what all audit records have in common, and take bridges out of the start."""
        self.about = records.about_run(self.plan, self.environment.identity)
        if self.default_allow is True:
            self.touched = frozenset(touched_bindings(step.change for step in self.plan.steps))
        self.start = without_bridges(self.start, self.default_allow, self.touched)

    def stop(self, error: Exception) -> None:
        """Note why the run ends early; the first reason counts."""
        self.stopped = self.stopped or self.reason(error)

    def reason(self, error: Exception) -> str:
        """An error in words, without secrets; of one that is not ours also the type."""
        if isinstance(error, StoppedError | RecordError | ClusterError):
            return str(error)
        if isinstance(error, TooMuchToDecideError):
            return f"too much to decide: {error}"
        # The type is ours to name: only the words may hold a secret, and then all of them are withheld.
        return ": ".join(filter(None, (type(error).__name__, self.environment.redact(str(error)))))

    def all_outcomes(self) -> tuple[StepOutcome, ...]:
        """An outcome for every step, in the plan's order."""
        return tuple(self.outcomes.get(step, StepOutcome(step, Outcome.NOT_ATTEMPTED)) for step in self.plan.steps)

    def changes(self, steps: Sequence[Step]) -> list[Change]:
        """What to send for steps: their changes, or the rest of one that an earlier run has begun."""
        return [self.rests.get(step, step.change) for step in steps] if self.rests else [one.change for one in steps]

    def blockers(self) -> Blockers:
        """What later steps may depend on and was not performed."""
        changes = (item.step.change for item in self.outcomes.values() if item.outcome not in GOOD)
        return Blockers(changes, default_allow=self.default_allow)

    def request(self) -> ReadRequest:
        """What has to be read to hold this plan against the cluster."""
        return request_for(self.plan)

    def open(self) -> None:
        """Record that the run begins."""
        record = records.opened(self.plan, self.about, self.environment.identity, self.environment.clock.now())
        self._write_journal(record)
        self.write_audit(record)

    def record_done_before(self, preflight: Preflight) -> None:
        """Record the steps that had been performed before this run."""
        found = zip(self.plan.steps, preflight.findings, strict=True)
        self.record_outcomes([StepOutcome(step, Outcome.ALREADY) for step, it in found if it.state is StepState.DONE])

    def record_intent(self, phase: Phase, steps: Sequence[Step]) -> int:
        """Record, before it is sent, what will be sent; returns the number of the batch."""
        batch, now = self.batches + 1, self.environment.clock.now()
        if not isinstance(self.environment.journal, NoLedger):
            self._write_journal(records.intent(self.environment.identity.run, batch, phase, steps, now))
        self.batches = batch
        return batch

    def record_outcomes(self, found: Sequence[StepOutcome], batch: int | None = None) -> None:
        """Record outcomes; they count even if writing them fails."""
        if not found:
            return
        # First in memory: a full disk must not make a step look as if it had not been sent.
        self.outcomes.update((item.step, item) for item in found)
        now = self.environment.clock.now()
        if not isinstance(self.environment.journal, NoLedger):
            self._write_journal(records.outcomes(self.environment.identity.run, batch, found, now))
        # A plan may have 100,000 steps: do not build records that nobody keeps.
        if not isinstance(self.environment.audit, NoLedger):
            self.write_audit(*(audited(self.about, item, now) for item in found))

    def bridged(self, action: str, bridges: Sequence[AclBinding], why: str = "") -> None:
        """Record what happens to bridges."""
        record = records.bridged(self.about, action, bridges, why, self.environment.clock.now())
        self._write_journal(record)
        self.write_audit(record)

    def throttled(self, action: str, subject: str, brokers: Collection[int], rate: int | None) -> None:
        """Record what happens to a throttle: it is a config of brokers, in no step of the plan."""
        record = records.throttled(self.about, action, subject, brokers, rate, self.environment.clock.now())
        self._write_journal(record)
        self.write_audit(record)

    def _write_journal(self, record: Mapping[str, Any]) -> None:
        try:
            self.environment.journal.write(record)
        except RecordError as error:
            raise StoppedError(f"the journal cannot be kept: {error}") from error

    def write_audit(self, *lines: Mapping[str, Any]) -> None:
        """Write lines of the audit log; raises :class:`StoppedError`."""
        try:
            self.environment.audit.write(*lines)
        except RecordError as error:
            raise StoppedError(f"the audit record cannot be kept: {error}") from error
