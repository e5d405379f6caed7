"""The fields of ``ClusterTests`` documents."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import MAPPING_TAG, TEXT_TAG, ManifestModel, OneOrMoreTexts, Severity, Text
from reconciler.manifest.parts.selectors import TestExceptionsField


class ConfigLimits(ManifestModel):
    """What a config of brokers may be."""

    allowed: OneOrMoreTexts | None = Field(
        None, description="The only values that it may have, as brokers spell them.", examples=[["TLSv1.2,TLSv1.3"]]
    )
    min: Text | None = Field(
        None,
        description="The least number; units where the name ends in .ms or .bytes.",
        examples=[2],
    )
    max: Text | None = Field(
        None, description="The greatest number; units where the name ends in .ms or .bytes.", examples=["7d"]
    )


class FeatureLimits(ManifestModel):
    """What a feature of the cluster has to be."""

    min: Text = Field(
        description="The least finalized level; for metadata.version also a release, which is its first level.",
        examples=["4.1"],
    )


ConfigClaim = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[ConfigLimits, Tag(MAPPING_TAG)],
    Discriminator(lambda value: MAPPING_TAG if isinstance(value, dict) else TEXT_TAG),
]


class ClusterTestItem(ManifestModel):
    """One test: configs that every broker must have, features that the cluster must have."""

    name: Text = Field(description="What the test claims, in words.", examples=["topics come from manifests only"])
    configs: dict[str, ConfigClaim] = Field(
        default_factory=dict,
        description="Broker configs by name: the value that every broker uses, or {allowed: …}, {min: …, max: …}.",
        examples=[{"auto.create.topics.enable": "false", "min.insync.replicas": {"min": 2}}],
    )
    features: dict[str, FeatureLimits] = Field(
        default_factory=dict,
        description="Features by name, each with its least finalized level.",
        examples=[{"metadata.version": {"min": "4.1"}}],
    )
    severity: Severity = Field("error", description="Whether a failure stops, or is only said.", examples=["warning"])


class ClusterTestsSpec(ManifestModel):
    """The tests of a document."""

    clusters: ClustersField = None
    tests: list[ClusterTestItem] = Field(
        min_length=1,
        description="The tests.",
        examples=[[{"name": "no accidental topics", "configs": {"auto.create.topics.enable": "false"}}]],
    )
    exceptions: TestExceptionsField


class ClusterTestsDocument(ManifestModel):
    """Claims about broker configs and features, which are looked at and never changed."""

    api_version: ApiVersion
    kind: Literal["ClusterTests"] = Field(description="What the document declares.", examples=["ClusterTests"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "brokers"}])
    spec: ClusterTestsSpec = Field(
        description="The tests.",
        examples=[{"tests": [{"name": "upgraded", "features": {"metadata.version": {"min": "4.1"}}}]}],
    )
