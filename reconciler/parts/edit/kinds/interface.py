"""What the editor asks of a kind of resource, and how listed kinds answer: their items are changed in place.

Kinds that are edited in another way each have a module here.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Protocol

from reconciler.dataclass import dataclass
from reconciler.manifest.write.kinds.interface import WrittenKind, declared_of, declared_texts
from reconciler.manifest.write.pages import Book, NewDocument, Page, best, fits, match_labels, new_name, new_path, teams
from reconciler.manifest.write.spans import Item, Splice, Written, with_items, without_items
from reconciler.model.desired import Declaration, DesiredItem, DesiredState
from reconciler.model.kinds import listed_kind
from reconciler.model.listing import Change, ListedItem, resource_of
from reconciler.model.state import ClusterState

#: What is to be declared, by cluster.
Wanted = Mapping[str, DesiredState]


@dataclass(slots=True)
class Changes:
    """What one step changes: places in files that are there, documents that are new, and those that go."""

    splices: dict[str, list[Splice]] = field(default_factory=lambda: defaultdict(list))
    documents: list[NewDocument] = field(default_factory=list)
    #: Of the new documents.
    names: set[str] = field(default_factory=set)
    gone: list[Page] = field(default_factory=list)

    def add(self, document: NewDocument) -> None:
        """One document more."""
        self.documents.append(document)
        self.names.add(document.name)

    def at(self, page: Page, splices: list[Splice]) -> None:
        """Change the file of a document."""
        if splices:
            self.splices[page.path] += splices


class Kind(Protocol):
    """A kind of resource, and the ``DOCUMENT`` that declares it.

    ``TYPES`` are those of the sides of its changes, ``CONTENT`` the keys of its spec that declare something,
    ``WRITTEN`` those that the editor writes.

    Both steps see the manifests anew, and write into ``changes`` what brings them to ``wanted``. They propose: the
    editor compares the result with what is wanted, and writes nothing else.
    """

    @property
    def TYPES(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""
        ...

    @property
    def DOCUMENT(self) -> str:
        """What a document is called."""
        ...

    @property
    def CONTENT(self) -> tuple[str, ...]:
        """The keys of its spec that declare something."""
        ...

    @property
    def WRITTEN(self) -> frozenset[str]:
        """Those that the editor writes."""
        ...

    def declarations(self, state: DesiredState) -> Mapping[Any, object]:
        """All that is declared of this kind, with what a plan does not compare, wherever it is declared."""
        ...

    def adopted(
        self, state: DesiredState, change: Change, live: ClusterState, declaration: Declaration
    ) -> DesiredState | str:
        """What is declared as the cluster has it, where a change would be made; ``declaration`` is for what is new.

        A text says why no manifest can declare that.
        """
        ...

    def second(self, state: DesiredState, old: str, new: str) -> DesiredState:
        """With the same for the principal ``new`` of what is declared for ``old``."""
        ...

    def without(self, state: DesiredState, old: str) -> DesiredState:
        """Without what is declared for a principal."""
        ...

    def reduce(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Remove what declares more than is wanted; it may remove too much."""
        ...

    def extend(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Declare what is still missing."""
        ...


#: By cluster and key: what is wanted instead, ``None`` where nothing is.
_Differing = dict[tuple[str, Any], DesiredItem[Any] | None]


class ListedKind:
    """One listed kind whose items have a list and a mapping."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self.type = resource
        self.TYPES = (resource,)

    @cached_property
    def _special(self) -> WrittenKind:
        written: WrittenKind = listed_kind(self.type)
        return written

    @property
    def DOCUMENT(self) -> str:
        """What a document is called."""
        return self._special.document

    @property
    def items_key(self) -> str:
        """The key of its list."""
        return self._special.items_key

    @property
    def CONTENT(self) -> tuple[str, ...]:
        """The key of its list."""
        return (self.items_key,)

    @property
    def WRITTEN(self) -> frozenset[str]:
        """The same."""
        return frozenset(self.CONTENT)

    def declarations(self, state: DesiredState) -> dict[Any, tuple[object, ...]]:
        """Every resource with what is declared of it."""
        return {key: declared_of(desired_item) for key, desired_item in self._of(state).items()}

    def _of(self, state: DesiredState) -> Mapping[Any, DesiredItem[Any]]:
        return state.listed.get(self.type.KIND, {})

    def reduce(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Remove the items that are not wanted, and change in place what others set."""
        differing: _Differing = {}
        for name in book.clusters:
            after = self._of(wanted[name])
            for key, desired_item in self._of(book.desired[name]).items():
                if key not in after or declared_of(after[key]) != declared_of(desired_item):
                    differing[name, key] = after.get(key)
        for page in book.of(self.DOCUMENT) if differing else ():
            self._reduced(book, page, differing, changes)

    def _reduced(self, book: Book, page: Page, differing: _Differing, changes: Changes) -> None:
        entry = (page.span.get("spec") or page.span).entry(self.items_key)
        where = sorted(book.where(page))
        items = entry[1].items if entry else []
        gone: list[int] = []
        altered: list[Splice] = []
        for number, item in enumerate(items):
            places = {(span.line, span.column) for span in item.walk()}
            declared = [
                (name, key)
                for name in where
                for key, desired_item in self._of(book.desired[name]).items()
                if desired_item.declaration.origin.file == page.path and _place(desired_item) in places
            ]
            concerned = [pair for pair in declared if pair in differing]
            if not concerned:
                continue
            target = differing[concerned[0]]
            before = self._of(book.desired[concerned[0][0]])[concerned[0][1]]
            alone = target is not None and len({key for _, key in declared}) == 1
            splices = self._special.altered(page.text, item, before, target) if target is not None and alone else []
            altered += splices
            # Whatever else it declares is missing after this, and is written again.
            gone += [] if splices else [number]
        if not entry or not gone:
            changes.at(page, altered)
        elif len(gone) == len(items):
            changes.gone.append(page)  # a document without items is none
        else:
            # The others are altered when these are gone: the end of one may be the beginning of the next.
            changes.at(page, without_items(page.text, entry[1], gone))

    def extend(self, book: Book, wanted: Wanted, changes: Changes) -> None:
        """Write items for what is missing."""
        missing: dict[tuple[Any, tuple[object, ...]], set[str]] = defaultdict(set)
        for name in book.clusters:
            there = self._of(book.desired[name])
            for key, desired_item in self._of(wanted[name]).items():
                if key not in there:
                    missing[key, declared_of(desired_item)].add(name)
        items: dict[tuple[frozenset[str], frozenset[str]], list[Item]] = defaultdict(list)
        for (key, _), where in sorted(missing.items(), key=lambda item: item[0][0]):
            desired_item, clusters = self._of(wanted[min(where)])[key], frozenset(where)
            belonging = (
                teams(book.owners(clusters), desired_item.item.principal, ()) if self._special.of_teams else frozenset()
            )
            items[clusters, belonging].append(self._item(desired_item))
        for (clusters, belonging), new_items in items.items():
            owners = book.owners(clusters)
            pages = [page for page in book.of(self.DOCUMENT) if book.where(page) == clusters]
            page = best(pages, owners, belonging)
            if page is not None and (fits(owners, page.path, belonging) or not self._special.of_teams):
                changes.at(page, with_items(page.text, page.span.get("spec") or page.span, self.items_key, new_items))
                continue
            path = new_path(book, self.DOCUMENT, self.items_key, owners, belonging)
            name = new_name(book, self.DOCUMENT, self.items_key, changes.names)
            head = match_labels(book, clusters)
            changes.add(NewDocument(path, self.DOCUMENT, name, dict(head), self.items_key, new_items))

    def _item(self, desired_item: DesiredItem[Any]) -> Item:
        item: dict[str, Written] = dict(self._special.about(desired_item.item))
        item |= {"absent": "true"} if desired_item.absent else self._special.content(desired_item.item)
        return item | declared_texts(desired_item.declaration)

    def adopted(
        self, state: DesiredState, change: Change, live: ClusterState, declaration: Declaration
    ) -> DesiredState | str:
        """What is declared with one resource as the cluster has it."""
        items = dict(self._of(state))
        item: Any = change.before
        if item is None:
            items.pop(resource_of(change).key, None)
        else:
            there = items.get(item.key)
            problem = self._special.problem(item)
            if problem is not None:
                return problem
            kept = there if there is not None and not there.goes else None
            declared = item if kept is None else self._special.adopted(item, kept.item)
            items[item.key] = DesiredItem(declared, declaration if kept is None else kept.declaration)
        return replace(state, listed={**state.listed, self.type.KIND: items})

    def second(self, state: DesiredState, old: str, new: str) -> DesiredState:
        """With the same for ``new`` of what is declared for the principal ``old``."""
        items = dict(self._of(state))
        for desired_item in self._of(state).values():
            other = self._special.renamed(desired_item.item, old, new)
            if other is not None:
                items.setdefault(other.key, replace(desired_item, item=other))
        return replace(state, listed={**state.listed, self.type.KIND: items}) if items else state

    def without(self, state: DesiredState, old: str) -> DesiredState:
        """Without what is declared for a principal."""
        items = self._of(state)
        kept = {
            key: desired_item
            for key, desired_item in items.items()
            if self._special.renamed(desired_item.item, old, old) is None
        }
        if len(kept) == len(items):
            return state
        return replace(state, listed={**state.listed, self.type.KIND: kept})


def _place(desired_item: DesiredItem[Any]) -> tuple[int, int]:
    return desired_item.declaration.origin.line - 1, desired_item.declaration.origin.column - 1
