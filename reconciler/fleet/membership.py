"""Which declared clusters belong to a fleet: each to the first wave that selects it; others are only listed."""

from collections.abc import Mapping
from typing import Annotated, Final

from reconciler.codec import REQUIRED, Says
from reconciler.dataclass import dataclass
from reconciler.manifest import FleetDeclaration, Manifests, wave_labels

#: The name of the fleet and of its only wave if no Fleet document is declared.
IMPLICIT: Final = "all"


class UnknownFleetError(Exception):
    """The requested fleet is not declared, or several are declared and none was requested."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Clusters that are changed together, by name; ``soak`` in seconds."""

    name: str
    clusters: tuple[str, ...]
    soak: float = 0.0
    max_failures: int = 0


@dataclass(frozen=True, slots=True)
class FleetLimits:
    """How much one plan may change, all clusters together; ``None`` is no limit."""

    max_changed_clusters_percent: Annotated[
        int | None, Says("The largest share of clusters that may change.", 20, default=REQUIRED)
    ] = None
    max_deletes: Annotated[
        int | None, Says("How many deletions there may be in all clusters together.", 200, default=REQUIRED)
    ] = None


NO_LIMITS: Final = FleetLimits()


@dataclass(frozen=True, slots=True)
class Fleet:
    """Waves in order. ``unassigned`` clusters are declared and belong to no wave."""

    name: str
    waves: tuple[Wave, ...]
    limits: FleetLimits = NO_LIMITS
    unassigned: tuple[str, ...] = ()

    @property
    def clusters(self) -> tuple[str, ...]:
        """All members, wave by wave."""
        return tuple(name for wave in self.waves for name in wave.clusters)


def fleet_of(manifests: Manifests, name: str | None = None) -> Fleet:
    """The declared fleet of that name, or the only one; without any, all clusters in one wave.

    Held by guardrails, each cluster that they declare stays in the wave in which they have it.
    """
    clusters = manifests.clusters.values()
    if name is None and not manifests.fleets:
        return Fleet(IMPLICIT, (Wave(IMPLICIT, tuple(sorted(cluster.name for cluster in clusters))),))
    if name is None and len(manifests.fleets) > 1:
        raise UnknownFleetError(f"several fleets are declared: say which, {', '.join(manifests.fleets)}")
    declaration = manifests.fleets.get(name) if name else next(iter(manifests.fleets.values()))
    if declaration is None:
        raise UnknownFleetError(f"no fleet {name!r} is declared; declared are: {', '.join(manifests.fleets) or 'none'}")
    return assign(declaration, {cluster.name: wave_labels(manifests, cluster) for cluster in clusters})


def assign(declaration: FleetDeclaration, clusters: Mapping[str, Mapping[str, str]]) -> Fleet:
    """Each cluster, by name with its labels, in the first wave that selects it, names in order."""
    members: dict[str, list[str]] = {wave.name: [] for wave in declaration.waves}
    unassigned: list[str] = []
    for name, labels in sorted(clusters.items()):
        first = next((wave.name for wave in declaration.waves if wave.selects(labels)), None)
        (unassigned if first is None else members[first]).append(name)
    return Fleet(
        declaration.name,
        tuple(Wave(wave.name, tuple(members[wave.name]), wave.soak, wave.max_failures) for wave in declaration.waves),
        FleetLimits(declaration.max_changed_clusters_percent, declaration.max_deletes),
        tuple(unassigned),
    )
