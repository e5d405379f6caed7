"""The fields of ``Fleet`` documents."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.manifest.parts.document import ApiVersion, ClusterSelector, Metadata
from reconciler.manifest.parts.fields import MILLISECONDS, FixedCount, ManifestModel, Percent, Text, amount, reading
from reconciler.manifest.read.findings import quoted


def _soak(text: str) -> float:
    found = amount(text, MILLISECONDS)
    if text[-1:].isdigit():
        raise ValueError(f"{quoted(text)} is not a duration: write a number and s, m, h or d, such as 1h")
    return found / 1000


SoakTime = Annotated[
    float,
    BeforeValidator(reading(_soak)),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+ ?(ms|s|m|h|d)$"}),
]


class GateSpec(ManifestModel):
    """What has to hold before the next wave begins."""

    soak: SoakTime | None = Field(
        None, description="Time to wait after the wave before the next one: a number and s, m, h or d.", examples=["1h"]
    )
    max_failures: FixedCount = Field(
        0, description="With more clusters of the wave failed than this, the next one does not begin.", examples=[0]
    )


class WaveSpec(ManifestModel):
    """Clusters that get a change together."""

    name: Text = Field(description="The wave's name, unique in the fleet.", examples=["canary"])
    clusters: ClusterSelector = Field(
        description="Which clusters; one that fits several waves belongs to the first.",
        examples=[{"matchLabels": {"ring": "canary"}}],
    )
    gate: GateSpec | None = Field(
        None, description="What has to hold before the next wave begins.", examples=[{"soak": "1h"}]
    )


class FleetLimitsSpec(ManifestModel):
    """How much one plan may change, all clusters together."""

    max_changed_clusters_percent: Percent | None = Field(
        None, description="At most this share of the fleet's clusters may change in one plan.", examples=[50]
    )
    max_deletes: FixedCount | None = Field(
        None, description="At most so many deletes in one plan, all clusters together.", examples=[5000]
    )


class FleetSpec(ManifestModel):
    """Waves and limits."""

    waves: list[WaveSpec] = Field(
        min_length=1,
        description="The waves, in the order in which they are performed.",
        examples=[[{"name": "canary", "clusters": {"matchLabels": {"ring": "canary"}}, "gate": {"soak": "1h"}}]],
    )
    limits: FleetLimitsSpec | None = Field(
        None, description="How much one plan may change.", examples=[{"maxChangedClustersPercent": 50}]
    )


class FleetDocument(ManifestModel):
    """A fleet: waves of clusters, gates between them, limits for all."""

    api_version: ApiVersion
    kind: Literal["Fleet"] = Field(description="What the document declares.", examples=["Fleet"])
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "world"}])
    spec: FleetSpec = Field(
        description="The waves, and the limits of one plan.",
        examples=[{"waves": [{"name": "all", "clusters": {"matchLabels": {}}}]}],
    )
