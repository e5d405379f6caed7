"""Conditional steps as a plan file spells them: sentinels, barriers and bridges.

Apply puts them there and takes them away again, as far as it finds their condition fulfilled, so they are no part of
what a plan changes nor of its ids. ``<run>`` stands for the name that apply draws, ``<number>`` for the barrier's.
"""

from collections.abc import Iterator
from typing import Any, Final

from reconciler.model import PatternType, ResourcePattern, ResourceType
from reconciler.plan.default_allow.bridge import Bridge, Bridges, Means, Side, Unbridged
from reconciler.plan.file.binding_form import pattern_from, pattern_side
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.phase import Phase, barriers
from reconciler.plan.proposal import Plan

_START: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.", PatternType.PREFIXED)
_BARRIER: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.<number>")


def possible_barriers(plan: Plan) -> tuple[Phase, ...]:
    """After which phases a barrier may stand: those that the steps call for, and those that only bridges do."""
    phases = {step.phase for step in plan.steps}
    return barriers({*phases, Phase.CREATE_FIRST, Phase.DELETE_LAST}) if plan.bridges.wanted else plan.barriers


def conditional_side(plan: Plan) -> list[dict[str, Any]]:
    """The conditional steps in the order in which apply comes to them."""
    return list(_items(plan))


def _items(plan: Plan) -> Iterator[dict[str, Any]]:
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield {"kind": "sentinel", "phase": int(Phase.CREATE_FIRST), "principal": probe, **pattern_side(_START)}
    for bridge in plan.bridges.wanted:
        yield {
            "kind": "bridge",
            "phase": int(Phase.CREATE_FIRST),
            "untilPhase": int(Phase.DELETE_LAST),
            "condition": "default-allow is observed on every broker",
            "side": str(bridge.side),
            "means": str(bridge.means),
            "principals": list(bridge.principals),
            **pattern_side(bridge.pattern),
        }
    for phase in possible_barriers(plan):
        item: dict[str, Any] = {"kind": "barrier", "phase": int(phase), "onlyForBridges": phase not in plan.barriers}
        if probe is None:
            yield {**item, "waitSeconds": plan.terms.barrier_wait}
        else:
            yield {**item, "principal": probe, **pattern_side(_BARRIER)}


def unbridged_side(plan: Plan) -> list[dict[str, Any]]:
    """What changes its coverage without a bridge."""
    return [
        {
            **pattern_side(item.pattern),
            "side": str(item.side),
            "reason": item.reason,
            "principals": list(item.principals),
        }
        for item in plan.bridges.unbridged
    ]


def bridges_from(conditional: list[dict[str, Any]], unbridged: list[dict[str, Any]]) -> Bridges:
    """The inverse; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    return Bridges(
        tuple(
            Bridge(pattern_from(item), Side(item["side"]), Means(item["means"]), tuple(item["principals"]))
            for item in conditional
            if item["kind"] == "bridge"
        ),
        tuple(
            Unbridged(pattern_from(item), Side(item["side"]), item["reason"], tuple(item["principals"]))
            for item in unbridged
        ),
    )
