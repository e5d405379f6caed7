"""A plan as text: what will be sent, in the order in which it will be sent, then what stays and why."""

from collections.abc import Iterator
from itertools import groupby

from reconciler.diff import Left
from reconciler.model import (
    AclBinding,
    AlterConfigs,
    CreateAcl,
    CreatePartitions,
    CreateTopic,
    DeleteAcl,
    DeleteTopic,
    Impossible,
    ResourcePattern,
)
from reconciler.plan import TITLES, Plan, Refusal, Step, change_id, losses, plan_id
from reconciler.report.paint import Paint, counted, plain, safe


def plan_lines(plan: Plan, paint: Paint = plain, *, expand: bool = False) -> Iterator[str]:
    """Yield the lines; with ``expand`` every binding has its own, otherwise operations on one pattern share it."""
    yield from _head(plan, paint)
    for phase, steps in groupby(plan.steps, key=lambda step: step.phase):
        yield ""
        yield paint("title", f"{int(phase)}. {TITLES[phase]}")
        yield from _steps(list(steps), paint, expand=expand)
        following = [step.phase for step in plan.steps if step.phase > phase]
        if following and any(phase <= barrier < following[0] for barrier in plan.barriers):
            yield paint("dim", f"── barrier: {_barrier(plan)} ──")
    yield from _left(plan.left, paint)
    yield from _coverage(plan, paint)
    yield from _warnings(plan, paint)
    yield from refusal_lines(plan.refusals, paint)
    yield ""
    yield from _summary(plan, paint)


def _barrier(plan: Plan) -> str:
    terms = plan.terms
    if terms.probe is None:
        return f"wait {terms.barrier_wait:g} s for every broker to enforce what was sent"
    named = f"brokers {', '.join(map(str, terms.brokers))} and any other" if terms.brokers else "every broker"
    return f"{named}, and the active controller, prove to {safe(terms.probe)} that they enforce what was sent"


def _head(plan: Plan, paint: Paint) -> Iterator[str]:
    counts = plan.counts
    yield paint("title", f"Plan for cluster {safe(plan.terms.cluster)}") + paint("dim", f"  as of {plan.as_of}")
    yield (
        f"Declared: {counted(counts.desired_bindings, 'binding')}, {counted(counts.desired_topics, 'topic')}. "
        f"Live, as seen by one broker: {counted(counts.live_bindings, 'binding')} "
        f"({counts.owned:,} in scope, {counts.outside:,} outside, {counts.ignored:,} ignored, "
        f"{counts.opaque:,} that cannot be named), {counted(counts.live_topics, 'topic')}."
    )


def _steps(steps: list[Step], paint: Paint, *, expand: bool) -> Iterator[str]:
    for _, group in groupby(steps, key=lambda step: _line_key(step, expand=expand)):
        yield from _line(list(group), paint)


def _line_key(step: Step, *, expand: bool) -> object:
    match step.change:
        case CreateAcl(binding) | DeleteAcl(binding) if not expand:
            entry = binding.entry
            return type(step.change), binding.pattern, entry.principal, entry.host, entry.permission_type, step.origin
        case _:
            return step.id


def _line(steps: list[Step], paint: Paint) -> Iterator[str]:
    match steps[0].change:
        case CreateAcl():
            yield paint("add", f"  + {_bindings(steps)}") + _origin(steps[0], paint)
        case DeleteAcl():
            yield paint("remove", f"  - {_bindings(steps)}") + _origin(steps[0], paint)
        case CreateTopic(topic):
            size = f"{_number(topic.num_partitions, 'partition')}, {_number(topic.replication_factor, 'replica')}"
            yield paint("add", f"  + topic {safe(topic.name)}: {size}") + _origin(steps[0], paint)
            for key, value in topic.configs.items():
                yield paint("add", f"      {key} = {safe(value)}")
        case DeleteTopic(topic):
            yield paint("remove", f"  - topic {safe(topic.name)} and all its records") + _origin(steps[0], paint)
        case CreatePartitions(name, before, after):
            yield paint("change", f"  ~ topic {safe(name)}: partitions {before} → {after}") + _origin(steps[0], paint)
            yield paint("dim", "      records with the same key may go to another partition than before")
        case AlterConfigs(name) as change:
            yield paint("change", f"  ~ topic {safe(name)}") + _origin(steps[0], paint)
            yield from _configs(change, paint)
        case Impossible():
            return


def _configs(change: AlterConfigs, paint: Paint) -> Iterator[str]:
    for key, after in change.after.items():
        before = change.before[key]
        yield paint("change", f"      {key}: {_or_default(before)} → {_or_default(after)}")
    for reason in losses(change):
        yield paint("warn", f"      {reason}")


def _number(value: int | None, noun: str) -> str:
    return f"broker default {noun}s" if value is None else counted(value, noun)


def _or_default(value: object) -> str:
    return "broker default" if value is None else safe(str(value))


def _bindings(steps: list[Step]) -> str:
    bindings = [step.change.binding for step in steps if isinstance(step.change, CreateAcl | DeleteAcl)]
    return safe(binding_text(bindings[0], ", ".join(binding.entry.operation.name for binding in bindings)))


def binding_text(binding: AclBinding, operations: str) -> str:
    """``User:a ALLOW READ, WRITE on TOPIC payments.orders``, with prefixes and hosts spelled out."""
    entry = binding.entry
    host = "" if entry.host == "*" else f" from {entry.host}"
    return f"{entry.principal} {entry.permission_type.name} {operations} on {pattern_text(binding.pattern)}{host}"


def pattern_text(pattern: ResourcePattern) -> str:
    """``TOPIC payments.*`` would be ambiguous, so: ``every TOPIC``, ``TOPIC payments.…``, ``TOPIC payments``."""
    if pattern.is_wildcard:
        return f"every {pattern.resource_type.name}"
    return str(pattern)


def _origin(step: Step, paint: Paint) -> str:
    return "" if step.origin is None else paint("dim", f"  {safe(str(step.origin))}")


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
            yield from (f"    {safe(pattern_text(pattern))}" for pattern in patterns)


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
    yield paint("dim", change_id(plan))
    yield paint("dim", plan_id(plan))


def summary(plan: Plan) -> str:
    """``3 bindings to create, 1 topic to alter``: one line that counts the steps."""
    kinds = (
        ("binding", "create", (CreateAcl,)),
        ("binding", "delete", (DeleteAcl,)),
        ("topic", "create", (CreateTopic,)),
        ("topic", "alter", (CreatePartitions, AlterConfigs)),
        ("topic", "delete", (DeleteTopic,)),
    )
    found = ((noun, verb, sum(isinstance(step.change, types) for step in plan.steps)) for noun, verb, types in kinds)
    return ", ".join(f"{counted(number, noun)} to {verb}" for noun, verb, number in found if number)
