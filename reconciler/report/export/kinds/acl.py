"""The ACLs of one principal as rules and roles: folded as far as nothing is lost, in one order.

Entries of one pattern that differ in the host only share a rule, then in the operation, then LITERAL patterns of one
type that allow the same. Rules are sorted by resource, so that a DENY stands beside the ALLOW that it limits.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from reconciler.manifest import FIELD_OF
from reconciler.model import (
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    DesiredState,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.report.export.expressible import binding_problem
from reconciler.report.export.file_names import file_stems
from reconciler.report.export.kinds.interface import Inexpressible, Part
from reconciler.report.export.roles import ExportedRole, ExportedRule, with_roles
from reconciler.report.export.yaml_text import comment, document_head, one_or_list, scalar


def exported(state: ClusterState, *, roles: bool) -> Part:
    """One file for each principal, ``acls/<name>.yaml``."""
    expressible: dict[str, list[AclBinding]] = defaultdict(list)
    left: list[Inexpressible] = []
    left_of: dict[str, list[Inexpressible]] = defaultdict(list)
    for binding in sorted(state.bindings):
        reason = binding_problem(binding)
        if reason is None:
            expressible[binding.entry.principal].append(binding)
        else:
            left.append(Inexpressible(binding, str(binding), reason))
            left_of[binding.entry.principal].append(left[-1])
    stems = file_stems(expressible)
    files = {}
    for principal, bindings in sorted(expressible.items()):
        own = [comment(text) for text in _left_lines(left_of.pop(principal, ()))]
        files[f"acls/{stems[principal]}.yaml"] = [
            *own,
            *acls_document(stems[principal], principal, bindings, roles=roles),
        ]
    comments = _left_lines([item for items in left_of.values() for item in items])
    comments += [f"An ACL of a kind that the client cannot name: {_opaque(entry)}" for entry in state.opaque]
    comments += [f"The ACLs may not be whole: {state.acl_gap}"] if state.acl_gap is not None else []
    return Part(files, tuple(left), tuple(comments))


def differences(state: ClusterState, wanted: DesiredState, left: Collection[object]) -> Iterator[str]:
    """Bindings that the manifests lack or have too many."""
    expected = {binding for binding in state.bindings if binding not in left}
    yield from (f"missing: {binding}" for binding in sorted(expected - wanted.bindings.keys()))
    yield from (f"too much: {binding}" for binding in sorted(wanted.bindings.keys() - expected))


def _left_lines(left: Iterable[Inexpressible]) -> list[str]:
    lines = [f"  {item.subject}: {item.reason}" for item in left]
    return ["Live and not in this file, because no manifest can say it:", *lines] if lines else []


def _opaque(entry: OpaqueBinding) -> str:
    codes = (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    shown = ", ".join("?" if code is None else str(code) for code in codes)
    return f"{entry.principal} from {entry.host} on {entry.name} (codes {shown})"


def acls_document(name: str, principal: str, bindings: Iterable[AclBinding], *, roles: bool = True) -> list[str]:
    """The lines of one ``Acls`` document. The texts are expressible and ``name`` is fit for a document.

    With ``roles``, built-in roles say what they say exactly.
    """
    lines = [*document_head("Acls", name), f"  principal: {scalar(principal)}", "  rules:"]
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
