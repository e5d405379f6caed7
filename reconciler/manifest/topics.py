"""A ``Topics`` document as desired topics, names and settings checked."""

from dataclasses import dataclass

from reconciler.manifest.codes import Code
from reconciler.manifest.document import Document, Heading
from reconciler.manifest.findings import Findings, Trouble
from reconciler.manifest.models.topics import TopicItem, TopicProperties, TopicsDocument
from reconciler.manifest.nodes import MappingNode, ScalarNode, SequenceNode
from reconciler.manifest.settings import declare_settings
from reconciler.manifest.source import quoted
from reconciler.model import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    RESERVED_PREFIXES,
    DesiredTopic,
    FrozenMap,
    Topic,
    is_reserved,
    topic_name_problem,
)

_PROPERTIES = ("partitions", "replicationFactor", "configs")


@dataclass(frozen=True, slots=True)
class TopicsDeclaration:
    """A document's heading and topics, the defaults already in them."""

    heading: Heading
    topics: tuple[DesiredTopic, ...]


def declare_topics(document: Document) -> TopicsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings, spec = document.findings, document.spec
    model = document.validated(TopicsDocument)
    settings = declare_settings(spec.get("defaults", "configs"), findings)
    nodes = spec.get("topics")
    topics = []
    for index, node in enumerate(nodes.items if isinstance(nodes, SequenceNode) else []):
        if isinstance(node, MappingNode):
            own = declare_settings(node.get("configs"), findings)
            _check(node, findings)
            if model is not None:
                topics.append(_topic(node, model.spec.topics[index], model.spec.defaults, settings | own, findings))
    return TopicsDeclaration(document.heading, tuple(topics)) if model else None


def _check(node: MappingNode, findings: Findings) -> None:
    name = node.get("name")
    if not isinstance(name, ScalarNode) or findings.marks(name):
        return
    absent = node.text("absent") == "true"
    trouble = declared_name_problem(name.plain, absent=absent)
    if trouble is not None:
        findings.add(trouble, name)
    for field in _PROPERTIES if absent else ():
        if field in node.keys:
            message = f"an absent topic has no {field}"
            findings.add(Trouble(Code.ABSENT_TOPIC, message, f"remove {field}, or absent"), node.keys[field])


def declared_name_problem(name: str, *, absent: bool) -> Trouble | None:
    """Why a topic of that name cannot be declared; ``None`` if it can."""
    if is_reserved(name):
        message = f"{quoted(name)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
        return Trouble(Code.RESERVED_NAME, message, "choose another name")
    if name == METADATA_TOPIC:
        return Trouble(Code.INTERNAL_TOPIC, f"{name} is the brokers' metadata log, not a topic to declare", "remove it")
    if absent and name in INTERNAL_TOPICS:
        return Trouble(Code.INTERNAL_TOPIC, f"Kafka keeps {name} itself: it cannot be absent", "remove it")
    problem = topic_name_problem(name)
    if problem is not None:
        return Trouble(Code.TOPIC_NAME, f"no topic can be called {quoted(name)}: {problem}", "choose another name")
    return None


def _topic(
    node: MappingNode, item: TopicItem, defaults: TopicProperties | None, configs: dict[str, str], findings: Findings
) -> DesiredTopic:
    origin = findings.origin(node.get("name") or node)
    if item.absent:
        return DesiredTopic(Topic(item.name), origin, FrozenMap(item.labels), absent=True)
    partitions, factor = item.partitions, item.replication_factor
    if defaults is not None:
        partitions = defaults.partitions if partitions is None else partitions
        factor = defaults.replication_factor if factor is None else factor
    return DesiredTopic(Topic(item.name, partitions, factor, FrozenMap(configs)), origin, FrozenMap(item.labels))
