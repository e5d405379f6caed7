"""A ``TopicPolicy`` document as rules, every limit checked; who breaks them is ``reconciler.policy``'s to say."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Kind, Touched
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import integer
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.selectors import check_exists, topic_names
from reconciler.manifest.parts.topic_settings import setting_value, warn_of_unknown_setting
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
    Trouble,
    lines_of,
    paired,
    quoted,
    report_repeated,
    scalars,
    trouble_of,
)
from reconciler.manifest.read.problem import Code, Problem, did_you_mean, in_order
from reconciler.model import topic_rule
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import NameSelector
from reconciler.model.topic_configs import NUMBERS, TOPIC_CONFIGS, UNLIMITED_CONFIGS, ConfigType, normal_form

if TYPE_CHECKING:
    from reconciler.manifest.models.topic_policy import (
        CountLimits,
        PolicyRule,
        RelationItem,
        SettingLimits,
        TopicExceptionItem,
        TopicPolicyDocument,
    )

# What a policy asks of settings: allowed values in normal form, limits with units, relations between numbers.

#: What a relation can speak of besides settings.
_OPERANDS: Final = ("partitions", "replicationFactor", "brokers")
_SAYS = Trouble(Code.POLICY_FORM, "this asks nothing of the setting", "add required, forbidden, allowed, min or max")
_ALONE = Trouble(
    Code.POLICY_FORM, "a forbidden setting has no value that could be right", "remove forbidden, or the rest"
)
_COMPARISONS = Trouble(Code.POLICY_FORM, "no value is both at least min and at most max", "exchange them")
_ONE = Trouble(
    Code.POLICY_FORM, "exactly one of below, atMost, above and atLeast is expected here", "write one of them"
)
_SAME = Trouble(Code.POLICY_FORM, "this compares a number with itself", "name another one")


def declare_setting_rules(
    node: Node | None, items: "Mapping[str, SettingLimits] | None", findings: Findings
) -> Iterator[topic_rule.SettingRule]:
    """The settings of a rule; problems are reported, unknown names as warnings."""
    for name, inner in node.values.items() if isinstance(node, MappingNode) else ():
        key = node.keys[name] if isinstance(node, MappingNode) else inner
        if not isinstance(inner, MappingNode):
            continue
        warn_of_unknown_setting(name, key, "it is compared as it is; a newer broker may have it", findings)
        allowed = [_allowed(name, value, findings) for value in scalars(inner.get("allowed"))]
        low, high = (_bound(name, inner.get(field), findings) for field in ("min", "max"))
        item = items.get(name) if items is not None else None
        if item is not None:
            _check_form(item, inner, key, findings)
            if low is not None and high is not None and low.number > high.number:
                findings.add(_COMPARISONS, inner.get("min") or key)
            yield topic_rule.SettingRule(
                findings.origin(key), name, item.required, item.forbidden, tuple(allowed) or None, low, high
            )


def _check_form(item: "SettingLimits", node: MappingNode, key: Node, findings: Findings) -> None:
    limits = node.keys.keys() & {"allowed", "min", "max"}
    if item.forbidden and (limits or item.required):
        findings.add(_ALONE, key)
    elif not item.forbidden and not limits and not item.required:
        findings.add(_SAYS, key)


def _allowed(name: str, node: ScalarNode, findings: Findings) -> str:
    config_type = TOPIC_CONFIGS.get(name, ConfigType.STRING)
    try:
        return normal_form(name, setting_value(name, config_type, node.plain))
    except ValueError as error:
        findings.add(trouble_of(Code.SETTING_VALUE, error, name), node)
        return ""


def _bound(name: str, node: Node | None, findings: Findings) -> topic_rule.Bound | None:
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return None
    config_type = TOPIC_CONFIGS.get(name)
    if config_type is not None and config_type not in NUMBERS:
        findings.add(
            Trouble(Code.POLICY_FORM, f"{name} has no least and no greatest value", "list the allowed ones"), node
        )
        return None
    try:
        text = str(integer(node.plain)) if config_type is None else setting_value(name, config_type, node.plain)
    except ValueError as error:
        findings.add(trouble_of(Code.SETTING_VALUE, error, name), node)
        return None
    # -1 stands for infinity there. As a number it would be below every minimum and pass every maximum.
    if name in UNLIMITED_CONFIGS and text.startswith("-"):
        advice = f"write allowed: [{text}], or leave the limit out"
        findings.add(Trouble(Code.POLICY_FORM, f"{name}: {text} means no limit, not a number", advice), node)
        return None
    return topic_rule.Bound(float(text) if config_type is ConfigType.DOUBLE else int(text), node.plain)


def declare_relations(
    nodes: Node | None, items: "Sequence[RelationItem] | None", findings: Findings
) -> Iterator[topic_rule.RelationRule]:
    """The relations of a rule; problems are reported."""
    for node, item in paired(nodes, items):
        relations = [relation for relation in topic_rule.Relation if relation in node.keys]
        value, other = node.get("value"), node.get(relations[0]) if relations else None
        if len(relations) != 1:
            findings.add(_ONE, node)
        for operand in (value, other):
            _check_operand(operand, findings)
        if isinstance(value, ScalarNode) and isinstance(other, ScalarNode):
            if value.plain == other.plain:
                findings.add(_SAME, other)
            if item is not None:
                yield topic_rule.RelationRule(
                    findings.origin(node), value.plain, relations[0], other.plain, item.required
                )


def _check_operand(node: Node | None, findings: Findings) -> None:
    if not isinstance(node, ScalarNode) or node.plain in _OPERANDS or findings.marks(node):
        return
    config_type = TOPIC_CONFIGS.get(node.plain)
    if config_type is None:
        advice = did_you_mean(node.plain, [*TOPIC_CONFIGS, *_OPERANDS], f"a setting, or one of {', '.join(_OPERANDS)}")
        findings.add(Trouble(Code.POLICY_FORM, f"a topic has no number {quoted(node.plain)}", advice), node)
    elif config_type not in NUMBERS:
        findings.add(Trouble(Code.POLICY_FORM, f"{node.plain} is not a number", "compare numbers only"), node)


# Texts of a policy that an engine will run: patterns of names, and expressions; what bounds them.
#
# Policies come in pull requests of many people, so no text may take long or much memory, whatever it says. Patterns
# run in RE2, in time linear to the name. Expressions have no loops but CEL's macros over lists, of which the engine
# counts every round; the limits here bound what the rounds could build.

MAX_PATTERN: Final = 500
MAX_EXPRESSION: Final = 1000
#: Nested macros bind what is built in one round for the next, and ``+`` builds: together they could grow without end.
MAX_MACROS: Final = 4
MAX_PLUS: Final = 16
_MACRO = re.compile(r"\b(?:all|exists|exists_one|filter|map)\b")


class ExpressionFault(NamedTuple):
    """What CEL says of one expression: ``line`` and ``column`` count from 1 in ``text``, which begins at ``origin``."""

    origin: Origin
    text: str
    line: int
    column: int
    message: str


def pattern_problem(text: str) -> Trouble | None:
    """Why ``text`` is not a pattern of names; ``None`` if it is."""
    import re2  # noqa: PLC0415 - native code, for policies with patterns only

    if len(text) > MAX_PATTERN:
        return Trouble(Code.POLICY_FORM, f"a pattern has at most {MAX_PATTERN} characters", "shorten it")
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options=options)
    except re2.error as error:
        words = error.args[0].decode("utf-8", "replace") if error.args else "it cannot be read"
        advice = "write it as RE2 reads it: no lookaround, no references back"
        return Trouble(Code.POLICY_FORM, f"{quoted(text)} is not a regular expression: {words}", advice)
    return None


def expression_problem(text: str) -> Trouble | None:
    """Why an expression is refused before it is compiled; ``None`` if its size is within bounds."""
    if not text.strip():
        return Trouble(Code.POLICY_FORM, "the expression is empty", "write the condition that must be true")
    if len(text) > MAX_EXPRESSION:
        return Trouble(Code.POLICY_FORM, f"an expression has at most {MAX_EXPRESSION} characters", "make rules of it")
    if len(_MACRO.findall(text)) > MAX_MACROS:
        message = f"an expression has at most {MAX_MACROS} of all, exists, exists_one, filter and map"
        return Trouble(Code.POLICY_FORM, message, "make rules of it")
    if text.count("+") > MAX_PLUS:
        return Trouble(Code.POLICY_FORM, f"an expression has at most {MAX_PLUS} plus signs", "make rules of it")
    return None


def expression_problems(sources: Mapping[str, Source], faults: Iterable[ExpressionFault]) -> tuple[Problem, ...]:
    """The faults as problems of the manifests, each at the place in the file that CEL means."""
    problems: list[Problem] = []
    for fault in faults:
        findings = Findings(sources.get(fault.origin.file, Source(fault.origin.file, "")))
        place = _place(findings.source.text, fault)
        advice = "variables are name, partitions, replicationFactor, configs, labels, brokers and cluster"
        findings.add_at(Trouble(Code.EXPRESSION, fault.message, advice), place)
        problems += findings.problems
    return in_order(problems)


def _place(text: str, fault: ExpressionFault) -> Origin:
    """The place of the fault in the file, or where the expression begins if YAML folded its lines."""
    lines, wanted = lines_of(text), fault.text.split("\n")
    part = wanted[fault.line - 1] if 0 < fault.line <= len(wanted) else ""
    start = fault.origin.line - 1
    # A block's first line is the one after its indicator; any other form begins where the value does.
    for number in (start + fault.line - 1, start + fault.line):
        if part and number < len(lines):
            column = lines[number].find(part, fault.origin.column - 1 if number == start else 0)
            if column >= 0:
                return Origin(fault.origin.file, number + 1, column + fault.column)
    return fault.origin


_ABOUT = Trouble(
    Code.POLICY_FORM, "the rule does not say which topics it is about", "add topics: {any: true}, or matchLabels"
)
_ASKS = Trouble(
    Code.POLICY_FORM,
    "the rule asks for nothing",
    "add names, partitions, replicationFactor, configs, relations or expression",
)
_NAMES = Trouble(Code.POLICY_FORM, "this says nothing of names", "add pattern or maxLength")
_TWICE = Trouble(Code.POLICY_FORM, "there is another rule {}", "rename one of them")
_COUNTS = Trouble(Code.POLICY_FORM, "this limits nothing", "add min, max, minPerBroker, maxPerBroker or required: true")
_ORDER = Trouble(Code.POLICY_FORM, "no number is both at least the one and at most the other", "exchange them")
_ASKING = ("names", "partitions", "replicationFactor", "configs", "relations", "expression")


@dataclass(frozen=True, slots=True)
class TopicPolicyDeclaration:
    """A document's heading and rules."""

    heading: Heading
    rules: tuple[topic_rule.TopicRule, ...]


