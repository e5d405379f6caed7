"""What ACLs mean: Kafka's authorizer exactly, effective access, differences, assertions, lint. Pure; no broker."""

from reconciler.access.authorizer import Authorizer, UndecidedAccessError
from reconciler.access.decision import Decision, Grounds, Request, Rule
from reconciler.access.operations import KafkaVersion, supported, to_bit_field

__all__ = [
    "Authorizer",
    "Decision",
    "Grounds",
    "KafkaVersion",
    "Request",
    "Rule",
    "UndecidedAccessError",
    "supported",
    "to_bit_field",
]
