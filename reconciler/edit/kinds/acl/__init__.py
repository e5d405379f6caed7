"""ACL bindings: rules, short forms, owners and grants, narrowed by place; what is missing becomes rules.

A rule says principals × hosts × operations × names. What is to go is taken out of its lists where that says it
exactly. Where it does not, the names concerned (or the whole rule) go, and what has to stay is written out again.
"""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from typing import Final

from reconciler.edit.kinds.acl.reduction import Reduction
from reconciler.edit.kinds.acl.rules import extend, terms
from reconciler.edit.kinds.acl.units import CONTENT, KINDS_OF_GRANTS, RemovableUnit, Said, declared_units, lists
from reconciler.edit.kinds.interface import Changes, Wanted
from reconciler.edit.pages import Book, Page
from reconciler.edit.splices import Splice
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    Change,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredState,
    standing_bridges,
)
from reconciler.report.export.expressible import binding_problem

DOCUMENT: str = "Acls"
WRITTEN: frozenset[str] = frozenset((*CONTENT, "principal", "principals"))
_BRIDGE: Final = "a bridge that a run left: “reconciler cleanup” removes it"


def told(state: DesiredState) -> dict[AclBinding, tuple[object, ...]]:
    """Every binding with its terms."""
    return {binding: terms(said) for binding, said in state.bindings.items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove what declares bindings that are not wanted, or wanted on other terms."""
    gone = {name: _gone(book.desired[name], wanted[name]) for name in book.clusters}
    if not any(gone.values()):
        return
    for page in book.of(*KINDS_OF_GRANTS):
        changes.at(page, _reduced(book, page, gone))


def _gone(before: DesiredState, wanted: DesiredState) -> set[AclBinding]:
    after = wanted.bindings
    return {one for one, said in before.bindings.items() if one not in after or terms(after[one]) != terms(said)}


def removable(book: Book, gone: Mapping[str, AbstractSet[AclBinding]]) -> dict[str, set[AclBinding]]:
    """Those of the bindings that can go without anything being written in their place.

    A role goes as a whole or with names of its lists, and what several clusters share goes on all of them.
    """
    left = {name: set(bindings) for name, bindings in gone.items()}
    units = [unit for page in book.of(*KINDS_OF_GRANTS) for unit in declared_units(book, page, left)]
    while True:
        stuck: set[tuple[str, AclBinding]] = set()
        for unit in units:
            said = [one._replace(goes=one.binding in left.get(one.cluster, ())) for one in unit.said]
            if all(one.goes for one in said) or not any(one.goes for one in said):
                continue
            together: dict[object, list[Said]] = defaultdict(list)
            for one in said:
                together[one.place if unit.is_role else one.binding].append(one)
            gone_whole = {key for key, found in together.items() if all(one.goes for one in found)}
            if unit.is_role:
                gone_whole = _leaving_some(unit, gone_whole)
            for key, found in together.items():
                if key not in gone_whole:
                    stuck |= {(one.cluster, one.binding) for one in found if one.goes}
        if not stuck:
            return left
        for cluster, binding in stuck:
            left[cluster].discard(binding)


def _leaving_some(unit: RemovableUnit, places: set[object]) -> set[object]:
    """Those of the places that can leave their lists, because others stay in them."""
    found: set[object] = set()
    for span, _ in lists(unit, names=True):
        named = [(text.line, text.column) for text in span.texts]
        found |= places.intersection(named) if not places.issuperset(named) else set()
    return found


def _reduced(book: Book, page: Page, gone: dict[str, set[AclBinding]]) -> list[Splice]:
    units = declared_units(book, page, gone)
    if not any(said.goes for unit in units for said in unit.said):
        return []
    texts = {name: page.texts(book.clusters[name]) for name in sorted(book.where(page))}
    return Reduction(page, units, texts).splices()


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """With the same bindings for another principal."""
    declared = dict(state.bindings)
    for binding, said in state.bindings.items():
        if binding.entry.principal == old:
            declared.setdefault(renamed(binding, new), said)
    return replace(state, bindings=declared)


def without(state: DesiredState, old: str) -> DesiredState:
    """Without the bindings of a principal."""
    return replace(state, bindings={one: said for one, said in state.bindings.items() if one.entry.principal != old})


def renamed(binding: AclBinding, new: str) -> AclBinding:
    """The same for another principal."""
    return binding._replace(entry=AccessControlEntry(new, *binding.entry[1:]))


@lru_cache(maxsize=1)
def _bridges(bindings: frozenset[AclBinding]) -> frozenset[AclBinding]:
    # Every binding of a cluster is looked at to find them, and every difference asks.
    return frozenset(standing_bridges(bindings))


def adopted(state: DesiredState, change: Change, live: ClusterState, said: Declaration) -> DesiredState | str | None:
    """What is declared with one binding as the cluster has it."""
    bindings = dict(state.bindings)
    match change:
        case Create(AclBinding() as binding):
            bindings.pop(binding, None)
        case Delete(AclBinding() as binding):
            problem = _BRIDGE if binding in _bridges(live.bindings) else binding_problem(binding)
            if problem is not None:
                return problem
            bindings[binding] = said
        case _:
            return None
    return replace(state, bindings=bindings)


__all__ = [
    "CONTENT",
    "DOCUMENT",
    "WRITTEN",
    "adopted",
    "extend",
    "reduce",
    "removable",
    "renamed",
    "second",
    "told",
    "without",
]
