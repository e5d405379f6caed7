"""What topics have unless they say otherwise: layers, of which a later one counts more.

From the bottom: the cluster's defaults, its overrides, the document's defaults, its overrides; then the topic itself.
Settings merge by name, counts replace each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import Discriminator, Field, Tag

from reconciler.manifest.parts.fields import LIST_TAG, TEXT_TAG, ManifestModel, Partitions, Replicas, Text, one_or_list
from reconciler.manifest.parts.settings import declare_settings
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, SequenceNode
from reconciler.model import FrozenMap, Topic

SettingValue = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[list[Text], Tag(LIST_TAG)],
    Discriminator(one_or_list),
]


class TopicProperties(ManifestModel):
    """What a topic has, or takes from the defaults."""

    partitions: Partitions | None = Field(
        None, description="How many partitions; without it the broker's default.", examples=[12]
    )
    replication_factor: Replicas | None = Field(
        None, description="How many replicas each partition has; without it the broker's default.", examples=[3]
    )
    configs: dict[str, SettingValue] = Field(
        default_factory=dict,
        description="Settings of the topic itself. Times take ms, s, m, h, d and sizes B, KiB, MiB, GiB, TiB.",
        examples=[{"cleanup.policy": "compact", "retention.ms": "7d"}],
    )


class TopicOverride(TopicProperties):
    """What topics with certain labels have instead."""

    match_labels: dict[str, Text] = Field(
        description="The labels that a topic must have, all of them: its own, or those of its document.",
        examples=[{"data": "personal"}],
    )


OverridesField = Annotated[
    list[TopicOverride],
    Field(
        default_factory=list,
        description="What topics with certain labels have instead; a later one counts more.",
        examples=[[{"matchLabels": {"data": "personal"}, "configs": {"retention.ms": "30d"}}]],
    ),
]


class ClusterTopicDefaults(TopicProperties):
    """What the topics of a cluster have unless a ``Topics`` document says otherwise."""

    overrides: OverridesField


class Layer(NamedTuple):
    """What topics with these labels have; ``None`` where it does not say."""

    match_labels: Mapping[str, str] = FrozenMap()
    partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, str] = FrozenMap()

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether a topic with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


def declare_layers(node: Node | None, model: ClusterTopicDefaults | None, findings: Findings) -> tuple[Layer, ...]:
    """The layers of a ``defaults`` mapping, the lowest first; problems of settings are reported."""
    if not isinstance(node, MappingNode):
        return ()
    overrides = node.get("overrides")
    nodes = overrides.items if isinstance(overrides, SequenceNode) else []
    wants: Sequence[TopicOverride | None] = model.overrides if model else [None] * len(nodes)
    return (
        _layer(node, model, FrozenMap(), findings),
        *(
            _layer(item, want, FrozenMap(want.match_labels) if want else FrozenMap(), findings)
            for item, want in zip(nodes, wants, strict=True)
        ),
    )


def _layer(node: Node, model: TopicProperties | None, labels: Mapping[str, str], findings: Findings) -> Layer:
    configs = declare_settings(node.get("configs") if isinstance(node, MappingNode) else None, findings)
    if model is None:
        return Layer(labels, configs=FrozenMap(configs))
    return Layer(labels, model.partitions, model.replication_factor, FrozenMap(configs))


def upon(layers: Iterable[Layer], topic: Topic, labels: Mapping[str, str]) -> Topic:
    """The topic with what the fitting layers say and it does not; counts of an explicit assignment are its own."""
    partitions = replicas = None
    said: list[Mapping[str, str]] = []
    for layer in layers:
        if layer.fits(labels):
            partitions = partitions if layer.partitions is None else layer.partitions
            replicas = replicas if layer.replication_factor is None else layer.replication_factor
            said.append(layer.configs)
    said = [configs for configs in (*said, topic.configs) if configs]
    return Topic(
        topic.name,
        partitions if topic.num_partitions is None else topic.num_partitions,
        replicas if topic.replication_factor is None else topic.replication_factor,
        # Most topics have what one layer says: they share it.
        said[0] if len(said) == 1 else {name: value for configs in said for name, value in configs.items()},
        topic.topic_id,
        topic.replica_assignments,
    )
