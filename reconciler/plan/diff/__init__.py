"""Two states to changes: the one definition of difference, whatever engine performs it.

Scope and ignore are applied to both sides *before* anything is compared: what is outside is never a difference.
What could not be read is never a difference either: it is listed as skipped, and nothing is planned against it.
"""

from reconciler.model.desired import DesiredState
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.diff.kinds import KINDS
from reconciler.plan.difference import Comparison, DiffRules


def compare(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Compare every kind of resource; the answer does not depend on the order of either input."""
    return sum((kind.differences(desired, live, scope, rules) for kind in KINDS), Comparison())


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """What the manifests say, by now, against a change that was planned earlier; ``None``: nothing."""
    return next(filter(None, (kind.objection(change, desired, rules) for kind in KINDS)), None)
