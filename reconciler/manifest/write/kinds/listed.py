"""Listed kinds as manifests: all resources of a kind in one document."""

from collections.abc import Collection, Iterator
from functools import cached_property

from reconciler.codec.kinds import json_kind
from reconciler.manifest.write.kinds.interface import Inexpressible, Part
from reconciler.manifest.write.text import ExportStyle, document_head, scalar
from reconciler.manifest.write.written import WrittenKind
from reconciler.model.desired import DesiredState
from reconciler.model.kinds import listed_kind
from reconciler.model.listing import ListedItem, values_of
from reconciler.model.state import ClusterState


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @cached_property
    def _special(self) -> WrittenKind:
        found: WrittenKind = listed_kind(self._resource)
        return found

    def exported(self, state: ClusterState, style: ExportStyle) -> Part:
        """One file, named as the kind, an item for each resource; nothing where nobody asked for them."""
        listing, special, stem = state.listing(self._resource), self._special, json_kind(self._resource).file_stem
        items: list[ListedItem] = sorted(listing.items or (), key=lambda item: item.key)
        found = [(item, special.problem_among(item, items)) for item in items]
        gone = [(item, special.problem(item)) for item in self._absent(style)]
        left = tuple(Inexpressible(item, item.subject, reason) for item, reason in (*found, *gone) if reason)
        lines = [line for item, reason in found if reason is None for line in special.lines(item)]
        for item, reason in gone:
            lines += [] if reason else [f"    - name: {scalar(str(item.key))}", "      absent: true"]
        head = [*document_head(special.document, stem), f"  {special.items_key}:"]
        files = {f"{stem}.yaml": [*head, *lines]} if lines else {}
        comments = [f"{item.subject}: {item.reason}" for item in left]
        comments += [f"The {special.items_key} may not be whole: {listing.gap}"] if listing.gap is not None else []
        return Part(files, left, tuple(comments))

    def _absent(self, style: ExportStyle) -> list[ListedItem]:
        names = sorted(style.absent_listed.get(self._resource.KIND, ()))
        return [item for name in names if (item := self._special.named(name)) is not None]

    def differences(
        self, state: ClusterState, wanted: DesiredState, left: Collection[object], style: ExportStyle
    ) -> Iterator[str]:
        """Resources that the manifests have otherwise, or too many."""
        items = {item.key: item for item in state.listing(self._resource).items or () if item not in left}
        declared = {key: one.item for key, one in wanted.of(self._resource).items() if not one.goes}
        yield from (
            f"{items[key].subject} differs"
            for key in sorted(items)
            if values_of(declared.get(key)) != items[key].values
        )
        yield from (f"too much: {declared[key].subject}" for key in sorted(declared.keys() - items.keys()))
        absent = {one.item for one in wanted.of(self._resource).values() if one.absent}
        expected = {item for item in self._absent(style) if item not in left}
        yield from (f"absent {item.subject} differs" for item in absent ^ expected)
