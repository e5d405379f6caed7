"""Records of a run: its journal, and what a past run did.

The journal says for each batch what is about to be sent, before it is sent, and what became of it, after its
answer. A step with an intent and no outcome may or may not have been applied: only the cluster can say.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Final, TypeAlias

from reconciler.apply.environment import ApprovalEvidence, Identity, Outcome, Result, StepOutcome
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec, SchemaError, integer
from reconciler.codec.objects import Record, tagged
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.says import AnyText, Flat, Says
from reconciler.plan.file import ids
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step

#: Of a journal's records; a reader refuses a newer one.
JOURNAL_FORMAT: Final = 1


Time: TypeAlias = Annotated[str, Says("When, in UTC.", "2026-11-21T05:17:00Z")]
_Run: TypeAlias = Annotated[str, Says("The run's name.", "r20261121-051700")]


@dataclass(frozen=True, slots=True)
class RunCluster:
    """The cluster of a run or of another command."""

    id: Annotated[str, Says("The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw")]
    name: Annotated[str, Says("Its name in the manifests.", "prod")]


@dataclass(frozen=True, slots=True)
class About:
    """Which run, whose, of which plan."""

    run: _Run
    operator: Annotated[AnyText, Says("Who ran it.", "ci@build-7")]
    plan_id: Annotated[str, Says("The plan's id.", f"plan-{'0' * 64}")]
    change_id: Annotated[str, Says("The id of its changes.", f"change-{'0' * 64}")]
    cluster: Annotated[RunCluster, Says("The cluster.")]
    commit: Annotated[str | None, Says("The commit of the manifests.", "0123abc")]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run begins; ``steps`` is how many the plan has. ``approvals``: ``None`` where no signatures were asked for."""

    format: Annotated[int, integer(1), Says("The journal's format.", JOURNAL_FORMAT)]
    about: Annotated[About, Flat]
    file_digest: Annotated[str | None, Says("The digest of the saved plan.", f"file-{'0' * 64}")]
    approvals: Annotated[ApprovalEvidence | None, Says("Who approved the plan; null: no signatures were asked for.")]
    proposer: Annotated[
        AnyText | None,
        Says("The author of the commit, as git names them, which nobody verified; null: not known.", "bob@example.com"),
    ]
    url: Annotated[
        AnyText | None,
        Says("Where the pipeline shows the run; null: in none.", "https://ci.example.com/runs/17"),
    ]
    tool_version: Annotated[str, Says("The version that made the plan.", "0.1.0")]
    steps: Annotated[int, Says("How many steps it has.", 12)]
    time: Time


