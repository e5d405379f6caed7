"""Many clusters at once, on Spark: snapshots of a fleet, drift, plans, waves. Needs the extra ``fleet``.

``spark()`` gives a session, ``store_at(place)`` a store; the functions take both, and raise a
:class:`reconciler.workflow.WorkflowError`.

Each name is imported when it is first used: Spark can start while the rest is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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
    from reconciler.workflow.fleet.session import spark, starting_spark, task_secrets
    from reconciler.workflow.fleet.tightening import FleetTightening, tighten_fleet

_MODULES: Final = {
    "reconciler.adapters.spark.collecting": (
        "CollectionLimits",
        "SnapshotSource",
    ),
    "reconciler.adapters.spark.files": ("store_at",),
    "reconciler.fleet.store": ("FleetStore",),
    "reconciler.workflow.fleet.members": (
        "MemberConnections",
        "file_readers",
        "live_readers",
    ),
    "reconciler.workflow.fleet.performing": (
        "ApplyTerms",
        "BatchBegun",
        "FleetApply",
        "FleetEvent",
        "GateClosed",
    ),
    "reconciler.workflow.fleet.planning": (
        "PlannedFleet",
        "plan_fleet",
    ),
    "reconciler.workflow.fleet.querying": (
        "FleetAnswer",
        "FleetQuestion",
        "ask_fleet",
        "basis_of",
    ),
    "reconciler.workflow.fleet.runs": (
        "Wanted",
        "drift_fleet",
        "fleet_in",
        "stored_run",
        "take",
        "wanted",
    ),
    "reconciler.workflow.fleet.saved": (
        "check_new",
        "read_fleet_plan",
        "save_fleet_plan",
    ),
    "reconciler.workflow.fleet.session": (
        "spark",
        "starting_spark",
        "task_secrets",
    ),
    "reconciler.workflow.fleet.tightening": ("FleetTightening", "tighten_fleet"),
}

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
    "starting_spark",
    "store_at",
    "stored_run",
    "take",
    "task_secrets",
    "tighten_fleet",
    "wanted",
]


def __getattr__(name: str) -> Any:
    """Import the module that has the name."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
