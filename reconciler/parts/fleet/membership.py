"""Members of a fleet, waves, and clusters that are one.

Which declared clusters belong to a fleet: each to the first wave that selects it; others are only listed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.cluster import FleetDeclaration
from reconciler.manifest.guardrail_set import wave_labels
from reconciler.manifest.manifests import Manifests
from reconciler.model.characters import first_of
from reconciler.model.says import REQUIRED, Says
from reconciler.results.fleet_drift import Bucket, Failure, FleetRun, Reading

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


# Which buckets have to be compared; equal pairs are never read.


@dataclass(frozen=True, slots=True)
class BucketPair:
    """The buckets with the same part of both sides of one cluster; one side may have a finer division."""

    cluster: str
    number: int
    desired: tuple[Bucket, ...]
    live: tuple[Bucket, ...]
    same_scope: bool

    @property
    def rows(self) -> int:
        """How much there is to read."""
        return sum(bucket.rows for bucket in (*self.desired, *self.live))

    @property
    def bytes(self) -> int:
        """How much that is on disk."""
        return sum(bucket.bytes for bucket in (*self.desired, *self.live))

    @property
    def equal(self) -> bool:
        """Whether the headers alone show that nothing in scope differs."""
        if not self.same_scope or len(self.desired) != len(self.live):
            return False
        sides = zip(self.desired, self.live, strict=True)
        return all(wanted.digest == live.owned_digest for wanted, live in sides)


def pairs(desired: Reading, live: Reading) -> list[BucketPair]:
    """The pairs of one cluster, by the coarser of the two divisions."""
    count = min(len(desired.buckets), len(live.buckets))
    same = desired.scope == live.scope
    return [
        BucketPair(desired.cluster, number, desired.buckets[number::count], live.buckets[number::count], same)
        for number in range(count)
    ]


# Two clusters of a fleet that are one: a connection that points at the wrong cluster.
#
# Whoever copies a connection and forgets the address would otherwise plan one cluster by the manifests of two, each
# of which deletes what the other wants. Which of the connections is wrong nobody can tell from here, so none is
# believed.

#: The code of such a failure.
SAME_CLUSTER: Final = "same_cluster"
_ADVICE: Final = "correct the address of the one whose connection points at the other's brokers"
#: So many others are named.
_NAMED: Final = 3


def same_cluster(ids: Mapping[str, str]) -> dict[str, Failure]:
    """A failure for each cluster whose id, by its name, another one has too; one without an id has none to share."""
    groups: dict[str, list[str]] = {}
    for name, cluster_id in ids.items():
        if cluster_id:
            groups.setdefault(cluster_id, []).append(name)
    return {name: _failure(name, ids[name], names) for names in groups.values() if len(names) > 1 for name in names}


def without_duplicates(run: FleetRun) -> FleetRun:
    """The run without readings that are of one cluster under several names: those are failures."""
    duplicates = same_cluster({reading.cluster: reading.cluster_id for reading in run.readings})
    if not duplicates:
        return run
    readings = tuple(reading for reading in run.readings if reading.cluster not in duplicates)
    return replace(run, readings=readings, failures=tuple(sorted((*run.failures, *duplicates.values()))))


def _failure(name: str, cluster_id: str, names: list[str]) -> Failure:
    others = sorted(other for other in names if other != name)
    message = f"answers with the id {cluster_id}, as {first_of(others, _NAMED)}: both connect to one cluster"
    return Failure(name, SAME_CLUSTER, message, _ADVICE)
