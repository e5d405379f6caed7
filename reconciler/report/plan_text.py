"""A plan as text: what will be sent, in the order in which it will be sent, then what stays and why."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from reconciler.diff import Skipped
from reconciler.plan import TITLES, Plan, Refusal, change_id, plan_id
from reconciler.plan.review.callouts import INTERRUPTED
from reconciler.plan.review.irreversible import irreversible
from reconciler.report.bridge_text import closing_lines, opening_lines
from reconciler.report.kinds import KINDS, VERBS, kind_of, sign_of
from reconciler.report.review_text import review_lines
from reconciler.report.step_lines import StepLine, step_lines
from reconciler.report.style import Style, counted, plain, safe
from reconciler.report.validation_text import validation_lines
from reconciler.report.words import accepted_words, pattern_words

_STYLES: Final = {"+": "add", "-": "remove", "~": "change"}
#: Of very many topics that get the same, so many names are shown.
_NAMED: Final = 20


def plan_lines(plan: Plan, style: Style = plain, *, expand: bool = False, drift: bool = False) -> Iterator[str]:
    """Yield the lines; with ``expand`` every binding has its own, otherwise operations on one pattern share it.

    With ``drift`` it is a report on what a plan would do, and nobody's proposal.
    """
    yield from _head(plan, "Drift of" if drift else "Plan for", style)
    if plan.steps:
        yield ""
        yield from review_lines(plan.access, style, expand=expand)
    yield from opening_lines(plan, style)
    phases = [step.phase for step in plan.steps]
    for number, (phase, lines) in enumerate(groupby(step_lines(plan, expand=expand), lambda line: line.phase), 1):
        yield ""
        yield style("title", f"{number}. {TITLES[phase]}")
        for line in lines:
            yield from _line(line, style)
        following = next((later for later in phases if later > phase), None)
        if following is not None and any(phase <= barrier < following for barrier in plan.barriers):
            yield style("dim", f"── barrier: {_barrier(plan)} ──")
    yield from closing_lines(plan, style)
    yield from _irreversible(plan, style)
    yield from _left(plan.skipped, style)
    yield from _coverage(plan, style)
    yield from _warnings(plan, style)
    yield from validation_lines(plan.topics.validation, style)
    yield from _accepted(plan, style)
    yield from refusal_lines(plan.refusals, style)
    yield ""
    yield from _summary(plan, style, expand=expand, drift=drift)


def _barrier(plan: Plan) -> str:
    terms = plan.terms
    if terms.probe is None:
        return f"wait {terms.barrier_wait:g} s for every broker to enforce what was sent"
    named = f"brokers {', '.join(map(str, terms.brokers))} and any other" if terms.brokers else "every broker"
    return f"{named}, and the active controller, prove to {safe(terms.probe)} that they enforce what was sent"


def _head(plan: Plan, what: str, style: Style) -> Iterator[str]:
    counts = plan.counts
    yield style("title", f"{what} cluster {safe(plan.terms.cluster)}") + style("dim", f"  as of {plan.as_of}")
    yield (
        f"Declared: {counted(counts.desired_bindings, 'binding')}, {counted(counts.desired_topics, 'topic')}. "
        f"Live, as seen by one broker: {counted(counts.live_bindings, 'binding')} "
        f"({counts.owned:,} in scope, {counts.outside:,} outside, {counts.ignored:,} ignored, "
        f"{counts.opaque:,} that cannot be named), {counted(counts.live_topics, 'topic')}."
    )


def _line(line: StepLine, style: Style) -> Iterator[str]:
    role = _STYLES[line.sign]
    effect = style("dim", f"  [{safe(line.effect)}]") if line.effect else ""
    place = "" if line.origin is None else str(line.origin)
    end = "".join(f"  {safe(text)}" for text in (line.until, place, line.why) if text)
    yield style(role, f"  {line.sign} {safe(line.words)}") + effect + (style("dim", end) if end else "")
    yield from (style(detail.role, f"      {safe(detail.text)}") for detail in line.details)
    if line.names:
        more = f" and {len(line.names) - _NAMED:,} more; --expand shows each" if len(line.names) > _NAMED else ""
        yield style("dim", f"      {', '.join(map(safe, line.names[:_NAMED]))}{more}")


def _irreversible(plan: Plan, style: Style) -> Iterator[str]:
    sentences = list(irreversible(plan.steps))
    if sentences:
        yield ""
        yield style("title", f"Cannot be undone ({len(sentences):,})")
        yield from (f"  {safe(sentence)}" for sentence in sentences)


def _left(left: tuple[Skipped, ...], style: Style) -> Iterator[str]:
    if not left:
        return
    yield ""
    yield style("title", f"Not changed ({len(left):,})")
    for (reason, detail), group in groupby(left, key=lambda item: (item.reason, item.detail)):
        yield style("warn", f"  {reason}: {safe(detail)}")
        for item in group:
            origin = "" if item.origin is None else style("dim", f"  {safe(str(item.origin))}")
            yield f"    {safe(item.subject)}{origin}"


def _coverage(plan: Plan, style: Style) -> Iterator[str]:
    for title, patterns in (
        ("Gets its first binding: closed to everybody else if default-allow is on", plan.coverage.closed),
        ("Loses its last binding: open to everybody if default-allow is on", plan.coverage.opened),
    ):
        if patterns:
            yield ""
            yield style("title", f"{title} ({len(patterns):,})")
            yield from (f"    {safe(pattern_words(pattern))}" for pattern in patterns)


def _warnings(plan: Plan, style: Style) -> Iterator[str]:
    if plan.warnings:
        yield ""
    yield from (style("warn", f"warning: {safe(text)}") for text in plan.warnings)


def _accepted(plan: Plan, style: Style) -> Iterator[str]:
    if plan.acknowledgements:
        yield ""
        yield style("title", f"Accepted ({len(plan.acknowledgements):,})")
    yield from (f"  {safe(accepted_words(one))}" for one in plan.acknowledgements)


def refusal_lines(refusals: tuple[Refusal, ...], style: Style = plain) -> Iterator[str]:
    """What guards refuse, and what a person can do about each."""
    if not refusals:
        return
    yield ""
    yield style("error", f"Refused ({len(refusals):,})")
    for refusal in refusals:
        yield style("error", f"  {refusal.guard}: {safe(refusal.message)}")
        yield f"    {safe(refusal.remedy)}"


def _summary(plan: Plan, style: Style, *, expand: bool, drift: bool) -> Iterator[str]:
    if not plan.steps:
        yield style("title", "Nothing to do." if not plan.skipped else "Nothing that this plan is allowed to do.")
        return
    yield style("title", f"{summary(plan)}. About {plan.estimated_seconds:g} s.")
    if plan.moves_access:
        yield style("dim", f"Proven: {_proven(plan)}.")
    if not drift and not plan.refusals:
        yield f"Approve with --require-id {change_id(plan)}"
    if expand:
        yield style("dim", f"On this cluster only: {plan_id(plan)}")


def _proven(plan: Plan) -> str:
    """What the proof of the order says; what is interrupted, or may be under default-allow, is listed elsewhere."""
    interrupted = any(callout.rule == INTERRUPTED for callout in plan.access.callouts)
    if plan.terms.default_allow is False and not interrupted:
        return "at no point does it permit what neither state permits, or refuse what both permit"
    return "at no point does it permit what neither state permits"


def summary(plan: Plan) -> str:
    """``3 bindings to create, 1 topic to alter``: one line that counts the steps."""
    counts = Counter((kind_of(step.change).NOUN, sign_of(step.change)) for step in plan.steps)
    found = ((counts[kind.NOUN, sign], kind.NOUN, verb) for kind in KINDS for sign, verb in VERBS.items())
    return ", ".join(f"{counted(number, noun)} to {verb}" for number, noun, verb in found if number)
