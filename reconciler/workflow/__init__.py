"""What the reconciler does, as functions of ports and values: the floor that commands, workers and notebooks share.

Each use case raises a :class:`WorkflowError`, whose subclass is the reason, and knows nothing of terminals. Paths are
texts; a cluster is ``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``. ``docs/python.md`` has examples. Fleets are
in ``reconciler.workflow.fleet``, which needs Spark.

Each name is imported when it is first used, so that a command line starts fast.
"""

from typing import TYPE_CHECKING, Final

from reconciler.facade import on_demand

if TYPE_CHECKING:
    from reconciler.workflow.access_tests import TestedAccess, run_tests
    from reconciler.workflow.applying import ApplyOptions, apply, apply_plan
    from reconciler.workflow.attendant import Attendant, Unattended
    from reconciler.workflow.checks import checks_of
    from reconciler.workflow.clusters import Target, open_any, open_declared
    from reconciler.workflow.comparing import drift, plan
    from reconciler.workflow.converting import ConversionSource, Converted, convert_source
    from reconciler.workflow.diagnosis import Diagnosis, diagnose
    from reconciler.workflow.exporting import Exported, export
    from reconciler.workflow.guardrails import guardrails_changed
    from reconciler.workflow.leftovers import Cleanup, cleanup
    from reconciler.workflow.linting import lint, minimise
    from reconciler.workflow.manifests import load
    from reconciler.workflow.options import ConnectionOptions, PlanOptions, StateRequest
    from reconciler.workflow.planning import Planned, plan_on
    from reconciler.workflow.policy_proposal import PolicyProposal, propose_topic_policy
    from reconciler.workflow.quotas import quota_views
    from reconciler.workflow.reasons import WorkflowError
    from reconciler.workflow.records import RecordOptions
    from reconciler.workflow.saved_plans import save_plan, saved_plan
    from reconciler.workflow.states import AccessState, access_states, access_views
    from reconciler.workflow.tightening.proposal import Tightening, TightenOptions, tighten
    from reconciler.workflow.undoing import undo
    from reconciler.workflow.usage_evidence import usage
    from reconciler.workflow.validation import ManifestValidation, validate

_MODULES: Final = {
    "saved_plans": ("save_plan", "saved_plan"),
    "states": ("AccessState", "access_states", "access_views"),
    "access_tests": ("TestedAccess", "run_tests"),
    "applying": ("ApplyOptions", "apply", "apply_plan"),
    "attendant": ("Attendant", "Unattended"),
    "checks": ("checks_of",),
    "guardrails": ("guardrails_changed",),
    "leftovers": ("Cleanup", "cleanup"),
    "clusters": ("Target", "open_any", "open_declared"),
    "comparing": ("drift", "plan"),
    "converting": ("ConversionSource", "Converted", "convert_source"),
    "diagnosis": ("Diagnosis", "diagnose"),
    "exporting": ("Exported", "export"),
    "linting": ("lint", "minimise"),
    "manifests": ("load",),
    "options": ("ConnectionOptions", "PlanOptions", "StateRequest"),
    "planning": ("Planned", "plan_on"),
    "policy_proposal": ("PolicyProposal", "propose_topic_policy"),
    "quotas": ("quota_views",),
    "reasons": ("WorkflowError",),
    "records": ("RecordOptions",),
    "tightening.proposal": ("TightenOptions", "Tightening", "tighten"),
    "undoing": ("undo",),
    "usage_evidence": ("usage",),
    "validation": ("ManifestValidation", "validate"),
}

__all__ = [
    "AccessState",
    "ApplyOptions",
    "Attendant",
    "Cleanup",
    "ConnectionOptions",
    "ConversionSource",
    "Converted",
    "Diagnosis",
    "Exported",
    "ManifestValidation",
    "PlanOptions",
    "Planned",
    "PolicyProposal",
    "RecordOptions",
    "StateRequest",
    "Target",
    "TestedAccess",
    "TightenOptions",
    "Tightening",
    "Unattended",
    "WorkflowError",
    "access_states",
    "access_views",
    "apply",
    "apply_plan",
    "checks_of",
    "cleanup",
    "convert_source",
    "diagnose",
    "drift",
    "export",
    "guardrails_changed",
    "lint",
    "load",
    "minimise",
    "open_any",
    "open_declared",
    "plan",
    "plan_on",
    "propose_topic_policy",
    "quota_views",
    "run_tests",
    "save_plan",
    "saved_plan",
    "tighten",
    "undo",
    "usage",
    "validate",
]


__getattr__ = on_demand(__name__, _MODULES)
