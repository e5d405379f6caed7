"""Rules for what manifests may declare: ownership and topic policies. Needs no cluster."""

from reconciler.policy.breach import Breach, BreachKind, breach_order
from reconciler.policy.owners import Owner, OwnerConsent
from reconciler.policy.ownership import Ownership
from reconciler.policy.topic_expressions import ExpressionProblem, MissingEngineError
from reconciler.policy.topic_facts import ClusterContext
from reconciler.policy.topic_policy import (
    ExpressionError,
    TopicFinding,
    TopicFindingStatus,
    TopicPolicy,
    TopicPolicyResult,
)
from reconciler.policy.topic_policy_proposal import Occasion, ProposedRule, propose_policy

__all__ = [
    "Breach",
    "BreachKind",
    "ClusterContext",
    "ExpressionError",
    "ExpressionProblem",
    "MissingEngineError",
    "Occasion",
    "Owner",
    "OwnerConsent",
    "Ownership",
    "ProposedRule",
    "TopicFinding",
    "TopicFindingStatus",
    "TopicPolicy",
    "TopicPolicyResult",
    "breach_order",
    "propose_policy",
]
