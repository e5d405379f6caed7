"""Topics: items of ``Topics`` documents, their counts and configs changed in place."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import replace

from reconciler.manifest.documents.topics import TopicsDeclaration
from reconciler.manifest.write.kinds.topic import PASSING, in_normal_form, is_passing, lasting
from reconciler.manifest.write.pages import Book, NewDocument, Page, fits, match_labels, new_name, new_path, teams
from reconciler.manifest.write.spans import (
    NOTE,
    Item,
    Splice,
    TextSpan,
    Written,
    emptied,
    quoted,
    with_entry,
    with_items,
    without_entries,
    without_items,
)
from reconciler.manifest.write.text import topic_problem
from reconciler.manifest.write.text import value as typed
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic
from reconciler.model.listing import Change, Create, Delete, Impossible, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import TOPIC_ATTRIBUTES, Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.model.topic_configs import normal_form, readable
from reconciler.parts.edit.kinds.interface import Changes, Wanted

TYPES = (Topic, TopicPartitions, TopicConfigs, TopicReplicas, Impossible)

# Topics as items of ``Topics`` documents: what is missing goes where topics are called alike.


def extend(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Write items for topics that are missing, into a document whose topics are called alike."""
    missing: dict[str, set[str]] = defaultdict(set)
    for name in book.clusters:
        for topic in wanted[name].topics.keys() - book.desired[name].topics.keys():
            missing[topic].add(name)
    added: dict[int, tuple[Page, list[Item]]] = {}
    pages = _TopicPages(book)
    for topic, clusters in sorted(missing.items()):
        desired_topic = wanted[min(clusters)].topics[topic]
        page = pages.home(frozenset(clusters), desired_topic)
        if page is not None:
            added.setdefault(id(page), (page, []))[1].append(_item(desired_topic))
        else:
            _new(book, changes, frozenset(clusters), desired_topic)
    for page, items in added.values():
        changes.at(page, with_items(page.text, page.span.get("spec") or page.span, "topics", items))


class _TopicPages:
    """The documents of topics, each by the words with which the names of its topics begin."""

    __slots__ = ("_beginnings", "_book", "_pages")

    def __init__(self, book: Book) -> None:
        self._book = book
        self._pages: dict[frozenset[str], list[Page]] = {}
        self._beginnings: dict[int, Set[tuple[str, ...]]] = {}

    def home(self, clusters: frozenset[str], desired_topic: DesiredTopic) -> Page | None:
        """That of these clusters with the topics that are called most alike; its defaults must not add anything."""
        name, owners = desired_topic.topic.name, self._book.owners(clusters)
        belonging = teams(owners, None, [ResourcePattern(ResourceType.TOPIC, name)])
        if clusters not in self._pages:
            self._pages[clusters] = [page for page in self._book.of("Topics") if self._book.where(page) == clusters]
        near = [
            (-alike, page.path, page.heading.name, page)
            for page in self._pages[clusters]
            if fits(owners, page.path, belonging)
            and (alike := self._alike(name, page, clusters))
            and _adds_nothing(page, desired_topic)
        ]
        return min(near, key=lambda item: item[:3])[3] if near else None

    def _alike(self, name: str, page: Page, clusters: frozenset[str]) -> int:
        """How many words the name begins with like one of the page, and one more: any topics are better than none."""
        if id(page) not in self._beginnings:
            declared = [page.declared(self._book.clusters[cluster]) for cluster in clusters]
            self._beginnings[id(page)] = {words for document in declared for words in _beginnings(document)}
        beginnings = self._beginnings[id(page)]
        return next((1 + len(words) for words in reversed([*_each_beginning(name)]) if words in beginnings), 0)


def _beginnings(declared: object) -> Iterator[tuple[str, ...]]:
    for topic in declared.topics if isinstance(declared, TopicsDeclaration) else ():
        yield from _each_beginning(topic.topic.name)


def _each_beginning(name: str) -> Iterator[tuple[str, ...]]:
    """No word, the first one, the first two, and so on."""
    words = name.split(".")
    return (tuple(words[:count]) for count in range(len(words) + 1))


def _adds_nothing(page: Page, desired_topic: DesiredTopic) -> bool:
    defaults = page.span.get("spec", "defaults")
    if defaults is None:
        return True
    configs = defaults.get("configs")
    own = {key.plain for key, _ in defaults.entries}
    return not own & {"owner", "grants", "overrides"} and all(
        key.plain in desired_topic.topic.configs for key, _ in (configs.entries if configs else ())
    )


def _new(book: Book, changes: Changes, clusters: frozenset[str], desired_topic: DesiredTopic) -> None:
    owners = book.owners(clusters)
    belonging = teams(owners, None, [ResourcePattern(ResourceType.TOPIC, desired_topic.topic.name)])
    path = new_path(book, "Topics", "topics", owners, belonging)
    head = match_labels(book, clusters)
    for document in changes.documents:
        if (document.kind, document.path, document.head) == ("Topics", path, head):
            document.items.append(_item(desired_topic))
            return
    name = new_name(book, "Topics", "topics", changes.names)
    changes.add(NewDocument(path, "Topics", name, dict(head), "topics", [_item(desired_topic)]))


