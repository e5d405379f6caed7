"""ACLs: a set of declared bindings against the set of live ones. A binding is its own identity: it never changes."""

from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules


def differences(desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
    """Creates and deletes, each sorted; whoever is silent about an owned binding wants it gone."""
    # By scope before anything is compared: what is not owned is in neither difference, so it cannot look deletable.
    others = [binding for binding in live.bindings if not scope.owns(binding)]
    ignored = sum(1 for binding in others if scope.ignores(binding))
    # No set is copied that differs in nothing: of a large cluster each takes 100 MB.
    owned = live.bindings.difference(others) if others else live.bindings
    wanted = desired.bindings
    # Nor is a difference made of a set and a mapping: that begins as a copy of the set.
    missing = sorted(item for item in wanted if item not in owned)
    unwanted = sorted(item for item in owned if item not in wanted)
    return Comparison(
        changes=(
            *(DeclaredChange(Create(binding), wanted[binding]) for binding in missing),
            *(DeclaredChange(Delete(binding), desired.expired.get(binding)) for binding in unwanted),
        ),
        owned=len(owned),
        ignored=ignored,
        outside=len(live.bindings) - len(owned) - ignored,
    )


def objection(change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
    """A binding to create has to be declared, one to delete must not be."""
    match change:
        case Create(AclBinding() as binding) if binding not in desired.bindings:
            return "to be declared, and not over" if binding in desired.expired else "to be declared"
        case Delete(AclBinding() as binding) if binding in desired.bindings:
            return "not to be declared"
    return None
