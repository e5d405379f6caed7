"""ACL bindings: rules, short forms, owners and grants, narrowed by place; what is missing becomes rules.

A rule says principals × hosts × operations × names. What is to go is taken out of its lists where that says it
exactly. Where it does not, the names concerned (or the whole rule) go, and what has to stay is written out again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.topics import TopicsDeclaration
from reconciler.manifest.parts.resources import looks_like_a_pattern
from reconciler.manifest.parts.rules import FIELD_OF, RoleUse, RuleDeclaration, entries_of, grants
from reconciler.manifest.parts.short_form import SHORT_FORM
from reconciler.manifest.write import spans
from reconciler.manifest.write.kinds.acl import folded
from reconciler.manifest.write.pages import Book, NewDocument, Page, best, fits, match_labels, new_name, new_path, teams
from reconciler.manifest.write.roles import ExportedRole, ExportedRule, with_roles
from reconciler.manifest.write.spans import Item, Splice, TextSpan, Written
from reconciler.manifest.write.text import binding_problem, file_stems
from reconciler.model.acl import WILDCARD, AccessControlEntry, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredState
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.markers import standing_bridges
from reconciler.model.state import ClusterState
from reconciler.parts.edit.kinds.interface import Changes, Wanted

# What a document says in parts that can be removed: rules, grants, short forms and owners, with their bindings.

TYPES = (AclBinding,)
#: The keys of a spec of ``Acls`` that declare something.
CONTENT: tuple[str, ...] = ("rules", *SHORT_FORM)
#: The documents that grant something.
KINDS_OF_GRANTS: Final = ("Acls", "Topics")


@dataclass(slots=True, eq=False)
class RemovableUnit:
    """What can be removed as one: an item of ``rules`` or ``grants``, or a field; ``fields`` are those it is in."""

    parent: TextSpan
    key: str
    number: int | None
    span: TextSpan
    rights: "list[UnitRight]" = field(default_factory=list)
    is_role: bool = False


class UnitRight(NamedTuple):
    """One binding that a unit declares for a cluster; ``place`` is the line and column that name its resource."""

    cluster: str
    binding: AclBinding
    place: tuple[int, int]
    goes: bool


def declared_units(book: Book, page: Page, gone: Mapping[str, AbstractSet[AclBinding]]) -> list[RemovableUnit]:
    """The parts of a document with the bindings that they declare, and which of those are to go."""
    units = list(_units(page))
    unit_at = {(span.line, span.column): unit for unit in units for span in unit.span.walk()}
    for name in sorted(book.where(page)):
        declared = page.declared(book.clusters[name])
        for rule in declared.rules if isinstance(declared, AclsDeclaration | TopicsDeclaration) else ():
            unit = unit_at[_place(rule.origin)]
            unit.is_role |= isinstance(rule.action, RoleUse)
            unit.rights += [
                UnitRight(name, binding, place, binding in gone[name]) for binding, place in _bindings(book, name, rule)
            ]
    return units


def _bindings(book: Book, cluster: str, rule: RuleDeclaration) -> Iterator[tuple[AclBinding, tuple[int, int]]]:
    for grant in grants(rule, book.roles(cluster)):
        for (pattern, declaration), entry in product(grant.declared(), entries_of(grant)):
            yield AclBinding(pattern, entry), _place(declaration.origin)


def _place(origin: tuple[str, int, int]) -> tuple[int, int]:
    return origin[1] - 1, origin[2] - 1


def _places(item: TextSpan) -> list[tuple[int, int]]:
    """Where the texts of a list's item are: one, or those of the forms of names."""
    return [(span.line, span.column) for span in item.walk() if span.kind == "scalar"]


def _units(page: Page) -> Iterator[RemovableUnit]:
    spec = page.span.get("spec")
    if spec is None:
        return
    if page.heading.kind == "Acls":
        for key in SHORT_FORM:
            yield from _field(spec, key)
        yield from _items(spec, "rules")
        return
    topics = spec.get("topics")
    for holder in (spec.get("defaults"), *(topics.items if topics else ())):
        if holder is not None:
            yield from _field(holder, "owner")
            yield from _items(holder, "grants")


