"""Changes to an ordered, guarded, saved proposal: the plan is a value, and the only input of apply."""

from reconciler.plan.access_review import AccessChange, AccessReview, difference_review
from reconciler.plan.bridge import Bridge, Bridges, Means, Side, Unbridged
from reconciler.plan.bridging import bridges
from reconciler.plan.callouts import Callout
from reconciler.plan.conditional import possible_barriers
from reconciler.plan.consequence import EVERYBODY_ELSE, Consequence, Spared, operations_words
from reconciler.plan.coverage import CoverageChange, coverage_change, covering_patterns, perhaps_in_use
from reconciler.plan.dependencies import Undone
from reconciler.plan.document import FORMAT_VERSION, plan_document, plan_text, step_side
from reconciler.plan.effects import Effect, EffectKind
from reconciler.plan.expectation import Finding, Standing, standing, touched_topics
from reconciler.plan.guards import Acknowledgement, Guard, Limits, Refusal, Surroundings, refusals, unacknowledged
from reconciler.plan.identity import change_id, file_digest, plan_id
from reconciler.plan.meaning import meaning_refusals
from reconciler.plan.order import losses, ordered
from reconciler.plan.outermost import outermost
from reconciler.plan.phase import TITLES, Phase, barriers
from reconciler.plan.proof import UnsafeOrderError, Violation, prove
from reconciler.plan.proposal import Counts, Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, UnsafeSelectionError, propose
from reconciler.plan.reading import PlanFileError, parse_plan, plan_from
from reconciler.plan.schema import plan_schema, plan_schema_text
from reconciler.plan.selection import Selection
from reconciler.plan.step import Step, binding_side, describe
from reconciler.plan.topic_review import AUTO_CREATE, BrokerAnswer, Ruling, TopicReview, Validation
from reconciler.plan.transition import Facts, Transition, transition
from reconciler.plan.unreviewed import unreviewed

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
    "barriers",
    "binding_side",
    "bindings_after",
    "bridges",
    "change_id",
    "coverage_change",
    "covering_patterns",
    "describe",
    "difference_review",
    "file_digest",
    "losses",
    "meaning_refusals",
    "operations_words",
    "ordered",
    "outermost",
    "parse_plan",
    "perhaps_in_use",
    "plan_document",
    "plan_from",
    "plan_id",
    "plan_schema",
    "plan_schema_text",
    "plan_text",
    "possible_barriers",
    "propose",
    "prove",
    "refusals",
    "standing",
    "step_side",
    "touched_topics",
    "transition",
    "unacknowledged",
    "unreviewed",
]
