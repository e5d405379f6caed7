"""What says that a right stays, whatever was seen of it: its rule, its cluster, its age, access tests."""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from reconciler.access import Authorizer, compare_access
from reconciler.fleet.tighten import Held, HeldReason, Narrowing
from reconciler.fleet.tighten.suggestion import Hold
from reconciler.manifest import ClusterDeclaration, Manifests
from reconciler.model import AclBinding, Declaration, DesiredState, Expiry
from reconciler.report.claim_results import ClaimStatus
from reconciler.workflow.access_checks import decide_tests
from reconciler.workflow.promise import instants
from reconciler.workflow.tightening.rewriting import narrower
from reconciler.workflow.tightening.state import TightenScope

#: Since when rights are declared: those that were when the logs begin, and the day. ``None``: no history says so.
History: TypeAlias = tuple[Collection[AclBinding] | None, datetime.date | None]


def holder(
    scope: TightenScope,
    history: History | None,
    others: Mapping[str, Mapping[AclBinding, Declaration]],
) -> Hold:
    """Why a right of a cluster stays; ``history`` is ``None`` where rules of any age may be narrowed.

    ``others`` declare what is declared for clusters of which the logs say nothing.
    """
    declaration, owned = scope.declaration, scope.owned
    operating = {declaration.principal, *declaration.inter_broker_principals}
    operating |= {declaration.probe.principal} if declaration.probe else set()

    def hold(binding: AclBinding) -> Held | None:
        said, principal = scope.desired.bindings[binding], binding.entry.principal
        if said.keep is not None:
            return Held(binding, HeldReason.KEEP, said.keep)
        if binding in owned:
            return Held(binding, HeldReason.OWNER)
        sharing = [other for other, known in others.items() if _same_place(known.get(binding), said)]
        if sharing:
            return Held(binding, HeldReason.SHARED, ", ".join(sharing))
        if _is_protected(declaration, binding):
            return Held(binding, HeldReason.PROTECTED)
        if principal in operating:
            return Held(binding, HeldReason.OPERATING)
        if principal in scope.super_users:
            return Held(binding, HeldReason.SUPER_USER)
        return None if history is None else _too_young(binding, *history)

    return hold


def _too_young(binding: AclBinding, then: Collection[AclBinding] | None, first: datetime.date | None) -> Held | None:
    if then is None:
        return Held(binding, HeldReason.NO_HISTORY)
    return None if binding in then else Held(binding, HeldReason.YOUNG, f"on {first}")


def _same_place(one: Declaration | None, other: Declaration) -> bool:
    return one is not None and one.origin == other.origin


def _is_protected(declaration: ClusterDeclaration, binding: AclBinding) -> bool:
    """Whether a plan might be refused for what this binding grants."""
    for item in declaration.protect:
        theirs = item.principals is None or item.principals.selects_principal(binding.entry.principal)
        if not theirs:
            continue
        if item.names is None or item.resource_type is None:
            return True
        if any(own.overlaps(binding.pattern) for own in item.names.patterns(item.resource_type)):
            return True
    return False


def later_too(
    today: Callable[[Authorizer], bool],
    before: Authorizer,
    desired: DesiredState,
    suggested: Sequence[Narrowing],
    day: datetime.date,
) -> Callable[[Authorizer], bool]:
    """Whether other rights hold ``today``, and with them nobody gains anything whenever something ends after the day.

    What is right today may open a topic later, when an ACL ends that alone was left of its ACLs.
    """
    narrowed = narrower(desired, suggested)
    sides = [{one: said.expires for one, said in state.bindings.items()} for state in (desired, narrowed)]
    later = instants((desired, narrowed), day)[1:]

    def left(rights: Authorizer, ends: Mapping[AclBinding, Expiry | None], when: datetime.date) -> Authorizer:
        there = rights.bindings
        return rights.with_changes(
            removed=[one for one, end in ends.items() if end and end.over(when) and one in there]
        )

    def hold(rights: Authorizer) -> bool:
        if not today(rights):
            return False
        for when in later:
            difference = compare_access(left(before, sides[0], when), left(rights, {**sides[0], **sides[1]}, when))
            if any(row.gained for row in (*difference.rows, *difference.reached())):
                return False
        return True

    return hold


def tests_hold(
    manifests: Manifests, cluster: str, before: Authorizer, day: datetime.date, *, live: bool
) -> Callable[[Authorizer], bool]:
    """Whether the access tests that pass before pass with other rights."""

    def passing(rights: Authorizer) -> frozenset[object]:
        results = decide_tests(manifests, cluster, lambda: rights, day, live=live)
        return frozenset((one.test.origin, one.test.name) for one in results if one.standing is ClaimStatus.PASSED)

    passed = passing(before)
    return lambda rights: not passed or passed <= passing(rights)
