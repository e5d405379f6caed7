"""``reads`` and ``writes`` of a rule: the topics that an application takes in and puts out, next to its own.

Kafka Streams asks for READ on its input topics, in its own group, and for WRITE on its output topics (Kafka's developer
guide of Streams, Security). Both are uses of the roles that say that of any client.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.manifest.parts.declared_patterns import DeclaredPatterns
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode
from reconciler.model import ResourceType

#: By field, the role that says it.
FLOW: Final = {"reads": "consumer", "writes": "producer"}
#: Roles of one application that consumes in the group it names. A Connect worker's connectors have groups of their own.
_APPLICATIONS: Final = ("streams", "ksqldb")
_NOT_HERE: Final = Trouble(
    Code.RULE_FORM,
    f"reads and writes belong to a rule with {' or '.join(f'role: {name}' for name in _APPLICATIONS)}",
    "write a rule with role: consumer or role: producer",
)


def declare_flow(
    node: MappingNode, rule: RuleDeclaration, table: PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    """The rules that ``reads`` and ``writes`` of ``node`` add to its ``rule``; problems are reported."""
    use = rule.action
    for field, role in FLOW.items():
        value = node.get(field)
        if value is None:
            continue
        if not isinstance(use, RoleUse) or use.name not in _APPLICATIONS:
            findings.add(_NOT_HERE, node.keys[field])
            continue
        # The same terms as the rule, at the place of each name.
        names = table.names(ResourceType.TOPIC, value, findings)
        named = [DeclaredPatterns.of(ResourceType.TOPIC, names, use.declaration)]
        if field == "reads":
            named.append(rule.on(ResourceType.GROUP) or DeclaredPatterns.of(ResourceType.GROUP, (), use.declaration))
        yield RuleDeclaration.of(RoleUse(role, use.declaration), rule.principals, rule.hosts, named, rule.terms)
