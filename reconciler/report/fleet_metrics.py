"""A fleet's drift as a Prometheus textfile: gauges by cluster, and whether a cluster is known at all."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from reconciler.fleet import ClusterDrift, FleetDrift

_GAUGES: Final[tuple[tuple[str, str, Callable[[ClusterDrift], int]], ...]] = (
    ("bindings_missing", "Declared bindings that are not there", lambda item: item.counts.creates),
    ("bindings_undeclared", "Bindings in scope that nobody declared", lambda item: item.counts.deletes),
    ("topics_different", "Changes that topics need", lambda item: item.counts.topics),
    ("differences_left", "Differences that no plan removes", lambda item: item.counts.left),
    ("bindings_in_scope", "Live bindings in scope", lambda item: item.counts.owned),
)


def drift_metrics(drift: FleetDrift, taken: Mapping[str, str]) -> str:
    """The file's text. A cluster that is not known has no counts: a missing series, never a zero.

    ``taken`` is when each was read, in RFC 3339: a file that nobody renews any more, or a snapshot, shows by its age.
    """
    return "".join(f"{line}\n" for line in _lines(drift, taken))


def _lines(drift: FleetDrift, taken: Mapping[str, str]) -> Iterator[str]:
    yield from _head("cluster_known", "Whether the cluster could be read and compared (1) or not (0)")
    for item in drift.clusters:
        yield f"reconciler_fleet_cluster_known{_label(item)} {0 if item.failure else 1}"
    yield from _head("read_timestamp_seconds", "When the cluster was read, of a cluster that is known")
    for item in drift.clusters:
        if item.failure is None:
            moment = datetime.datetime.fromisoformat(taken[item.cluster])
            yield f"reconciler_fleet_read_timestamp_seconds{_label(item)} {int(moment.timestamp())}"
    for name, help_text, value in _GAUGES:
        yield from _head(name, help_text)
        for item in drift.clusters:
            if item.failure is None:
                yield f"reconciler_fleet_{name}{_label(item)} {value(item)}"


def _head(name: str, help_text: str) -> Iterator[str]:
    yield f"# HELP reconciler_fleet_{name} {help_text}."
    yield f"# TYPE reconciler_fleet_{name} gauge"


def _label(item: ClusterDrift) -> str:
    text = item.cluster.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{cluster="{text}"}}'