def _rule(
    document: str, node: MappingNode, item: "PolicyRule | None", table: PatternTable, findings: Findings
) -> Iterator[topic_rule.TopicRule]:
    topics = topic_names(node.get("topics"), table, findings)
    excluded = topic_names(node.get("except"), table, findings)
    if not node.keys.keys() & {"topics", "matchLabels"}:
        findings.add(_ABOUT, node)
    if not node.keys.keys() & set(_ASKING):
        findings.add(_ASKS, node)
    parts = tuple(_parts(node, item, findings))
    if item is not None:
        yield topic_rule.TopicRule(
            document,
            findings.origin(node),
            parts,
            topics,
            excluded,
            FrozenMap(item.match_labels),
            item.name,
            item.message,
            item.severity,
        )


def _parts(node: MappingNode, item: "PolicyRule | None", findings: Findings) -> Iterator[topic_rule.RulePart]:
    names = node.get("names")
    if isinstance(names, MappingNode):
        yield from _name_part(names, item, node.keys["names"], findings)
    if item is not None and item.partitions is not None:
        yield from _count_part("partitions", item.partitions, node, findings)
    if item is not None and item.replication_factor is not None:
        yield from _count_part("replicationFactor", item.replication_factor, node, findings)
    yield from declare_setting_rules(node.get("configs"), item.configs if item else None, findings)
    yield from declare_relations(node.get("relations"), item.relations if item else None, findings)
    expression = node.get("expression")
    if isinstance(expression, ScalarNode) and not findings.marks(expression):
        trouble = expression_problem(expression.plain)
        if trouble is not None:
            findings.add(trouble, expression)
        yield topic_rule.ExpressionRule(findings.origin(expression), expression.plain)


