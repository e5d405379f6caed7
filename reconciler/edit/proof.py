"""What an edit has to prove: the manifests declare what is wanted, and all that it has no business with is the same."""

from collections.abc import Iterator
from typing import Final

from reconciler.codec.kinds import LISTED
from reconciler.diff import DiffRules, compare
from reconciler.edit.kinds import KINDS
from reconciler.edit.pages import Book, Page
from reconciler.manifest.reader.nodes import MappingNode
from reconciler.model import ClusterState, DesiredState, Listing, Scope, Topic

#: The keys of a spec that the editor writes, by kind of document.
WRITTEN: Final = {kind.DOCUMENT: kind.WRITTEN for kind in KINDS}


def as_live(wanted: DesiredState) -> ClusterState:
    """A cluster that has what is declared."""
    listings = {
        kind: Listing(frozenset(one.item for one in wanted.listed.get(kind, {}).values() if not one.goes))
        for kind in LISTED
    }
    topics = {name: one.topic for name, one in wanted.topics.items() if not one.absent}
    return ClusterState("", frozenset(wanted.bindings), topics, listings=listings)


def differences(after: DesiredState, wanted: DesiredState) -> Iterator[str]:
    """How what is declared differs from what is wanted: by the comparison of plans, then in what that leaves out."""
    rules = DiffRules(prune={Topic.KIND, *LISTED})
    for one, other in ((after, wanted), (wanted, after)):
        found = compare(one, as_live(other), Scope(), rules)
        yield from (f"not as wanted: {change.change}" for change in found.changes)
        yield from (f"not as wanted: {skipped.subject}" for skipped in found.skipped)
    for kind in KINDS:
        told, wish = kind.told(after), kind.told(wanted)
        yield from (f"not as wanted: {key}" for key in sorted({*told, *wish}) if told.get(key) != wish.get(key))


def others_changed(before: Book, after: Book) -> list[str]:
    """Documents of which something changed that no edit may change: other kinds, names, labels, clusters, waivers."""
    old, new = ({page.key: _rest(page) for page in book.pages} for book in (before, after))
    empty = {key for key, rest in old.items() if key[0] in WRITTEN and key not in new}
    added = {key for key in new if key[0] in WRITTEN and key not in old}
    return [
        f"the document {kind} {name} is not the same"
        for kind, name in sorted({*old, *new} - empty - added)
        if old.get((kind, name)) != new.get((kind, name))
    ]


def _rest(page: Page) -> dict[str, object]:
    written = WRITTEN.get(page.heading.kind)
    if written is None:
        return dict(page.root.plain)
    spec = page.root.get("spec")
    kept = (
        {key: text for key, text in spec.plain.items() if key not in written} if isinstance(spec, MappingNode) else {}
    )
    return {**page.root.plain, "spec": kept}
