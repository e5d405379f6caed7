"""A fleet plan: which saved plan each cluster gets, in which wave, under one id; and what refuses it.

Each cluster has its own plan. The fleet plan contains their ids, so approving the fleet plan's id approves each of
them, and the waves, gates and limits.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any, Final

from reconciler.codec import (
    COUNT,
    NUMBER,
    TEXT,
    TEXTS,
    Record,
    SchemaError,
    array,
    canonical,
    field,
    known_minor,
    load,
    nullable,
    record,
)
from reconciler.dataclass import dataclass
from reconciler.fleet.header import FAILURE, Failure
from reconciler.fleet.membership import NO_LIMITS, FleetLimits
from reconciler.plan import whole_id

FORMAT_VERSION: Final = "1.0"


class FleetPlanError(Exception):
    """The text is not a fleet plan that this version can read, or it was altered; ``str()`` says which."""


@dataclass(frozen=True, slots=True)
class Member:
    """One cluster's saved plan; ``file`` is below the fleet plan's directory, ``digest`` its ``file-…``."""

    cluster: str
    plan_id: str
    change_id: str
    file: str
    digest: str
    steps: int
    deletes: int
    seconds: float = 0.0

    @property
    def ids(self) -> frozenset[str]:
        """The id by which a person approves this plan."""
        return frozenset({self.plan_id, self.change_id, self.digest})


@dataclass(frozen=True, slots=True)
class PlannedWave:
    """The clusters of one wave that change, those that could not be planned, and the gate after them."""

    name: str
    members: tuple[Member, ...]
    soak: float = 0.0
    max_failures: int = 0
    unplanned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Everything that a fleet apply will do. ``unchanged`` clusters need nothing; ``failures`` could not be planned."""

    name: str
    as_of: str
    waves: tuple[PlannedWave, ...]
    unchanged: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    limits: FleetLimits = NO_LIMITS
    tool_version: str = ""
    source_commit: str | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """Every planned cluster, wave by wave."""
        return tuple(member for wave in self.waves for member in wave.members)

    @property
    def deletes(self) -> int:
        """Deletions, all clusters together."""
        return sum(member.deletes for member in self.members)


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


def limit_refusals(plan: FleetPlan) -> tuple[str, ...]:
    """Why the fleet's limits refuse this plan; clusters that could not be planned count as members."""
    found = []
    clusters = len(plan.members) + len(plan.unchanged) + len(plan.failures)
    percent, most = plan.limits.max_changed_clusters_percent, plan.limits.max_deletes
    if percent is not None and len(plan.members) * 100 > percent * clusters:
        share = f"{len(plan.members)} of {clusters} clusters would change"
        found.append(f"{share}, but limits.maxChangedClustersPercent is {percent}")
    if most is not None and plan.deletes > most:
        found.append(f"{plan.deletes} deletions in all clusters together, but limits.maxDeletes is {most}")
    return tuple(found)


def not_covered(plan: FleetPlan, ids: Collection[str]) -> tuple[Member, ...]:
    """The members that nobody approved: neither the fleet plan's id was given, nor their own.

    An id may be given by its beginning, unless several of this plan begin so.
    """
    whole = fleet_plan_id(plan)
    known = {whole}.union(*(member.ids for member in plan.members))
    given = {whole_id(one, known) for one in ids}
    return () if whole in given else tuple(member for member in plan.members if not member.ids & given)


_ID: Final = f"plan-{'0' * 64}"
_MEMBER: Final[Record[Member]] = record(
    Member,
    field("cluster", TEXT, "The cluster.", "prod"),
    field("plan_id", TEXT, "The id of its plan.", _ID),
    field("change_id", TEXT, "The id of its changes.", f"change-{'0' * 64}"),
    field("file", TEXT, "Its plan, below the fleet plan's directory.", "plans/prod.json"),
    field("digest", TEXT, "The digest of that file.", f"file-{'0' * 64}"),
    field("steps", COUNT, "How many steps it has.", 12),
    field("deletes", COUNT, "How many of them delete.", 0),
    field("seconds", NUMBER, "How long it takes, about.", 5.1),
)
_WAVE: Final[Record[PlannedWave]] = record(
    PlannedWave,
    field("name", TEXT, "The wave.", "canary"),
    field("members", array(_MEMBER), "Its clusters that change."),
    field("soak", NUMBER, "Seconds to wait after it.", 600),
    field("max_failures", COUNT, "How many clusters may fail before the gate stays shut.", 0),
    field("unplanned", TEXTS, "Its clusters that could not be planned."),
)
_LIMIT: Final = nullable(COUNT)
_LIMITS: Final[Record[FleetLimits]] = record(
    FleetLimits,
    field("max_changed_clusters_percent", _LIMIT, "The largest share of clusters that may change.", 20),
    field("max_deletes", _LIMIT, "How many deletions there may be in all clusters together.", 200),
)
_PLAN: Final[Record[FleetPlan]] = record(
    FleetPlan,
    field("name", TEXT, "The fleet.", "all"),
    field("as_of", TEXT, "The instant, or the begin of the day, that decides what has expired.", "2026-11-21"),
    field("waves", array(_WAVE), "The waves, in order."),
    field("unchanged", TEXTS, "Clusters that need no change."),
    field("failures", array(FAILURE), "Clusters that could not be planned, and why."),
    field("limits", _LIMITS, "How much one plan may change."),
    field("tool_version", TEXT, "The version that made the plan.", "0.1.0"),
    field("source_commit", nullable(TEXT), "The commit of the manifests.", "0123abc"),
)


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
