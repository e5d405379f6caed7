"""Changes to an ordered, guarded, saved proposal: the plan is a value, and the only input of apply."""

from reconciler.plan.conditional import possible_barriers
from reconciler.plan.coverage import CoverageChange, coverage_change, covering_patterns, perhaps_in_use
from reconciler.plan.default_allow.bridge import Bridge, Bridges, Means, Side, Unbridged
from reconciler.plan.default_allow.bridging import bridges
from reconciler.plan.default_allow.outermost import outermost
from reconciler.plan.dependencies import Undone
from reconciler.plan.expectation import Finding, Standing, standing, touched_topics
from reconciler.plan.file.document import (
    FORMAT_VERSION,
    PlanFileError,
    parse_plan,
    plan_from_json,
    plan_schema_text,
    plan_text,
    plan_to_json,
    step_to_json,
)
from reconciler.plan.file.identity import change_id, file_digest, ids, plan_id
from reconciler.plan.guards import Acknowledgement, Guard, Limits, Refusal, Surroundings, refusals, unacknowledged
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.acl import (
    acl_changes,
    created_bindings,
    deleted_bindings,
    is_acl_change,
    touched_binding,
    touched_bindings,
)
from reconciler.plan.kinds.topic import created_topics, deleted_topics, losses
from reconciler.plan.order import ordered
from reconciler.plan.phase import TITLES, Phase, barriers
from reconciler.plan.proposal import Counts, Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, UnsafeSelectionError, propose
from reconciler.plan.review.access_review import AccessChange, AccessReview, difference_review
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.consequence import EVERYBODY_ELSE, Consequence, Spared, operations_words
from reconciler.plan.review.effects import Effect, EffectKind
from reconciler.plan.review.meaning import meaning_refusals
from reconciler.plan.review.proof import UnsafeOrderError, Violation, prove
from reconciler.plan.review.topic_review import AUTO_CREATE, BrokerAnswer, Ruling, TopicReview, Validation
from reconciler.plan.review.transition import Facts, Transition, transition
from reconciler.plan.review.unreviewed import unreviewed
from reconciler.plan.selection import Selection
from reconciler.plan.step import Step

__all__ = [
    "AUTO_CREATE",
    "EVERYBODY_ELSE",
    "FORMAT_VERSION",
    "TITLES",
    "AccessChange",
    "AccessReview",
    "Acknowledgement",
    "Bridge",
    "Bridges",
    "BrokerAnswer",
    "Callout",
    "Consequence",
    "Counts",
    "CoverageChange",
    "Effect",
    "EffectKind",
    "Facts",
    "Finding",
    "Guard",
    "Limits",
    "Means",
    "Options",
    "Phase",
    "Plan",
    "PlanFileError",
    "Refusal",
    "Request",
    "Ruling",
    "Selection",
    "Side",
    "Spared",
    "Standing",
    "Step",
    "Surroundings",
    "Terms",
    "TopicReview",
    "Transition",
    "Unbridged",
    "Undone",
    "UnsafeOrderError",
    "UnsafeSelectionError",
    "Validation",
    "Violation",
    "acl_changes",
    "barriers",
    "bindings_after",
    "bridges",
    "change_id",
    "coverage_change",
    "covering_patterns",
    "created_bindings",
    "created_topics",
    "deleted_bindings",
    "deleted_topics",
    "describe",
    "difference_review",
    "file_digest",
    "ids",
    "is_acl_change",
    "losses",
    "meaning_refusals",
    "operations_words",
    "ordered",
    "outermost",
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
    "standing",
    "step_to_json",
    "touched_binding",
    "touched_bindings",
    "touched_topics",
    "transition",
    "unacknowledged",
    "unreviewed",
]
