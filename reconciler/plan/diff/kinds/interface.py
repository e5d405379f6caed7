"""What a comparison asks of a kind of resource. Each other module here is one kind and has these functions."""

from typing import Protocol

from reconciler.model.desired import DesiredState
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DiffRules


class Kind(Protocol):
    """A kind of resource."""

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """What differs between the two states of this kind; what ``scope`` does not own never does."""
        ...

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """What the manifests say against a change that was planned earlier, in words for a person.

        ``None``: nothing, or the change is of another kind. What has merely expired by now is no objection: that is
        refused by its last day.
        """
        ...