def _field(parent: TextSpan, key: str) -> Iterator[RemovableUnit]:
    value = parent.get(key)
    if value is not None:
        yield RemovableUnit(parent, key, None, value)


def _items(parent: TextSpan, key: str) -> Iterator[RemovableUnit]:
    for number, item in enumerate((parent.get(key) or parent).items):
        yield RemovableUnit(parent, key, number, item)


#: Whether a text of a list has a say in a binding: the text as it is for the binding's cluster, and its place.
Involved = Callable[[UnitRight, str, tuple[int, int]], bool]


def lists(unit: RemovableUnit, *, names: bool) -> Iterator[tuple[TextSpan, Involved]]:
    """The lists of a unit of which items can be taken, each with what its items have a say in."""
    if unit.number is None:
        fields = [("principals" if unit.key == "owner" else "topics", unit.span)]
    else:
        fields = [(key.plain, value) for key, value in unit.span.entries]
    # Inside the forms of names, which may stand in a list.
    fields += [(key, inner) for key, value in fields for form in (value, *value.items) for _, inner in form.entries]
    for key, span in fields:
        if span.kind == "list" and names is (key not in _INVOLVED):
            yield span, _INVOLVED.get(key, of_place)


def of_principal(right: UnitRight, text: str, place: tuple[int, int]) -> bool:
    """Whether it is the principal of the binding."""
    return right.binding.entry.principal == text


def _of_operation(right: UnitRight, text: str, place: tuple[int, int]) -> bool:
    return right.binding.entry.operation.name == text


def _of_host(right: UnitRight, text: str, place: tuple[int, int]) -> bool:
    return right.binding.entry.host == text


def of_place(right: UnitRight, text: str, place: tuple[int, int]) -> bool:
    """Whether it names the resource of the binding."""
    return right.place == place


_INVOLVED: Final[dict[str, Involved]] = {
    "allow": _of_operation,
    "deny": _of_operation,
    "hosts": _of_host,
    "principals": of_principal,
}


# Rules narrowed by place: what is to go leaves their lists; where it does not fit there, names or whole rules go.


