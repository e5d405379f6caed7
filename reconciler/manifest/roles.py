"""Roles: named bundles of rules that take resources; the built-in ones and those of ``Role`` documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from reconciler.manifest.acls import RoleUse, RuleDeclaration
from reconciler.manifest.codes import Code
from reconciler.manifest.document import Document, Heading
from reconciler.manifest.findings import Findings, Trouble
from reconciler.manifest.models.role import RoleDocument
from reconciler.manifest.names import FIELDS
from reconciler.manifest.nodes import MappingNode, ScalarNode, SequenceNode
from reconciler.manifest.operations import Permission, permission
from reconciler.manifest.resources import PatternTable
from reconciler.manifest.source import quoted
from reconciler.manifest.suggest import did_you_mean, one_of
from reconciler.model import CLUSTER_NAME, AclOperation, AclPermissionType, ResourcePattern, ResourceType

FIELD_OF: Final = {kind: field for field, kind in FIELDS.items()}
_FORM = Trouble(Code.RULE_FORM, "exactly one of allow and deny is expected in a role's rule")
_RESOURCE = Trouble(Code.RULE_FORM, "the rule names no resource", "add topics: $topics, or another resource")


@dataclass(frozen=True, slots=True)
class RoleRule:
    """What a role does to the resources it takes (``takes``) and to those it names itself (``names``)."""

    permission: Permission
    takes: tuple[ResourceType, ...]
    names: tuple[ResourcePattern, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleDeclaration:
    """A role; every use names each of ``required`` and may name ``optional`` ones, at least one resource in all."""

    name: str
    required: tuple[ResourceType, ...]
    optional: tuple[ResourceType, ...]
    rules: tuple[RoleRule, ...]
    heading: Heading | None = None


def _built_in() -> Mapping[str, RoleDeclaration]:
    o = AclOperation
    topic, group, cluster = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
    transaction = ResourceType.TRANSACTIONAL_ID

    def on(kind: ResourceType, *operations: AclOperation) -> RoleRule:
        return RoleRule(Permission(AclPermissionType.ALLOW, operations), (kind,))

    produce, transact = on(topic, o.WRITE, o.DESCRIBE), on(transaction, o.WRITE, o.DESCRIBE)
    idempotent = RoleRule(
        Permission(AclPermissionType.ALLOW, (o.IDEMPOTENT_WRITE,)), (), (ResourcePattern(cluster, CLUSTER_NAME),)
    )
    own_topics = (o.READ, o.WRITE, o.CREATE, o.DESCRIBE, o.DESCRIBE_CONFIGS)
    manage = (o.CREATE, o.DELETE, o.ALTER, o.DESCRIBE, o.DESCRIBE_CONFIGS, o.ALTER_CONFIGS)
    roles = (
        RoleDeclaration("producer", (topic,), (), (produce,)),
        RoleDeclaration("idempotent-producer", (topic,), (), (produce, idempotent)),
        RoleDeclaration(
            "transactional-producer", (topic, transaction), (group,), (produce, transact, on(group, o.READ))
        ),
        RoleDeclaration("consumer", (topic, group), (), (on(topic, o.READ, o.DESCRIBE), on(group, o.READ))),
        RoleDeclaration(
            "streams",
            (topic, group),
            (transaction,),
            (on(topic, *own_topics, o.DELETE), on(group, o.READ, o.DESCRIBE), transact),
        ),
        RoleDeclaration(
            "connect", (topic, group), (transaction,), (on(topic, *own_topics), on(group, o.READ, o.DESCRIBE), transact)
        ),
        RoleDeclaration(
            "mirror",
            (topic, group),
            (),
            (on(topic, *own_topics, o.ALTER, o.ALTER_CONFIGS), on(group, o.READ, o.DESCRIBE)),
        ),
        RoleDeclaration(
            "admin",
            (),
            (topic, group, cluster),
            (
                on(topic, *manage),
                on(group, o.DESCRIBE, o.DELETE),
                on(cluster, o.CREATE, o.ALTER, o.DESCRIBE, o.DESCRIBE_CONFIGS, o.ALTER_CONFIGS),
            ),
        ),
    )
    return MappingProxyType({role.name: role for role in roles})


BUILT_IN_ROLES: Final = _built_in()


def declare_role(document: Document, table: PatternTable) -> RoleDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no role."""
    findings, spec, heading = document.findings, document.spec, document.heading
    model = document.validated(RoleDocument)
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
            elif not takes and not names:
                findings.add(_RESOURCE, node)
            rules += [RoleRule(action, takes, names)] if action else []
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


def use_problem(rule: RuleDeclaration, use: RoleUse, roles: Mapping[str, RoleDeclaration]) -> Trouble | None:
    """Why a rule cannot use the role it names; ``None`` if it can."""
    role = roles.get(use.name)
    if role is None:
        return Trouble(
            Code.UNKNOWN_ROLE, f"there is no role {quoted(use.name)}", did_you_mean(use.name, roles, one_of(roles))
        )
    given = set(rule.patterns)
    needs = ", ".join(FIELD_OF[kind] for kind in role.required)
    may = ", ".join(FIELD_OF[kind] for kind in role.optional)
    takes = " and, if wanted, ".join(part for part in (needs, may) if part) or "no resources"
    advice = f"{role.name} takes {takes}"
    missing = [FIELD_OF[kind] for kind in role.required if kind not in given]
    if missing:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} needs {' and '.join(missing)}", advice)
    surplus = sorted(FIELD_OF[kind] for kind in given.difference(role.required, role.optional))
    if surplus:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} does not take {' or '.join(surplus)}", advice)
    if not given and role.optional:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} needs a resource", advice)
    return None