def _item(desired_topic: DesiredTopic) -> Item:
    topic = desired_topic.topic
    item: dict[str, Written] = {} if desired_topic.note is None else {NOTE: desired_topic.note}
    item["name"] = quoted(topic.name)
    if desired_topic.absent:
        return {**item, "absent": "true"}
    item |= {
        field: str(count) for field, name in TOPIC_ATTRIBUTES.items() if (count := getattr(topic, name)) is not None
    }
    if topic.configs:
        item["configs"] = {name: config_text(name, text) for name, text in topic.configs.items()}
    return item


def config_text(name: str, text: str) -> str:
    """A config as a manifest writes it."""
    return typed(readable(name, normal_form(name, text)), flow=True)


# A ``Topics`` document without the topics that go, and with others' counts and configs changed in place.


class TopicReduction:
    """One document: which of its items go, and what changes in the others."""

    def __init__(self, book: Book, page: Page, differing: Mapping[str, Mapping[str, DesiredTopic | None]]) -> None:
        self._page = page
        self._spec = page.span.get("spec") or page.span
        topics = self._spec.get("topics")
        self._items = topics.items if topics is not None else []
        self._overrides = _Overrides(page.text, self._spec)
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
                        self._overrides.without(topic)
                    else:
                        before = book.desired[name].topics[topic]
                        self._targets[number] = self._overrides.changed(before, target, book.clusters[name].labels)

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
            counts: list[Splice] = []
            if before is not None and target is not None:
                counts = _counts(text, item, before, target)
                lost = before.topic.configs.keys() - target.topic.configs.keys()
                configs = {name: raw for name, raw in configs.items() if name in target.topic.configs}
                configs |= _changed(before.topic.configs, target.topic.configs)
            cuts = _with_configs(text, item, configs, lost)
            if counts and item.flow and not any(cut.new for cut in cuts):
                cuts = []  # what comes would meet the last one that goes: it is looked at next
            splices += [*counts, *cuts]
        return splices + self._without_defaults(inherited.keys()) + self._overrides.splices()

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


class _Overrides:
    """The overrides of a document: values that they set on a cluster are changed there, and topics that go leave them.

    Whether that changes another topic, or another cluster, the proof of the edit finds out.
    """

    def __init__(self, text: str, spec: TextSpan) -> None:
        self._text, self._spec = text, spec
        overrides = spec.get("overrides")
        self._items = overrides.items if overrides is not None else []
        self._splices: list[Splice] = []
        self._gone: dict[int, set[str]] = defaultdict(set)

    def without(self, topic: str) -> None:
        """No override names the topic."""
        for number, item in enumerate(self._items):
            if topic in _literals(item):
                self._gone[number].add(topic)

    def changed(
        self, before: DesiredTopic, target: DesiredTopic, labels: Mapping[str, str]
    ) -> tuple[DesiredTopic, DesiredTopic]:
        """What is left to change in the topic itself: less what an override sets on a cluster with these labels."""
        there, target_topic = before.topic, target.topic
        here = [item for item in self._items if _selects(item, there.name) and _labels(item).items() <= labels.items()]
        for name, text in _changed(there.configs, target_topic.configs).items():
            place = next((item.get("configs") for item in reversed(here) if item.get("configs", name)), None)
            if place is not None:
                self._splices += with_entry(self._text, place, name, text)
                there = replace(there, configs={**there.configs, name: target_topic.configs[name]})
        for field, name in TOPIC_ATTRIBUTES.items():
            setting = next((item for item in reversed(here) if item.get(field)), None)
            if setting is not None and getattr(there, name) != (count := getattr(target_topic, name)) is not None:
                self._splices += with_entry(self._text, setting, field, str(count))
                there = replace(there, **{name: count})
        return replace(before, topic=there), target

    def splices(self) -> list[Splice]:
        """All changes of the overrides."""
        empty = [number for number, names in self._gone.items() if _literals(self._items[number]) <= names]
        empty = [number for number in empty if not _prefixes(self._items[number])]
        splices = list(self._splices)
        for number, names in self._gone.items():
            topics = self._items[number].get("topics")
            if number not in empty and topics is not None:
                splices += without_items(
                    self._text, topics, [at for at, topic in enumerate(topics.items) if topic.plain in names]
                )
        entry = self._spec.entry("overrides")
        if entry is None or not empty:
            return splices
        if len(empty) == len(self._items):
            return without_entries(self._text, self._spec, {"overrides"})
        return splices + without_items(self._text, entry[1], sorted(empty))


def _literals(override: TextSpan) -> set[str]:
    """The topics that an override names one by one."""
    topics = override.get("topics")
    items = [] if topics is None else topics.items or [topics]
    return {item.plain for item in items if not item.entries and item.plain}


def _prefixes(override: TextSpan) -> list[str]:
    """The prefixes of an override; an empty one for every name."""
    topics = override.get("topics")
    prefixes: list[str] = []
    for item in [] if topics is None else [topics, *topics.items]:
        for key, value in item.entries:
            texts = [text.plain for text in value.items] or [value.plain]
            prefixes += texts if key.plain == "prefix" else [""] if key.plain == "any" else []
    return prefixes


