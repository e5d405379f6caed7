"""The kind ``Acls``: rules for one principal, or for several."""

from collections.abc import Iterator
from typing import Literal

from pydantic import ConfigDict, Field

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds.interface import Declared, DesiredBuilder, Kind, Loaded
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import (
    Ends,
    ManifestModel,
    OneOrMoreOperations,
    OneOrMoreTexts,
    Reason,
    Text,
    ends,
)
from reconciler.manifest.parts.flow import declare_flow
from reconciler.manifest.parts.metadata import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.resources import Names, PatternTable, Resources
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration, declare_principals, declare_rule
from reconciler.manifest.parts.short_form import SHORT_FORM, OwnedTopics, ShortForm, declare_short_form, owned_topics
from reconciler.manifest.parts.waivers import LintWaiver, WaiveField, declare_lint_waivers
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Trouble
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
    reads: Names | None = Field(
        None,
        description="With role streams or ksqldb: the input topics, consumed in the groups of the rule.",
        examples=[["payments.orders"]],
    )
    writes: Names | None = Field(
        None, description="With role streams or ksqldb: the output topics.", examples=[["fraud.alerts"]]
    )
    hosts: OneOrMoreTexts | None = Field(
        None,
        description="Addresses as the broker sees them, IPv6 in full; from Kafka 4.4 on also ranges such as "
        "10.0.0.0/8. Without it, every host.",
        examples=[["10.0.0.7"]],
    )
    expires: Ends | None = ends("The rule holds")
    reason: Text | None = Field(None, description="Why the rule exists.", examples=["quarter-end audit"])
    ticket: Text | None = Field(None, description="Where the rule was agreed.", examples=["SEC-1204"])
    keep: Reason | None = Field(
        None, description="Why `tighten` leaves the rule as it is, used or not.", examples=["disaster recovery"]
    )


class AclsSpec(ShortForm):
    """Principals and their rules, or a short form of them."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [field]} for field in ("rules", *SHORT_FORM)]})

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
        default_factory=list,
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
    """A document's heading and rules, and the topics that it says its principals have for themselves."""

    heading: Heading
    rules: tuple[RuleDeclaration, ...]
    waivers: tuple[LintWaiver, ...] = ()
    owned: tuple[OwnedTopics, ...] = ()


_NOTHING = Trouble(
    Code.MISSING_FIELD, "the field 'rules' is missing here", "add rules, or the short form: owns, reads and writes"
)


def declare_acls(document: Document, table: PatternTable) -> AclsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings, spec = document.findings, document.spec
    model = document.validated(AclsDocument)
    if not isinstance(document.root.get("spec"), MappingNode):
        return None
    principals = declare_principals(spec, findings)
    if not spec.keys.keys() & {"rules", *SHORT_FORM}:
        findings.add(_NOTHING, spec)
    nodes = spec.get("rules")
    rule_nodes = nodes.items if isinstance(nodes, SequenceNode) else []
    rules = list(declare_short_form(spec, principals, table, findings))
    for index, node in enumerate(rule_nodes):
        if isinstance(node, MappingNode):
            want = model.spec.rules[index] if model else None
            rule = declare_rule(node, want, principals, table.named(node, findings), findings)
            rules += [rule, *declare_flow(node, rule, table, findings)] if rule else []
    places = frozenset(_places(rules)) if "waive" in spec.values else None
    waivers = declare_lint_waivers(spec.get("waive"), model.spec.waive if model else None, table, findings, places)
    owned = owned_topics(spec, table, findings)
    return AclsDeclaration(document.heading, tuple(rules), waivers, owned) if model else None


def _places(rules: list[RuleDeclaration]) -> Iterator[Origin]:
    """Every place from which a binding of these rules can come."""
    for rule in rules:
        if isinstance(rule.action, RoleUse):
            yield rule.action.declaration.origin
        yield from (declaration.origin for _, declaration in rule.declared())


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
