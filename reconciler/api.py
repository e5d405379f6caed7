"""The use cases of the command line as functions: the one module that programs and notebooks import.

Each use case raises a :class:`WorkflowError`, whose subclass is the reason, and knows nothing of terminals. Paths are
texts; a cluster is ``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``. ``docs/python.md`` has examples. Fleets are
in ``reconciler.parts.fleet.api``, which needs Spark.
"""

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions, Supervisor, Unattended, apply, apply_plan
from reconciler.app.ask import quota_views
from reconciler.app.cleanup import Cleanup, cleanup
from reconciler.app.doctor import Diagnosis, diagnose
from reconciler.app.export import Exported, PolicyProposal, export, propose_topic_policy
from reconciler.app.lint import lint, simplify
from reconciler.app.manifests import guardrails_changed, load
from reconciler.app.options import ConnectionOptions, PlanOptions, StateRequest
from reconciler.app.plan import drift, plan
from reconciler.app.planning import Planned, plan_on
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions, save_plan, saved_plan
from reconciler.app.session import Target, open_any, open_declared
from reconciler.app.states import AccessState, access_states, access_views
from reconciler.app.test import TestedAccess, run_tests
from reconciler.app.undo import undo
from reconciler.app.validate import ManifestValidation, validate

__all__ = [
    "AccessState",
    "ApplyOptions",
    "Cleanup",
    "ConnectionOptions",
    "Diagnosis",
    "Exported",
    "ManifestValidation",
    "PlanOptions",
    "Planned",
    "PolicyProposal",
    "RecordOptions",
    "StateRequest",
    "Supervisor",
    "Target",
    "TestedAccess",
    "Unattended",
    "WorkflowError",
    "access_states",
    "access_views",
    "apply",
    "apply_plan",
    "checks_of",
    "cleanup",
    "diagnose",
    "drift",
    "export",
    "guardrails_changed",
    "lint",
    "load",
    "open_any",
    "open_declared",
    "plan",
    "plan_on",
    "propose_topic_policy",
    "quota_views",
    "run_tests",
    "save_plan",
    "saved_plan",
    "simplify",
    "undo",
    "validate",
]