def _selects(override: TextSpan, topic: str) -> bool:
    return topic in _literals(override) or topic.startswith(tuple(_prefixes(override)))


def _labels(override: TextSpan) -> Mapping[str, str]:
    labels = override.get("clusters", "matchLabels")
    return {} if labels is None else {key.plain: value.plain for key, value in labels.entries}


def item_name(item: TextSpan, texts: Mapping[tuple[int, int], str]) -> str:
    """The name of a topic on one cluster, whose texts these are."""
    name = item.get("name")
    return "" if name is None else texts.get((name.line, name.column), "")


def _counts(text: str, item: TextSpan, before: DesiredTopic, desired_topic: DesiredTopic) -> list[Splice]:
    topic, old = desired_topic.topic, before.topic
    splices: list[Splice] = []
    gone = {"absent"} if before.absent and not desired_topic.absent else set[str]()
    if old.replica_assignments != topic.replica_assignments and item.entry("replicaAssignments"):
        gone.add("replicaAssignments")
    for field, name in TOPIC_ATTRIBUTES.items():
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


DOCUMENT: str = "Topics"
CONTENT: tuple[str, ...] = ("topics",)
WRITTEN: frozenset[str] = frozenset((*CONTENT, "defaults", "overrides"))


def declarations(state: DesiredState) -> dict[str, tuple[object, ...]]:
    """Every topic with what is declared of it."""
    return {name: normal_values(desired_topic) for name, desired_topic in state.topics.items()}


def reduce(book: Book, wanted: Wanted, changes: Changes) -> None:
    """Remove the items of topics that are not wanted, and change those that are wanted otherwise."""
    for page in book.of("Topics"):
        differing = {
            name: _differing(book.desired[name].topics, wanted[name].topics) for name in sorted(book.where(page))
        }
        if any(differing.values()):
            changes.at(page, TopicReduction(book, page, differing).splices())


def _differing(
    before: Mapping[str, DesiredTopic], wanted: Mapping[str, DesiredTopic]
) -> dict[str, DesiredTopic | None]:
    """Topics that are wanted otherwise, ``None`` for those that are not to be declared."""
    return {
        name: wanted.get(name)
        for name, topic in before.items()
        if name not in wanted or normal_values(wanted[name]) != normal_values(topic)
    }


def normal_values(desired_topic: DesiredTopic) -> tuple[object, ...]:
    """What is declared of a topic, with one spelling for each value."""
    return desired_topic.absent, in_normal_form(replace(desired_topic.topic, topic_id=None))


def second(state: DesiredState, old: str, new: str) -> DesiredState:
    """The same: a topic is nobody's."""
    return state


def without(state: DesiredState, old: str) -> DesiredState:
    """The same."""
    return state


def _note(declaration: Declaration) -> str | None:
    """Why it is there, as a comment: nothing in a manifest says that of a topic."""
    return ": ".join(text for text in (declaration.ticket, declaration.reason) if text) or None


def adopted(state: DesiredState, change: Change, live: ClusterState, declaration: Declaration) -> DesiredState | str:
    """What is declared with one topic as the cluster has it, in what the change is about."""
    match change:
        case Create(Topic() as topic):
            return replace(
                state, topics={name: desired for name, desired in state.topics.items() if name != topic.name}
            )
        case Delete(Topic() as topic):
            problem = topic_problem(topic)
            if problem is not None:
                return problem
            actual = lasting(topic, live)
            notes = [
                _note(declaration),
                f"no replicationFactor is written: {PASSING}" if is_passing(topic, live) else None,
            ]
            desired_topic = DesiredTopic(
                replace(actual, topic_id=None, replica_assignments=None),
                declaration.origin,
                note="; ".join(text for text in notes if text) or None,
            )
        case Update(TopicConfigs(name=name, configs=before)):
            there = state.topics[name]
            configs = {key: text for key, text in there.topic.configs.items() if before.get(key, text) is not None}
            configs |= {key: text for key, text in before.items() if text is not None}
            desired_topic = replace(there, topic=replace(there.topic, configs=configs))
        case Update(TopicPartitions(name=name)) | Impossible(name=name):
            if name not in live.topics or name not in state.topics or state.topics[name].absent:
                return "the cluster has it in a way that no manifest can declare"
            there, actual = state.topics[name], live.topics[name]
            passing = is_passing(actual, live)
            if passing and (there.topic.replica_assignments or getattr(change, "what", "").startswith("replica")):
                return f"{PASSING}: their number is none to declare"
            stated = [name for name in TOPIC_ATTRIBUTES.values() if getattr(there.topic, name) is not None]
            counts = {name: getattr(actual, name) for name in stated if not passing or name != "replication_factor"}
            desired_topic = replace(there, topic=replace(there.topic, replica_assignments=None, **counts))
            if isinstance(change, Impossible) and change.what.startswith("config "):
                return "brokers of this release refuse the config: remove it"
        case _:
            return "the editor does not write this kind of resource"
    return replace(state, topics={**state.topics, desired_topic.topic.name: desired_topic})
