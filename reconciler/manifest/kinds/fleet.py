"""The kind ``Fleet``: in which order clusters get a change, and how much of it at once."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds.interface import Declared, Kind, Loaded
from reconciler.manifest.parts import units
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import FixedCount, ManifestModel, Percent, Text, reading
from reconciler.manifest.parts.metadata import ApiVersion, ClusterSelector, Metadata
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.model import FrozenMap, Origin


def _soak(text: str) -> float:
    found = units.amount(text, units.MILLISECONDS)
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


@dataclass(frozen=True, slots=True)
class WaveDeclaration:
    """Clusters that get a change together, and the gate after them; ``soak`` is in seconds."""

    name: str
    match_labels: Mapping[str, str]
    origin: Origin
    soak: float = 0.0
    max_failures: int = 0

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a cluster with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


@dataclass(frozen=True, slots=True)
class FleetDeclaration:
    """A fleet's waves in order; ``None`` is no limit."""

    name: str
    origin: Origin
    waves: tuple[WaveDeclaration, ...]
    max_changed_clusters_percent: int | None = None
    max_deletes: int | None = None

    @property
    def heading(self) -> Heading:
        """Its document's heading."""
        return Heading("Fleet", self.name, *self.origin)


def declare_fleet(document: Document) -> FleetDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no fleet."""
    findings, heading = document.findings, document.heading
    model = document.validated(FleetDocument)
    nodes = document.spec.get("waves")
    places = nodes.items if isinstance(nodes, SequenceNode) else []
    _check_names(places, findings)
    if model is None:
        return None
    limits = model.spec.limits
    return FleetDeclaration(
        heading.name,
        heading.origin,
        tuple(_wave(wave, place, findings) for wave, place in zip(model.spec.waves, places, strict=True)),
        limits.max_changed_clusters_percent if limits else None,
        limits.max_deletes if limits else None,
    )


def check_waves(fleet: FleetDeclaration, clusters: Iterable[ClusterDeclaration], findings: Findings) -> None:
    """Warns of waves that hold no cluster: a canary without clusters lets a change through to all at once."""
    held = {wave.name: 0 for wave in fleet.waves}
    for cluster in clusters:
        first = next((wave.name for wave in fleet.waves if wave.selects(cluster.labels)), None)
        if first is not None:
            held[first] += 1
    for wave in fleet.waves:
        if not held[wave.name]:
            trouble = Trouble(
                Code.FLEET_WAVE,
                f"no declared cluster belongs to the wave {quoted(wave.name)}",
                "compare its matchLabels with the clusters' labels; a cluster belongs to the first wave that fits",
            )
            findings.add_at(trouble, wave.origin, severity="warning")


def _check_names(places: Iterable[Node], findings: Findings) -> None:
    first: dict[str, Origin] = {}
    for place in places:
        name = place.get("name") if isinstance(place, MappingNode) else None
        if name is None or not isinstance(name.plain, str):
            continue
        origin = findings.origin(name)
        if first.setdefault(name.plain, origin) != origin:
            trouble = Trouble(
                Code.FLEET_WAVE, f"the wave {quoted(name.plain)} is declared twice", "give it another name"
            )
            findings.add(trouble, name, related=[first[name.plain]])


def _wave(wave: WaveSpec, place: Node, findings: Findings) -> WaveDeclaration:
    name = place.get("name") if isinstance(place, MappingNode) else None
    gate = wave.gate
    return WaveDeclaration(
        wave.name,
        FrozenMap(wave.clusters.match_labels),
        findings.origin(name or place),
        (gate.soak if gate else None) or 0.0,
        gate.max_failures if gate else 0,
    )


class FleetKind(Kind):
    """Waves of clusters; ``reconciler.fleet`` performs them."""

    name = "Fleet"
    model = FleetDocument
    takes_variables = False

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_fleet(document)

    def check(self, loaded: Loaded) -> None:
        """Warns of waves without clusters."""
        for fleet in loaded.of(FleetDeclaration):
            check_waves(fleet, loaded.of(ClusterDeclaration), loaded.findings_of(fleet.origin.file))
