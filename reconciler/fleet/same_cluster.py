"""Two clusters of a fleet that are one: a connection that points at the wrong cluster.

Whoever copies a connection and forgets the address would otherwise plan one cluster by the manifests of two, each of
which deletes what the other wants. Which of the connections is wrong nobody can tell from here, so none is believed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reconciler.fleet.header import Failure, FleetRun

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


def told_apart(run: FleetRun) -> FleetRun:
    """The run without readings that are of one cluster under several names: those are failures."""
    found = same_cluster({reading.cluster: reading.cluster_id for reading in run.readings})
    if not found:
        return run
    readings = tuple(reading for reading in run.readings if reading.cluster not in found)
    return replace(run, readings=readings, failures=tuple(sorted((*run.failures, *found.values()))))


def _failure(name: str, cluster_id: str, names: list[str]) -> Failure:
    others = sorted(other for other in names if other != name)
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    message = f"answers with the id {cluster_id}, as {', '.join(others[:_NAMED])}{more}: both connect to one cluster"
    return Failure(name, SAME_CLUSTER, message, _ADVICE)