@dataclass(frozen=True, slots=True)
class IntentRecord:
    """A batch is about to be sent; ``steps`` are ids."""

    run: _Run
    batch: Annotated[int, Says("The number of the batch.", 1)]
    phase: Annotated[int, Says("The phase of its steps.", 2)]
    steps: Annotated[tuple[str, ...], Says("The ids of the steps that are about to be sent.")]
    time: Time


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What became of one step, by its id; ``identity`` is the id that Kafka gave to what it created."""

    step: Annotated[str, Says("The step's id.", "0123456789ab")]
    outcome: Annotated[Outcome, Says("What became of it.", "done")]
    code: Annotated[str, Says("Kafka's name of the error.", "CLUSTER_AUTHORIZATION_FAILED", omit=True)] = ""
    message: Annotated[AnyText, Says("The broker's message.", "Request is not authorized.", omit=True)] = ""
    identity: Annotated[str, Says("The id of the topic that it created.", "Zk3vN1cSTeC4uB5nTqJ8Xw", omit=True)] = ""


@dataclass(frozen=True, slots=True)
class OutcomesRecord:
    """What became of steps; a later record about a step counts more. No batch: nothing was sent for them."""

    run: _Run
    batch: Annotated[int | None, Says("The number of the batch; null: nothing was sent.", 1)]
    outcomes: Annotated[tuple[StepRecord, ...], Says("What became of steps.")]
    time: Time


@dataclass(frozen=True, slots=True)
class BridgesRecord:
    """Bridges are about to be created or removed, or were; ``action`` says which, ``reason`` why."""

    about: Annotated[About, Flat]
    action: Annotated[str, Says("What is done or was done.", "create")]
    bridges: Annotated[tuple[AclBinding, ...], Says("The bridges.")]
    reason: Annotated[AnyText, Says("Why.", "default-allow is observed")]
    time: Time


@dataclass(frozen=True, slots=True)
class ThrottleRecord:
    """What happens to the throttle of a move: ``rate`` in bytes a second is set on ``brokers``, or removed."""

    about: Annotated[About, Flat]
    action: Annotated[str, Says("What is done or was done.", set)]
    subject: Annotated[str, Says("What is copied.", "topic orders")]
    brokers: Annotated[tuple[int, ...], Says("The brokers that copy, by id.")]
    rate: Annotated[int | None, Says("Bytes a second for each broker; null: none.", 50_000_000)]
    time: Time


@dataclass(frozen=True, slots=True)
class EndRecord:
    """A run is over; ``counts`` are of steps by outcome."""

    run: _Run
    succeeded: Annotated[bool, Says("Whether every step's after-state was observed.", True)]
    verified: Annotated[bool, Says("Whether the last reading took place.", True)]
    interrupted: Annotated[bool, Says("Whether somebody interrupted it.", False)]
    stopped: Annotated[AnyText, Says("Why it ended early; empty: it did not.", "")]
    differences: Annotated[tuple[AnyText, ...], Says("What the last reading does not show.")]
    counts: Annotated[Mapping[str, int], Says("How many steps ended how.")]
    time: Time


JournalRecord: TypeAlias = RunRecord | IntentRecord | OutcomesRecord | BridgesRecord | ThrottleRecord | EndRecord

FORMS: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    RunRecord: ("run", record_of(RunRecord)),
    IntentRecord: ("intent", record_of(IntentRecord)),
    OutcomesRecord: ("outcomes", record_of(OutcomesRecord)),
    BridgesRecord: ("bridges", record_of(BridgesRecord)),
    ThrottleRecord: ("throttle", record_of(ThrottleRecord)),
    EndRecord: ("end", record_of(EndRecord)),
}
#: The kinds of records.
JOURNAL_RECORDS: Final = frozenset(name for name, _ in FORMS.values())
#: One line of a journal.
JOURNAL: Final[Codec[JournalRecord]] = tagged(
    "record", dict(FORMS.values()), lambda value: FORMS[type(value)][0], "What kind of record it is."
)


def opened(plan: Plan, about: About, identity: Identity, time: str) -> dict[str, Any]:
    """A run begins; :func:`about_run` says which."""
    digest, approvals, steps = identity.file_digest, identity.approvals, len(plan.steps)
    whose = (approvals, identity.proposer, identity.url)
    return _written(RunRecord(JOURNAL_FORMAT, about, digest, *whose, plan.tool_version, steps, time))


def intent(run: str, batch: int, phase: Phase, steps: Sequence[Step], time: str) -> dict[str, Any]:
    """A batch is about to be sent."""
    return _written(IntentRecord(run, batch, int(phase), tuple(step.id for step in steps), time))


def outcomes(run: str, batch: int | None, step_outcomes: Iterable[StepOutcome], time: str) -> dict[str, Any]:
    """What became of steps."""
    items = tuple(
        StepRecord(item.step.id, item.outcome, item.code, item.message, item.identity) for item in step_outcomes
    )
    return _written(OutcomesRecord(run, batch, items, time))


def bridged(about: About, action: str, bridges: Sequence[AclBinding], why: str, time: str) -> dict[str, Any]:
    """What happens to bridges."""
    return _written(BridgesRecord(about, action, tuple(bridges), why, time))


def throttled(
    about: About, action: str, subject: str, brokers: Iterable[int], rate: int | None, time: str
) -> dict[str, Any]:
    """What happens to the throttle of a move."""
    return _written(ThrottleRecord(about, action, subject, tuple(sorted(brokers)), rate, time))


def ended(run: str, result: Result, time: str) -> dict[str, Any]:
    """A run is over."""
    counts = {str(outcome): result.count(outcome) for outcome in Outcome if result.count(outcome)}
    return _written(
        EndRecord(
            run,
            result.succeeded,
            result.verified,
            result.interrupted,
            result.stopped,
            result.differences,
            counts,
            time,
        )
    )


def about_run(plan: Plan, identity: Identity) -> About:
    """Computed once a run, for a plan's ids are digests of all of it."""
    change, whole = identity.plan_ids or ids(plan)
    cluster = RunCluster(plan.cluster_id, plan.terms.cluster)
    return About(identity.run, identity.operator, whole, change, cluster, plan.source_commit)


