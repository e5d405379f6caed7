"""A ``Fleet`` document as waves with gates, and limits for all clusters together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.manifest.clusters import ClusterDeclaration
from reconciler.manifest.codes import Code
from reconciler.manifest.document import Document
from reconciler.manifest.findings import Findings, Trouble
from reconciler.manifest.models.fleet import FleetDocument, WaveSpec
from reconciler.manifest.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.source import quoted
from reconciler.model import FrozenMap, Origin


@dataclass(frozen=True, slots=True)
class WaveDeclaration:
    """Clusters that get a change together, and the gate behind them; ``soak`` is in seconds."""

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
    """Warns of waves that hold no cluster: a canary that nobody is in lets a change through to all at once."""
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
            trouble = Trouble(Code.FLEET_WAVE, f"the wave {quoted(name.plain)} stands twice", "give it another name")
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
