"""Many clusters at once, on Spark: snapshots of a fleet, drift, plans, waves. Needs the extra ``fleet``.

``spark()`` gives a session, ``store_at(place)`` a store; the functions take both, and raise a
:class:`reconciler.workflow.WorkflowError`.
"""

from reconciler.adapters.spark.collecting import CollectionLimits, SnapshotSource
from reconciler.adapters.spark.files import store_at
from reconciler.fleet.store import FleetStore
from reconciler.workflow.fleet.members import MemberConnections, file_readers, live_readers
from reconciler.workflow.fleet.performing import ApplyTerms, BatchBegun, FleetApply, FleetEvent, GateClosed
from reconciler.workflow.fleet.planning import PlannedFleet, plan_fleet
from reconciler.workflow.fleet.querying import FleetAnswer, FleetQuestion, ask_fleet, basis_of
from reconciler.workflow.fleet.runs import (
    Wanted,
    drift_fleet,
    fleet_in,
    stored_run,
    take,
    wanted,
)
from reconciler.workflow.fleet.saved import check_new, read_fleet_plan, save_fleet_plan
from reconciler.workflow.fleet.session import spark, task_secrets
from reconciler.workflow.fleet.tightening import FleetTightening, tighten_fleet

__all__ = [
    "ApplyTerms",
    "BatchBegun",
    "CollectionLimits",
    "FleetAnswer",
    "FleetApply",
    "FleetEvent",
    "FleetQuestion",
    "FleetStore",
    "FleetTightening",
    "GateClosed",
    "MemberConnections",
    "PlannedFleet",
    "SnapshotSource",
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
