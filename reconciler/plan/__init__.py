"""Changes to an ordered, guarded, saved proposal: the plan is a value, and the only input of apply."""

from reconciler.plan.conditional import possible_barriers
from reconciler.plan.coverage import CoverageChange, coverage_change, covering_patterns, perhaps_in_use
from reconciler.plan.default_allow.bridge import Bridge, Bridges, Means, Side, Unbridged
from reconciler.plan.default_allow.bridging import bridges
from reconciler.plan.default_allow.lockout_protection import lockout_protection
from reconciler.plan.dependencies import Blockers
from reconciler.plan.facts import Facts
from reconciler.plan.file.codec import STEP
from reconciler.plan.file.document import (
    FORMAT_VERSION,
    PlanFileError,
    change_id,
    differences,
    ids,
    parse_plan,
    plan_from_json,
    plan_id,
    plan_schema_text,
    plan_text,
    plan_to_json,
    step_to_json,
)
from reconciler.plan.file.identity import file_digest, whole_id
from reconciler.plan.guards import (
    DeleteLimits,
    GuardAcknowledgement,
    Surroundings,
    login_refusals,
    refusals,
    unacknowledged,
)
from reconciler.plan.kinds import describe, kind_of, logins_at_risk
from reconciler.plan.kinds.acl import (
    created_bindings,
    deleted_bindings,
    is_acl_change,
    touched_binding,
    touched_bindings,
)
from reconciler.plan.kinds.interface import NewPassword
from reconciler.plan.kinds.topic import AUTO_CREATE, created_topics, deleted_topics, losses
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.order import ordered
from reconciler.plan.phase import TITLES, Phase, barriers
from reconciler.plan.proposal import Counts, Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, UnsafeSelectionError, conditions_of, propose
from reconciler.plan.refusal import Guard, Judges, Refusal
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, ExemptPrincipal, operations_words
from reconciler.plan.review.access_review import AccessReview, AccessTrend, difference_review
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.review.gaining import GainingPrincipal, PrincipalLimit, gaining
from reconciler.plan.review.meaning import meaning_refusals
from reconciler.plan.review.proof import UnsafeOrderError, Violation, prove
from reconciler.plan.review.topic_review import BrokerAnswer, BrokerValidation, Ruling, TopicReview
from reconciler.plan.review.transition import Transition, transition
from reconciler.plan.review.unreviewed import unreviewed
from reconciler.plan.selection import Selection
from reconciler.plan.step import Step, touched_topics

__all__ = [
    "AUTO_CREATE",
    "EVERYBODY_ELSE",
    "FORMAT_VERSION",
    "STEP",
    "TITLES",
    "AccessChange",
    "AccessReview",
    "AccessTrend",
    "Blockers",
    "Bridge",
    "Bridges",
    "BrokerAnswer",
    "BrokerValidation",
    "Callout",
    "Counts",
    "CoverageChange",
    "DeleteLimits",
    "Effect",
    "EffectKind",
    "ExemptPrincipal",
    "Facts",
    "GainingPrincipal",
    "Guard",
    "GuardAcknowledgement",
    "Judges",
    "Means",
    "NewPassword",
    "Observed",
    "Options",
    "Phase",
    "Plan",
    "PlanFileError",
    "PrincipalLimit",
    "Refusal",
    "Request",
    "Ruling",
    "Selection",
    "Side",
    "Step",
    "StepState",
    "Surroundings",
    "Terms",
    "TopicReview",
    "Transition",
    "Unbridged",
    "UnsafeOrderError",
    "UnsafeSelectionError",
    "Violation",
    "barriers",
    "bindings_after",
    "bridges",
    "change_id",
    "conditions_of",
    "coverage_change",
    "covering_patterns",
    "created_bindings",
    "created_topics",
    "deleted_bindings",
    "deleted_topics",
    "describe",
    "difference_review",
    "differences",
    "file_digest",
    "gaining",
    "ids",
    "is_acl_change",
    "kind_of",
    "lockout_protection",
    "login_refusals",
    "logins_at_risk",
    "losses",
    "meaning_refusals",
    "operations_words",
    "ordered",
    "parse_plan",
    "perhaps_in_use",
    "plan_from_json",
    "plan_id",
    "plan_schema_text",
    "plan_text",
    "plan_to_json",
    "possible_barriers",
    "propose",
    "prove",
    "refusals",
    "step_to_json",
    "touched_binding",
    "touched_bindings",
    "touched_topics",
    "transition",
    "unacknowledged",
    "unreviewed",
    "whole_id",
]
