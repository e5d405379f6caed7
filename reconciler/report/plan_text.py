"""A plan as text: what will be sent, in the order in which it will be sent, then what stays and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.model import moment_text
from reconciler.plan import TITLES, Phase, Plan, Refusal, plan_id
from reconciler.plan.review.callouts import INTERRUPTED
from reconciler.report.access_lines import AccessLine
from reconciler.report.bridge_text import opening_lines, removal_lines, stage_number, unbridged_lines
from reconciler.report.coverage_words import coverage_words
from reconciler.report.facts_text import facts_lines
from reconciler.report.folding import first_lines, lines_shown
from reconciler.report.gaining_words import GAINING_TITLE, gaining_words
from reconciler.report.guardrails_text import guardrail_lines
from reconciler.report.irreversible_lines import irreversible_lines
from reconciler.report.kinds import KINDS, VERBS, kind_of, sign_of
from reconciler.report.review_text import access_lines_of, access_title, callouts_shown, cut_words, review_lines
from reconciler.report.skipped_lines import SkippedGroup, skipped_groups
from reconciler.report.step_lines import StepLine, note_lines, step_lines, steps_shown
from reconciler.report.style import Style, counted, plain, safe
from reconciler.report.validation_text import validation_lines
from reconciler.report.words import accepted_words

_STYLES: Final = {"+": "add", "-": "remove", "~": "change"}


def plan_lines(
    plan: Plan, style: Style = plain, *, expand: bool = False, drift: bool = False, agreed: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the lines; with ``expand`` every binding has its own, otherwise operations on one pattern share it.

    With ``drift`` it is a report on what a plan would do, and nobody's proposal. ``agreed`` are lines about what holds
    beside the plan: they come before the verdict.
    """
    steps, skipped = list(step_lines(plan, expand=expand)), list(skipped_groups(plan, expand=expand))
    access = access_lines_of(plan.access, expand=expand) if plan.steps or plan.access.access_changes else []
    if cut := _cut_words(plan, steps, skipped, access, expand=expand):
        yield style("warn", f"{cut}, the gravest first; --expand shows the others")
    yield from guardrail_lines(plan.guardrails, style)
    yield from _head(plan, "Drift of" if drift else "Plan for", style)
    if plan.steps or access:
        yield ""
        yield from review_lines(plan.access, style, expand=expand, lines=access)
    yield from opening_lines(plan, style, expand=expand)
    phases = [step.phase for step in plan.steps]
    removal = removal_lines(plan, style)
    for phase, found in groupby(steps, lambda line: line.phase):
        if phase > Phase.DELETE_LAST:
            yield from removal
        lines = list(found)
        yield ""
        yield style("title", f"{stage_number(plan, phase)}. {TITLES[phase]}{_many(lines)}")
        for line in lines:
            yield from _line(line, style)
        for about, note in note_lines(lines):
            yield style("dim", f"  note{'' if about == 1 else f' on these {about:,}'}: {safe(note)}")
        following = next((later for later in phases if later > phase), None)
        if following is not None and any(phase <= barrier < following for barrier in plan.barriers):
            yield style("dim", f"── barrier: {_barrier(plan)} ──")
    yield from removal
    yield from unbridged_lines(plan, style, expand=expand)
    yield from _irreversible(plan, style, expand=expand)
    yield from _left(skipped, style)
    yield from _gaining(plan, style, expand=expand)
    yield from _coverage(plan, style, expand=expand)
    yield from _warnings(plan, style, expand=expand)
    yield from validation_lines(plan.topics.validation, style)
    yield from _accepted(plan, style, expand=expand)
    if expand:
        yield from facts_lines(plan.terms, style)
    yield from refusal_lines(plan.refusals, style, expand=expand)
    told = list(agreed)
    yield from ["", *told] if told else []
    yield ""
    yield from _summary(plan, style, drift=drift)


def headline(plan: Plan, style: Style = plain) -> Iterator[str]:
    """What a plan does to access and how many steps it has, in three lines; and what a guard refuses now."""
    yield from _head(plan, "Plan for", style)[:1]
    if not plan.steps:
        if plan.access.access_changes:
            yield f"Access: {access_title(plan.access)}"
        yield from refusal_lines(plan.refusals, style)
        yield from _summary(plan, style)
        return
    if plan.refused:
        yield style("error", _left_out(plan))
    yield f"Access: {access_title(plan.access)}"
    yield style("title", _counted(plan))
    yield from refusal_lines(plan.refusals, style)


