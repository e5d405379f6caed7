"""What ACLs mean: Kafka's authorizer, effective access, access differences, assertions and lint; needs no broker.

Start with :class:`Authorizer`. It answers single requests exactly as a broker does; the functions that take one answer
questions about all principals, hosts and names at once.
"""

from reconciler.access.assertion import (
    ADMIN_OPERATIONS,
    Assertion,
    AssertionKind,
    AssertionOutcome,
    AssertionResult,
    Via,
    only,
    only_admins,
    only_readers,
    only_writers,
)
from reconciler.access.assertions import Checker, check
from reconciler.access.authorizer import Authorizer, UndecidedAccessError
from reconciler.access.decision import AccessRequest, Decision, DecisionRule, Evidence
from reconciler.access.difference import AccessDifference, DifferenceRow, Witness, compare_access
from reconciler.access.effective import Access, Holders, access_of, who_can
from reconciler.access.hosts import Hosts
from reconciler.access.lint import LintFinding, LintRule, lint
from reconciler.access.minimise import Minimised, Removal, minimise
from reconciler.access.name_set import NameSet
from reconciler.access.operations import ASSUMED_VERSION, supported, to_bit_field
from reconciler.access.questions import AccessAnswer, Explanation, Relevance, can_i, explain
from reconciler.access.region import Region
from reconciler.access.work import TooMuchToDecideError
from reconciler.model.kafka_release import KafkaVersion

__all__ = [
    "ADMIN_OPERATIONS",
    "ASSUMED_VERSION",
    "Access",
    "AccessAnswer",
    "AccessDifference",
    "AccessRequest",
    "Assertion",
    "AssertionKind",
    "AssertionOutcome",
    "AssertionResult",
    "Authorizer",
    "Checker",
    "Decision",
    "DecisionRule",
    "DifferenceRow",
    "Evidence",
    "Explanation",
    "Holders",
    "Hosts",
    "KafkaVersion",
    "LintFinding",
    "LintRule",
    "Minimised",
    "NameSet",
    "Region",
    "Relevance",
    "Removal",
    "TooMuchToDecideError",
    "UndecidedAccessError",
    "Via",
    "Witness",
    "access_of",
    "can_i",
    "check",
    "compare_access",
    "explain",
    "lint",
    "minimise",
    "only",
    "only_admins",
    "only_readers",
    "only_writers",
    "supported",
    "to_bit_field",
    "who_can",
]
