"""The fields of ``GroupConfigs`` documents."""

from typing import Literal

from pydantic import Field

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import Boolean, Ends, ManifestModel, OneOrMoreTexts, Text, ends


class GroupItem(ManifestModel):
    """The dynamic configs of one group, or of several with the same configs."""

    name: OneOrMoreTexts = Field(
        description="The group's id, or a list of ids; each is literal.", examples=["payments", ["payments", "refunds"]]
    )
    configs: dict[str, Text] = Field(
        default_factory=dict,
        description="Kafka's group configs by name; what is left out is reset to the broker's default.",
        examples=[{"consumer.session.timeout.ms": "50s", "share.isolation.level": "read_committed"}],
    )
    absent: Boolean = Field(
        False,
        description="With true, the group must have no configs. The group itself is not deleted.",
        examples=[True],
    )
    expires: Ends | None = ends("The configs hold")
    reason: Text | None = Field(None, description="Why the configs exist.", examples=["long pauses of batch jobs"])
    ticket: Text | None = Field(None, description="Where the configs were agreed.", examples=["OPS-7"])


class GroupConfigsSpec(ManifestModel):
    """The groups of a document."""

    clusters: ClustersField = None
    groups: list[GroupItem] = Field(
        min_length=1,
        description="The groups. Declare each group once.",
        examples=[[{"name": "payments", "configs": {"consumer.session.timeout.ms": "50s"}}]],
    )


class GroupConfigsDocument(ManifestModel):
    """Dynamic configs of consumer, share and streams groups."""

    api_version: ApiVersion
    kind: Literal["GroupConfigs"] = Field(description="What the document declares.", examples=["GroupConfigs"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: GroupConfigsSpec = Field(
        description="The groups.",
        examples=[{"groups": [{"name": "payments", "configs": {"share.auto.offset.reset": "earliest"}}]}],
    )