def _barrier(plan: Plan) -> str:
    terms = plan.terms
    if terms.probe is None:
        return f"wait {terms.barrier_wait:g} s for the ACLs to reach every broker"
    named = f"brokers {', '.join(map(str, terms.brokers))} and any other" if terms.brokers else "every broker"
    return f"{named}, and the active controller, prove to {safe(terms.probe)} that they enforce what was sent"


def _head(plan: Plan, what: str, style: Style) -> list[str]:
    counts = plan.counts
    parts = [f"{counts.owned:,} in scope", f"{counts.outside:,} outside", f"{counts.ignored:,} ignored"]
    parts += [f"{counts.opaque:,} that cannot be named"] if counts.opaque else []
    return [
        style("title", f"{what} cluster {safe(plan.terms.cluster)}")
        + style("dim", f"  as of {moment_text(plan.as_of)}, seen by one broker"),
        f"  declared  {counted(counts.desired_bindings, 'binding')}, {counted(counts.desired_topics, 'topic')}",
        f"  live      {counted(counts.live_bindings, 'binding')} ({', '.join(parts)}), "
        f"{counted(counts.live_topics, 'topic')}",
    ]


def _line(line: StepLine, style: Style) -> Iterator[str]:
    role = _STYLES[line.sign]
    effect = style("dim", f"  [{safe(line.effect)}]") if line.effect else ""
    place = "" if line.origin is None else str(line.origin)
    end = "".join(f"  {safe(text)}" for text in (line.until, place, line.why) if text)
    yield style(role, f"  {line.sign} {safe(line.words)}") + effect + (style("dim", end) if end else "")
    yield from (style(detail.role, f"      {safe(detail.text)}") for detail in line.details)
    yield from _names(line.names, line.unnamed, style, "      ")


def _names(names: Sequence[str], unnamed: int, style: Style, indent: str) -> Iterator[str]:
    """The first names of rows that share a line."""
    if names:
        more = f" and {unnamed:,} more; --expand shows each" if unnamed else ""
        yield style("dim", f"{indent}{', '.join(map(safe, names))}{more}")


def _many(lines: Sequence[StepLine]) -> str:
    """How many steps a phase has, where its lines do not show that."""
    shown, total = steps_shown(lines)
    return "" if shown == total else f" ({total:,})"


def _cut_words(
    plan: Plan,
    steps: Sequence[StepLine],
    skipped: Sequence[SkippedGroup],
    access: Sequence[AccessLine],
    *,
    expand: bool,
) -> str:
    """``40 of 3,996 rows of access shown, 12 of 10,500 steps``: what a reader has to know before anything else."""
    shown, total = steps_shown(steps)
    left = sum(group.total for group in skipped)
    named = left - sum(group.unnamed for group in skipped)
    callouts = len(plan.access.callouts)
    parts = [cut_words(plan.access, expand=expand, lines=access) if access else ""]
    guards = Counter(refusal.guard for refusal in plan.refusals)
    refusals = sum(lines_shown(count, expand=expand) for count in guards.values())
    for some, whole, what in (
        (refusals, len(plan.refusals), "refusals"),
        (callouts_shown(plan.access, expand=expand), callouts, "callouts"),
        (shown, total, "steps"),
        (named, left, "items not changed"),
    ):
        if some < whole:
            parts.append(f"{some:,} of {whole:,} {what}{'' if any(parts) else ' shown'}")
    return ", ".join(filter(None, parts))


def _irreversible(plan: Plan, style: Style, *, expand: bool) -> Iterator[str]:
    lines = list(irreversible_lines(plan, expand=expand))
    if lines:
        yield ""
        yield style("title", f"Cannot be undone ({sum(not step.reversible for step in plan.steps):,})")
    for sentence, names, unnamed in lines:
        yield f"  {safe(sentence)}"
        yield from _names(names, unnamed, style, "      ")


