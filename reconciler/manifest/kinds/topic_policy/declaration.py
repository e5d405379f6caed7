"""A ``TopicPolicy`` document as rules, every limit checked; who breaks them is ``reconciler.policy``'s to say."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds.interface import Declared, Kind
from reconciler.manifest.kinds.topic_policy.settings import declare_relations, declare_setting_rules
from reconciler.manifest.kinds.topic_policy.texts import expression_problem, pattern_problem
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.selectors import topic_names
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode, paired
from reconciler.manifest.reader.source import quoted
from reconciler.model import (
    CountRule,
    ExpressionRule,
    FrozenMap,
    NameRule,
    NameSelector,
    Origin,
    RulePart,
    TopicNumber,
    TopicRule,
    TopicWaiver,
)

if TYPE_CHECKING:
    from reconciler.manifest.models.topic_policy import (
        CountLimits,
        PolicyRule,
        TopicPolicyDocument,
        TopicWaiverItem,
    )

_ABOUT = Trouble(
    Code.POLICY_FORM, "the rule does not say which topics it is about", "add topics: {any: true}, or matchLabels"
)
_ASKS = Trouble(
    Code.POLICY_FORM,
    "the rule asks for nothing",
    "add names, partitions, replicationFactor, configs, relations or expression",
)
_NAMES = Trouble(Code.POLICY_FORM, "this says nothing of names", "add pattern or maxLength")
_COUNTS = Trouble(Code.POLICY_FORM, "this limits nothing", "add min, max, minPerBroker, maxPerBroker or required: true")
_ORDER = Trouble(Code.POLICY_FORM, "no number is both at least the one and at most the other", "exchange them")
_ASKING = ("names", "partitions", "replicationFactor", "configs", "relations", "expression")


@dataclass(frozen=True, slots=True)
class TopicPolicyDeclaration:
    """A document's heading and rules."""

    heading: Heading
    rules: tuple[TopicRule, ...]


def declare_topic_policy(document: Document, table: PatternTable) -> TopicPolicyDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings = document.findings
    model = document.validated(TopicPolicyKind.model())
    nodes = document.spec.get("rules")
    _check_names(nodes, findings)
    rules: list[TopicRule] = []
    for node, item in paired(nodes, model.spec.rules if model else None):
        rules += _rule(document.heading.name, node, item, table, findings)
    return TopicPolicyDeclaration(document.heading, tuple(rules)) if model else None


def _check_names(nodes: Node | None, findings: Findings) -> None:
    first: dict[str, Origin] = {}
    for item in nodes.items if isinstance(nodes, SequenceNode) else []:
        name = item.get("name") if isinstance(item, MappingNode) else None
        if isinstance(name, ScalarNode):
            origin = findings.origin(name)
            if first.setdefault(name.plain, origin) != origin:
                trouble = Trouble(Code.POLICY_FORM, f"there is another rule {quoted(name.plain)}", "rename one of them")
                findings.add(trouble, name, related=[first[name.plain]])


def _rule(
    document: str, node: MappingNode, item: "PolicyRule | None", table: PatternTable, findings: Findings
) -> Iterator[TopicRule]:
    topics = topic_names(node.get("topics"), table, findings)
    excluded = topic_names(node.get("except"), table, findings)
    if not node.keys.keys() & {"topics", "matchLabels"}:
        findings.add(_ABOUT, node)
    if not node.keys.keys() & set(_ASKING):
        findings.add(_ASKS, node)
    parts = tuple(_parts(node, item, findings))
    waivers = tuple(_waivers(node.get("waivers"), item.waivers if item else None, table, findings))
    if item is not None:
        yield TopicRule(
            document,
            findings.origin(node),
            parts,
            topics,
            excluded,
            FrozenMap(item.match_labels),
            item.name,
            item.message,
            item.severity,
            waivers,
        )


def _parts(node: MappingNode, item: "PolicyRule | None", findings: Findings) -> Iterator[RulePart]:
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
        yield ExpressionRule(findings.origin(expression), expression.plain)


def _name_part(names: MappingNode, item: "PolicyRule | None", key: Node, findings: Findings) -> Iterator[NameRule]:
    pattern = names.get("pattern")
    if isinstance(pattern, ScalarNode) and not findings.marks(pattern):
        trouble = pattern_problem(pattern.plain)
        if trouble is not None:
            findings.add(trouble, pattern)
    if not names.keys:
        findings.add(_NAMES, key)
    if item is not None and item.names is not None:
        yield NameRule(findings.origin(key), item.names.pattern, item.names.max_length)


def _count_part(
    subject: TopicNumber, limits: "CountLimits", node: MappingNode, findings: Findings
) -> Iterator[CountRule]:
    place = node.keys[subject]
    bounds = (limits.min, limits.max, limits.min_per_broker, limits.max_per_broker)
    if not any(bound is not None for bound in bounds) and not limits.required:
        findings.add(_COUNTS, place)
    for low, high in ((limits.min, limits.max), (limits.min_per_broker, limits.max_per_broker)):
        if low is not None and high is not None and low > high:
            findings.add(_ORDER, place)
    yield CountRule(findings.origin(place), subject, *bounds, limits.required)


def _waivers(
    nodes: Node | None, items: "Sequence[TopicWaiverItem] | None", table: PatternTable, findings: Findings
) -> Iterator[TopicWaiver]:
    for node, item in paired(nodes, items):
        topics = topic_names(node.get("topics"), table, findings)
        if item is not None:
            codes = item.codes if isinstance(item.codes, list) else [item.codes] if item.codes else []
            yield TopicWaiver(
                topics or NameSelector(),
                item.reason,
                item.expires,
                findings.origin(node),
                frozenset(codes),
                item.ticket,
            )


class TopicPolicyKind(Kind):
    """Rules for topics; ``reconciler.policy`` applies them."""

    name = "TopicPolicy"
    code_fields = frozenset({"expression", "pattern"})

    @staticmethod
    def model() -> "type[TopicPolicyDocument]":
        """The fields of its documents."""
        from reconciler.manifest.models.topic_policy import TopicPolicyDocument  # noqa: PLC0415

        return TopicPolicyDocument

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_topic_policy(document, table)
