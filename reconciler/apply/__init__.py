"""Perform a plan through the ports, step by step, and say truly what became of it.

Each name is imported when it is first used: who only looks for leftovers of runs loads nothing that performs.
"""

from typing import TYPE_CHECKING, Final

from reconciler.facade import on_demand

if TYPE_CHECKING:
    from reconciler.apply.barriers.interface import Barrier, BarrierFactory, UnprovenError
    from reconciler.apply.barriers.probe import ProbeBarrier, ProbeSetup
    from reconciler.apply.environment import (
        ApplyEnvironment,
        ApprovalEvidence,
        Approver,
        Identity,
        LeaseRequest,
        NoLedger,
    )
    from reconciler.apply.history import JournalError, past_runs
    from reconciler.apply.kinds import request_for
    from reconciler.apply.lease import LeaseHeldError
    from reconciler.apply.lease_markers import LeaseClaim, lease_claims
    from reconciler.apply.outcome import GOOD, LoginCheck, Outcome, Result, StepOutcome
    from reconciler.apply.past_run import PastRun
    from reconciler.apply.performing import perform
    from reconciler.apply.preflight import (
        Preflight,
        RefusedError,
        StalePlanError,
        UndeclaredDefaultError,
        check,
        reading,
    )
    from reconciler.apply.progress import Progress, Silent
    from reconciler.apply.validation import validate

_MODULES: Final = {
    "barriers.interface": ("Barrier", "BarrierFactory", "UnprovenError"),
    "barriers.probe": ("ProbeBarrier", "ProbeSetup"),
    "environment": ("ApplyEnvironment", "ApprovalEvidence", "Approver", "Identity", "LeaseRequest", "NoLedger"),
    "history": ("JournalError", "past_runs"),
    "past_run": ("PastRun",),
    "kinds": ("request_for",),
    "lease": ("LeaseHeldError",),
    "lease_markers": ("LeaseClaim", "lease_claims"),
    "outcome": ("GOOD", "LoginCheck", "Outcome", "Result", "StepOutcome"),
    "performing": ("perform",),
    "preflight": ("Preflight", "RefusedError", "StalePlanError", "UndeclaredDefaultError", "check", "reading"),
    "progress": ("Progress", "Silent"),
    "validation": ("validate",),
}

__all__ = [
    "GOOD",
    "ApplyEnvironment",
    "ApprovalEvidence",
    "Approver",
    "Barrier",
    "BarrierFactory",
    "Identity",
    "JournalError",
    "LeaseClaim",
    "LeaseHeldError",
    "LeaseRequest",
    "LoginCheck",
    "NoLedger",
    "Outcome",
    "PastRun",
    "Preflight",
    "ProbeBarrier",
    "ProbeSetup",
    "Progress",
    "RefusedError",
    "Result",
    "Silent",
    "StalePlanError",
    "StepOutcome",
    "UndeclaredDefaultError",
    "UnprovenError",
    "check",
    "lease_claims",
    "past_runs",
    "perform",
    "reading",
    "request_for",
    "validate",
]

__getattr__ = on_demand(__name__, _MODULES)
