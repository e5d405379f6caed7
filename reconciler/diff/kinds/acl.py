"""ACLs: a set of declared bindings against the set of live ones. A binding is its own identity: it never changes."""

from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules
from reconciler.model import ClusterState, Create, Delete, DesiredState, Scope


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Creates and deletes, each sorted; whoever is silent about an owned binding wants it gone."""
    owned = frozenset(binding for binding in live.bindings if scope.owns(binding))
    ignored = sum(1 for binding in live.bindings - owned if scope.ignores(binding))
    wanted = desired.bindings.keys()
    return Comparison(
        changes=(
            *(DeclaredChange(Create(binding), desired.bindings[binding]) for binding in sorted(wanted - owned)),
            *(DeclaredChange(Delete(binding), desired.expired.get(binding)) for binding in sorted(owned - wanted)),
        ),
        owned=len(owned),
        ignored=ignored,
        outside=len(live.bindings) - len(owned) - ignored,
    )
