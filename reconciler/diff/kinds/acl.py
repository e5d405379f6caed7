"""ACLs: a set of declared bindings against the set of live ones. A binding is its own identity: it never changes."""

from reconciler.diff.difference import Comparison, DeclaredChange, DiffRules
from reconciler.model import AclBinding, Change, ClusterState, Create, Delete, DesiredState, Scope


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Creates and deletes, each sorted; whoever is silent about an owned binding wants it gone."""
    # By scope before anything is compared: what is not owned is in neither difference, so it cannot look deletable.
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


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """A binding to create has to be declared, one to delete must not be."""
    match change:
        case Create(AclBinding() as binding) if binding not in desired.bindings and binding not in desired.expired:
            return "to be declared"
        case Delete(AclBinding() as binding) if binding in desired.bindings:
            return "not to be declared"
    return None
