"""Conditional steps of a plan as text: what apply keeps open while it runs, and whom it may refuse for a moment."""

from collections.abc import Iterator
from typing import Final

from reconciler.plan import Bridge, Means, Phase, Plan, is_acl_change, possible_barriers
from reconciler.plan.default_allow.bridge import Unbridged
from reconciler.report.folding import first_lines
from reconciler.report.style import Style, counted, safe
from reconciler.report.words import pattern_words

_IF: Final = "only where every broker is seen to have default-allow"
_OWN: Final = {
    Means.CREATED_FIRST: "the plan's own ALLOW User:* ALL is created here",
    Means.DELETED_LAST: "the plan's own ALLOW User:* ALL is deleted last",
}


def stage_number(plan: Plan, phase: Phase) -> int:
    """The number of a phase among those that are sent: bridges are created before all of them, and have an end."""
    number = 1 + len({step.phase for step in plan.steps if step.phase < phase})
    if not plan.bridges.wanted:
        return number
    return number + (2 if phase > Phase.DELETE_LAST else 1)


def opening_lines(plan: Plan, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What precedes the first step: the probe's sentinels, and bridges."""
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield ""
        yield style("dim", f"── sentinels: {safe(probe)} on names under __kr.<run>., until the end ──")
    if plan.bridges.wanted:
        yield ""
        yield style("title", f"1. create bridges, {_IF}")
        bridges = [style("change", f"  ? {_bridge(bridge)}") for bridge in plan.bridges.wanted]
        yield from first_lines(bridges, expand=expand)


def removal_lines(plan: Plan, style: Style) -> Iterator[str]:
    """Where bridges go: behind every ACL, and before quotas, group configs and moves of replicas."""
    if not plan.bridges.wanted:
        return
    covered = [step.phase for step in plan.steps if step.phase <= Phase.DELETE_LAST]
    if any(phase >= max(covered) for phase in possible_barriers(plan)):
        yield style("dim", "── barrier, for bridges ──")
    yield ""
    yield style("title", f"{stage_number(plan, Phase.DELETE_LAST) + (Phase.DELETE_LAST in covered)}. remove bridges")
    yield style("change", f"  ? {counted(len(plan.bridges.wanted), 'bridge')}")


def unbridged_lines(plan: Plan, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What nothing keeps open."""
    if plan.bridges.unbridged:
        yield ""
        yield style("title", f"Changes its coverage without a bridge ({len(plan.bridges.unbridged):,})")
        for text in first_lines([_unbridged(item, style) for item in plan.bridges.unbridged], expand=expand):
            yield from text.split("\n")


def _unbridged(item: Unbridged, style: Style) -> str:
    who = ", ".join(map(safe, item.principals))
    whom = f"{who} may be refused for a moment" if who else "nobody is permitted both before and after"
    said = style("warn", f"  {safe(pattern_words(item.pattern))}: {whom}")
    return said + "\n" + style("dim", f"      {safe(item.reason)}")


def _bridge(bridge: Bridge) -> str:
    how = _OWN.get(bridge.means, f"as open as {'before' if bridge.side == 'closing' else 'after'} the plan")
    return f"{safe(pattern_words(bridge.pattern))}: {how}"
