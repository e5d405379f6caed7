"""The kind ``Fleet``: in which order clusters get a change, and how much of it at once."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, Kind, Loaded
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.read.findings import Findings, MappingNode, Node, SequenceNode, Trouble, quoted
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap

if TYPE_CHECKING:
    from reconciler.manifest.models.fleet import FleetDocument, WaveSpec


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
    model = document.validated(FleetKind.model())
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


def _wave(wave: "WaveSpec", place: Node, findings: Findings) -> WaveDeclaration:
    name = place.get("name") if isinstance(place, MappingNode) else None
    gate = wave.gate
    return WaveDeclaration(
        wave.name,
        FrozenMap(wave.clusters.match_labels),
        findings.origin(name or place),
        (gate.soak if gate else None) or 0.0,
        gate.max_failures if gate else 0,
    )


class FleetKind(Kind["FleetDocument"]):
    """Waves of clusters; ``reconciler.parts.fleet`` performs them."""

    name = "Fleet"
    takes_variables = False

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_fleet(document)

    def check(self, loaded: Loaded) -> None:
        """Warns of waves without clusters."""
        for fleet in loaded.of(FleetDeclaration):
            check_waves(fleet, loaded.of(ClusterDeclaration), loaded.findings_of(fleet.origin.file))
