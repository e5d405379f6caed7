"""One run of a plan: what has become of each step so far, its own bindings, its clock, and how it reads again.

A run reads the cluster again before a phase, after an unknown outcome, and at the end. Brokers apply ACLs after they
were committed, so a reading is repeated until it shows everything that was reported done, as long as more of it appears
and for a bounded time; the last one counts.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from reconciler.access.interpretation import TooMuchToDecideError
from reconciler.apply import records
from reconciler.apply.audit import audited
from reconciler.apply.environment import (
    GOOD,
    Barrier,
    Identity,
    LeasePatience,
    LeaseRequest,
    NoLedger,
    Outcome,
    Progress,
    StepOutcome,
)
from reconciler.apply.kinds import KINDS, kind_of, request_for
from reconciler.apply.kinds.interface import Moved
from reconciler.apply.preflight import Preflight
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.locks import without_locks
from reconciler.model.markers import without_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits
from reconciler.plan.kinds.acl import created_bindings, touched_bindings
from reconciler.plan.kinds.topic import touched_names
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.order import Blockers
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan, bindings_after
from reconciler.plan.review.ends import gains_not_in_force
from reconciler.plan.step import Step
from reconciler.ports import (
    Answer,
    AnswerStatus,
    Clock,
    Cluster,
    ClusterError,
    InspectableCluster,
    Ledger,
    PipelinedWriter,
    ReadRequest,
    RecordError,
)
from reconciler.retry import Patience, attempts, polls


class StoppedError(Exception):
    """The run must not go on; ``str()`` says why."""


class LeaseGuard:
    """Keeps other runs of the reconciler away during this one; a guard of this very class keeps none."""

    @property
    def placed(self) -> tuple[AclBinding, ...]:
        """What it put on the cluster for that: bindings that a listing has to show."""
        return ()

    def renew(self, live: ClusterState | None = None) -> None:
        """Renew the lease in time; raises :class:`StoppedError` if ``live`` shows that it is lost.

        Called right before each send: afterwards more of it is left than a request may be under way.
        """


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


#: Makes the barrier of one run.
BarrierFactory: TypeAlias = Callable[["Run"], Barrier]


@dataclass(frozen=True, slots=True)
class ApplyEnvironment:
    """What an apply works with; ``interrupted`` turns true once you ask to stop.

    ``max_batch`` makes requests smaller than they would be. ``barrier`` makes what a run waits by between phases
    (``None``: a fixed wait); with ``lease_request`` no other run of ours goes on at the same time. ``redact`` takes the
    secrets of the connections out of a text. ``throttle`` limits how fast each broker copies replicas that a plan
    moves, in bytes a second, by ``rates``; without one a run still removes what an earlier run of its plan left there.
    ``move_limits`` bounds how much moves at a time.
    ``uses`` tells what topics hold: what was empty when a plan was made is asked about again before it is deleted.
    ``send_seconds`` is the longest that one request may be under way before the client gives it up.
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
    send_seconds: float = 65.0
    redact: Callable[[str], str] = str
    throttle: int | None = None
    rates: InspectableCluster | None = None
    move_limits: MoveLimits = MoveLimits()
    uses: InspectableCluster | None = None
    pipeline: PipelinedWriter | None = None
    prepare: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Run:
    """A plan being performed on a cluster that was read as ``start``; ``batches`` counts the requests of steps.

    Bridges and locks are no part of ``start``. ``created`` are the bindings that steps create, ``touched`` all bindings
    of steps, where markers count: a marker on one of them must not hide from the run what it creates or deletes.
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
    lease_guard: LeaseGuard = field(default_factory=LeaseGuard)
    #: What is still to be sent of steps that an earlier run was cut off in.
    rests: dict[Step, Change] = field(default_factory=dict)
    send_guards: list[SendGuard] = field(default_factory=list)
    #: What stays throttled, in words, by topic.
    still_throttled: dict[str, str] = field(default_factory=dict)
    touched: frozenset[AclBinding] = frozenset()
    created: frozenset[AclBinding] = field(init=False)
    about: records.About = field(init=False)

    def __post_init__(self) -> None:
        """Compute what all audit records have in common, and take bridges out of the start."""
        self.about = records.about_run(self.plan, self.environment.identity)
        if self.default_allow is True:
            self.touched = frozenset(touched_bindings(step.change for step in self.plan.steps))
        self.created = frozenset(created_bindings(step.change for step in self.plan.steps))
        self.start = self.compared(self.start)

    def compared(self, live: ClusterState) -> ClusterState:
        """The state that the plan is held against: without bridges, which come and go, and without locks."""
        less = without_locks(live, self.plan.options.unlock, self.created)
        return without_bridges(less, self.default_allow, self.touched)

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
        return [self.rests.get(step, step.change) for step in steps] if self.rests else [item.change for item in steps]

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """Send what steps change. A repeat is a send as the first one is: the lease may have run down in between."""
        self.lease_guard.renew()
        return self.environment.cluster.send(changes)

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
        pairs = zip(self.plan.steps, preflight.findings, strict=True)
        self.record_outcomes(
            [StepOutcome(step, Outcome.ALREADY) for step, finding in pairs if finding.state is StepState.DONE]
        )

    def record_intent(self, phase: Phase, steps: Sequence[Step]) -> int:
        """Record, before it is sent, what will be sent; returns the number of the batch."""
        batch, now = self.batches + 1, self.environment.clock.now()
        if not isinstance(self.environment.journal, NoLedger):
            self._write_journal(records.intent(self.environment.identity.run, batch, phase, steps, now))
        self.batches = batch
        return batch

    def record_outcomes(self, outcomes: Sequence[StepOutcome], batch: int | None = None) -> None:
        """Record outcomes; they count even if writing them fails."""
        if not outcomes:
            return
        # First in memory: a full disk must not make a step look as if it had not been sent.
        self.outcomes.update((item.step, item) for item in outcomes)
        now = self.environment.clock.now()
        if not isinstance(self.environment.journal, NoLedger):
            self._write_journal(records.outcomes(self.environment.identity.run, batch, outcomes, now))
        # A plan may have 100,000 steps: do not build records that nobody keeps.
        if not isinstance(self.environment.audit, NoLedger):
            self.write_audit(*(audited(self.about, item, now) for item in outcomes))

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


def changed_meanwhile(step: Step, observed: Observed) -> StepOutcome:
    """The outcome of a step whose resource is neither as it was nor as it is to be: it is not performed."""
    message = f"{observed.subject}: expected {observed.expected}, found {observed.found}"
    return StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message)


# What a cluster answers to each item of a request, repeated where nothing was applied and a retry is safe.

T = TypeVar("T")

#: What an answer alone says of a step.
OUTCOMES: Final = {
    AnswerStatus.DONE: Outcome.DONE,
    AnswerStatus.ALREADY: Outcome.ALREADY,
    AnswerStatus.FAILED: Outcome.FAILED,
    AnswerStatus.UNKNOWN: Outcome.UNKNOWN,
}


def answered(call: Callable[[Sequence[T]], list[Answer]], items: Sequence[T], clock: Clock) -> list[Answer]:
    """What ``call`` says of each item, repeated for those that were not applied and may be tried again."""
    # By index and not by item: an answer belongs to a place in the request.
    answers: list[Answer] = [Answer(AnswerStatus.UNKNOWN)] * len(items)
    waiting = list(range(len(items)))
    for _ in attempts(clock):
        try:
            received = call([items[index] for index in waiting])
        except ClusterError as error:  # nothing says how far the request got
            received = [Answer(AnswerStatus.UNKNOWN, error.code, error.message)] * len(waiting)
        if len(received) != len(waiting):
            message = f"{len(received)} answers for {len(waiting)} items"
            received = [Answer(AnswerStatus.UNKNOWN, "answers_do_not_match", message)] * len(waiting)
        for index, answer in zip(waiting, received, strict=True):
            answers[index] = answer
        waiting = [
            index for index in waiting if answers[index].status is AnswerStatus.FAILED and answers[index].retriable
        ]
        if not waiting:
            break
    return answers


# A clock that polls while it waits: however long a run waits, it looks at its bridges every second.

#: Seconds between two polls.
PERIOD: Final = 1.0


class PollingClock:
    """``inner``, with ``poll`` called before, during and after every wait; it decides itself whether it is due."""

    def __init__(self, inner: Clock, poll: Callable[[], None]) -> None:
        """Nothing is polled yet."""
        self._inner, self._poll = inner, poll

    def sleep(self, seconds: float) -> None:
        """See :class:`reconciler.ports.Clock`."""
        end = self._inner.monotonic() + seconds
        while True:
            self._poll()
            remaining = end - self._inner.monotonic()
            if remaining <= 0:
                return
            self._inner.sleep(min(remaining, PERIOD))

    def monotonic(self) -> float:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.monotonic()

    def jitter(self) -> float:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.jitter()

    def now(self) -> str:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.now()


# Bindings that a run creates for itself, which no plan names: probe ACLs, bridges and their markers, its lease.
#
# A creation without an answer is sent again, which is safe by itself: to create a binding twice is the same as once.
# But the first request may still be on its way, and arrive after the run has removed what it created. A bridge that
# comes so late opens a resource for good, so the run keeps such bindings in mind and does not end well.


def create(run: Run, bindings: Sequence[AclBinding], what: str) -> None:
    """Create ``bindings``, in order; raises :class:`StoppedError` where they could not all be created."""
    why = ""
    for _ in attempts(run.environment.clock):
        try:
            answers = _sent(run, [Create(binding) for binding in bindings])
        except ClusterError as error:
            # No answer is no refusal: the brokers may have created them all, and cleanup must know where to look.
            run.in_doubt.update(dict.fromkeys(bindings))
            why = str(error)
            continue
        pairs = zip(bindings, answers, strict=True)
        run.in_doubt.update((binding, None) for binding, answer in pairs if answer.status is AnswerStatus.UNKNOWN)
        failed = next((answer for answer in answers if not answer.good), None)
        if failed is None:
            return
        why = f"{failed.code}: {failed.message}"
    raise StoppedError(f"{what} could not be created: {why}")


def _sent(run: Run, changes: Sequence[Create[AclBinding]]) -> Sequence[Answer]:
    """One answer for each change."""
    answers = run.environment.cluster.send(changes)
    if len(answers) != len(changes):
        raise ClusterError("answers_do_not_match", f"{len(answers)} answers for {len(changes)} bindings")
    return answers


def remove(run: Run, bindings: Sequence[AclBinding]) -> tuple[AclBinding, ...]:
    """Delete ``bindings``; those that may still be there are returned."""
    remaining = tuple(bindings)
    # Nothing raises here: this runs while other errors are on their way to the caller.
    for _ in attempts(run.environment.clock):
        if not remaining:
            break
        try:
            answers = run.environment.cluster.send([Delete(binding) for binding in remaining])
            remaining = tuple(binding for binding, answer in zip(remaining, answers, strict=True) if not answer.good)
        except Exception:  # noqa: S112 - what may still be there is returned
            continue
    return remaining


def doubts(run: Run) -> tuple[str, ...]:
    """What may still arrive after the end of the run, in a sentence; empty where every creation was answered."""
    if not run.in_doubt:
        return ()
    cluster, name = run.plan.terms.cluster, run.environment.identity.run
    bridge = next((b for b in sorted(run.in_doubt) if not is_reserved(b.pattern.name)), None)
    danger = "" if bridge is None else f"; among them {bridge}, which would let everybody do everything there"
    return (
        f"no answer came to a request that creates {len(run.in_doubt):,} bindings of this run's own, so it may still "
        f"arrive{danger}: in some minutes look with “reconciler cleanup --cluster {cluster} --run {name}”, which "
        "removes what came; until then “reconciler drift” tells of it once it is ten minutes old",
    )


#: Seconds in which a further reading has to show more of what was reported done.
VISIBLE_SECONDS: Final = 30.0
#: Seconds that all readings together may take, however much each shows: a broker may be behind, not hopeless.
LONGEST_SECONDS: Final = 600.0
#: The same if somebody else changes the cluster too, and may have undone it.
FOREIGN_SECONDS: Final = 3.0
_AGAIN: Final = "apply the same plan again once the brokers answer: what is done is recognised"
_NOT_SHOWN: Final = "reported done, but the cluster does not show it"


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """``missing``: steps reported done that do not show; ``foreign``: what somebody else changed, in words."""

    missing: tuple[Step, ...]
    foreign: tuple[str, ...]


def read(run: Run) -> ClusterState:
    """The cluster as it is but for bridges and locks; raises :class:`StoppedError`."""
    # Bridges come and go during a run, in no step: to a comparison they would be foreign changes.
    return run.compared(_read(run, run.request()))


def _read(run: Run, request: ReadRequest) -> ClusterState:
    try:
        return run.environment.cluster.read(request)
    except ClusterError as error:
        raise StoppedError(f"the cluster could not be read again: {error}; {_AGAIN}") from error


def exact_read(run: Run, placed: Collection[AclBinding], request: ReadRequest | None = None) -> ClusterState:
    """Read until the answer shows bindings that this run has just put there: older answers are no use.

    Bridges are in the answer. Raises :class:`StoppedError` after a bounded time: a broker that is cut off answers by
    what it knew.
    """
    patience = Patience(run.environment.clock, VISIBLE_SECONDS, LONGEST_SECONDS)
    for _ in patience.turns():
        live = _read(run, request or run.request())
        missing = set(placed).difference(live.bindings)
        if not missing:
            return live
        patience.note(missing)
    raise StoppedError("the broker that lists the ACLs does not show what was sent: it may be cut off")


def await_visible(run: Run) -> tuple[ClusterState, Discrepancies]:
    """Read until everything that was reported done shows, as long as more of it does; raises :class:`StoppedError`."""
    patience = Patience(run.environment.clock, VISIBLE_SECONDS, LONGEST_SECONDS)
    for waited in patience.turns():
        live = read(run)
        differing = discrepancies(run.start, live, run.outcomes.values(), run.plan.steps)
        if not differing.missing or (differing.foreign and waited > FOREIGN_SECONDS):
            break
        # Whoever asked to stop, or was stopped, waits no longer than for a broker that shows nothing new.
        if not run.stopped and not run.environment.interrupted() and patience.note(differing.missing):
            run.lease_guard.renew()  # it is made for the time that a barrier takes, and this may take longer
            run.environment.progress.note(
                f"{len(differing.missing):,} steps do not show yet; waiting while more appear"
            )
    return live, differing


def reread(run: Run) -> ClusterState:
    """Read before a phase; raises :class:`StoppedError` where somebody else changed what the plan touches."""
    live, differing = await_visible(run)
    run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "not_shown", _NOT_SHOWN) for step in differing.missing])
    if differing.foreign:
        raise StoppedError(
            f"somebody else changed what this plan touches: {'; '.join(differing.foreign[:5])}; plan again"
        )
    return live


def identified(run: Run, outcomes: Sequence[StepOutcome]) -> list[StepOutcome]:
    """The outcomes with the ids of what was created, read at once: from then on it is known by more than its name.

    An id that cannot be read is left out: an undo says so.
    """
    waiting = {
        index for index, item in enumerate(outcomes) if item.outcome is Outcome.DONE and _has_identity(item.step)
    }
    with_ids = list(outcomes)
    for _ in polls(run.environment.clock, FOREIGN_SECONDS):
        if not waiting:
            break
        changes = [outcomes[index].step.change for index in sorted(waiting)]
        try:
            live = run.environment.cluster.read(
                ReadRequest(acls=False, all_topics=False, topic_names=touched_names(changes))
            )
        except ClusterError:
            break
        for index in sorted(waiting):
            if identity := kind_of(outcomes[index].step.change).identity(outcomes[index].step.change, live):
                with_ids[index] = replace(outcomes[index], identity=identity)
                waiting.discard(index)
    return with_ids


_NOWHERE: Final = ClusterState("")


def _has_identity(step: Step) -> bool:
    return kind_of(step.change).identity(step.change, _NOWHERE) is not None


def resolve_unknown(run: Run, batch: Sequence[Step], number: int) -> None:
    """Read again after an unknown outcome: what shows is done; what does not is failed if the broker refused it.

    A refusal that may answer to a repetition of our own request counts as unknown until then; it is given time to
    show, for brokers learn of a change after the controller.
    """
    run.environment.progress.note("an outcome is unknown; reading the cluster again")
    unknown = [run.outcomes[step] for step in batch if run.outcomes[step].outcome is Outcome.UNKNOWN]
    repeated = [item for item in unknown if item.code in kind_of(item.step.change).REPEATED]
    # One reading suffices, unless a refusal may answer our own repetition: the first request may yet show.
    for _ in polls(run.environment.clock, FOREIGN_SECONDS if repeated else 0.0):
        try:
            live = run.environment.cluster.read(run.request())
        except ClusterError as error:
            run.environment.progress.note(f"the cluster could not be read: {error}")
            return
        shown = {item.step for item in unknown if item.step.observed(live).state is StepState.DONE}
        if all(item.step in shown for item in repeated):
            break
    # Whatever else does not show stays unknown: a broker may still be about to do it.
    refused = [replace(item, outcome=Outcome.FAILED) for item in repeated if item.step not in shown]
    done = [StepOutcome(item.step, Outcome.DONE) for item in unknown if item.step in shown]
    begun = [replace(item, message=_half_done(item, live)) for item in unknown if item.step.halves(live) is not None]
    run.record_outcomes([*done, *refused, *begun], number)


def _half_done(item: StepOutcome, live: ClusterState) -> str:
    observed = item.step.observed(live)
    half = f"only a part of it is done: {observed.found}, and not {observed.expected}"
    advice = "apply the same plan again to finish it"
    return "; ".join(filter(None, (item.message, half, advice)))


def discrepancies(
    start: ClusterState, now: ClusterState, outcomes: Iterable[StepOutcome], steps: Sequence[Step]
) -> Discrepancies:
    """Hold ``now`` against ``start`` and what has been done since."""
    all_outcomes = list(outcomes)
    # A recreated topic is reported by itself: waiting would not make it disappear.
    good = [item.step for item in all_outcomes if item.outcome in GOOD]
    missing = tuple(
        step for step in good if step.observed(now).state is not StepState.DONE and not is_recreated(step, now)
    )
    moved = Moved(start, now, good, [item.step for item in all_outcomes], steps)
    return Discrepancies(missing, tuple(text for kind in KINDS for text in kind.foreign_changes(moved)))


def unmet_gains(run: Run, live: ClusterState) -> tuple[str, ...]:
    """Access that was reviewed and that a finished plan does not give, because of what somebody else changed."""
    plan = run.plan
    if not plan.moves_access or any(item.outcome not in GOOD for item in run.all_outcomes()):
        return ()  # what was not done is named already
    # Where nothing but the plan moved, access is as it was found before the first step.
    if not run.defeated and _lasting(live.bindings) == _lasting(bindings_after(run.start.bindings, plan.steps)):
        return ()
    terms = plan.terms
    texts = gains_not_in_force(plan.access, live, terms.facts, default_allow=terms.default_allow)
    return tuple(f"reviewed, and not in force: {text}; “reconciler explain” says which ACL decides" for text in texts)


def _lasting(bindings: Collection[AclBinding]) -> set[AclBinding]:
    return {binding for binding in bindings if not is_reserved(binding.pattern.name)}


def is_recreated(step: Step, live: ClusterState) -> bool:
    """Whether what a step deletes is there again, as another one of the same name."""
    return kind_of(step.change).is_recreated(step.change, live)
