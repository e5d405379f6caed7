"""What is missing as rules, in a document of the same principal or in one of its own."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from reconciler.edit import homes
from reconciler.edit.homes import NewDocument
from reconciler.edit.kinds.interface import Changes, Wanted
from reconciler.edit.pages import Book
from reconciler.edit.writing import Item, Written, quoted, with_items
from reconciler.manifest import FIELD_OF
from reconciler.model import (
    WILDCARD,
    AclBinding,
    Declaration,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.report.export.file_names import file_stems
from reconciler.report.export.kinds.acl import folded
from reconciler.report.export.roles import ExportedRole, ExportedRule, with_roles


def terms(declaration: Declaration) -> tuple[object, ...]:
    """What people say of a binding, wherever they say it."""
    return declaration.reason, declaration.ticket, declaration.expires, declaration.keep


def extend(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Write rules for what is missing, into a document of the same principal where there is one for these clusters."""
    missing: dict[tuple[AclBinding, tuple[object, ...]], set[str]] = defaultdict(set)
    for name in book.clusters:
        for binding in wanted[name].bindings.keys() - book.desired[name].bindings.keys():
            missing[binding, terms(wanted[name].bindings[binding])].add(name)
    homes_of: dict[tuple[str, frozenset[str]], dict[tuple[object, ...], list[AclBinding]]] = {}
    for (binding, said), where in sorted(missing.items(), key=lambda item: item[0][0]):
        of_home = homes_of.setdefault((binding.entry.principal, frozenset(where)), {})
        of_home.setdefault(said, []).append(binding)
    for (principal, clusters), by_terms in homes_of.items():
        items = [item for said, bindings in by_terms.items() for item in rules(bindings, *said)]
        patterns = [binding.pattern for bindings in by_terms.values() for binding in bindings]
        _place_rules(book, changes, principal, clusters, patterns, items)


def _place_rules(
    book: Book,
    changes: Changes,
    principal: str,
    clusters: frozenset[str],
    patterns: Sequence[ResourcePattern],
    items: list[Item],
) -> None:
    owners = book.owners(clusters)
    belonging = homes.teams(owners, principal, patterns)
    naming = book.naming(principal)
    own = [page for page in naming if book.principals(page) == (principal,) and book.where(page) == clusters]
    page = homes.best(own, owners, belonging)
    if page is not None:
        changes.at(page, with_items(page.text, page.span.get("spec") or page.span, "rules", items))
        return
    title = file_stems([principal])[principal]
    beside = homes.best(naming, owners, belonging)
    near = beside is not None and homes.fits(owners, beside.path, belonging)
    path = beside.path if beside and near else homes.new_path(book, "Acls", title, owners, belonging)
    name = homes.new_name(book, "Acls", title, [one.name for one in changes.documents])
    head: dict[str, Written] = {**homes.match_labels(book, clusters), "principal": quoted(principal)}
    changes.documents.append(NewDocument(path, "Acls", name, head, "rules", items))


def rules(
    bindings: Iterable[AclBinding],
    reason: object = None,
    ticket: object = None,
    expires: object = None,
    keep: object = None,
) -> Iterator[Item]:
    """Bindings of one principal as items of ``rules``: folded, as roles where one says exactly the same."""
    said = {"expires": expires, "reason": reason, "ticket": ticket, "keep": keep}
    ends: Item = {key: quoted(str(text)) if key != "expires" else str(text) for key, text in said.items() if text}
    for item in with_roles(folded(bindings)):
        if isinstance(item, ExportedRole):
            named = [one for rule in item.rules for one in _resources(rule).items()]
            yield {"role": item.role, **dict(named), **_hosts(item.rules[0]), **ends}
        else:
            operations = [operation.name for operation in item.operations]
            action: Written = operations[0] if len(operations) == 1 else operations
            yield {item.permission.name.lower(): action, **_resources(item), **_hosts(item), **ends}


def _hosts(rule: ExportedRule) -> Item:
    return {} if rule.hosts == (WILDCARD,) else {"hosts": [quoted(host) for host in rule.hosts]}


def _resources(rule: ExportedRule) -> Item:
    first = rule.patterns[0]
    field_name = FIELD_OF[first.resource_type]
    names = [quoted(pattern.name) for pattern in rule.patterns]
    if first.resource_type is ResourceType.CLUSTER:
        return {field_name: "true"}
    if first.is_wildcard:
        return {field_name: {"any": "true"}}
    if first.pattern_type is PatternType.PREFIXED:
        return {field_name: {"prefix": names[0]}}
    if any(pattern.name.endswith(WILDCARD) for pattern in rule.patterns):
        return {field_name: {"literal": names}}
    return {field_name: names}