def _written(value: JournalRecord) -> dict[str, Any]:
    written: dict[str, Any] = JOURNAL.write(value)
    return written


# A run of which only its journal is left.


@dataclass(slots=True)
class PastRun:
    """A run as its journal tells it.

    ``steps`` maps a step's id to its outcome; ``None``: it was sent, and no more is known. ``identities`` maps it to
    the id that Kafka gave to what it created.
    """

    run: str
    plan_id: str
    cluster_id: str
    operator: str
    commit: str | None
    time: str
    steps: dict[str, Outcome | None] = field(default_factory=dict)
    ended: bool = False
    identities: dict[str, str] = field(default_factory=dict)

    @property
    def performed(self) -> frozenset[str]:
        """Steps that this run is known to have performed."""
        return frozenset(step for step, outcome in self.steps.items() if outcome is Outcome.DONE)

    @property
    def doubtful(self) -> frozenset[str]:
        """Steps that this run sent without learning what became of them."""
        return frozenset(step for step, outcome in self.steps.items() if outcome in (None, Outcome.UNKNOWN))


# A journal read back: which runs there were, and what each knew of its steps.
#
# A journal is kept next to its plan, in a directory that others may write to: every record is checked, none is
# trusted to be whole.


class JournalError(Exception):
    """A record is not one of a journal that this version can read; ``str()`` says which one, and why."""


def past_runs(records: Iterable[Mapping[str, Any]]) -> tuple[PastRun, ...]:
    """Every run, oldest first; raises :class:`JournalError`."""
    runs: dict[str, PastRun] = {}
    for number, record in enumerate(records, start=1):
        try:
            _take(record, runs)
        except SchemaError as error:
            raise JournalError(f"record {number} is not one of a journal: {error}") from error
    return tuple(runs.values())


def _take(record: Mapping[str, Any], runs: dict[str, PastRun]) -> None:
    kind, version = record.get("record"), record.get("format")
    if kind == "run" and isinstance(version, int) and version > JOURNAL_FORMAT:
        raise SchemaError(f"{version} was written by a newer version", "format")
    name = record.get("run")
    if isinstance(kind, str) and kind not in JOURNAL_RECORDS and isinstance(name, str) and name in runs:
        return  # a kind of record that a newer version added
    match JOURNAL.read(record):
        case RunRecord(about=about, time=time):
            runs[about.run] = PastRun(about.run, about.plan_id, about.cluster.id, about.operator, about.commit, time)
        case IntentRecord(run=run, steps=steps):
            _run(runs, run).steps.update((step, None) for step in steps)
        case OutcomesRecord(run=run, outcomes=items):
            past_run = _run(runs, run)
            past_run.steps.update((item.step, item.outcome) for item in items)
            past_run.identities.update((item.step, item.identity) for item in items if item.identity)
        case EndRecord(run=run):
            _run(runs, run).ended = True
        case BridgesRecord(about=about) | ThrottleRecord(about=about):
            _run(runs, about.run)


def _run(runs: dict[str, PastRun], name: str) -> PastRun:
    if name not in runs:
        raise SchemaError(f"no run {name!r} has begun", "run")
    return runs[name]
