"""What ACLs mean: Kafka's authorizer exactly, effective access, differences, assertions, lint. Pure; no broker."""

from reconciler.access.assertion import (
    ADMIN_OPERATIONS,
    Assertion,
    Claim,
    Outcome,
    Verdict,
    Via,
    only,
    only_admins,
    only_readers,
    only_writers,
)
from reconciler.access.assertions import Checker, check
from reconciler.access.authorizer import Authorizer, UndecidedAccessError
from reconciler.access.decision import Decision, Grounds, Request, Rule
from reconciler.access.difference import Difference, Row, Witness, compare
from reconciler.access.effective import Access, Holders, access_of, who_can
from reconciler.access.hosts import Hosts
from reconciler.access.lint import LintFinding, LintRule, lint
from reconciler.access.minimise import Minimised, Removal, minimise
from reconciler.access.operations import KafkaVersion, supported, to_bit_field
from reconciler.access.questions import Answer, Explanation, Standing, can_i, explain
from reconciler.access.region import Region
from reconciler.access.table import Key

__all__ = [
    "ADMIN_OPERATIONS",
    "Access",
    "Answer",
    "Assertion",
    "Authorizer",
    "Checker",
    "Claim",
    "Decision",
    "Difference",
    "Explanation",
    "Grounds",
    "Holders",
    "Hosts",
    "KafkaVersion",
    "Key",
    "LintFinding",
    "LintRule",
    "Minimised",
    "Outcome",
    "Region",
    "Removal",
    "Request",
    "Row",
    "Rule",
    "Standing",
    "UndecidedAccessError",
    "Verdict",
    "Via",
    "Witness",
    "access_of",
    "can_i",
    "check",
    "compare",
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
