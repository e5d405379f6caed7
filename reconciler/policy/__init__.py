"""What manifests may say, decided on what they declare; asks no cluster."""

from reconciler.policy.owners import Consent, Owner
from reconciler.policy.ownership import Breach, BreachKind, Ownership
from reconciler.policy.topic_expressions import Fault, MissingEngineError
from reconciler.policy.topic_policy import (
    ExpressionError,
    TopicFinding,
    TopicPolicy,
    TopicPolicyResult,
    TopicStanding,
)
from reconciler.policy.topic_policy_proposal import Occasion, ProposedRule, propose_policy
from reconciler.policy.topic_subject import Surroundings

__all__ = [
    "Breach",
    "BreachKind",
    "Consent",
    "ExpressionError",
    "Fault",
    "MissingEngineError",
    "Occasion",
    "Owner",
    "Ownership",
    "ProposedRule",
    "Surroundings",
    "TopicFinding",
    "TopicPolicy",
    "TopicPolicyResult",
    "TopicStanding",
    "propose_policy",
]
