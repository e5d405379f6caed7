"""The kind ``Acls``: rules for one principal, or for several."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind, Loaded
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration, declare_principals, declare_rule
from reconciler.manifest.parts.selectors import LintException, declare_lint_exceptions
from reconciler.manifest.parts.short_form import SHORT_FORM, OwnedTopics, declare_flow, declare_short_form, owned_topics
from reconciler.manifest.read.findings import MappingNode, SequenceNode, Trouble
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Origin

if TYPE_CHECKING:
    from reconciler.manifest.models.acls import AclsDocument


@dataclass(frozen=True, slots=True)
class AclsDeclaration:
    """A document's heading and rules, and the topics that it says its principals have for themselves."""

    heading: Heading
    rules: tuple[RuleDeclaration, ...]
    exceptions: tuple[LintException, ...] = ()
    owned: tuple[OwnedTopics, ...] = ()


_NOTHING = Trouble(
    Code.MISSING_FIELD, "the field 'rules' is missing here", "add rules, or the short form: owns, reads and writes"
)


def declare_acls(document: Document, table: PatternTable) -> AclsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings, spec = document.findings, document.spec
    model = document.validated(AclsKind.model())
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
    places = frozenset(_places(rules)) if "exceptions" in spec.values else None
    items = model.spec.exceptions if model else None
    exceptions = declare_lint_exceptions(spec.get("exceptions"), items, table, findings, places)
    owned = owned_topics(spec, table, findings)
    return AclsDeclaration(document.heading, tuple(rules), exceptions, owned) if model else None


def _places(rules: list[RuleDeclaration]) -> Iterator[Origin]:
    """Every place from which a binding of these rules can come."""
    for rule in rules:
        if isinstance(rule.action, RoleUse):
            yield rule.action.declaration.origin
        yield from (declaration.origin for _, declaration in rule.declared())


class AclsKind(Kind["AclsDocument"]):
    """ACL rules."""

    name = "Acls"

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
