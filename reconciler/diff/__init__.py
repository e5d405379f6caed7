"""Two states to changes: the one definition of difference, whatever engine performs it."""

from reconciler.diff.compare import Comparison, TopicRules, compare
from reconciler.diff.left import Left, LeftReason

__all__ = ["Comparison", "Left", "LeftReason", "TopicRules", "compare"]
