"""The authorizer before and after a plan's steps: what guards, the access review and the proof have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from reconciler.access import AccessDifference, Authorizer, compare_access
from reconciler.model import AclBinding, ClusterState, Selector, is_reserved
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.step import Step


@dataclass(frozen=True, slots=True)
class Facts:
    """What the declaration says of principals: our own, the brokers', super users, and what must not change."""

    principal: str | None = None
    inter_broker_principals: tuple[str, ...] = ()
    super_users: tuple[str, ...] = ()
    protect: tuple[Selector, ...] = ()


@dataclass(frozen=True)
class Transition:
    """What steps do to a state's bindings. Names under ``__kr.`` are ours for a moment, and mean nothing here."""

    before: Authorizer
    after: Authorizer
    created: tuple[AclBinding, ...]
    deleted: tuple[AclBinding, ...]

    @cached_property
    def difference(self) -> AccessDifference:
        """Who gains and who loses what; computed once, when it is first asked for."""
        return compare_access(self.before, self.after)


def transition(
    live: ClusterState, steps: Iterable[Step], facts: Facts, *, default_allow: bool | None
) -> Transition | None:
    """The transition from ``live``, on all live bindings whatever the scope is; ``None`` if no binding is touched."""
    changes = [step.change for step in steps]
    created, deleted = created_bindings(changes), deleted_bindings(changes)
    if not created and not deleted:
        return None
    lasting = [binding for binding in live.bindings if not is_reserved(binding.pattern.name)]
    before = Authorizer(lasting, facts.super_users, default_allow, live.kafka_version, opaque=live.opaque)
    return Transition(before, before.with_changes(created, deleted), tuple(created), tuple(deleted))
