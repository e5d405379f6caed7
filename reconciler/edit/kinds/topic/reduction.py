"""A ``Topics`` document without the topics that go, and with others' counts and configs changed in place."""

from collections.abc import Collection, Mapping

from reconciler.edit.kinds.topic.items import COUNTS, config_text
from reconciler.edit.layout import TextSpan
from reconciler.edit.pages import Book, Page
from reconciler.edit.splices import Splice, emptied, without_entries, without_items
from reconciler.edit.writing import with_entry
from reconciler.model import (
    DesiredTopic,
    normal_form,
)


class TopicReduction:
    """One document: which of its items go, and what changes in the others."""

    def __init__(self, book: Book, page: Page, differing: Mapping[str, Mapping[str, DesiredTopic | None]]) -> None:
        self._page = page
        self._spec = page.span.get("spec") or page.span
        topics = self._spec.get("topics")
        self._items = topics.items if topics is not None else []
        self._gone: list[int] = []
        self._targets: dict[int, tuple[DesiredTopic, DesiredTopic]] = {}
        for name, by_topic in differing.items():
            texts = page.texts(book.clusters[name])
            for number, item in enumerate(self._items):
                topic = item_name(item, texts)
                if topic in by_topic:
                    target = by_topic[topic]
                    if target is None:
                        self._gone.append(number)
                    else:
                        self._targets[number] = (book.desired[name].topics[topic], target)

    def splices(self) -> list[Splice]:
        """All changes of the document."""
        text, spec = self._page.text, self._spec
        entry = spec.entry("topics")
        gone = sorted(set(self._gone))
        splices: list[Splice] = []
        if entry and gone:
            splices += without_items(text, entry[1], gone) if len(gone) < len(self._items) else emptied(text, *entry)
        inherited = self._given_up()
        for number, item in enumerate(self._items):
            if number in gone or (item.get("absent") is not None and number not in self._targets):
                continue
            before, target = self._targets.get(number, (None, None))
            configs = {name: raw for name, raw in inherited.items() if item.get("configs", name) is None}
            lost: set[str] = set()
            if before is not None and target is not None:
                splices += _counts(text, item, before, target)
                lost = before.topic.configs.keys() - target.topic.configs.keys()
                configs = {name: raw for name, raw in configs.items() if name in target.topic.configs}
                configs |= _changed(before.topic.configs, target.topic.configs)
            splices += _with_configs(text, item, configs, lost)
        return splices + self._without_defaults(inherited.keys())

    def _given_up(self) -> dict[str, str]:
        """The configs of the document's defaults that some topic is not to have: every other one says them itself."""
        defaults = self._spec.get("defaults", "configs")
        text = self._page.text
        lost = {
            name
            for before, target in self._targets.values()
            for name in before.topic.configs.keys() - target.topic.configs.keys()
        }
        entries = defaults.entries if defaults is not None else []
        return {key.plain: text[value.start : value.end] for key, value in entries if key.plain in lost}

    def _without_defaults(self, gone: Collection[str]) -> list[Splice]:
        defaults, configs = self._spec.get("defaults"), self._spec.get("defaults", "configs")
        if not gone or defaults is None or configs is None:
            return []
        if len(gone) < len(configs.entries):
            return without_entries(self._page.text, configs, gone)
        whole = len(defaults.entries) == 1
        return without_entries(self._page.text, self._spec if whole else defaults, {"defaults" if whole else "configs"})


def item_name(item: TextSpan, texts: Mapping[tuple[int, int], str]) -> str:
    """The name of a topic on one cluster, whose texts these are."""
    name = item.get("name")
    return "" if name is None else texts.get((name.line, name.column), "")


def _counts(text: str, item: TextSpan, before: DesiredTopic, wish: DesiredTopic) -> list[Splice]:
    topic, old = wish.topic, before.topic
    splices: list[Splice] = []
    gone = {"absent"} if before.absent and not wish.absent else set[str]()
    if old.replica_assignments != topic.replica_assignments and item.entry("replicaAssignments"):
        gone.add("replicaAssignments")
    for field, name in COUNTS.items():
        count = getattr(topic, name)
        if count is not None and (getattr(old, name) != count or "replicaAssignments" in gone):
            splices += with_entry(text, item, field, str(count))
    return splices + (without_entries(text, item, gone) if gone else [])


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The configs that differ, written."""
    return {
        name: config_text(name, text)
        for name, text in after.items()
        if name not in before or normal_form(name, before[name]) != normal_form(name, text)
    }


def _with_configs(text: str, item: TextSpan, written: Mapping[str, str], gone: Collection[str]) -> list[Splice]:
    configs = item.get("configs")
    if configs is None:
        return with_entry(text, item, "configs", written) if written else []
    own = {key.plain for key, _ in configs.entries}
    going = own & set(gone)
    if not going and not written:
        return []
    if going == own and not written:
        return without_entries(text, item, {"configs"})
    if going == own:
        return with_entry(text, item, "configs", written)
    splices = without_entries(text, configs, going) if going else []
    if going and configs.flow:
        return splices  # what comes would meet the last one that goes: it is looked at next
    for name in sorted(written):
        splices += with_entry(text, configs, name, written[name])
    return splices
