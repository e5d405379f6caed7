"""How far a fleet apply has come, and whether the next wave may begin. Times are seconds since a fixed moment.

A cluster is finished if an apply of exactly its plan succeeded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Final

from reconciler.codec import REQUIRED, AnyText, Record, Says, SchemaError, compact, load, record_of, same
from reconciler.dataclass import dataclass
from reconciler.fleet.proposal import FleetPlan, Member, PlannedWave

#: The reason of an apply whose process said nothing: it may have performed steps.
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ApplyRecord:
    """How the apply of one cluster's plan ended: well, or by ``reason``, one word why not; ``message`` says more."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    plan_id: Annotated[str, Says("The id of its plan.", f"plan-{'0' * 64}")]
    reason: Annotated[str, Says("Why its apply did not end well, in one word; empty: it did.", "")]
    finished: Annotated[float, Says("When it ended, in seconds.", 1790000000.0)]
    message: Annotated[AnyText, Says("Why it failed.", "the cluster cannot be reached", default=REQUIRED)] = ""
    done: Annotated[int, Says("How many steps it performed.", 12, default=REQUIRED)] = 0
    already: Annotated[int, Says("How many were done before.", 0, default=REQUIRED)] = 0

    @property
    def succeeded(self) -> bool:
        """Whether the after-state of every step was verified."""
        return not self.reason


_RECORD: Final[Record[ApplyRecord]] = record_of(ApplyRecord, named=same)


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the next wave may begin: ``failed`` and ``unplanned`` clusters close the gate; it opens at ``opens``."""

    wave: str
    failed: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    opens: float = 0.0
    allowed_failures: int = 0
    unplanned: tuple[str, ...] = ()

    @property
    def shut(self) -> bool:
        """Whether more clusters failed or got no plan than the gate allows, or some were never tried."""
        return len(self.failed) + len(self.unplanned) > self.allowed_failures or bool(self.unfinished)


def latest(records: Iterable[ApplyRecord]) -> dict[tuple[str, str], ApplyRecord]:
    """The last record of each plan, by cluster and plan id."""
    found: dict[tuple[str, str], ApplyRecord] = {}
    for item in records:
        add_record(found, item)
    return found


def add_record(records: dict[tuple[str, str], ApplyRecord], item: ApplyRecord) -> None:
    """Put ``item`` in the place of the plan's record before.

    Of a cluster that failed again without performing a step the time stays: else one that the gate allows to fail would
    begin the soak time anew with each run, and no run would ever come to the next wave.
    """
    key = (item.cluster, item.plan_id)
    before = records.get(key)
    idle = not item.succeeded and not item.done and item.reason != UNKNOWN
    records[key] = replace(item, finished=before.finished) if idle and before and not before.succeeded else item


def pending(wave: PlannedWave, records: Mapping[tuple[str, str], ApplyRecord]) -> tuple[Member, ...]:
    """The members whose plan has not succeeded yet."""
    return tuple(
        member
        for member in wave.members
        if not ((found := records.get((member.cluster, member.plan_id))) and found.succeeded)
    )


def gate_after(wave: PlannedWave, records: Mapping[tuple[str, str], ApplyRecord]) -> Gate:
    """The gate after a wave, from the records; a wave without changes is open."""
    left = pending(wave, records)
    failed = tuple(member.cluster for member in left if (member.cluster, member.plan_id) in records)
    unfinished = tuple(member.cluster for member in left if (member.cluster, member.plan_id) not in records)
    ends = (records[key].finished for member in wave.members if (key := (member.cluster, member.plan_id)) in records)
    return Gate(wave.name, failed, unfinished, max(ends, default=0.0) + wave.soak, wave.max_failures, wave.unplanned)


def failures_exceeded(wave: PlannedWave, records: Mapping[tuple[str, str], ApplyRecord]) -> bool:
    """Whether so many clusters of a wave failed that its other clusters must not begin."""
    return len(gate_after(wave, records).failed) > wave.max_failures


def apply_record_text(ended: ApplyRecord) -> str:
    """One line of the record."""
    return compact(_RECORD.write(ended))


def parse_apply_records(text: str, plan: FleetPlan) -> list[ApplyRecord]:
    """The records of this plan's members; a last line that a crash cut off is left out."""
    wanted = {(member.cluster, member.plan_id) for member in plan.members}
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line:
            continue
        try:
            ended = _RECORD.read(load(line))
        except SchemaError as error:
            if number == len(lines) - 1:
                continue
            raise ValueError(f"line {number + 1} of the record is damaged: {error}") from error
        if (ended.cluster, ended.plan_id) in wanted:
            found.append(ended)
    return found
