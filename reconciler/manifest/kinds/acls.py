"""The kind ``Acls``: rules for one principal, or for several."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from reconciler.manifest.kinds.interface import Declared, DesiredBuilder, Kind, Loaded
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import Day, ManifestModel, OneOrMoreOperations, OneOrMoreTexts, Text
from reconciler.manifest.parts.metadata import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.resources import PatternTable, Resources
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration, declare_principals, declare_rule
from reconciler.manifest.parts.waivers import LintWaiver, WaiveField, declare_lint_waivers
from reconciler.manifest.reader.nodes import MappingNode, SequenceNode
from reconciler.model import Origin


class RuleItem(Resources):
    """One rule: ``allow``, ``deny`` or ``role``, and at least one kind of resource."""

    allow: OneOrMoreOperations | None = Field(
        None, description="Operations that are granted.", examples=[["READ", "DESCRIBE"], "READ"]
    )
    deny: OneOrMoreOperations | None = Field(
        None, description="Operations that are refused, whatever else is granted.", examples=[["WRITE", "DELETE"]]
    )
    role: Text | None = Field(
        None,
        description="A built-in role, or the name of a Role document; it takes the resources.",
        examples=["consumer"],
    )
    hosts: OneOrMoreTexts | None = Field(
        None,
        description="Addresses as the broker sees them; IPv6 in full. Without it, every host.",
        examples=[["10.0.0.7"]],
    )
    expires: Day | None = Field(None, description="The last day on which the rule holds.", examples=["2027-01-31"])
    reason: Text | None = Field(None, description="Why the rule exists.", examples=["quarter-end audit"])
    ticket: Text | None = Field(None, description="Where the rule was agreed.", examples=["SEC-1204"])


class AclsSpec(ManifestModel):
    """Principals and their rules."""

    clusters: ClustersField = None
    principal: Text | None = Field(
        None, description="The principal that the rules are for, as Type:name.", examples=["User:svc-payments"]
    )
    principals: OneOrMoreTexts | None = Field(
        None,
        description="Several principals that the rules are for, instead of principal.",
        examples=[["User:a", "User:b"]],
    )
    rules: list[RuleItem] = Field(
        description="The rules. Each expands to one binding for each principal, host, operation and name.",
        examples=[[{"allow": "READ", "topics": ["payments.orders"]}]],
    )
    waive: WaiveField


class AclsDocument(ManifestModel):
    """ACL bindings of one principal, or of several with the same rules."""

    api_version: ApiVersion
    kind: Literal["Acls"] = Field(description="What the document declares.", examples=["Acls"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: AclsSpec = Field(
        description="Principals and rules.",
        examples=[{"principal": "User:svc-payments", "rules": [{"allow": "READ", "topics": ["payments.orders"]}]}],
    )


@dataclass(frozen=True, slots=True)
class AclsDeclaration:
    """A document's heading and rules."""

    heading: Heading
    rules: tuple[RuleDeclaration, ...]
    waivers: tuple[LintWaiver, ...] = ()


def declare_acls(document: Document, table: PatternTable) -> AclsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings, spec = document.findings, document.spec
    model = document.validated(AclsDocument)
    if not isinstance(document.root.get("spec"), MappingNode):
        return None
    principals = declare_principals(spec, findings)
    nodes = spec.get("rules")
    rule_nodes = nodes.items if isinstance(nodes, SequenceNode) else []
    rules = []
    for index, node in enumerate(rule_nodes):
        if isinstance(node, MappingNode):
            want = model.spec.rules[index] if model else None
            rule = declare_rule(node, want, principals, table.named(node, findings), findings)
            rules += [rule] if rule else []
    places = frozenset(_places(rules)) if "waive" in spec.values else None
    waivers = declare_lint_waivers(spec.get("waive"), model.spec.waive if model else None, table, findings, places)
    return AclsDeclaration(document.heading, tuple(rules), waivers) if model else None


def _places(rules: list[RuleDeclaration]) -> Iterator[Origin]:
    """Every place from which a binding of these rules can come."""
    for rule in rules:
        if isinstance(rule.action, RoleUse):
            yield rule.action.declaration.origin
        for names in rule.patterns.values():
            yield from (declaration.origin for _, declaration in names)


class AclsKind(Kind):
    """ACL rules."""

    name = "Acls"
    model = AclsDocument

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_acls(document, table)

    def check(self, loaded: Loaded) -> None:
        """Reports rules whose role is unknown or does not fit."""
        loaded.check_role_uses(rule for item in loaded.of(AclsDeclaration) for rule in item.rules)

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds the bindings of every rule."""
        for item in builder.of(AclsDeclaration):
            builder.bindings.add(item.rules)
