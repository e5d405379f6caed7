"""The kind ``Topics``."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reconciler.manifest.models.fields import (
    LIST_TAG,
    TEXT_TAG,
    ManifestModel,
    Partitions,
    Replicas,
    Text,
    Truth,
    one_or_list,
)
from reconciler.manifest.models.metadata import ApiVersion, ClustersField, Metadata

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


class TopicItem(TopicProperties):
    """One topic."""

    name: Text = Field(description="The topic's name.", examples=["payments.orders"])
    labels: dict[str, Text] = Field(
        default_factory=dict, description="Labels of the topic's data.", examples=[{"data": "personal"}]
    )
    absent: Truth = Field(False, description="With true, the topic must not exist.", examples=[True])


class TopicsSpec(ManifestModel):
    """The topics of a document, and what they have in common."""

    clusters: ClustersField = None
    defaults: TopicProperties | None = Field(
        None,
        description="What the topics of this document have unless they say otherwise; settings merge by name.",
        examples=[{"partitions": 6, "replicationFactor": 3, "configs": {"min.insync.replicas": 2}}],
    )
    topics: list[TopicItem] = Field(
        description="The topics.", examples=[[{"name": "payments.orders", "partitions": 12}]]
    )


class TopicsDocument(ManifestModel):
    """Topics: partitions, replication, settings, labels."""

    api_version: ApiVersion
    kind: Literal["Topics"] = Field(description="What the document declares.", examples=["Topics"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: TopicsSpec = Field(description="Defaults and topics.", examples=[{"topics": [{"name": "payments.orders"}]}])
