"""The ACLs of one principal as rules and roles: folded as far as nothing is lost, in one order.

Entries of one pattern that differ in the host only share a rule, then in the operation, then LITERAL patterns of one
type that allow the same. Rules are sorted by resource, so that a DENY stands beside the ALLOW that it limits.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from reconciler.access.operations import IMPLICATIONS
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
    standing_bridges,
)
from reconciler.report.export.expressible import binding_problem
from reconciler.report.export.file_names import file_stems
from reconciler.report.export.kinds.interface import Inexpressible, Part
from reconciler.report.export.roles import ExportedRole, ExportedRule, with_roles
from reconciler.report.export.style import DEFAULT_STYLE, ExportStyle
from reconciler.report.export.yaml_text import comment, document_head, one_or_list, scalar

_BRIDGE: Final = (
    "a bridge that a run left, by its marker: “reconciler cleanup” removes it; declare it only if you mean it"
)


def exported(state: ClusterState, style: ExportStyle) -> Part:
    """A document for each principal and file: ``acls/<name>.yaml``, or the place that the style names."""
    expressible: dict[tuple[str, str], list[AclBinding]] = defaultdict(list)
    left: list[Inexpressible] = []
    left_of: dict[str, list[Inexpressible]] = defaultdict(list)
    bridges = standing_bridges(state.bindings)
    for binding in sorted(state.bindings):
        reason = _BRIDGE if binding in bridges else binding_problem(binding)
        if reason is None:
            expressible[binding.entry.principal, style.places.get(binding, "")].append(binding)
        else:
            left.append(Inexpressible(binding, str(binding), reason))
            left_of[binding.entry.principal].append(left[-1])
    names = _document_names(expressible)
    files: dict[str, list[str]] = {}
    for (principal, place), bindings in sorted(expressible.items(), key=lambda item: (item[0][1], item[0][0])):
        name = names[principal, place]
        path = f"{place}.yaml" if place else f"acls/{name}.yaml"
        lines = [comment(text) for text in _left_lines(left_of.pop(principal, ()))]
        lines += acls_document(name, principal, bindings, style)
        files[path] = [*files[path], "---", *lines] if path in files else lines
    comments = _left_lines([item for items in left_of.values() for item in items])
    comments += [f"An ACL of a kind that the client cannot name: {_opaque(entry)}" for entry in state.opaque]
    comments += [f"The ACLs may not be whole: {state.acl_gap}"] if state.acl_gap is not None else []
    return Part(files, tuple(left), tuple(comments))


def _document_names(places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The name of each document; a principal with documents in several files has the file in each name."""
    found = list(places)
    shared = Counter(principal for principal, _ in found)
    titles = {
        (principal, place): principal if shared[principal] == 1 else f"{principal}-{place.replace('/', '-')}"
        for principal, place in found
    }
    stems = file_stems(titles.values())
    return {place: stems[title] for place, title in titles.items()}


def differences(
    state: ClusterState, wanted: DesiredState, left: Collection[object], style: ExportStyle
) -> Iterator[str]:
    """Bindings that the manifests lack or have too many."""
    expected = {binding for binding in state.bindings if binding not in left}
    yield from (f"missing: {binding}" for binding in sorted(expected - wanted.bindings.keys()))
    surplus = wanted.bindings.keys() - expected
    if style.implied:
        surplus -= implied_by(expected)
    yield from (f"too much: {binding}" for binding in sorted(surplus))


def implied_by(bindings: Iterable[AclBinding]) -> set[AclBinding]:
    """What the ALLOWs among them grant without a binding for it, as bindings."""
    return {
        AclBinding(pattern, entry._replace(operation=IMPLICATIONS[entry.operation]))
        for pattern, entry in bindings
        if entry.permission_type is AclPermissionType.ALLOW and entry.operation in IMPLICATIONS
    }


def _left_lines(left: Iterable[Inexpressible]) -> list[str]:
    lines = [f"  {item.subject}: {item.reason}" for item in left]
    return ["Live and not in this file:", *lines] if lines else []


def _opaque(entry: OpaqueBinding) -> str:
    codes = (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    shown = ", ".join("?" if code is None else str(code) for code in codes)
    return f"{entry.principal} from {entry.host} on {entry.name} (codes {shown})"


def acls_document(
    name: str, principal: str, bindings: Iterable[AclBinding], style: ExportStyle = DEFAULT_STYLE
) -> list[str]:
    """The lines of one ``Acls`` document. The texts are expressible and ``name`` is fit for a document."""
    held = list(bindings)
    lines = style.origin_lines(held)
    lines += [*document_head("Acls", name), f"  principal: {scalar(principal)}", "  rules:"]
    rules = folded(held)
    notes = _notes_by_pattern(held, style)
    for item in with_roles(rules, implied=style.implied) if style.roles else rules:
        said = item.rules if isinstance(item, ExportedRole) else (item,)
        lines += [f"    {comment(text)}" for text in _notes(said, notes)]
        lines.extend(_use_lines(item) if isinstance(item, ExportedRole) else _rule_lines(item))
    return lines


_Noted = dict[tuple[ResourcePattern, AclOperation], list[str]]


def _notes_by_pattern(bindings: Iterable[AclBinding], style: ExportStyle) -> _Noted:
    found: _Noted = defaultdict(list)
    for binding in bindings if style.notes else ():
        found[binding.pattern, binding.entry.operation] += style.notes.get(binding, ())
    return found


def _notes(rules: Iterable[ExportedRule], notes: _Noted) -> list[str]:
    """Each note on a binding of the rules, once."""
    found = (
        text
        for rule in (rules if notes else ())
        for pattern in rule.patterns
        for operation in rule.operations
        for text in notes.get((pattern, operation), ())
    )
    return list(dict.fromkeys(found))


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
