"""A fleet's plan, and the gates between waves.

A fleet plan: which saved plan each cluster gets, in which wave, under one id; and what refuses it.

Each cluster has its own plan. The fleet plan contains their ids, so approving the fleet plan's id approves each of
them, and the waves, gates and limits.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import SchemaError, same
from reconciler.codec.document import canonical, compact, known_minor, load
from reconciler.dataclass import dataclass
from reconciler.model.says import REQUIRED, AnyText, Says
from reconciler.parts.fleet.membership import NO_LIMITS, Fleet, FleetLimits
from reconciler.plan.file import whole_id
from reconciler.results.fleet_drift import Failure

FORMAT_VERSION: Final = "1.0"
_ID: Final = f"plan-{'0' * 64}"


class FleetPlanError(Exception):
    """The text is not a fleet plan that this version can read, or it was altered; ``str()`` says which."""


@dataclass(frozen=True, slots=True)
class Member:
    """One cluster's saved plan; ``file`` is below the fleet plan's directory, ``digest`` its ``file-…``.

    ``refused`` is how many changes guards left out of it, ``skipped`` how many differences stay, those too. ``review``
    is what the plan does, the gravest first.
    """

    cluster: Annotated[str, Says("The cluster.", "prod")]
    plan_id: Annotated[str, Says("The id of its plan.", _ID)]
    change_id: Annotated[str, Says("The id of its changes.", f"change-{'0' * 64}")]
    file: Annotated[str, Says("Its plan, below the fleet plan's directory.", "plans/prod.json")]
    digest: Annotated[str, Says("The digest of that file.", f"file-{'0' * 64}")]
    steps: Annotated[int, Says("How many steps it has.", 12)]
    deletes: Annotated[int, Says("How many of them delete.", 0)]
    seconds: Annotated[float, Says("How long it takes, about.", 5.1, default=REQUIRED)] = 0.0
    refused: Annotated[int, Says("How many changes safety checks left out of it.", 0, default=REQUIRED)] = 0
    skipped: Annotated[int, Says("How many differences it skips.", 0, default=REQUIRED)] = 0
    review: Annotated[
        tuple[str, ...], Says("What it does, the gravest first.", ["Destroys", "Widens"], default=REQUIRED)
    ] = ()

    @property
    def ids(self) -> frozenset[str]:
        """The id by which a person approves this plan."""
        return frozenset({self.plan_id, self.change_id, self.digest})


@dataclass(frozen=True, slots=True)
class PlannedWave:
    """The clusters of one wave that change, those that could not be planned, and the gate after them."""

    name: Annotated[str, Says("The wave.", "canary")]
    members: Annotated[tuple[Member, ...], Says("Its clusters that change.")]
    soak: Annotated[float, Says("Seconds to wait after it.", 600, default=REQUIRED)] = 0.0
    max_failures: Annotated[
        int, Says("How many clusters may fail before the gate stays shut.", 0, default=REQUIRED)
    ] = 0
    unplanned: Annotated[tuple[str, ...], Says("Its clusters that could not be planned.", default=REQUIRED)] = ()


@dataclass(frozen=True, slots=True)
class Unmoved:
    """A cluster that gets no step, and of which its own plan says more than that there is nothing to do."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    words: Annotated[str, Says("What its plan says.", "Nothing to do now, and access widens on 2027-02-23")]


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Everything that a fleet apply will do. ``unchanged`` clusters need nothing; ``failures`` could not be planned.

    Those that are ``unmoved`` are to be looked at.
    """

    name: Annotated[str, Says("The fleet.", all)]
    as_of: Annotated[str, Says("The instant, or the begin of the day, that decides what has expired.", "2026-11-21")]
    waves: Annotated[tuple[PlannedWave, ...], Says("The waves, in order.")]
    unchanged: Annotated[tuple[str, ...], Says("Clusters that need no change.", default=REQUIRED)] = ()
    failures: Annotated[
        tuple[Failure, ...], Says("Clusters that could not be planned, and why.", default=REQUIRED)
    ] = ()
    limits: Annotated[FleetLimits, Says("How much one plan may change.", default=REQUIRED)] = NO_LIMITS
    tool_version: Annotated[str, Says("The version that made the plan.", "0.1.0", default=REQUIRED)] = ""
    source_commit: Annotated[str | None, Says("The commit of the manifests.", "0123abc", default=REQUIRED)] = None
    unmoved: Annotated[
        tuple[Unmoved, ...], Says("Clusters that get no step and are to be looked at.", default=REQUIRED)
    ] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """Every planned cluster, wave by wave."""
        return tuple(member for wave in self.waves for member in wave.members)

    @property
    def refused(self) -> tuple[Member, ...]:
        """The clusters of whose changes guards left out some."""
        return tuple(member for member in self.members if member.refused)

    @property
    def deletes(self) -> int:
        """Deletions, all clusters together."""
        return sum(member.deletes for member in self.members)


_LIMITS: Final = record_of(FleetLimits, named=same)
_PLAN: Final = record_of(FleetPlan, named=same)


def fleet_plan_id(plan: FleetPlan) -> str:
    """``fleet-…``: the plans of all clusters by wave, gates and limits; neither date nor commit nor versions."""
    value = {
        "name": plan.name,
        "limits": _LIMITS.write(plan.limits),
        "waves": [
            [
                wave.name,
                wave.soak,
                wave.max_failures,
                [[item.cluster, item.plan_id] for item in wave.members],
                list(wave.unplanned),
            ]
            for wave in plan.waves
        ],
    }
    return f"fleet-{hashlib.sha256(canonical(value).encode()).hexdigest()}"


def limit_refusals(plan: FleetPlan, declared: Fleet | None = None) -> tuple[str, ...]:
    """Why the fleet's limits refuse this plan; clusters that could not be planned count as members.

    With the fleet as it is ``declared`` by now, its limits and its clusters count: the plan's are the word of its file.
    """
    refusals = []
    clusters = len(plan.members) + len(plan.unchanged) + len(plan.unmoved) + len(plan.failures)
    limits = plan.limits
    if declared is not None:
        clusters, limits = len(declared.clusters), declared.limits
    percent, most = limits.max_changed_clusters_percent, limits.max_deletes
    if percent is not None and len(plan.members) * 100 > percent * clusters:
        share = f"{len(plan.members)} of {clusters} clusters would change"
        refusals.append(f"{share}, but limits.maxChangedClustersPercent is {percent}")
    if most is not None and plan.deletes > most:
        refusals.append(f"{plan.deletes} deletions in all clusters together, but limits.maxDeletes is {most}")
    return tuple(refusals)


def lifted_gates(plan: FleetPlan, declared: Fleet) -> tuple[str, ...]:
    """Where the plan's waves ask for less than the fleet as it is declared by now; a stricter gate of it holds."""
    if [wave.name for wave in plan.waves] != [wave.name for wave in declared.waves]:
        return (f"the waves are now {', '.join(wave.name for wave in declared.waves)}",)
    easier = []
    for wave, own in zip(plan.waves, declared.waves, strict=True):
        if moved := [member.cluster for member in wave.members if member.cluster not in own.clusters]:
            easier.append(f"not in wave {wave.name} now: {', '.join(moved)}")
        if wave.soak < own.soak or wave.max_failures > own.max_failures:
            easier.append(f"the gate after wave {wave.name} is stricter now")
    return tuple(easier)


