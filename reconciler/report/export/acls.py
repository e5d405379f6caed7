"""The ACLs of one principal as rules and roles: folded as far as nothing is lost, in one order.

Entries of one pattern that differ in the host only share a rule, then in the operation, then LITERAL patterns of one
type that allow the same. Rules are sorted by resource, so that a DENY stands beside the ALLOW that it limits.
"""

from collections import defaultdict
from collections.abc import Iterable

from reconciler.manifest import FIELD_OF
from reconciler.model import (
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.report.export.roles import ExportedRole, ExportedRule, with_roles
from reconciler.report.export.yaml_text import one_or_list, scalar


def acls_document(name: str, principal: str, bindings: Iterable[AclBinding], *, roles: bool = True) -> list[str]:
    """The lines of one ``Acls`` document. The texts are expressible and ``name`` is fit for a document.

    With ``roles``, built-in roles say what they say exactly.
    """
    lines = [
        "apiVersion: reconciler/v1",
        "kind: Acls",
        f"metadata: {{name: {scalar(name, flow=True)}}}",
        "spec:",
        f"  principal: {scalar(principal)}",
        "  rules:",
    ]
    rules = folded(bindings)
    for item in with_roles(rules) if roles else rules:
        lines.extend(_use_lines(item) if isinstance(item, ExportedRole) else _rule_lines(item))
    return lines


def folded(bindings: Iterable[AclBinding]) -> list[ExportedRule]:
    """The rules that declare exactly ``bindings``, which are of one principal."""
    hosts: dict[tuple[ResourcePattern, AclPermissionType, AclOperation], list[str]] = defaultdict(list)
    for pattern, entry in sorted(bindings):
        hosts[pattern, entry.permission_type, entry.operation].append(entry.host)
    operations: dict[tuple[ResourcePattern, AclPermissionType, tuple[str, ...]], list[AclOperation]] = defaultdict(list)
    for (pattern, permission, operation), found in hosts.items():
        operations[pattern, permission, tuple(sorted(found))].append(operation)
    patterns: dict[tuple[ResourcePattern | ResourceType, ExportedRule], list[ResourcePattern]] = defaultdict(list)
    for (pattern, permission, where), what in operations.items():
        patterns[_shareable(pattern), ExportedRule((), permission, tuple(sorted(what)), where)].append(pattern)
    return sorted((rule._replace(patterns=tuple(same)) for (_, rule), same in patterns.items()), key=_order)


def _shareable(pattern: ResourcePattern) -> ResourcePattern | ResourceType:
    """What a rule's patterns have in common: the type, or the pattern itself where it cannot stand in a list."""
    listed = pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard
    return pattern.resource_type if listed else pattern


def _order(rule: ExportedRule) -> tuple[object, ...]:
    first = rule.patterns[0]
    # ALLOW before DENY: what is granted, then what is taken from it.
    return (first.resource_type, first.name, first.pattern_type, -rule.permission, rule.operations, rule.hosts)


def _rule_lines(rule: ExportedRule) -> list[str]:
    head = one_or_list(rule.permission.name.lower(), [operation.name for operation in rule.operations], 6)
    head[0] = f"    - {head[0].lstrip()}"
    return [*head, *_resource_lines(rule.patterns), *_host_lines(rule.hosts)]


def _use_lines(use: ExportedRole) -> list[str]:
    resources = [line for rule in use.rules for line in _resource_lines(rule.patterns)]
    return [f"    - role: {use.role}", *resources, *_host_lines(use.rules[0].hosts)]


def _host_lines(hosts: tuple[str, ...]) -> list[str]:
    return [] if hosts == (WILDCARD,) else one_or_list("hosts", hosts, 6, always_list=True)


def _resource_lines(patterns: tuple[ResourcePattern, ...]) -> list[str]:
    first = patterns[0]
    field = FIELD_OF[first.resource_type]
    if first.resource_type is ResourceType.CLUSTER:
        return [f"      {field}: true"]
    if first.is_wildcard:
        return [f"      {field}: {{any: true}}"]
    if first.pattern_type is PatternType.PREFIXED:
        return [f"      {field}: {{prefix: {scalar(first.name, flow=True)}}}"]
    names = [pattern.name for pattern in patterns]
    if any(name.endswith(WILDCARD) for name in names):
        # Spelled out, a star at the end is part of the name.
        return [f"      {field}:", *one_or_list("literal", names, 8, always_list=True)]
    return one_or_list(field, names, 6, always_list=True)
