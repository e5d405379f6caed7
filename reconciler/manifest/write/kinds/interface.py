"""What an export asks of a kind of resource, and how all listed kinds answer: all resources of a kind in one document.

ACLs and topics each have a module here.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

from reconciler.codec.kinds import json_kind
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import DeclaredKind
from reconciler.manifest.write.spans import Splice, TextSpan, Written, quoted, with_entry, without_entries
from reconciler.manifest.write.text import ExportStyle, document_head, scalar
from reconciler.model.desired import Declaration, DesiredItem, DesiredState
from reconciler.model.kinds import listed_kind
from reconciler.model.listing import ListedItem, values_of
from reconciler.model.state import ClusterState


class Inexpressible(NamedTuple):
    """What no manifest can say, and why; ``subject`` is what a person calls it."""

    item: object
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of manifests by path (with ``/``), what they leave out, and comments that belong to no manifest."""

    files: Mapping[str, list[str]] = field(default_factory=dict)
    inexpressible: tuple[Inexpressible, ...] = ()
    comments: tuple[str, ...] = ()


class Kind(Protocol):
    """A kind of resource in an export."""

    def exported(self, state: ClusterState, style: ExportStyle) -> Part:
        """All of this kind in ``state``."""
        ...

    def differences(
        self, state: ClusterState, wanted: DesiredState, skipped: Collection[object], style: ExportStyle
    ) -> Iterator[str]:
        """How the manifests, read back, differ from ``state`` less what is ``skipped``."""
        ...


class WrittenKind(DeclaredKind, ABC):
    """A listed kind in manifests that are written and edited.

    Its items say what they are about and, in one mapping under ``values_key``, what they set. The leaves of what an
    item says are YAML that may stand anywhere.
    """

    values_key: ClassVar[str]
    #: Whether an item stands in a file of the team that owns its principal.
    of_teams: ClassVar[bool] = False

    @abstractmethod
    def problem(self, item: Any) -> str | None:
        """Why no manifest can declare one; ``None`` if one can."""

    def problems(self, items: Iterable[Any]) -> Iterator[str | None]:
        """Of each item, in order, why no manifest can declare it with those before it."""
        return map(self.problem, items)

    @abstractmethod
    def lines(self, item: Any) -> Iterator[str]:
        """The lines of an item in an export."""

    def named(self, name: str) -> Any | None:
        """The item of a name that must not exist; ``None`` where the key is no name."""
        return None

    @abstractmethod
    def about(self, item: Any) -> Mapping[str, str | Mapping[str, str]]:
        """What an item is about, by field."""

    @abstractmethod
    def settings(self, item: Any) -> Mapping[str, Written]:
        """What it sets, by name."""

    def content(self, item: Any) -> dict[str, Written]:
        """What an item says besides what it is about."""
        return {self.values_key: self.settings(item)}

    def adopted(self, item: Any, declared: Any) -> Any:
        """An item as the cluster has it, with what only manifests say of it."""
        return item

    def altered(self, text: str, span: TextSpan, before: DesiredItem[Any], wanted: DesiredItem[Any]) -> list[Splice]:
        """An item changed in place to what is wanted, or a step towards it; nothing where it is to be written anew."""
        if before.absent or wanted.absent or declared_of(before)[2:] != declared_of(wanted)[2:]:
            return []
        return self.with_settings(text, span, before.item, wanted.item)

    def with_settings(self, text: str, span: TextSpan, before: Any, wanted: Any) -> list[Splice]:
        """An item that sets what is wanted, or a step towards it."""
        values, settings = span.get(self.values_key), self.settings(wanted)
        own = set[str]() if values is None else {key.plain for key, _ in values.entries}
        gone = own - settings.keys()
        if values is None or gone == own:
            return with_entry(text, span, self.values_key, settings)
        splices = without_entries(text, values, gone) if gone else []
        if gone and values.flow:
            return splices  # what comes would meet the last one that goes: it is looked at next
        for name in settings:
            splices += self.with_setting(text, values, name, before, wanted)
        return splices

    def with_setting(self, text: str, values: TextSpan, name: str, before: Any, wanted: Any) -> list[Splice]:
        """One of the things that an item sets, as wanted."""
        return with_entry(text, values, name, self.settings(wanted)[name])

    def renamed(self, item: Any, old: str, new: str) -> Any | None:
        """The same for the principal ``new``; ``None`` where it is not about ``old``."""
        return None


def declared_of(desired_item: DesiredItem[Any]) -> tuple[object, ...]:
    """What is declared of a resource, wherever it is declared."""
    declaration = desired_item.declaration
    return desired_item.item, desired_item.absent, declaration.reason, declaration.ticket, declaration.expires


def declared_texts(declaration: Declaration) -> dict[str, str]:
    """Until when, why, and where it was agreed, as an item has it."""
    expires = {"expires": str(declaration.expires)} if declaration.expires else {}
    texts = {"reason": declaration.reason, "ticket": declaration.ticket}
    return expires | {key: quoted(text) for key, text in texts.items() if text}


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @cached_property
    def _special(self) -> WrittenKind:
        written: WrittenKind = listed_kind(self._resource)
        return written

    def exported(self, state: ClusterState, style: ExportStyle) -> Part:
        """One file, named as the kind, an item for each resource; nothing where nobody asked for them."""
        listing, special, stem = state.listing(self._resource), self._special, json_kind(self._resource).file_stem
        items: list[ListedItem] = sorted(listing.items or (), key=lambda item: item.key)
        present = list(zip(items, special.problems(items), strict=True))
        gone = [(item, special.problem(item)) for item in self._absent(style)]
        inexpressible = tuple(Inexpressible(item, item.subject, reason) for item, reason in (*present, *gone) if reason)
        lines = [line for item, reason in present if reason is None for line in special.lines(item)]
        for item, reason in gone:
            lines += [] if reason else [f"    - name: {scalar(str(item.key))}", "      absent: true"]
        head = [*document_head(special.document, stem), f"  {special.items_key}:"]
        files = {f"{stem}.yaml": [*head, *lines]} if lines else {}
        comments = [f"{item.subject}: {item.reason}" for item in inexpressible]
        comments += [f"The {special.items_key} may not be whole: {listing.gap}"] if listing.gap is not None else []
        return Part(files, inexpressible, tuple(comments))

    def _absent(self, style: ExportStyle) -> list[ListedItem]:
        names = sorted(style.absent_listed.get(self._resource.KIND, ()))
        return [item for name in names if (item := self._special.named(name)) is not None]

    def differences(
        self, state: ClusterState, wanted: DesiredState, skipped: Collection[object], style: ExportStyle
    ) -> Iterator[str]:
        """Resources that the manifests have otherwise, or too many."""
        items = {item.key: item for item in state.listing(self._resource).items or () if item not in skipped}
        declared = {key: desired.item for key, desired in wanted.of(self._resource).items() if not desired.goes}
        yield from (
            f"{items[key].subject} differs"
            for key in sorted(items)
            if values_of(declared.get(key)) != items[key].values
        )
        yield from (f"too much: {declared[key].subject}" for key in sorted(declared.keys() - items.keys()))
        absent = {desired.item for desired in wanted.of(self._resource).values() if desired.absent}
        expected = {item for item in self._absent(style) if item not in skipped}
        yield from (f"absent {item.subject} differs" for item in absent ^ expected)
