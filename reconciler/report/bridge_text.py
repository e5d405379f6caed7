"""Conditional steps of a plan in words: what apply keeps open while it runs, and whom it may refuse for a moment."""

from collections.abc import Iterator
from typing import Final

from reconciler.plan import Bridge, Means, Phase, Plan, is_acl_change, possible_barriers
from reconciler.plan.default_allow.bridge import Unbridged
from reconciler.report.document import Row, Section, SectionName, first_rows
from reconciler.report.style import counted
from reconciler.report.words import pattern_words

_IF: Final = "only where every broker is seen to have default-allow"
_OWN: Final = {
    Means.CREATED_FIRST: "the plan's own ALLOW User:* ALL is created here",
    Means.DELETED_LAST: "the plan's own ALLOW User:* ALL is deleted last",
}


def stage_number(plan: Plan, phase: Phase) -> int:
    """The number of a phase among those that are sent: temporary ACLs are created before all others, and go again."""
    number = 1 + len({step.phase for step in plan.steps if step.phase < phase})
    if not plan.bridges.wanted:
        return number
    return number + (2 if phase > Phase.DELETE_LAST else 1)


def opening_sections(plan: Plan, *, expand: bool = False) -> Iterator[Section]:
    """What precedes the first step: the probe's ACLs, and temporary allow-all ACLs."""
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield Section(SectionName.NOTES, "", closing=f"probe ACLs: {probe} on names under __kr.<run>., until the end")
    if plan.bridges.wanted:
        rows = [Row(_bridge(bridge), "?", "change") for bridge in plan.bridges.wanted]
        yield Section(SectionName.NOTES, f"1. create temporary allow-all ACLs, {_IF}", first_rows(rows, expand=expand))


def removal_sections(plan: Plan) -> Iterator[Section]:
    """Where temporary ACLs go: behind every ACL, and before quotas, group configs and moves of replicas."""
    if not plan.bridges.wanted:
        return
    covered = [step.phase for step in plan.steps if step.phase <= Phase.DELETE_LAST]
    if any(phase >= max(covered) for phase in possible_barriers(plan)):
        yield Section(SectionName.NOTES, "", closing="propagation check, for temporary allow-all ACLs")
    number = stage_number(plan, Phase.DELETE_LAST) + (Phase.DELETE_LAST in covered)
    row = Row(counted(len(plan.bridges.wanted), "temporary allow-all ACL"), "?", "change")
    yield Section(SectionName.NOTES, f"{number}. delete temporary allow-all ACLs", (row,))


def unbridged_sections(plan: Plan, *, expand: bool = False) -> Iterator[Section]:
    """What nothing keeps open."""
    found = plan.bridges.unbridged
    if found:
        title = "Changes its coverage without a temporary allow-all ACL"
        yield Section(SectionName.NOTES, title, first_rows(map(_unbridged, found), expand=expand), len(found))


def _unbridged(item: Unbridged) -> Row:
    who = ", ".join(item.principals)
    whom = f"{who} may be refused for a moment" if who else "nobody is permitted both before and after"
    return Row(f"{pattern_words(item.pattern)}: {whom}", role="warn", below=(Row(item.reason, role="dim"),))


def _bridge(bridge: Bridge) -> str:
    how = _OWN.get(bridge.means, f"as open as {'before' if bridge.side == 'closing' else 'after'} the plan")
    return f"{pattern_words(bridge.pattern)}: {how}"
