"""ACLs: bindings are created and deleted, never updated.

The order, its proof, bridges and the access review are about bindings only; they take them from the functions below.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import filterfalse
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from reconciler.codec.values import BINDING, created, deleted
from reconciler.model.acl import AclBinding, AclPermissionType, ResourceType
from reconciler.model.addresses import RANGES_LEVEL, RANGES_SINCE
from reconciler.model.characters import as_name
from reconciler.model.desired import Declaration, DesiredState
from reconciler.model.flavor import Flavor, release_text
from reconciler.model.listing import AclChange, Change, Create, Delete, resource_of
from reconciler.model.scope import Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Comparison, DeclaredChange, DiffRules
from reconciler.plan.kinds.interface import Conditions, Kind, LackingRight, PhaseContext
from reconciler.plan.observed import DONE, PENDING, Observed
from reconciler.plan.phase import Phase
from reconciler.policy.laws import ACL, Law

CREATE_ACL: Final = "CreateAcl"
DELETE_ACL: Final = "DeleteAcl"
#: What a change of a binding is, by the name of its action.
ACL_CHANGES: Final[Mapping[str, Callable[[AclBinding], AclChange]]] = MappingProxyType(
    {CREATE_ACL: Create, DELETE_ACL: Delete}
)


def touched_binding(change: Change) -> AclBinding | None:
    """The binding that a change creates or deletes; ``None`` where it is a change of something else."""
    # Asked a dozen times for each step: a match of class patterns takes twice as long.
    side = change.after if isinstance(change, Create) else change.before if isinstance(change, Delete) else None
    return side if isinstance(side, AclBinding) else None


def created_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes create, in order."""
    return [c.after for c in changes if isinstance(c, Create) and isinstance(c.after, AclBinding)]


