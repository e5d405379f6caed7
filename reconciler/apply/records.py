"""What a run writes into its journal while it goes, as JSON values.

The journal says for each batch what is about to be sent, before it is sent, and what became of it, after its
answer. A step with an intent and no outcome may or may not have been applied: only the cluster can say.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from reconciler.apply.environment import ApprovalEvidence, Approver, Identity
from reconciler.apply.outcome import Outcome, Result, StepOutcome
from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    TEXT,
    TEXTS,
    Codec,
    Record,
    array,
    by_value,
    field,
    flat,
    group,
    integer,
    mapping,
    nullable,
    record,
    tagged,
)
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding
from reconciler.plan import Phase, Plan, Step, ids

#: Of a journal's records; a reader refuses a newer one.
JOURNAL_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class About:
    """Which run, whose, of which plan."""

    run: str
    operator: str
    plan_id: str
    change_id: str
    cluster_id: str
    cluster_name: str
    commit: str | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run begins; ``steps`` is how many the plan has. ``approvals``: ``None`` where no signatures were asked for."""

    format: int
    about: About
    file_digest: str | None
    approvals: ApprovalEvidence | None
    tool_version: str
    steps: int
    time: str


@dataclass(frozen=True, slots=True)
class IntentRecord:
    """A batch is about to be sent; ``steps`` are ids."""

    run: str
    batch: int
    phase: int
    steps: tuple[str, ...]
    time: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What became of one step, by its id; ``identity`` is the id that Kafka gave to what it created."""

    step: str
    outcome: Outcome
    code: str = ""
    message: str = ""
    identity: str = ""


@dataclass(frozen=True, slots=True)
class OutcomesRecord:
    """What became of steps; a later record about a step counts more. No batch: nothing was sent for them."""

    run: str
    batch: int | None
    outcomes: tuple[StepRecord, ...]
    time: str


@dataclass(frozen=True, slots=True)
class BridgesRecord:
    """Bridges are about to be created or removed, or were; ``action`` says which, ``reason`` why."""

    about: About
    action: str
    bridges: tuple[AclBinding, ...]
    reason: str
    time: str


@dataclass(frozen=True, slots=True)
class ThrottleRecord:
    """What happens to the throttle of a move: ``rate`` in bytes a second is set on ``brokers``, or removed."""

    about: About
    action: str
    subject: str
    brokers: tuple[int, ...]
    rate: int | None
    time: str


@dataclass(frozen=True, slots=True)
class EndRecord:
    """A run is over; ``counts`` are of steps by outcome."""

    run: str
    succeeded: bool
    verified: bool
    interrupted: bool
    stopped: str
    differences: tuple[str, ...]
    counts: Mapping[str, int]
    time: str


JournalRecord: TypeAlias = RunRecord | IntentRecord | OutcomesRecord | BridgesRecord | ThrottleRecord | EndRecord

_RUN: Final = field("run", TEXT, "The run's name.", "r20261121-051700")
TIME: Final = field("time", TEXT, "When, in UTC.", "2026-11-21T05:17:00Z")
ABOUT: Final[Record[About]] = record(
    About,
    _RUN,
    field("operator", ANY_TEXT, "Who ran it.", "ci@build-7"),
    field("planId", TEXT, "The plan's id.", f"plan-{'0' * 64}"),
    field("changeId", TEXT, "The id of its changes.", f"change-{'0' * 64}"),
    group(
        "cluster",
        "The cluster.",
        field("id", TEXT, "The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw", attr="cluster_id"),
        field("name", TEXT, "Its name in the manifests.", "prod", attr="cluster_name"),
    ),
    field("commit", nullable(TEXT), "The commit of the manifests.", "0123abc"),
)
ABOUT_FIELDS: Final = flat(ABOUT, "about")
_APPROVER: Final[Record[Approver]] = record(
    Approver,
    field("name", TEXT, "The person, as the file of allowed signers names them.", "alice@example.com"),
    field("key", TEXT, "The fingerprint of the key that signed.", "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"),
    field("verified", TEXT, "When the signature was verified, in UTC.", "2026-11-21T05:17:00Z"),
)
_APPROVALS: Final[Record[ApprovalEvidence]] = record(
    ApprovalEvidence,
    field("required", COUNT, "How many people had to sign.", 2),
    field("allowedSigners", TEXT, "The digest of the file of allowed signers.", f"sha256:{'0' * 64}"),
    field("approvers", array(_APPROVER), "The people whose signatures counted."),
    field("authors", TEXTS, "People whose signatures do not count, because the change is theirs."),
    field("leftOut", array(ANY_TEXT), "Signatures that did not count, each with the reason."),
)
_STEP: Final[Record[StepRecord]] = record(
    StepRecord,
    field("step", TEXT, "The step's id.", "0123456789ab"),
    field("outcome", by_value(Outcome), "What became of it.", "done"),
    field("code", TEXT, "Kafka's name of the error.", "CLUSTER_AUTHORIZATION_FAILED", default="", omit=True),
    field("message", ANY_TEXT, "The broker's message.", "Request is not authorized.", default="", omit=True),
    field("identity", TEXT, "The id of the topic that it created.", "Zk3vN1cSTeC4uB5nTqJ8Xw", default="", omit=True),
)
FORMS: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    RunRecord: (
        "run",
        record(
            RunRecord,
            field("format", integer(1), "The journal's format.", JOURNAL_FORMAT),
            ABOUT_FIELDS,
            field("fileDigest", nullable(TEXT), "The digest of the saved plan.", f"file-{'0' * 64}"),
            field("approvals", nullable(_APPROVALS), "Who approved the plan; null: no signatures were asked for."),
            field("toolVersion", TEXT, "The version that made the plan.", "0.1.0"),
            field("steps", COUNT, "How many steps it has.", 12),
            TIME,
        ),
    ),
    IntentRecord: (
        "intent",
        record(
            IntentRecord,
            _RUN,
            field("batch", COUNT, "The number of the batch.", 1),
            field("phase", COUNT, "The phase of its steps.", 2),
            field("steps", TEXTS, "The ids of the steps that are about to be sent."),
            TIME,
        ),
    ),
    OutcomesRecord: (
        "outcomes",
        record(
            OutcomesRecord,
            _RUN,
            field("batch", nullable(COUNT), "The number of the batch; null: nothing was sent.", 1),
            field("outcomes", array(_STEP), "What became of steps."),
            TIME,
        ),
    ),
    BridgesRecord: (
        "bridges",
        record(
            BridgesRecord,
            ABOUT_FIELDS,
            field("action", TEXT, "What is done or was done.", "create"),
            field("bridges", array(BINDING), "The bridges."),
            field("reason", ANY_TEXT, "Why.", "default-allow is observed"),
            TIME,
        ),
    ),
    ThrottleRecord: (
        "throttle",
        record(
            ThrottleRecord,
            ABOUT_FIELDS,
            field("action", TEXT, "What is done or was done.", "set"),
            field("subject", TEXT, "What is copied.", "topic orders"),
            field("brokers", array(integer(0)), "The brokers that copy, by id."),
            field("rate", nullable(COUNT), "Bytes a second for each broker; null: none.", 50_000_000),
            TIME,
        ),
    ),
    EndRecord: (
        "end",
        record(
            EndRecord,
            _RUN,
            field("succeeded", BOOLEAN, "Whether every step's after-state was observed.", True),
            field("verified", BOOLEAN, "Whether the last reading took place.", True),
            field("interrupted", BOOLEAN, "Whether somebody interrupted it.", False),
            field("stopped", ANY_TEXT, "Why it ended early; empty: it did not.", ""),
            field("differences", array(ANY_TEXT), "What the last reading does not show."),
            field("counts", mapping(COUNT), "How many steps ended how."),
            TIME,
        ),
    ),
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
    return _written(RunRecord(JOURNAL_FORMAT, about, digest, approvals, plan.tool_version, steps, time))


def intent(run: str, batch: int, phase: Phase, steps: Sequence[Step], time: str) -> dict[str, Any]:
    """A batch is about to be sent."""
    return _written(IntentRecord(run, batch, int(phase), tuple(step.id for step in steps), time))


def outcomes(run: str, batch: int | None, found: Iterable[StepOutcome], time: str) -> dict[str, Any]:
    """What became of steps."""
    items = tuple(StepRecord(item.step.id, item.outcome, item.code, item.message, item.identity) for item in found)
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
    cluster = plan.terms.cluster
    return About(identity.run, identity.operator, whole, change, plan.cluster_id, cluster, plan.source_commit)


def _written(value: JournalRecord) -> dict[str, Any]:
    written: dict[str, Any] = JOURNAL.write(value)
    return written
