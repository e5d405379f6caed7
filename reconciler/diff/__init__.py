"""Two states to changes: the one definition of difference, whatever engine performs it."""

from reconciler.diff.compare import compare, objection
from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules, Skipped, SkipReason
from reconciler.diff.replicas import topics_to_place

__all__ = [
    "Comparison",
    "DeclaredChange",
    "DiffRules",
    "SkipReason",
    "Skipped",
    "compare",
    "objection",
    "topics_to_place",
]
