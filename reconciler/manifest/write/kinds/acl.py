"""The ACLs of one principal as rules and roles: folded as far as nothing is lost, in one order.

Entries of one pattern that differ in the host only share a rule, then in the operation, then LITERAL patterns of one
type that allow the same. Rules are sorted by resource, so that a DENY stands beside the ALLOW that it limits.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from reconciler.manifest.parts.resources import looks_like_a_pattern
from reconciler.manifest.parts.rules import FIELD_OF
from reconciler.manifest.write.kinds.interface import Inexpressible, Part
from reconciler.manifest.write.roles import (
    Application,
    Applications,
    ExportedRole,
    ExportedRule,
    applications,
    with_roles,
)
from reconciler.manifest.write.text import (
    DEFAULT_STYLE,
    ExportStyle,
    binding_problem,
    comment,
    document_head,
    file_stems,
    one_or_list,
    scalar,
)
from reconciler.model.acl import (
    IMPLICATIONS,
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import DesiredState
from reconciler.model.markers import standing_bridges
from reconciler.model.state import ClusterState

#: Who shares a document, and the file that it is in.
_Place = tuple[tuple[str, ...], str]
_ROLES_FILE: Final = "roles.yaml"
#: What one rule can name at once: the cluster stands by itself, and so do tokens and users.
_NAMED_TOGETHER: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_BRIDGE: Final = (
    "a bridge that a run left, by its marker: “reconciler cleanup” removes it; declare it only if you mean it"
)


def exported(state: ClusterState, style: ExportStyle) -> Part:
    """A document for each principal and file: ``acls/<name>.yaml``, or the place that the style names."""
    expressible: dict[tuple[str, str], list[AclBinding]] = defaultdict(list)
    inexpressible: list[Inexpressible] = []
    left_of: dict[str, list[Inexpressible]] = defaultdict(list)
    bridges = standing_bridges(state.bindings)
    for binding in sorted(state.bindings):
        reason = _BRIDGE if binding in bridges else binding_problem(binding)
        if reason is None:
            expressible[binding.entry.principal, style.places.get(binding, "")].append(binding)
        else:
            inexpressible.append(Inexpressible(binding, str(binding), reason))
            left_of[binding.entry.principal].append(inexpressible[-1])
    documents = _documents(expressible, together=style.together)
    names = _document_names(documents)
    shared = _applications(documents) if style.applications else Applications({}, {})
    files: dict[str, list[str]] = {}
    for (principals, place), bindings in sorted(documents.items(), key=lambda item: (item[0][1], item[0][0])):
        name = names[principals, place]
        path = f"{place}.yaml" if place else f"acls/{name}.yaml"
        lines = [comment(text) for principal in principals for text in _missing_lines(left_of.pop(principal, ()))]
        use = shared.uses.get(principals[0]) if len(principals) == 1 else None
        if use is None:
            lines += acls_document(name, principals, bindings, style)
        else:
            lines += _application_document(name, principals[0], bindings, use, style)
        files[path] = [*files[path], "---", *lines] if path in files else lines
    if shared.roles:
        files[_ROLES_FILE] = _role_documents(shared.roles)
    comments = _missing_lines([item for items in left_of.values() for item in items])
    comments += [f"An ACL of a kind that the client cannot name: {_opaque(entry)}" for entry in state.opaque]
    comments += [f"The ACLs may not be whole: {state.acl_gap}"] if state.acl_gap is not None else []
    return Part(files, tuple(inexpressible), tuple(comments))


def _applications(documents: Mapping[_Place, list[AclBinding]]) -> Applications:
    """The roles of principals that have all their bindings in one document of their own."""
    places = Counter(principal for principals, _ in documents for principal in principals)
    return applications(
        {
            principals[0]: folded(bindings)
            for (principals, _), bindings in documents.items()
            if len(principals) == 1 and places[principals[0]] == 1
        }
    )


def _application_document(
    name: str, principal: str, bindings: Sequence[AclBinding], use: Application, style: ExportStyle
) -> list[str]:
    lines = [
        *style.origin_lines(bindings),
        *document_head("Acls", name),
        f"  principal: {scalar(principal)}",
        "  rules:",
    ]
    lines += [f"    {comment(text)}" for text in _notes(folded(bindings), _notes_by_pattern(bindings, style))]
    lines += [f"    - role: {use.role}", f"      parameters: {{id: {scalar(use.id, flow=True)}}}"]
    return [*lines, *_host_lines(use.hosts)]


def _role_documents(roles: Mapping[str, Sequence[ExportedRule]]) -> list[str]:
    lines: list[str] = []
    for name, rules in roles.items():
        lines += ["---"] if lines else []
        lines += [*document_head("Role", name), "  parameters: [id]", "  rules:"]
        for rule in _together(rules):
            lines += _rule_lines(rule._replace(hosts=(WILDCARD,))) if isinstance(rule, ExportedRule) else []
    return lines


def _documents(
    expressible: Mapping[tuple[str, str], list[AclBinding]], *, together: bool
) -> dict[_Place, list[AclBinding]]:
    """The bindings of each document; if ``together``, principals of one file with equal rules have one."""
    if not together:
        return {((principal,), place): bindings for (principal, place), bindings in expressible.items()}
    alike: dict[tuple[str, tuple[AclBinding, ...]], list[str]] = defaultdict(list)
    for (principal, place), bindings in sorted(expressible.items()):
        same = tuple(AclBinding(pattern, entry._replace(principal="")) for pattern, entry in bindings)
        alike[place, same].append(principal)
    return {
        (tuple(principals), place): [binding for principal in principals for binding in expressible[principal, place]]
        for (place, _), principals in alike.items()
    }


def _document_names(places: Iterable[_Place]) -> dict[_Place, str]:
    """The name of each document; principals with documents in several files have the file in each name."""
    documents = list(places)
    shared = Counter(principals for principals, _ in documents)
    titles = {
        (principals, place): _title(principals) + (f"-{place.replace('/', '-')}" if shared[principals] > 1 else "")
        for principals, place in documents
    }
    stems = file_stems(titles.values())
    return {place: stems[title] for place, title in titles.items()}


def _title(principals: Sequence[str]) -> str:
    """A principal, two of them, or the first and how many follow."""
    first, *more = principals
    if len(more) > 1:
        return f"{first}-and-{len(more)}-more"
    return "-and-".join([first, *(principal.partition(":")[2] for principal in more)])


def differences(
    state: ClusterState, wanted: DesiredState, skipped: Collection[object], style: ExportStyle
) -> Iterator[str]:
    """Bindings that the manifests lack or have too many."""
    expected = {binding for binding in state.bindings if binding not in skipped}
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


def _missing_lines(items: Iterable[Inexpressible]) -> list[str]:
    lines = [f"  {item.subject}: {item.reason}" for item in items]
    return ["Live and not in this file:", *lines] if lines else []


def _opaque(entry: OpaqueBinding) -> str:
    codes = (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    shown = ", ".join("?" if code is None else str(code) for code in codes)
    return f"{entry.principal} from {entry.host} on {entry.name} (codes {shown})"


def acls_document(
    name: str, principals: Sequence[str], bindings: Iterable[AclBinding], style: ExportStyle = DEFAULT_STYLE
) -> list[str]:
    """The lines of one ``Acls`` document of principals with equal rules.

    The texts are expressible and ``name`` is fit for a document.
    """
    held = list(bindings)
    lines = [*style.origin_lines(held), *document_head("Acls", name)]
    lines += one_or_list("principal" if len(principals) == 1 else "principals", principals, 2)
    lines.append("  rules:")
    rules = folded(binding for binding in held if binding.entry.principal == principals[0])
    notes = _notes_by_pattern(held, style)
    items = with_roles(rules, implied=style.implied) if style.roles else rules
    for item in _together(items) if style.together else items:
        own_rules = item.rules if isinstance(item, ExportedRole) else (item,)
        lines += [f"    {comment(text)}" for text in _notes(own_rules, notes)]
        lines.extend(_use_lines(item) if isinstance(item, ExportedRole) else _rule_lines(item))
    return lines


def _together(items: Iterable[ExportedRule | ExportedRole]) -> list[ExportedRule | ExportedRole]:
    """The same, where one rule names what several allow alike on names of unlike types."""
    merged: list[ExportedRule | ExportedRole] = []
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for item in items:
        kind = None if isinstance(item, ExportedRole) else item.patterns[0].resource_type
        if isinstance(item, ExportedRole) or kind not in _NAMED_TOGETHER:
            merged.append(item)
            continue
        for place in alike[item[1:]]:
            other = merged[place]
            if isinstance(other, ExportedRule) and all(pattern.resource_type != kind for pattern in other.patterns):
                merged[place] = other._replace(patterns=(*other.patterns, *item.patterns))
                break
        else:
            alike[item[1:]].append(len(merged))
            merged.append(item)
    return merged


_Noted = dict[tuple[ResourcePattern, AclOperation], list[str]]


def _notes_by_pattern(bindings: Iterable[AclBinding], style: ExportStyle) -> _Noted:
    notes: _Noted = defaultdict(list)
    for binding in bindings if style.notes else ():
        notes[binding.pattern, binding.entry.operation] += style.notes.get(binding, ())
    return notes


def _notes(rules: Iterable[ExportedRule], notes: _Noted) -> list[str]:
    """Each note on a binding of the rules, once."""
    texts = (
        text
        for rule in (rules if notes else ())
        for pattern in rule.patterns
        for operation in rule.operations
        for text in notes.get((pattern, operation), ())
    )
    return list(dict.fromkeys(texts))


def folded(bindings: Iterable[AclBinding]) -> list[ExportedRule]:
    """The rules that declare exactly ``bindings``, which are of one principal."""
    hosts: dict[tuple[ResourcePattern, AclPermissionType, AclOperation], list[str]] = defaultdict(list)
    for pattern, entry in sorted(bindings):
        hosts[pattern, entry.permission_type, entry.operation].append(entry.host)
    operations: dict[tuple[ResourcePattern, AclPermissionType, tuple[str, ...]], list[AclOperation]] = defaultdict(list)
    for (pattern, permission, operation), entry_hosts in hosts.items():
        operations[pattern, permission, tuple(sorted(entry_hosts))].append(operation)
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
    by_type = groupby(rule.patterns, lambda pattern: pattern.resource_type)
    resources = [line for _, patterns in by_type for line in _resource_lines(tuple(patterns))]
    return [*head, *resources, *_host_lines(rule.hosts)]


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
    if any(map(looks_like_a_pattern, names)):
        # Spelled out, a star or a delimiter at the end is part of the name.
        return [f"      {field}:", *one_or_list("literal", names, 8, always_list=True)]
    return one_or_list(field, names, 6, always_list=True)
