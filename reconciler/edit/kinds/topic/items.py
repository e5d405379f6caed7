"""Topics as items of ``Topics`` documents: what is missing goes where topics are called alike."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from reconciler.edit import homes
from reconciler.edit.homes import NewDocument
from reconciler.edit.kinds.interface import Changes, Wanted
from reconciler.edit.pages import Book, Page
from reconciler.edit.writing import NOTE, Item, Written, quoted, with_items
from reconciler.manifest import TopicsDeclaration
from reconciler.model import (
    DesiredTopic,
    ResourcePattern,
    ResourceType,
    normal_form,
    readable,
)
from reconciler.report.export.yaml_text import value as typed

COUNTS: Final = {"partitions": "num_partitions", "replicationFactor": "replication_factor"}


def extend(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Write items for topics that are missing, into a document whose topics are called alike."""
    missing: dict[str, set[str]] = defaultdict(set)
    for name in book.clusters:
        for topic in wanted[name].topics.keys() - book.desired[name].topics.keys():
            missing[topic].add(name)
    added: dict[int, tuple[Page, list[Item]]] = {}
    for topic, clusters in sorted(missing.items()):
        wish = wanted[min(clusters)].topics[topic]
        page = _home(book, frozenset(clusters), wish)
        if page is not None:
            added.setdefault(id(page), (page, []))[1].append(_item(wish))
        else:
            _new(book, changes, frozenset(clusters), wish)
    for page, items in added.values():
        changes.at(page, with_items(page.text, page.span.get("spec") or page.span, "topics", items))


def _home(book: Book, clusters: frozenset[str], wish: DesiredTopic) -> Page | None:
    """The document of these clusters with the topics that are called most alike; its defaults must not add anything."""
    name = wish.topic.name
    owners = book.owners(clusters)
    belonging = homes.teams(owners, None, [ResourcePattern(ResourceType.TOPIC, name)])
    found = []
    for page in book.of("Topics"):
        if book.where(page) != clusters or not homes.fits(owners, page.path, belonging):
            continue
        declared = [page.declared(book.clusters[cluster]) for cluster in clusters]
        alike = max((_alike(name, other) for one in declared for other in _names(one)), default=0)
        if alike and _adds_nothing(page, wish):
            found.append((-alike, page.path, page.heading.name, page))
    return min(found, key=lambda one: one[:3])[3] if found else None


def _names(declared: object) -> Iterator[str]:
    for topic in declared.topics if isinstance(declared, TopicsDeclaration) else ():
        yield topic.topic.name


def _alike(one: str, other: str) -> int:
    """How many words two names begin with alike, and one more: any topics are better than none."""
    count = 1
    for a, b in zip(one.split("."), other.split("."), strict=False):
        if a != b:
            break
        count += 1
    return count


def _adds_nothing(page: Page, wish: DesiredTopic) -> bool:
    defaults = page.span.get("spec", "defaults")
    if defaults is None:
        return True
    configs = defaults.get("configs")
    own = {key.plain for key, _ in defaults.entries}
    return not own & {"owner", "grants", "overrides"} and all(
        key.plain in wish.topic.configs for key, _ in (configs.entries if configs else ())
    )


def _new(book: Book, changes: Changes, clusters: frozenset[str], wish: DesiredTopic) -> None:
    owners = book.owners(clusters)
    belonging = homes.teams(owners, None, [ResourcePattern(ResourceType.TOPIC, wish.topic.name)])
    path = homes.new_path(book, "Topics", "topics", owners, belonging)
    head = homes.match_labels(book, clusters)
    for document in changes.documents:
        if (document.kind, document.path, document.head) == ("Topics", path, head):
            document.items.append(_item(wish))
            return
    name = homes.new_name(book, "Topics", "topics", [one.name for one in changes.documents])
    changes.documents.append(NewDocument(path, "Topics", name, dict(head), "topics", [_item(wish)]))


def _item(wish: DesiredTopic) -> Item:
    topic = wish.topic
    item: dict[str, Written] = {} if wish.note is None else {NOTE: wish.note}
    item["name"] = quoted(topic.name)
    if wish.absent:
        return {**item, "absent": "true"}
    item |= {field: str(count) for field, name in COUNTS.items() if (count := getattr(topic, name)) is not None}
    if topic.configs:
        item["configs"] = {name: config_text(name, text) for name, text in topic.configs.items()}
    return item


def config_text(name: str, text: str) -> str:
    """A config as a manifest writes it."""
    return typed(readable(name, normal_form(name, text)), flow=True)
