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


def opening_lines(plan: Plan, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What precedes the first step: the probe's sentinels, and bridges."""
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield ""
        yield style("dim", f"── sentinels: {safe(probe)} on names under __kr.<run>., until the end ──")
    if plan.bridges.wanted:
        yield ""
        yield style("title", f"{int(Phase.CREATE_FIRST)}. create bridges, {_IF}")
        bridges = [style("change", f"  ? {_bridge(bridge)}") for bridge in plan.bridges.wanted]
        yield from first_lines(bridges, expand=expand)


def closing_lines(plan: Plan, style: Style, *, expand: bool = False) -> Iterator[str]:
    """What follows the last step, and what nothing keeps open."""
    bridges = plan.bridges
    if bridges.wanted:
        last = max(step.phase for step in plan.steps)
        if any(phase >= last for phase in possible_barriers(plan)):
            yield style("dim", "── barrier, for bridges ──")
        yield ""
        yield style("title", f"{int(Phase.DELETE_LAST)}. remove bridges")
        yield style("change", f"  ? {counted(len(bridges.wanted), 'bridge')}")
    if bridges.unbridged:
        yield ""
        yield style("title", f"Changes its coverage without a bridge ({len(bridges.unbridged):,})")
        for text in first_lines([_unbridged(item, style) for item in bridges.unbridged], expand=expand):
            yield from text.split("\n")


def _unbridged(item: Unbridged, style: Style) -> str:
    who = ", ".join(map(safe, item.principals))
    whom = f"{who} may be refused for a moment" if who else "nobody is permitted both before and after"
    said = style("warn", f"  {safe(pattern_words(item.pattern))}: {whom}")
    return said + "\n" + style("dim", f"      {safe(item.reason)}")


def _bridge(bridge: Bridge) -> str:
    how = _OWN.get(bridge.means, f"as open as {'before' if bridge.side == 'closing' else 'after'} the plan")
    return f"{safe(pattern_words(bridge.pattern))}: {how}"
