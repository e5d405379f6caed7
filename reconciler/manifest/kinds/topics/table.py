"""Collects the topics of one cluster, and what speaks against them."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.outside import OutsideScope
from reconciler.manifest.parts.topic_defaults import Layer, upon
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import DesiredTopic, FrozenMap, Selector, collision_key, is_reserved

_OUTSIDE: Final = "topics are in scope by items with topics and without principals"


class TopicTable:
    """Topics by name. Two equal declarations are one; two that differ are a mistake."""

    def __init__(self, cluster: ClusterDeclaration, findings_of: Callable[[str], Findings]) -> None:
        """Starts empty."""
        self._cluster, self._findings_of = cluster, findings_of
        self.topics: dict[str, DesiredTopic] = {}

    def add(self, topics: Iterable[DesiredTopic]) -> None:
        """Adds the topics of a document."""
        layers = self._cluster.topic_defaults
        for declared in topics:
            topic = declared if declared.absent else _upon(layers, declared)
            first = self.topics.setdefault(topic.topic.name, topic)
            if first is topic:
                continue
            earlier, later = sorted((first, topic), key=lambda item: item.origin)
            labels = {**later.document_labels, **earlier.document_labels}
            self.topics[topic.topic.name] = replace(earlier, document_labels=FrozenMap(labels))
            if (first.topic, first.labels, first.absent) != (topic.topic, topic.labels, topic.absent):
                message = f"the topic {topic.topic.name} is declared in two ways"
                self._report(Code.CONFLICTING_TOPIC, message, "keep one of them", later, earlier)

    def check(self, outside: OutsideScope) -> None:
        """Reports names that collide, and topics that the cluster's scope does not let us own."""
        by_key: dict[str, DesiredTopic] = {}
        for item in sorted(self.topics.values(), key=lambda item: item.origin):
            name = item.topic.name
            first = item if item.absent else by_key.setdefault(collision_key(name), item)
            if first is not item:
                message = f"{name} collides with {first.topic.name}: Kafka takes '.' and '_' for the same in names"
                self._report(Code.COLLIDING_TOPICS, message, "rename one of them", item, first)
            # Our own names are in no scope, and already reported as reserved.
            if not is_reserved(name) and not self._cluster.scope.owns_topic(name, declared=True):
                outside.add(item.origin, f"the topic {name}", _selects(name), _OUTSIDE)

    def _report(self, code: Code, message: str, advice: str, item: DesiredTopic, other: DesiredTopic) -> None:
        trouble = Trouble(code, message, advice)
        self._findings_of(item.origin.file).add_at(trouble, item.origin, related=[other.origin])


def _selects(name: str) -> Callable[[Selector], bool]:
    return lambda item: item.selects_topic(name)


def _upon(layers: tuple[Layer, ...], declared: DesiredTopic) -> DesiredTopic:
    """The topic with what the cluster's defaults say and neither it nor its document does."""
    if not layers:
        return declared
    return replace(declared, topic=upon(layers, declared.topic, declared.all_labels))
