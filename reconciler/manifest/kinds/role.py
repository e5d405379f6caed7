"""The kind ``Role``: a named bundle of rules that takes resources."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reconciler.manifest.kinds.interface import Declared, Kind
from reconciler.manifest.parts.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.parts.document import Document
from reconciler.manifest.parts.names import FIELDS
from reconciler.manifest.parts.operations import permission
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.roles import FIELD_OF, RoleDeclaration, RoleRule
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, ScalarNode, SequenceNode
from reconciler.model import ResourcePattern, ResourceType

if TYPE_CHECKING:
    from reconciler.manifest.models.role import RoleDocument


_FORM = Trouble(Code.RULE_FORM, "exactly one of allow and deny is expected in a role's rule", "write one of them")
_RESOURCE = Trouble(Code.RULE_FORM, "the rule names no resource", "add topics: $topics, or another resource")


def declare_role(document: Document, table: PatternTable) -> RoleDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no role."""
    findings, spec, heading = document.findings, document.spec, document.heading
    model = document.validated(RoleKind.model())
    # A redefined role would change every rule that uses it, in files that the change does not show.
    if heading.name in BUILT_IN_ROLES:
        message = f"{heading.name} is a built-in role and cannot be redefined"
        findings.add_at(Trouble(Code.BUILT_IN_ROLE, message, "give the role another name"), heading.origin)
    nodes = spec.get("rules")
    parameters = _parameters(spec)
    rules, used = [], set[ResourceType]()
    for node in nodes.items if isinstance(nodes, SequenceNode) else []:
        if isinstance(node, MappingNode):
            takes, names = _split(node, parameters, table, findings)
            used.update(takes)
            action = permission(node, [*takes, *(pattern.resource_type for pattern in names)], findings)
            if ("allow" in node.values) == ("deny" in node.values):
                findings.add(_FORM, node)
            elif not node.keys.keys() & FIELDS.keys():
                findings.add(_RESOURCE, node)
            rules += [RoleRule(action, takes, names, findings.origin(node))] if action else []
    for kind, place in parameters.items():
        if kind not in used:
            advice = f"use it, as {FIELD_OF[kind]}: ${FIELD_OF[kind]}, or remove it"
            findings.add(Trouble(Code.ROLE_PARAMETERS, f"no rule takes ${FIELD_OF[kind]}", advice), place)
    return RoleDeclaration(heading.name, tuple(parameters), (), tuple(rules), heading) if model else None


def _parameters(spec: MappingNode) -> dict[ResourceType, ScalarNode]:
    node = spec.get("parameters")
    items = node.items if isinstance(node, SequenceNode) else []
    return {
        FIELDS[item.plain]: item
        for item in items
        if isinstance(item, ScalarNode) and item.plain in FIELDS and item.plain != "cluster"
    }


def _split(
    node: MappingNode, parameters: Mapping[ResourceType, ScalarNode], table: PatternTable, findings: Findings
) -> tuple[tuple[ResourceType, ...], tuple[ResourcePattern, ...]]:
    """What the rule takes from its use, and what it names itself."""
    takes, names = [], []
    for field, kind in FIELDS.items():
        value = node.values.get(field)
        if value is None:
            continue
        if isinstance(value, ScalarNode) and value.plain.startswith("$") and not value.plain.startswith("${"):
            if value.plain != f"${field}":
                trouble = Trouble(Code.ROLE_PARAMETERS, f"{field} can take ${field} only", f"write {field}: ${field}")
                findings.add(trouble, value)
            elif kind not in parameters:
                advice = f"add {field} to parameters"
                findings.add(Trouble(Code.ROLE_PARAMETERS, f"${field} is not a parameter of this role", advice), value)
            takes.append(kind)
        else:
            names += [pattern for pattern, _ in table.names(kind, value, findings)]
    return tuple(takes), tuple(names)


class RoleKind(Kind):
    """Bundles of rules; the kinds whose rules use them check the uses."""

    name = "Role"

    @staticmethod
    def model() -> "type[RoleDocument]":
        """The fields of its documents."""
        from reconciler.manifest.models.role import RoleDocument  # noqa: PLC0415

        return RoleDocument

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_role(document, table)
