"""A ``Topics`` document as desired topics and the rules on them, names, settings and assignments checked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import DesiredBuilder, Kind, Loaded, Touched
from reconciler.manifest.parts import resources
from reconciler.manifest.parts.bindings import OutsideScope
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.rules import (
    EVERY_HOST,
    RoleUse,
    RuleDeclaration,
    checked_texts,
    declare_principals,
    declare_rule,
)
from reconciler.manifest.parts.selectors import topic_names
from reconciler.manifest.parts.topic_settings import Layer, declare_layers, declare_settings, instead, upon
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    paired,
    quoted,
    scalars,
)
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.acl import WILDCARD, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredTopic
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import RESERVED_PREFIXES, NameSelector, Selector, is_reserved
from reconciler.model.topic import INTERNAL_TOPICS, METADATA_TOPIC, Topic, collision_key, topic_name_problem

if TYPE_CHECKING:
    from reconciler.manifest.models.topics import ClusterOverride, TopicAccess, TopicItem, TopicsDocument

# ``owner`` and ``grants`` of topics: a shorthand that expands to the rules that ``Acls`` would hold.

#: The built-in role that ``owner`` stands for.
OWNER_ROLE: Final = "owner"
#: Stands for the topic while a grant is read.
_ANY_TOPIC: Final = ResourcePattern(ResourceType.TOPIC, WILDCARD)


class TopicAccessRules(NamedTuple):
    """What ``owner`` and ``grants`` say, of no topic in particular yet."""

    owner: RuleDeclaration | None = None
    grants: tuple[RuleDeclaration, ...] = ()

    def on(self, name: str) -> Iterator[RuleDeclaration]:
        """The rules, on the topic of that name."""
        pattern = ResourcePattern(ResourceType.TOPIC, name)
        for rule in (*((self.owner,) if self.owner else ()), *self.grants):
            named = [names.renamed(pattern) if names.kind is ResourceType.TOPIC else names for names in rule.named]
            yield RuleDeclaration.of(rule.action, rule.principals, rule.hosts, named, rule.terms)

    def over(self, defaults: "TopicAccessRules") -> "TopicAccessRules":
        """With what the defaults grant; an owner of its own replaces theirs."""
        return TopicAccessRules(self.owner or defaults.owner, (*defaults.grants, *self.grants))


def declare_topic_access(
    node: Node | None, model: "TopicAccess | None", table: resources.PatternTable, findings: Findings
) -> TopicAccessRules:
    """Checks ``owner`` and ``grants`` of a mapping; problems are reported."""
    if not isinstance(node, MappingNode):
        return TopicAccessRules()
    return TopicAccessRules(_owner(node.get("owner"), findings), tuple(_grants(node, model, table, findings)))


def _owner(node: Node | None, findings: Findings) -> RuleDeclaration | None:
    principals = checked_texts(node, resources.principal_problem, findings)
    if node is None or not principals:
        return None
    declaration = Declaration(findings.origin(node))
    named = resources.DeclaredPatterns.at(ResourceType.TOPIC, [_ANY_TOPIC], declaration)
    return RuleDeclaration.of(RoleUse(OWNER_ROLE, declaration), principals, EVERY_HOST, [named], declaration)


def _grants(
    node: MappingNode, model: "TopicAccess | None", table: resources.PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    for item, want in paired(node.get("grants"), model.grants if model else None):
        place = ScalarNode(WILDCARD, item.line, item.column, item.length)
        named = {ResourceType.TOPIC: [(_ANY_TOPIC, place)], **table.named(item, findings)}
        principals = declare_principals(item, findings)
        file = findings.source.path
        terms = None if want is None else resources.terms_in(file, want.reason, want.ticket, want.expires, want.keep)
        rule = declare_rule(item, terms, principals, named, findings)
        if rule is not None:
            yield rule


# Collects the topics of one cluster, and what speaks against them.

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


#: ``QuorumController.MAX_RECORDS_PER_USER_OP``: a topic with more partitions is POLICY_VIOLATION.
MAX_ASSIGNMENTS: Final = 10_000
_COUNTED: Final = {"partitions": "partitions", "replicationFactor": "replicas"}
_OVERRIDES_NOTHING: Final = Trouble(
    Code.MISSING_FIELD, "this override changes nothing", "add partitions, replicationFactor or configs"
)
_PROPERTIES: Final = (*_COUNTED, "replicaAssignments", "configs", "owner", "grants")


@dataclass(frozen=True, slots=True)
class TopicClusterOverride:
    """What some topics (``None``: all) have instead on clusters with the labels of ``layer``."""

    topics: NameSelector | None
    layer: Layer

    def selects(self, name: str) -> bool:
        """Whether a topic of the document is meant."""
        return self.topics is None or self.topics.selects_name(name)


@dataclass(frozen=True, slots=True)
class TopicsDeclaration:
    """A document's heading and topics, its defaults already in them, and the rules of their owners and grants."""

    heading: Heading
    topics: tuple[DesiredTopic, ...]
    rules: tuple[RuleDeclaration, ...] = ()
    overrides: tuple[TopicClusterOverride, ...] = ()

    def on(self, labels: Mapping[str, str]) -> Iterator[DesiredTopic]:
        """The topics as a cluster with these labels is to have them."""
        here = [override for override in self.overrides if override.layer.fits(labels)]
        for item in self.topics:
            fitting = [override.layer for override in here if override.selects(item.topic.name)]
            yield item if item.absent or not fitting else replace(item, topic=instead(fitting, item.topic))