def not_covered(plan: FleetPlan, ids: Collection[str]) -> tuple[Member, ...]:
    """The members that nobody approved: neither the fleet plan's id was given, nor their own.

    An id may be given by its beginning, unless several of this plan begin so.
    """
    whole = fleet_plan_id(plan)
    all_ids = {whole}.union(*(member.ids for member in plan.members))
    given = {whole_id(item, all_ids) for item in ids}
    return () if whole in given else tuple(member for member in plan.members if not member.ids & given)


def fleet_plan_document(plan: FleetPlan) -> dict[str, Any]:
    """The plan as JSON values; also what ``--output json`` prints."""
    return {"formatVersion": FORMAT_VERSION, "fleetId": fleet_plan_id(plan), **_PLAN.write(plan)}


def fleet_plan_text(plan: FleetPlan) -> str:
    """The file's text."""
    return json.dumps(fleet_plan_document(plan), ensure_ascii=False, indent=1) + "\n"


def parse_fleet_plan(text: str) -> FleetPlan:
    """The inverse of :func:`fleet_plan_text`; raises :class:`FleetPlanError`, also where it was altered."""
    try:
        document = load(text)
        known_minor(document, FORMAT_VERSION)
        plan = _PLAN.read(document)
    except SchemaError as error:
        raise FleetPlanError(f"not a plan of a fleet of format {FORMAT_VERSION}: {error}") from error
    if document.get("fleetId") != fleet_plan_id(plan):
        raise FleetPlanError("the fleet's id does not belong to its plans: the file was altered")
    return plan


# How far a fleet apply has come, and whether the next wave may begin. Times are seconds since a fixed moment.
#
# A cluster is finished if an apply of exactly its plan succeeded.

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


_RECORD: Final = record_of(ApplyRecord, named=same)


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
    last: dict[tuple[str, str], ApplyRecord] = {}
    for item in records:
        add_record(last, item)
    return last


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
        if not ((record := records.get((member.cluster, member.plan_id))) and record.succeeded)
    )


def gate_after(wave: PlannedWave, records: Mapping[tuple[str, str], ApplyRecord]) -> Gate:
    """The gate after a wave, from the records; a wave without changes is open."""
    remaining = pending(wave, records)
    failed = tuple(member.cluster for member in remaining if (member.cluster, member.plan_id) in records)
    unfinished = tuple(member.cluster for member in remaining if (member.cluster, member.plan_id) not in records)
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
    records = []
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
            records.append(ended)
    return records