class Reduction:
    """One document, without what is to go."""

    def __init__(self, page: Page, units: list[RemovableUnit], texts: dict[str, dict[tuple[int, int], str]]) -> None:
        self._page, self._units, self._texts = page, units, texts
        self._splices: list[Splice] = []
        self._narrowed: list[tuple[RemovableUnit, list[Splice]]] = []
        self._whole: list[tuple[RemovableUnit, bool]] = []

    def splices(self) -> list[Splice]:
        """All changes of the document."""
        self._without_principals()
        for unit in self._units:
            if any(right.goes for right in unit.rights):
                self._reduce(unit)
        going = {(unit.parent.start, unit.key) for unit, _ in self._whole}
        for unit, cuts in self._narrowed:
            if unit.key == "reads" and (unit.parent.start, "owns") in going:
                self._whole.append((unit, True))  # it takes its groups from owns
            else:
                self._splices += cuts
        self._remove_units()
        return self._splices

    def _without_principals(self) -> None:
        """Principals of the document that lose all of it leave its list."""
        named = self._page.span.get("spec", "principals")
        rights = [right for unit in self._units for right in unit.rights]
        gone = self._gone(named, rights, of_principal) if named is not None else []
        if named is not None and gone and len(gone) < len(named.items):
            self._splices += spans.without_items(self._page.text, named, gone)
            for unit in self._units:
                unit.rights = [right for right in unit.rights if not self._involves(named, gone, right, of_principal)]

    def _gone(self, span: TextSpan, rights: Sequence[UnitRight], involved: Involved) -> list[int]:
        """The items of a list all of whose bindings go, by number."""
        numbers = []
        for number in range(len(span.items)):
            concerned = [right for right in rights if self._involves(span, [number], right, involved)]
            if concerned and all(right.goes for right in concerned):
                numbers.append(number)
        return numbers

    def _involves(self, span: TextSpan, numbers: Iterable[int], right: UnitRight, involved: Involved) -> bool:
        places = [place for number in numbers for place in _places(span.items[number])]
        return any(involved(right, self._texts[right.cluster].get(place, ""), place) for place in places)

    def _reduce(self, unit: RemovableUnit) -> None:
        """Narrow a unit, or mark it to be removed as a whole, where that says more clearly or only that says it."""
        remaining = unit.rights
        cut: dict[int, tuple[TextSpan, set[int]]] = {}
        for span, involved in (*lists(unit, names=True), *lists(unit, names=False)):
            gone = self._gone(span, remaining, involved)
            if gone and len(gone) < len(span.items):
                cut[span.start] = (span, set(gone))
                remaining = [right for right in remaining if not self._involves(span, gone, right, involved)]
        for span, involved in (*lists(unit, names=True), *lists(unit, names=False)):
            # What is left to go shares its names (or its principals) with what stays, which is written out again.
            if involved not in (of_place, of_principal):
                continue
            before = cut.get(span.start, (span, set[int]()))[1]
            going = [right for right in remaining if right.goes]
            more = before | {
                number
                for number in range(len(span.items))
                if any(self._involves(span, [number], right, involved) for right in going)
            }
            if more > before and len(more) < len(span.items):
                cut[span.start] = (span, more)
                remaining = [right for right in remaining if not self._involves(span, more, right, involved)]
        if any(right.goes for right in remaining):
            self._whole.append((unit, not all(right.goes for right in unit.rights)))
            return
        cuts = [
            splice for span, numbers in cut.values() for splice in spans.without_items(self._page.text, span, numbers)
        ]
        self._narrowed.append((unit, cuts))

    def _remove_units(self) -> None:
        text, parents = self._page.text, dict[tuple[int, str], list[tuple[RemovableUnit, bool]]]()
        fields: dict[int, tuple[TextSpan, set[str]]] = {}
        for unit, replaced in self._whole:
            if unit.number is None:
                fields.setdefault(unit.parent.start, (unit.parent, set()))[1].add(unit.key)
            else:
                parents.setdefault((unit.parent.start, unit.key), []).append((unit, replaced))
        for members in parents.values():
            parent, key = members[0][0].parent, members[0][0].key
            named, span = parent.entry(key) or (parent, parent)
            notes = self._notes(span, members)
            if len(members) < len(span.items):
                numbers = [unit.number for unit, _ in members if unit.number is not None]
                self._splices += spans.with_notes(text, span, spans.without_items(text, span, numbers), notes)
            elif key == "grants":
                fields.setdefault(parent.start, (parent, set()))[1].add(key)
            else:
                self._splices += spans.emptied(text, named, span, notes)
        for parent, keys in fields.values():
            self._remove_fields(parent, keys)

    def _notes(self, span: TextSpan, members: list[tuple[RemovableUnit, bool]]) -> list[list[str]]:
        """The comments of units of which something is written again, for each unit of the list in its order."""
        members.sort(key=lambda member: member[0].span.start)
        return [
            spans.comments(self._page.text, unit.span, flow=span.flow) if replaced else [] for unit, replaced in members
        ]

    def _remove_fields(self, parent: TextSpan, keys: set[str]) -> None:
        text, spec = self._page.text, self._page.span.get("spec")
        if "owns" in keys and parent.entry("reads") is not None:
            keys.add("reads")
        if spec is not None and len(keys) == len(parent.entries):
            self._splices += spans.without_entries(text, spec, {"defaults"})
            return
        empty = spec is parent and not any(key.plain not in keys and key.plain in CONTENT for key, _ in parent.entries)
        if empty and parent.flow:
            key, value = next((key, value) for key, value in parent.entries if key.plain in keys)
            self._splices += [Splice(key.start, value.end, "rules: []")]
            keys.remove(key.plain)
        self._splices += spans.without_entries(text, parent, keys)
        if empty and not parent.flow:
            self._splices += spans.with_entry(text, parent, "rules", "[]")