def _overrides(
    spec: MappingNode,
    items: "Sequence[ClusterOverride] | None",
    topics: Sequence[DesiredTopic],
    table: resources.PatternTable,
    findings: Findings,
) -> Iterator[TopicClusterOverride]:
    """What is different on some clusters; one that changes nothing of any topic is reported."""
    for node, item in paired(spec.get("overrides"), items):
        names = topic_names(node.get("topics"), table, findings)
        configs = declare_settings(node.get("configs"), findings)
        if not node.keys.keys() & {*_COUNTED, "configs"}:
            findings.add(_OVERRIDES_NOTHING, node)
        if item is None:
            continue
        labels = FrozenMap(item.clusters.match_labels)
        layer = Layer(labels, item.partitions, item.replication_factor, FrozenMap(configs))
        override = TopicClusterOverride(names, layer)
        meant = [topic for topic in topics if override.selects(topic.topic.name) and not topic.absent]
        _check_named(node.get("topics"), [topic.topic.name for topic in topics], findings)
        counted = next((node.keys[field] for field in _COUNTED if field in node.keys), None)
        if counted is not None and (fixed := [topic for topic in meant if topic.topic.replica_assignments]):
            message = f"replicaAssignments of {fixed[0].topic.name} says how many partitions and replicas there are"
            findings.add(Trouble(Code.REPLICA_ASSIGNMENT, message, "name other topics, or leave out counts"), counted)
        yield override


def _check_named(node: Node | None, declared: Sequence[str], findings: Findings) -> None:
    """Reports a name that the document does not declare: the override would silently change nothing."""
    # Before variables are filled in, any name may be one.
    for form, scalar in () if any("${" in name for name in declared) else resources.name_scalars(node):
        is_known = (
            any(name.startswith(scalar.plain) for name in declared) if form == "prefix" else scalar.plain in declared
        )
        if form != "any" and not is_known and not findings.marks(scalar):
            message = f"this document declares no topic {'that begins with ' if form == 'prefix' else ''}"
            advice = did_you_mean(scalar.plain, declared, "name a topic of this document")
            findings.add(Trouble(Code.CONFLICTING_TOPIC, f"{message}{quoted(scalar.plain)}", advice), scalar)


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


class TopicsKind(Kind["TopicsDocument"]):
    """Topics, and the rules of their owners and grants."""

    name = "Topics"
    touched = Touched.CHOSEN

    def declare(self, document: Document, table: resources.PatternTable) -> TopicsDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        findings, spec = document.findings, document.spec
        model = document.validated(self.model())
        wants = model.spec.defaults if model else None
        layers = declare_layers(spec.get("defaults"), wants, findings)
        common = declare_topic_access(spec.get("defaults"), wants, table, findings)
        topics: list[DesiredTopic] = []
        rules: list[RuleDeclaration] = []
        for node, item in paired(spec.get("topics"), model.spec.topics if model else None):
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
        overrides = tuple(_overrides(spec, model.spec.overrides if model else None, topics, table, findings))
        return TopicsDeclaration(document.heading, tuple(topics), tuple(rules), overrides) if model else None

    def check(self, loaded: Loaded) -> None:
        """Reports grants whose role is unknown or does not fit."""
        loaded.check_role_uses(rule for item in loaded.of(TopicsDeclaration) for rule in item.rules)

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every topic, and the bindings of its owner and grants."""
        topics = TopicTable(builder.cluster, builder.findings_of)
        for item in builder.of(TopicsDeclaration):
            topics.add(item.on(builder.cluster.labels))
            builder.bindings.add(item.rules)
        topics.check(builder.outside)
        builder.topics = topics.topics