def deleted_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes delete, in order."""
    return [c.before for c in changes if isinstance(c, Delete) and isinstance(c.before, AclBinding)]


def touched_bindings(changes: Iterable[Change]) -> list[AclBinding]:
    """The bindings that changes create or delete, in order."""
    return [binding for change in changes if (binding := touched_binding(change)) is not None]


def is_acl_change(change: Change) -> TypeGuard[AclChange]:
    """Whether a change creates or deletes a binding."""
    return touched_binding(change) is not None


def _binding(change: Change) -> AclBinding:
    if (binding := touched_binding(change)) is None:
        raise TypeError(f"{change!r} is not a change of an ACL")
    return binding


class Acls(Kind):
    """ACL bindings."""

    types = (AclBinding,)
    codecs = MappingProxyType({CREATE_ACL: created(BINDING), DELETE_ACL: deleted(BINDING)})

    def law(self, change: Change) -> Law:
        """The one of ACLs."""
        return ACL

    def action(self, change: Change) -> str:
        """``CreateAcl`` or ``DeleteAcl``."""
        return CREATE_ACL if isinstance(change, Create) else DELETE_ACL

    def describe(self, change: Change) -> str:
        """``create User:alice ALLOW READ on TOPIC payments.orders``."""
        return f"{'create' if isinstance(change, Create) else 'delete'} {touched_binding(change)}"

    def key(self, change: Change) -> tuple[str, Any]:
        """By binding."""
        return "", touched_binding(change)

    def is_reversible(self, change: Change) -> bool:
        """Always: a binding that went can be created again."""
        return True

    def touches(self, change: Change) -> frozenset[object]:
        """The binding."""
        return frozenset((touched_binding(change),))

    def is_destructive(self, change: Change) -> bool:
        """Whether it takes a grant or a restriction away."""
        return isinstance(change, Delete)

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """DENYs come before ALLOWs and go after them; what a deleted topic is covered by waits for the deletion."""
        binding, created = _binding(change), isinstance(change, Create)
        pattern, entry = binding
        # In its own phase it would come after the first binding on the cluster, which shuts out us and the brokers.
        if binding in context.lockout_protection:
            return Phase.CREATE_FIRST if created else Phase.DELETE_LAST
        allows = entry.permission_type is AclPermissionType.ALLOW
        if created:
            return Phase.CREATE_ALLOW if allows else Phase.CREATE_DENY
        if not allows:
            return Phase.DELETE_DENY
        # While the topic lives, this ALLOW is what keeps default-allow from opening it to everybody.
        waits = pattern.resource_type is ResourceType.TOPIC and any(map(pattern.matches, context.opened))
        return Phase.DELETE_WAITING_ALLOW if waits else Phase.DELETE_ALLOW

    def first_step(self, change: Change, flavor: Flavor) -> None:
        """None: a binding is there or it is not."""

    def observe(self, change: Change, live: ClusterState) -> Observed:
        """Bindings cannot be stale: they are there or they are not."""
        return DONE if (_binding(change) in live.bindings) is isinstance(change, Create) else PENDING

    def lacking_right(self, live: ClusterState) -> LackingRight | None:
        """ALTER on the cluster."""
        return LackingRight("change ACLs", "ALTER") if live.may_alter_acls is False else None

    def obstacle(self, change: Change, conditions: Conditions) -> str | None:
        """An ALLOW of a principal that the operator's file locks: no word of a proposal outweighs it."""
        for binding in created_bindings([change]) if conditions.locked else ():
            principal, permission = binding.entry.principal, binding.entry.permission_type
            if principal in conditions.locked and permission is AclPermissionType.ALLOW:
                return f"the operator's file locks {as_name(principal)}: no plan gives it access"
        return None

    def unsupported(self, change: Change, live: ClusterState) -> str | None:
        """A range that is created: brokers before 4.4 store it as a text that no address equals.

        A DENY on it would deny nobody. Controllers of 4.4 refuse it below the level of ``metadata.version`` that has
        them.
        """
        host = next((binding.entry.host for binding in created_bindings([change])), "")
        if "/" not in host:
            return None
        version, level = live.kafka_version, live.metadata_version
        if version is not None and version >= RANGES_SINCE:
            if level is None or level >= RANGES_LEVEL:
                return None
            why = f"metadata.version {RANGES_LEVEL} (4.4-IV1), and the cluster's is {level}: finalize it first"
            return f"the host {host} is a range, which needs {why}"
        if version is not None:
            why = f"the cluster runs {release_text(version)}"
        else:
            why = live.kafka_version_gap or "the cluster does not say that it runs it"
        return f"the host {host} is a range, which needs Kafka 4.4, and {why}"

    def is_selected(self, change: Change, selector: Selector) -> bool:
        """By principal and resource."""
        return selector.selects(_binding(change))

    def differences(self, desired: DesiredState, live: ClusterState, scope: Scope, rules: DiffRules) -> Comparison:
        """Creates and deletes, each sorted; whoever is silent about an owned binding wants it gone."""
        # By scope before anything is compared: what is not owned is in neither difference, so it cannot look deletable.
        others = scope.not_owned(live.bindings)
        ignored = sum(1 for binding in others if scope.ignores(binding))
        # No set is copied that differs in nothing: of a large cluster each takes 100 MB.
        owned = live.bindings.difference(others) if others else live.bindings
        wanted = desired.bindings
        missing, unwanted = _apart(owned, wanted)
        return Comparison(
            changes=(
                *(DeclaredChange(Create(binding), wanted[binding]) for binding in missing),
                *(DeclaredChange(Delete(binding), desired.expired.get(binding)) for binding in unwanted),
            ),
            owned=len(owned),
            ignored=ignored,
            outside=len(live.bindings) - len(owned) - ignored,
        )

    def objection(self, change: Change, desired: DesiredState, rules: DiffRules) -> str | None:
        """A binding to create has to be declared, one to delete must not be."""
        match change:
            case Create(AclBinding() as binding) if binding not in desired.bindings:
                return "to be declared, and not over" if binding in desired.expired else "to be declared"
            case Delete(AclBinding() as binding) if binding in desired.bindings:
                return "not to be declared"
        return None

    def has_ended(self, change: Change, desired: DesiredState) -> bool:
        """By the binding."""
        return resource_of(change) in desired.expired


#: A set of so many bindings more takes some 20 MB.
_FEW: Final = 200_000


def _apart(
    owned: frozenset[AclBinding], wanted: Mapping[AclBinding, Declaration]
) -> tuple[list[AclBinding], list[AclBinding]]:
    """What is wanted and not owned, and what is owned and not wanted, each sorted."""
    if len(wanted) <= _FEW:
        # A third set makes each declared binding once, and does without asking for any of those that are owned.
        declared = frozenset(wanted)
        return sorted(declared - owned), sorted(owned - declared)
    # Nor is a difference made of a set and a mapping: that begins as a copy of the set.
    missing = sorted(filterfalse(owned.__contains__, wanted))
    # Mostly all that is owned is wanted. Numbers show it, and asking each takes as long again.
    all_wanted = len(wanted) - len(missing) == len(owned)
    return missing, [] if all_wanted else sorted(filterfalse(wanted.__contains__, owned))


KIND: Final = Acls()
