"""``owner`` and ``grants`` of topics: a shorthand that expands to the rules that ``Acls`` would hold."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.manifest.parts.declared_patterns import DeclaredPatterns
from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import (
    EVERY_HOST,
    RoleUse,
    RuleDeclaration,
    checked_texts,
    declare_principals,
    declare_rule,
)
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.model import WILDCARD, Declaration, ResourcePattern, ResourceType

if TYPE_CHECKING:
    from reconciler.manifest.models.topics import TopicAccess

#: The built-in role that ``owner`` stands for.
OWNER_ROLE: Final = "owner"
#: Stands for the topic while a grant is read.
_ANY_TOPIC: Final = ResourcePattern(ResourceType.TOPIC, WILDCARD)


class TopicAccessRules(NamedTuple):
    """What ``owner`` and ``grants`` say, of no topic in particular yet."""

    owner: RuleDeclaration | None = None
    grants: tuple[RuleDeclaration, ...] = ()

    def on(self, name: str) -> Iterator[RuleDeclaration]:
        """The rules, on the topic of that name."""
        pattern = ResourcePattern(ResourceType.TOPIC, name)
        for rule in (*((self.owner,) if self.owner else ()), *self.grants):
            named = [names.renamed(pattern) if names.kind is ResourceType.TOPIC else names for names in rule.named]
            yield RuleDeclaration.of(rule.action, rule.principals, rule.hosts, named, rule.terms)

    def over(self, defaults: "TopicAccessRules") -> "TopicAccessRules":
        """With what the defaults grant; an owner of its own replaces theirs."""
        return TopicAccessRules(self.owner or defaults.owner, (*defaults.grants, *self.grants))


def declare_topic_access(
    node: Node | None, model: "TopicAccess | None", table: PatternTable, findings: Findings
) -> TopicAccessRules:
    """Checks ``owner`` and ``grants`` of a mapping; problems are reported."""
    if not isinstance(node, MappingNode):
        return TopicAccessRules()
    return TopicAccessRules(_owner(node.get("owner"), findings), tuple(_grants(node, model, table, findings)))


def _owner(node: Node | None, findings: Findings) -> RuleDeclaration | None:
    principals = checked_texts(node, principal_problem, findings)
    if node is None or not principals:
        return None
    declaration = Declaration(findings.origin(node))
    named = DeclaredPatterns.at(ResourceType.TOPIC, [_ANY_TOPIC], declaration)
    return RuleDeclaration.of(RoleUse(OWNER_ROLE, declaration), principals, EVERY_HOST, [named], declaration)


def _grants(
    node: MappingNode, model: "TopicAccess | None", table: PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    nodes = node.get("grants")
    for index, item in enumerate(nodes.items if isinstance(nodes, SequenceNode) else []):
        if not isinstance(item, MappingNode):
            continue
        place = ScalarNode(WILDCARD, item.line, item.column, item.length)
        named = {ResourceType.TOPIC: [(_ANY_TOPIC, place)], **table.named(item, findings)}
        principals = declare_principals(item, findings)
        rule = declare_rule(item, model.grants[index] if model else None, principals, named, findings)
        if rule is not None:
            yield rule