# What is missing as rules, in a document of the same principal or in one of its own.


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
    for (binding, stated), where in sorted(missing.items(), key=lambda item: item[0][0]):
        of_home = homes_of.setdefault((binding.entry.principal, frozenset(where)), {})
        of_home.setdefault(stated, []).append(binding)
    for (principal, clusters), by_terms in homes_of.items():
        items = [item for stated, bindings in by_terms.items() for item in rules(bindings, *stated)]
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
    belonging = teams(owners, principal, patterns)
    naming = book.naming(principal)
    own = [page for page in naming if book.principals(page) == (principal,) and book.where(page) == clusters]
    page = best(own, owners, belonging)
    if page is not None:
        changes.at(page, spans.with_items(page.text, page.span.get("spec") or page.span, "rules", items))
        return
    title = file_stems([principal])[principal]
    beside = best(naming, owners, belonging)
    near = beside is not None and fits(owners, beside.path, belonging)
    path = beside.path if beside and near else new_path(book, "Acls", title, owners, belonging)
    name = new_name(book, "Acls", title, changes.names)
    head: dict[str, Written] = {**match_labels(book, clusters), "principal": spans.quoted(principal)}
    changes.add(NewDocument(path, "Acls", name, head, "rules", items))


def rules(
    bindings: Iterable[AclBinding],
    reason: object = None,
    ticket: object = None,
    expires: object = None,
    keep: object = None,
) -> Iterator[Item]:
    """Bindings of one principal as items of ``rules``: folded, as roles where one says exactly the same."""
    fields = {"expires": expires, "reason": reason, "ticket": ticket, "keep": keep}
    ends: Item = {
        key: spans.quoted(str(text)) if key != "expires" else str(text) for key, text in fields.items() if text
    }
    for item in with_roles(folded(bindings)):
        if isinstance(item, ExportedRole):
            named = [named_field for rule in item.rules for named_field in _resources(rule).items()]
            yield {"role": item.role, **dict(named), **_hosts(item.rules[0]), **ends}
        else:
            operations = [operation.name for operation in item.operations]
            action: Written = operations[0] if len(operations) == 1 else operations
            yield {item.permission.name.lower(): action, **_resources(item), **_hosts(item), **ends}


def _hosts(rule: ExportedRule) -> Item:
    return {} if rule.hosts == (WILDCARD,) else {"hosts": [spans.quoted(host) for host in rule.hosts]}


def _resources(rule: ExportedRule) -> Item:
    first = rule.patterns[0]
    field_name = FIELD_OF[first.resource_type]
    names = [spans.quoted(pattern.name) for pattern in rule.patterns]
    if first.resource_type is ResourceType.CLUSTER:
        return {field_name: "true"}
    if first.is_wildcard:
        return {field_name: {"any": "true"}}
    if first.pattern_type is PatternType.PREFIXED:
        return {field_name: {"prefix": names[0]}}
    if any(looks_like_a_pattern(pattern.name) for pattern in rule.patterns):
        return {field_name: {"literal": names}}
    return {field_name: names}


DOCUMENT: str = "Acls"
WRITTEN: frozenset[str] = frozenset((*CONTENT, "principal", "principals"))
_BRIDGE: Final = "a bridge that a run left: “reconciler cleanup” removes it"


