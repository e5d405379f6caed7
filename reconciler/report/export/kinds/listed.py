"""Listed kinds as manifests: all resources of a kind in one document."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from reconciler.codec.kinds import Kind as JsonKind
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, DesiredState, ListedItem, values_of
from reconciler.report.export.kinds.interface import Inexpressible, Part
from reconciler.report.export.style import ExportStyle
from reconciler.report.export.yaml_text import document_head, scalar


@dataclass(frozen=True, eq=False)
class ListedKind:
    """One listed kind: its ``document``, the field of its items, why an item cannot be written, and its lines.

    ``named`` makes the item of a name that must not exist, for kinds whose key is a name.
    """

    json: JsonKind
    document: str
    field: str
    problem: Callable[[Any], str | None]
    lines: Callable[[Any], Iterator[str]]
    named: Callable[[str], ListedItem] | None = None

    def exported(self, state: ClusterState, style: ExportStyle) -> Part:
        """One file, named as the kind, an item for each resource; nothing where nobody asked for them."""
        listing = state.listing(self.json.TYPE)
        items: list[ListedItem] = sorted(listing.items or (), key=lambda item: item.key)
        found = [(item, self.problem_among(item, items)) for item in items]
        gone = [(item, self.problem(item)) for item in self._absent(style)]
        left = tuple(Inexpressible(item, item.subject, reason) for item, reason in (*found, *gone) if reason)
        lines = [line for item, reason in found if reason is None for line in self.lines(item)]
        for item, reason in gone:
            lines += [] if reason else [f"    - name: {scalar(str(item.key))}", "      absent: true"]
        head = [*document_head(self.document, self.json.file_stem), f"  {self.field}:"]
        files = {f"{self.json.file_stem}.yaml": [*head, *lines]} if lines else {}
        comments = [f"{item.subject}: {item.reason}" for item in left]
        comments += [f"The {self.field} may not be whole: {listing.gap}"] if listing.gap is not None else []
        return Part(files, left, tuple(comments))

    def _absent(self, style: ExportStyle) -> list[ListedItem]:
        names = sorted(style.absent_listed.get(self.json.TYPE.KIND, ()))
        return [] if self.named is None else [self.named(name) for name in names]

    def problem_among(self, item: ListedItem, items: list[ListedItem]) -> str | None:
        """Why no manifest can declare ``item`` with the others."""
        return self.problem(item)

    def differences(
        self, state: ClusterState, wanted: DesiredState, left: Collection[object], style: ExportStyle
    ) -> Iterator[str]:
        """Resources that the manifests have otherwise, or too many."""
        items = {item.key: item for item in state.listing(self.json.TYPE).items or () if item not in left}
        declared = {key: one.item for key, one in wanted.of(self.json.TYPE).items() if not one.goes}
        yield from (
            f"{items[key].subject} differs"
            for key in sorted(items)
            if values_of(declared.get(key)) != items[key].values
        )
        yield from (f"too much: {declared[key].subject}" for key in sorted(declared.keys() - items.keys()))
        absent = {one.item for one in wanted.of(self.json.TYPE).values() if one.absent}
        expected = {item for item in self._absent(style) if item not in left}
        yield from (f"absent {item.subject} differs" for item in absent ^ expected)