def _name_part(
    names: MappingNode, item: "PolicyRule | None", key: Node, findings: Findings
) -> Iterator[topic_rule.NameRule]:
    pattern = names.get("pattern")
    if isinstance(pattern, ScalarNode) and not findings.marks(pattern):
        trouble = pattern_problem(pattern.plain)
        if trouble is not None:
            findings.add(trouble, pattern)
    if not names.keys:
        findings.add(_NAMES, key)
    if item is not None and item.names is not None:
        yield topic_rule.NameRule(findings.origin(key), item.names.pattern, item.names.max_length)


def _count_part(
    subject: topic_rule.TopicNumber, limits: "CountLimits", node: MappingNode, findings: Findings
) -> Iterator[topic_rule.CountRule]:
    place = node.keys[subject]
    bounds = (limits.min, limits.max, limits.min_per_broker, limits.max_per_broker)
    if not any(bound is not None for bound in bounds) and not limits.required:
        findings.add(_COUNTS, place)
    for low, high in ((limits.min, limits.max), (limits.min_per_broker, limits.max_per_broker)):
        if low is not None and high is not None and low > high:
            findings.add(_ORDER, place)
    yield topic_rule.CountRule(findings.origin(place), subject, *bounds, limits.required)


def _exceptions(
    spec: MappingNode, items: "Sequence[TopicExceptionItem] | None", table: PatternTable, findings: Findings
) -> dict[str, tuple[topic_rule.TopicException, ...]]:
    """The exceptions of a document, by the name of their rule; problems are reported."""
    rules = spec.get("rules")
    named = rules.items if isinstance(rules, SequenceNode) else []
    rule_names = [name for rule in named if isinstance(rule, MappingNode) and (name := rule.text("name"))]
    exceptions: dict[str, tuple[topic_rule.TopicException, ...]] = {}
    for node, item in paired(spec.get("exceptions"), items):
        topics, check = topic_names(node.get("topics"), table, findings), node.get("check")
        if not isinstance(check, ScalarNode) or not check_exists("rule", check, rule_names, findings) or item is None:
            continue
        codes = item.codes if isinstance(item.codes, list) else [item.codes] if item.codes else []
        exception = topic_rule.TopicException(
            topics or NameSelector(), item.reason, item.expires, findings.origin(node), frozenset(codes), item.ticket
        )
        exceptions[check.plain] = (*exceptions.get(check.plain, ()), exception)
    return exceptions


class TopicPolicyKind(Kind["TopicPolicyDocument"]):
    """Rules for topics; ``reconciler.policy`` applies them."""

    name = "TopicPolicy"
    touched = Touched.ANY
    code_fields = frozenset({"expression", "pattern"})

    def declare(self, document: Document, table: PatternTable) -> TopicPolicyDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        findings = document.findings
        model = document.validated(self.model())
        nodes = document.spec.get("rules")
        report_repeated(nodes, _TWICE, findings)
        rules: list[topic_rule.TopicRule] = []
        for node, item in paired(nodes, model.spec.rules if model else None):
            rules += _rule(document.heading.name, node, item, table, findings)
        accepted = _exceptions(document.spec, model.spec.exceptions if model else None, table, findings)
        rules = [replace(rule, exceptions=accepted.get(rule.name or "", ())) for rule in rules]
        return TopicPolicyDeclaration(document.heading, tuple(rules)) if model else None
