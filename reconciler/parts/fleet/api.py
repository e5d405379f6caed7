"""Many clusters at once, on Spark: snapshots of a fleet, drift, plans, waves. Needs the extra ``fleet``.

``spark()`` and ``LocalEngine()`` give an engine, ``SparkEngine(session)`` that of a session, ``store_at(place)`` a
store; the functions take both, and raise a
:class:`reconciler.app.reasons.WorkflowError`.
"""

from reconciler.parts.fleet.app.apply import ApplyTerms, BatchBegun, FleetApply, GateClosed
from reconciler.parts.fleet.app.engines import spark, task_secrets
from reconciler.parts.fleet.app.members import MemberConnections, file_readers, live_readers
from reconciler.parts.fleet.app.plan import PlannedFleet, plan_fleet
from reconciler.parts.fleet.app.query import FleetAnswer, FleetQuestion, ask_fleet, basis_of
from reconciler.parts.fleet.app.runs import (
    Wanted,
    check_new,
    drift_fleet,
    fleet_in,
    read_fleet_plan,
    save_fleet_plan,
    stored_run,
    take,
    wanted,
)
from reconciler.parts.fleet.app.tighten import FleetTightening, tighten_fleet
from reconciler.parts.fleet.engine import LocalEngine
from reconciler.parts.fleet.readings import CollectionLimits, SnapshotSource
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import store_at

__all__ = [
    "ApplyTerms",
    "BatchBegun",
    "CollectionLimits",
    "FleetAnswer",
    "FleetApply",
    "FleetQuestion",
    "FleetStore",
    "FleetTightening",
    "GateClosed",
    "LocalEngine",
    "MemberConnections",
    "PlannedFleet",
    "SnapshotSource",
    "SparkEngine",
    "Wanted",
    "ask_fleet",
    "basis_of",
    "check_new",
    "drift_fleet",
    "file_readers",
    "fleet_in",
    "live_readers",
    "plan_fleet",
    "read_fleet_plan",
    "save_fleet_plan",
    "spark",
    "store_at",
    "stored_run",
    "take",
    "task_secrets",
    "tighten_fleet",
    "wanted",
]
