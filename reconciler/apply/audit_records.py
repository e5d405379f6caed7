"""The lines of an audit log: each step with who ran it by which plan, complete in itself, and the runs around them.

Lines about writes that no plan names are in ``command_records``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from reconciler.apply.audit_chain import LOG_IDENTITY, LogIdentity
from reconciler.apply.command_records import COMMAND_RECORDS, BreakGlassRecord, CancellationRecord, CleanupRecord
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.records import (
    FORMS,
    About,
    BridgesRecord,
    EndRecord,
    RunRecord,
    ThrottleRecord,
    Time,
)
from reconciler.codec import AnyText, Codec, Flat, Record, Says, record_of, tagged, text
from reconciler.dataclass import dataclass
from reconciler.plan import STEP, Step


@dataclass(frozen=True, slots=True)
class AuditedStep:
    """Who did what by which plan, and what became of it: complete in itself."""

    about: Annotated[About, Flat]
    step: Annotated[Step, STEP, Flat]
    outcome: Annotated[Outcome, Says("What became of it.", "done")]
    code: Annotated[AnyText, Says("Kafka's name of the error.", "CLUSTER_AUTHORIZATION_FAILED")]
    message: Annotated[AnyText, Says("The broker's message.", "Request is not authorized.")]
    time: Time


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A record of the audit log, with the digest of the line before it, and of which log it is."""

    previous: Annotated[
        str,
        text("^sha256:[0-9a-f]{64}$"),
        Says("The digest of the line before, zeros in the first.", f"sha256:{'0' * 64}"),
    ]
    log: Annotated[LogIdentity, LOG_IDENTITY, Says("The log that has this line.")]
    content: Annotated[
        RunRecord
        | AuditedStep
        | BridgesRecord
        | ThrottleRecord
        | EndRecord
        | CancellationRecord
        | CleanupRecord
        | BreakGlassRecord,
        Flat,
    ]


_STEP_RECORD: Final = "step"
_AUDITED_STEP: Final[Record[AuditedStep]] = record_of(AuditedStep)
_AUDITED: Final[Mapping[type, tuple[str, Record[Any]]]] = {
    AuditedStep: (_STEP_RECORD, _AUDITED_STEP),
    **{kind: FORMS[kind] for kind in (RunRecord, BridgesRecord, ThrottleRecord, EndRecord)},
    **COMMAND_RECORDS,
}
#: One line of an audit log: which class the content has decides which fields there are beside the other two.
AUDIT: Final[Codec[AuditLine]] = tagged(
    "record",
    {name: record_of(AuditLine, codecs={"content": form}) for name, form in _AUDITED.values()},
    lambda line: _AUDITED[type(line.content)][0],
    "What kind of record it is.",
)


def audited(about: About, item: StepOutcome, time: str) -> dict[str, Any]:
    """Who did what by which plan, and what became of it: complete in itself."""
    step = AuditedStep(about, item.step, item.outcome, item.code, item.message, time)
    return {"record": _STEP_RECORD, **_AUDITED_STEP.write(step)}
