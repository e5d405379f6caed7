"""What a comparison asks of a kind of resource. Each other module of this folder is one kind and has this function."""

from typing import Protocol

from reconciler.diff.difference import Comparison, DiffRules
from reconciler.model import ClusterState, DesiredState, Scope


class Kind(Protocol):
    """A kind of resource."""

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """What differs between the two states of this kind; what ``scope`` does not own never does."""
        ...
