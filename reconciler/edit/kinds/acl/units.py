"""What a document says in parts that can be removed: rules, grants, short forms and owners, with their bindings."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import product
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.edit.layout import TextSpan
from reconciler.edit.pages import Book, Page
from reconciler.manifest import AclsDeclaration, TopicsDeclaration
from reconciler.manifest.parts.grants import entries_of, grants
from reconciler.manifest.parts.rules import RoleUse, RuleDeclaration
from reconciler.model import (
    AclBinding,
)

SHORT_FORM: Final = ("owns", "reads", "writes")
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
    said: "list[Said]" = field(default_factory=list)
    is_role: bool = False


class Said(NamedTuple):
    """One binding that a unit declares for a cluster; ``place`` is the line and column that name its resource."""

    cluster: str
    binding: AclBinding
    place: tuple[int, int]
    goes: bool


def declared_units(book: Book, page: Page, gone: Mapping[str, AbstractSet[AclBinding]]) -> list[RemovableUnit]:
    """The parts of a document with the bindings that they declare, and which of those are to go."""
    units = list(_units(page))
    unit_at = {(one.line, one.column): unit for unit in units for one in unit.span.walk()}
    for name in sorted(book.where(page)):
        declared = page.declared(book.clusters[name])
        for rule in declared.rules if isinstance(declared, AclsDeclaration | TopicsDeclaration) else ():
            unit = unit_at[_place(rule.origin)]
            unit.is_role |= isinstance(rule.action, RoleUse)
            unit.said += [
                Said(name, binding, place, binding in gone[name]) for binding, place in _bindings(book, name, rule)
            ]
    return units


def _bindings(book: Book, cluster: str, rule: RuleDeclaration) -> Iterator[tuple[AclBinding, tuple[int, int]]]:
    for grant in grants(rule, book.roles(cluster)):
        for (pattern, declaration), entry in product(grant.declared(), entries_of(grant)):
            yield AclBinding(pattern, entry), _place(declaration.origin)


def _place(origin: tuple[str, int, int]) -> tuple[int, int]:
    return origin[1] - 1, origin[2] - 1


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
Involved = Callable[[Said, str, tuple[int, int]], bool]


def lists(unit: RemovableUnit, *, names: bool) -> Iterator[tuple[TextSpan, Involved]]:
    """The lists of a unit of which items can be taken, each with what its items have a say in."""
    if unit.number is None:
        if unit.key == "owner":
            found = [("principals", unit.span)]
        else:
            found = [("topics", unit.span), *((key.plain, value) for key, value in unit.span.entries)]
    else:
        found = [(key.plain, value) for key, value in unit.span.entries]
        found += [(key, inner) for key, value in found for _, inner in value.entries]
    for key, span in found:
        if span.kind == "list" and names is (key not in _INVOLVED):
            yield span, _INVOLVED.get(key, of_place)


def of_principal(said: Said, text: str, place: tuple[int, int]) -> bool:
    """Whether it is the principal of the binding."""
    return said.binding.entry.principal == text


def _of_operation(said: Said, text: str, place: tuple[int, int]) -> bool:
    return said.binding.entry.operation.name == text


def _of_host(said: Said, text: str, place: tuple[int, int]) -> bool:
    return said.binding.entry.host == text


def of_place(said: Said, text: str, place: tuple[int, int]) -> bool:
    """Whether it names the resource of the binding."""
    return said.place == place


_INVOLVED: Final[dict[str, Involved]] = {
    "allow": _of_operation,
    "deny": _of_operation,
    "hosts": _of_host,
    "principals": of_principal,
}
