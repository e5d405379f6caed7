"""A plan as text: what will be sent, in the order in which it will be sent, then what stays and why."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, repeat
from typing import TypeAlias

from reconciler.diff import Left
from reconciler.model import AclBinding, Create, Delete, Impossible, Update
from reconciler.plan import TITLES, Effect, Plan, Refusal, Step, ids, touched_bindings
from reconciler.plan.review.callouts import INTERRUPTED
from reconciler.plan.review.lasting import lasting
from reconciler.report.bridge_text import closing_lines, opening_lines
from reconciler.report.paint import Paint, counted, plain, safe
from reconciler.report.review_text import effect_words, review_lines
from reconciler.report.topic_crowds import crowd_lines, crowds
from reconciler.report.topic_text import TopicWords, validation_lines
from reconciler.report.words import binding_words, pattern_words

_Tagged: TypeAlias = tuple[Step, Effect | None]


def plan_lines(plan: Plan, paint: Paint = plain, *, expand: bool = False, drift: bool = False) -> Iterator[str]:
    """Yield the lines; with ``expand`` every binding has its own, otherwise operations on one pattern share it.

    With ``drift`` it is a report on what a plan would do, and nobody's proposal.
    """
    yield from _head(plan, "Drift of" if drift else "Plan for", paint)
    if plan.steps:
        yield ""
        yield from review_lines(plan.access, paint, expand=expand)
    yield from opening_lines(plan, paint)
    words = TopicWords.of(plan)
    tagged = zip(plan.steps, plan.access.effects or repeat(None), strict=False)
    for phase, steps in groupby(tagged, key=lambda item: item[0].phase):
        yield ""
        yield paint("title", f"{int(phase)}. {TITLES[phase]}")
        yield from _steps(list(steps), words, paint, expand=expand)
        following = [step.phase for step in plan.steps if step.phase > phase]
        if following and any(phase <= barrier < following[0] for barrier in plan.barriers):
            yield paint("dim", f"── barrier: {_barrier(plan)} ──")
    yield from closing_lines(plan, paint)
    yield from _lasting(plan, paint)
    yield from _left(plan.left, paint)
    yield from _coverage(plan, paint)
    yield from _warnings(plan, paint)
    yield from validation_lines(plan.topics.validation, paint)
    yield from refusal_lines(plan.refusals, paint)
    yield ""
    yield from _summary(plan, paint)


def _barrier(plan: Plan) -> str:
    terms = plan.terms
    if terms.probe is None:
        return f"wait {terms.barrier_wait:g} s for every broker to enforce what was sent"
    named = f"brokers {', '.join(map(str, terms.brokers))} and any other" if terms.brokers else "every broker"
    return f"{named}, and the active controller, prove to {safe(terms.probe)} that they enforce what was sent"


def _head(plan: Plan, what: str, paint: Paint) -> Iterator[str]:
    counts = plan.counts
    yield paint("title", f"{what} cluster {safe(plan.terms.cluster)}") + paint("dim", f"  as of {plan.as_of}")
    yield (
        f"Declared: {counted(counts.desired_bindings, 'binding')}, {counted(counts.desired_topics, 'topic')}. "
        f"Live, as seen by one broker: {counted(counts.live_bindings, 'binding')} "
        f"({counts.owned:,} in scope, {counts.outside:,} outside, {counts.ignored:,} ignored, "
        f"{counts.opaque:,} that cannot be named), {counted(counts.live_topics, 'topic')}."
    )


def _steps(steps: list[_Tagged], words: TopicWords, paint: Paint, *, expand: bool) -> Iterator[str]:
    together = [] if expand else crowds([step for step, _ in steps], words)
    for alike in together:
        yield from crowd_lines(alike, words, paint)
    shown = {step.id for alike in together for step in alike}
    alone = [item for item in steps if item[0].id not in shown] if shown else steps
    for _, group in groupby(alone, key=lambda item: _line_key(*item, expand=expand)):
        same = list(group)
        yield from _line([step for step, _ in same], effect_words(same[0][1]), words, paint)


def _line_key(step: Step, effect: Effect | None, *, expand: bool) -> object:
    match step.change:
        case Create(AclBinding() as binding) | Delete(AclBinding() as binding) if not expand:
            entry = binding.entry
            who = entry.principal, entry.host, entry.permission_type
            return type(step.change), binding.pattern, who, effect, step.origin, step.expires
        case _:
            return step.id


def _line(steps: list[Step], effect: str, words: TopicWords, paint: Paint) -> Iterator[str]:
    end = _origin(steps[0], paint)
    match steps[0].change:
        case Create(AclBinding()):
            yield paint("add", f"  + {_bindings(steps)}") + _tag(effect, paint) + end
        case Delete(AclBinding()):
            yield paint("remove", f"  - {_bindings(steps)}") + _tag(effect, paint) + end
        case Create() | Delete() | Update():
            yield from words.lines(steps[0], paint, end)
        case Impossible():
            return


def _tag(effect: str, paint: Paint) -> str:
    return paint("dim", f"  [{safe(effect)}]") if effect else ""


def _bindings(steps: list[Step]) -> str:
    bindings = touched_bindings(step.change for step in steps)
    return safe(binding_words(bindings[0], ", ".join(binding.entry.operation.name for binding in bindings)))


def _origin(step: Step, paint: Paint) -> str:
    until = "" if step.expires is None else f"  until {step.expires}"
    place = "" if step.origin is None else f"  {safe(str(step.origin))}"
    return paint("dim", until + place) if until or place else ""


def _lasting(plan: Plan, paint: Paint) -> Iterator[str]:
    sentences = list(lasting(plan.steps))
    if sentences:
        yield ""
        yield paint("title", f"For good, whatever is undone later ({len(sentences):,})")
        yield from (f"  {safe(sentence)}" for sentence in sentences)


def _left(left: tuple[Left, ...], paint: Paint) -> Iterator[str]:
    if not left:
        return
    yield ""
    yield paint("title", f"Left as it is ({len(left):,})")
    for (reason, detail), group in groupby(left, key=lambda item: (item.reason, item.detail)):
        yield paint("warn", f"  {reason}: {safe(detail)}")
        for item in group:
            origin = "" if item.origin is None else paint("dim", f"  {safe(str(item.origin))}")
            yield f"    {safe(item.subject)}{origin}"


def _coverage(plan: Plan, paint: Paint) -> Iterator[str]:
    for title, patterns in (
        ("Gets its first binding: closed to everyone else, if default-allow is on", plan.coverage.closed),
        ("Loses its last binding: opened to everyone, if default-allow is on", plan.coverage.opened),
    ):
        if patterns:
            yield ""
            yield paint("title", f"{title} ({len(patterns):,})")
            yield from (f"    {safe(pattern_words(pattern))}" for pattern in patterns)


def _warnings(plan: Plan, paint: Paint) -> Iterator[str]:
    if plan.warnings:
        yield ""
    yield from (paint("warn", f"warning: {safe(text)}") for text in plan.warnings)


def refusal_lines(refusals: tuple[Refusal, ...], paint: Paint = plain) -> Iterator[str]:
    """What guards refuse, and what a person can do about each."""
    if not refusals:
        return
    yield ""
    yield paint("error", f"Refused ({len(refusals):,})")
    for refusal in refusals:
        yield paint("error", f"  {refusal.guard}: {safe(refusal.message)}")
        yield f"    {safe(refusal.remedy)}"


def _summary(plan: Plan, paint: Paint) -> Iterator[str]:
    if not plan.steps:
        yield paint("title", "Nothing to do." if not plan.left else "Nothing that this plan may do.")
        return
    yield paint("title", f"{summary(plan)}. About {plan.estimated_seconds:g} s.")
    if plan.moves_access:
        yield paint("dim", f"Proven: {_proven(plan)}.")
    yield from (paint("dim", name) for name in ids(plan))


def _proven(plan: Plan) -> str:
    """What the proof of the order says; what is interrupted, or may be under default-allow, is listed elsewhere."""
    interrupted = any(callout.rule == INTERRUPTED for callout in plan.access.callouts)
    if plan.terms.default_allow is False and not interrupted:
        return "no moment of it permits what neither state permits, or refuses what both permit"
    return "no moment of it permits what neither state permits"


def summary(plan: Plan) -> str:
    """``3 bindings to create, 1 topic to alter``: one line that counts the steps."""
    kinds = (
        ("binding", "create", ("CreateAcl",)),
        ("binding", "delete", ("DeleteAcl",)),
        ("topic", "create", ("CreateTopic",)),
        ("topic", "alter", ("CreatePartitions", "AlterConfigs")),
        ("topic", "delete", ("DeleteTopic",)),
    )
    actions = Counter(step.action for step in plan.steps)
    found = ((noun, verb, sum(actions[action] for action in names)) for noun, verb, names in kinds)
    return ", ".join(f"{counted(number, noun)} to {verb}" for noun, verb, number in found if number)