def _left(groups: Sequence[SkippedGroup], style: Style) -> Iterator[str]:
    if not groups:
        return
    yield ""
    yield style("title", f"Not changed ({sum(group.total for group in groups):,})")
    for group in groups:
        yield style("warn", f"  {group.reason}: {safe(group.detail)}")
        for line in group.lines:
            origin = "" if line.origin is None else style("dim", f"  {safe(str(line.origin))}")
            yield f"    {safe(line.text)}{origin}"
            yield from _names(line.names, line.unnamed, style, "        ")


def _gaining(plan: Plan, style: Style, *, expand: bool) -> Iterator[str]:
    if plan.gaining:
        yield ""
        yield style("title", f"{GAINING_TITLE} ({len(plan.gaining):,})")
    yield from first_lines([f"  {safe(text)}" for text in gaining_words(plan, expand=expand)], expand=expand)


def _coverage(plan: Plan, style: Style, *, expand: bool) -> Iterator[str]:
    for title, patterns in coverage_words(plan):
        yield ""
        yield style("title", f"{title} ({len(patterns):,})")
        yield from first_lines([f"    {safe(text)}" for text in patterns], expand=expand, most=10, indent="    ")


def _warnings(plan: Plan, style: Style, *, expand: bool) -> Iterator[str]:
    warnings = tuple(dict.fromkeys((*plan.warnings, *plan.login_warnings)))
    if warnings:
        yield ""
    yield from first_lines([style("warn", f"warning: {safe(text)}") for text in warnings], expand=expand)


def _accepted(plan: Plan, style: Style, *, expand: bool) -> Iterator[str]:
    if plan.acknowledgements:
        yield ""
        yield style("title", f"Accepted ({len(plan.acknowledgements):,})")
    yield from first_lines([f"  {safe(accepted_words(one))}" for one in plan.acknowledgements], expand=expand)


def refusal_lines(refusals: tuple[Refusal, ...], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """What guards refuse, and what a person can do about each; of very many objects of a guard the first."""
    if not refusals:
        return
    yield ""
    yield style("error", f"Refused ({len(refusals):,})")
    by_guard: dict[str, list[str]] = {}
    for refusal in refusals:
        said = style("error", f"  {refusal.guard}: {safe(refusal.message)}") + f"\n    {safe(refusal.remedy)}"
        by_guard.setdefault(refusal.guard, []).append(said)
    # No guard is hidden by the objects of another one.
    for said_of_one in by_guard.values():
        for text in first_lines(said_of_one, expand=expand, indent="    "):
            yield from text.split("\n")


def _summary(plan: Plan, style: Style, *, drift: bool = False) -> Iterator[str]:
    if plan.refused:
        yield style("error", _left_out(plan))
    if not plan.steps:
        yield style("title", "Nothing to do." if not plan.skipped else "Nothing that this plan is allowed to do.")
        return
    yield style("title", _counted(plan))
    if plan.moves_access:
        yield style("dim", f"Proven: {_proven(plan)}.")
    if not drift and not plan.stops:
        yield f"Approve with --require-id {plan_id(plan)}"


def _left_out(plan: Plan) -> str:
    are = "is" if len(plan.refused) == 1 else "are"
    return f"{counted(len(plan.refused), 'change')} {are} refused and not in this plan."


def _counted(plan: Plan) -> str:
    return f"{summary(plan)}. About {plan.estimated_seconds:g} s."


def _proven(plan: Plan) -> str:
    """What the proof of the order says; what is interrupted, or may be under default-allow, is listed elsewhere."""
    interrupted = any(callout.rule == INTERRUPTED for callout in plan.access.callouts)
    if plan.terms.established_default_allow is False and not interrupted:
        return "at no point does it permit what neither state permits, or refuse what both permit"
    return "at no point does it permit what neither state permits"


def summary(plan: Plan) -> str:
    """``3 bindings to create, 1 topic to alter``: one line that counts the steps."""
    counts = Counter((kind_of(step.change), sign_of(step.change)) for step in plan.steps)
    there = {kind for kind, _ in counts}
    kinds = (kind for kind in KINDS if kind in there)
    found = ((counts[kind, sign], kind.NOUN, verb) for kind in kinds for sign, verb in VERBS.items())
    return ", ".join(f"{counted(number, noun)} to {verb}" for number, noun, verb in found if number)
