"""A proposed topic policy as a manifest, each rule under a line that says how many topics keep it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.model import CountRule, NameRule, RelationRule, RulePart, SettingRule, TopicWaiver, readable
from reconciler.policy import ProposedRule
from reconciler.report.export.yaml_text import WIDTH, comment, mapping, one_or_list, scalar, value
from reconciler.report.style import counted


def policy_text(
    name: str, rules: Iterable[ProposedRule], *, origin: str, labels: Mapping[str, str], notes: Sequence[str] = ()
) -> str:
    """A ``TopicPolicy`` of that name; ``origin`` says where the topics were found, ``labels`` which clusters it is for.

    ``notes`` become comments at the top.
    """
    lines = [comment(f"What the topics of {origin} have in common. Loosen or tighten it: it is a beginning.")]
    lines += map(comment, notes)
    lines += [
        "apiVersion: reconciler/v1",
        "kind: TopicPolicy",
        f"metadata: {{name: {scalar(name, flow=True)}}}",
        "spec:",
    ]
    if labels:
        lines += ["  clusters:", *mapping("matchLabels", labels, 4)]
    lines.append("  rules:")
    for proposed in rules:
        lines += _rule_lines(proposed)
    return "\n".join(lines) + "\n"


def _rule_lines(proposed: ProposedRule) -> Iterator[str]:
    rule, kept, topics = proposed
    yield "    " + comment(f"kept by {kept:,} of {counted(topics, 'topic')}")
    yield f"    - name: {scalar(rule.name or '')}"
    yield "      topics: {any: true}"
    for part in rule.parts:
        yield from _part_lines(part)
    if rule.waivers:
        yield "      waivers:"
    for waiver in rule.waivers:
        yield from _waiver_lines(waiver)


def _part_lines(part: RulePart) -> Iterator[str]:
    match part:
        case NameRule():
            yield f"      names: {{pattern: {_quoted(part.pattern or '')}}}"
        case CountRule():
            limits = {"min": part.minimum, "max": part.maximum}
            shown = {field: str(limit) for field, limit in limits.items() if limit is not None}
            yield from mapping(part.subject, shown, 6)
        case SettingRule():
            yield "      configs:"
            yield from _setting_lines(part)
        case RelationRule():
            pairs = f"value: {part.value}, {part.relation}: {part.other}, required: false"
            yield f"      relations: [{{{pairs}}}]"
        case _:
            raise ValueError("no expression is ever proposed")


def _setting_lines(part: SettingRule) -> Iterator[str]:
    limits = {"required": str(bool(part.required)).lower()}
    if part.allowed is not None:
        shown = (value(readable(part.name, text), flow=True) for text in part.allowed)
        limits["allowed"] = f"[{', '.join(shown)}]"
    for field, bound in (("min", part.minimum), ("max", part.maximum)):
        if bound is not None:
            limits[field] = value(bound.text, flow=True)
    pairs = [f"{field}: {text}" for field, text in limits.items()]
    line = f"        {scalar(part.name)}: {{{', '.join(pairs)}}}"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"        {scalar(part.name)}:"
        yield from (f"          {pair}" for pair in pairs)


def _waiver_lines(waiver: TopicWaiver) -> Iterator[str]:
    first, *rest = one_or_list("topics", waiver.topics.literal, 10, always_list=True)
    yield f"        - {first.lstrip()}"
    yield from rest
    yield f"          reason: {scalar(waiver.reason)}"
    yield f"          expires: {waiver.expires}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
