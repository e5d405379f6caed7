"""A ``Topics`` document as desired topics and the rules on them, names, settings and assignments checked."""

from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds.interface import Declared, DesiredBuilder, Kind, Loaded
from reconciler.manifest.kinds.topics.access import declare_topic_access
from reconciler.manifest.kinds.topics.table import TopicTable
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import RuleDeclaration
from reconciler.manifest.parts.settings import declare_settings
from reconciler.manifest.parts.topic_defaults import declare_layers, upon
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, ScalarNode, SequenceNode, scalars
from reconciler.manifest.reader.source import quoted
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

if TYPE_CHECKING:
    from reconciler.manifest.models.topics import TopicItem, TopicsDocument

#: ``QuorumController.MAX_RECORDS_PER_USER_OP``: a topic with more partitions is POLICY_VIOLATION.
MAX_ASSIGNMENTS: Final = 10_000
_COUNTED: Final = {"partitions": "partitions", "replicationFactor": "replicas"}
_PROPERTIES: Final = (*_COUNTED, "replicaAssignments", "configs", "owner", "grants")


@dataclass(frozen=True, slots=True)
class TopicsDeclaration:
    """A document's heading and topics, its defaults already in them, and the rules of their owners and grants."""

    heading: Heading
    topics: tuple[DesiredTopic, ...]
    rules: tuple[RuleDeclaration, ...] = ()


def declare_topics(document: Document, table: PatternTable) -> TopicsDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no document."""
    findings, spec = document.findings, document.spec
    model = document.validated(TopicsKind.model())
    wants = model.spec.defaults if model else None
    layers = declare_layers(spec.get("defaults"), wants, findings)
    common = declare_topic_access(spec.get("defaults"), wants, table, findings)
    nodes = spec.get("topics")
    topics: list[DesiredTopic] = []
    rules: list[RuleDeclaration] = []
    for index, node in enumerate(nodes.items if isinstance(nodes, SequenceNode) else []):
        if isinstance(node, MappingNode):
            item = model.spec.topics[index] if model else None
            own = declare_settings(node.get("configs"), findings)
            access = declare_topic_access(node, item, table, findings)
            _check(node, findings)
            if item is not None:
                topic = _topic(item, own)
                if not item.absent:
                    topic = upon(layers, topic, {**document.heading.labels, **item.labels})
                    rules.extend(access.over(common).on(item.name) if item.name else ())
                origin = findings.origin(node.get("name") or node)
                topics.append(DesiredTopic(topic, origin, FrozenMap(item.labels), item.absent, document.heading.labels))
    return TopicsDeclaration(document.heading, tuple(topics), tuple(rules)) if model else None


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
    if not absent:
        _check_assignments(node, findings)


def _check_assignments(node: MappingNode, findings: Findings) -> None:
    """Kafka's rules for a manual assignment (``ReplicationControlManager.validateManualPartitionAssignment``)."""
    assignments = node.get("replicaAssignments")
    if not isinstance(assignments, SequenceNode):
        return
    for field, counted in _COUNTED.items():
        if field in node.keys:
            message = f"replicaAssignments says how many {counted} there are"
            findings.add(Trouble(Code.REPLICA_ASSIGNMENT, message, f"remove {field}"), node.keys[field])
    # Before each partition is looked at: the file is the proposer's, and so is its size.
    if len(assignments.items) > MAX_ASSIGNMENTS:
        many = f"{len(assignments.items):,} partitions"
        message = f"{many} are assigned, and a controller creates at most {MAX_ASSIGNMENTS:,} in one request"
        findings.add(
            Trouble(Code.REPLICA_ASSIGNMENT, message, "let the brokers assign them: give partitions"), assignments
        )
        return
    sizes: dict[int, int] = {}
    for number, item in enumerate(assignments.items):
        replicas = [replica.plain for replica in scalars(item)]
        sizes.setdefault(len(replicas), number)
        if not replicas or len(set(replicas)) < len(replicas):
            message = (
                f"partition {number} has no replica" if not replicas else f"partition {number} names a broker twice"
            )
            findings.add(Trouble(Code.REPLICA_ASSIGNMENT, message, "name each broker of it once"), item)
        elif len(sizes) > 1 and sizes[len(replicas)] == number:
            message = f"partition {number} has another number of replicas than those before it"
            findings.add(Trouble(Code.REPLICA_ASSIGNMENT, message, "give every partition as many"), item)


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


def _topic(item: "TopicItem", configs: dict[str, str]) -> Topic:
    """The topic as it speaks for itself."""
    if item.absent:
        return Topic(item.name)
    if item.replica_assignments:
        assignments = tuple(map(tuple, item.replica_assignments))
        return Topic(item.name, len(assignments), len(assignments[0]), configs, replica_assignments=assignments)
    return Topic(item.name, item.partitions, item.replication_factor, configs)


class TopicsKind(Kind):
    """Topics, and the rules of their owners and grants."""

    name = "Topics"

    @staticmethod
    def model() -> "type[TopicsDocument]":
        """The fields of its documents."""
        from reconciler.manifest.models.topics import TopicsDocument  # noqa: PLC0415

        return TopicsDocument

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_topics(document, table)

    def check(self, loaded: Loaded) -> None:
        """Reports grants whose role is unknown or does not fit."""
        loaded.check_role_uses(rule for item in loaded.of(TopicsDeclaration) for rule in item.rules)

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every topic, and the bindings of its owner and grants."""
        topics = TopicTable(builder.cluster, builder.findings_of)
        for item in builder.of(TopicsDeclaration):
            topics.add(item.topics)
            builder.bindings.add(item.rules)
        topics.check(builder.outside)
        builder.topics = topics.topics