def declarations(state: DesiredState) -> dict[AclBinding, tuple[object, ...]]:
    """Every binding with its terms."""
    return {binding: terms(declaration) for binding, declaration in state.bindings.items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove what declares bindings that are not wanted, or wanted on other terms."""
    gone = {name: _gone(book.desired[name], wanted[name]) for name in book.clusters}
    if not any(gone.values()):
        return
    for page in book.of(*KINDS_OF_GRANTS):
        changes.at(page, _reduced(book, page, gone))


def _gone(before: DesiredState, wanted: DesiredState) -> set[AclBinding]:
    after = wanted.bindings
    return {
        binding
        for binding, declaration in before.bindings.items()
        if binding not in after or terms(after[binding]) != terms(declaration)
    }


def removable(book: Book, gone: Mapping[str, AbstractSet[AclBinding]]) -> dict[str, set[AclBinding]]:
    """Those of the bindings that can go without anything being written in their place.

    A role goes as a whole or with names of its lists, and what several clusters share goes on all of them.
    """
    remaining = {name: set(bindings) for name, bindings in gone.items()}
    units = [unit for page in book.of(*KINDS_OF_GRANTS) for unit in declared_units(book, page, remaining)]
    while True:
        stuck: set[tuple[str, AclBinding]] = set()
        for unit in units:
            rights = [right._replace(goes=right.binding in remaining.get(right.cluster, ())) for right in unit.rights]
            if all(right.goes for right in rights) or not any(right.goes for right in rights):
                continue
            together: dict[object, list[UnitRight]] = defaultdict(list)
            for right in rights:
                together[right.place if unit.is_role else right.binding].append(right)
            gone_whole = {key for key, group in together.items() if all(right.goes for right in group)}
            if unit.is_role:
                gone_whole = _leaving_some(unit, gone_whole)
            for key, group in together.items():
                if key not in gone_whole:
                    stuck |= {(right.cluster, right.binding) for right in group if right.goes}
        if not stuck:
            return remaining
        for cluster, binding in stuck:
            remaining[cluster].discard(binding)


def _leaving_some(unit: RemovableUnit, places: set[object]) -> set[object]:
    """Those of the places that can leave their lists, because others stay in them."""
    leaving: set[object] = set()
    for span, _ in lists(unit, names=True):
        named = [place for item in span.items for place in _places(item)]
        leaving |= places.intersection(named) if not places.issuperset(named) else set()
    return leaving


def _reduced(book: Book, page: Page, gone: dict[str, set[AclBinding]]) -> list[Splice]:
    units = declared_units(book, page, gone)
    if not any(right.goes for unit in units for right in unit.rights):
        return []
    texts = {name: page.texts(book.clusters[name]) for name in sorted(book.where(page))}
    return Reduction(page, units, texts).splices()


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """With the same bindings for another principal."""
    declared = dict(state.bindings)
    for binding, declaration in state.bindings.items():
        if binding.entry.principal == old:
            declared.setdefault(renamed(binding, new), declaration)
    return replace(state, bindings=declared)


def without(state: DesiredState, old: str) -> DesiredState:
    """Without the bindings of a principal."""
    return replace(
        state,
        bindings={
            binding: declaration for binding, declaration in state.bindings.items() if binding.entry.principal != old
        },
    )


def renamed(binding: AclBinding, new: str) -> AclBinding:
    """The same for another principal."""
    return binding._replace(entry=AccessControlEntry(new, *binding.entry[1:]))


@lru_cache(maxsize=1)
def _bridges(bindings: frozenset[AclBinding]) -> frozenset[AclBinding]:
    # Every binding of a cluster is looked at to find them, and every difference asks.
    return frozenset(standing_bridges(bindings))


def adopted(state: DesiredState, change: Change, live: ClusterState, declaration: Declaration) -> DesiredState | str:
    """What is declared with one binding as the cluster has it."""
    bindings = dict(state.bindings)
    match change:
        case Create(AclBinding() as binding):
            bindings.pop(binding, None)
        case Delete(AclBinding() as binding):
            problem = _BRIDGE if binding in _bridges(live.bindings) else binding_problem(binding)
            if problem is not None:
                return problem
            bindings[binding] = declaration
    return replace(state, bindings=bindings)
