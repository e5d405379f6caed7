"""How the clusters of a fleet differ from what is desired: one answer a cluster, and a way to put parts together."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reconciler.fleet.header import Failure


@dataclass(frozen=True, slots=True)
class DriftCounts:
    """What was looked at and what differs; counts of parts add up to those of the whole."""

    desired: int = 0
    owned: int = 0
    ignored: int = 0
    outside: int = 0
    creates: int = 0
    deletes: int = 0
    topics: int = 0
    left: int = 0

    def __add__(self, other: "DriftCounts") -> "DriftCounts":
        """Both together."""
        return DriftCounts(*(getattr(self, name) + getattr(other, name) for name in DriftCounts.__slots__))

    @property
    def changes(self) -> int:
        """How many changes would turn the cluster into what is desired."""
        return self.creates + self.deletes + self.topics


@dataclass(frozen=True, slots=True)
class PartialDrift:
    """What a task found out about a part of a cluster; ``file`` holds the differing rows, ``""`` if there are none."""

    cluster: str
    counts: DriftCounts
    file: str = ""
    error: str = ""
    bytes_read: int = 0


@dataclass(frozen=True, slots=True)
class ClusterDrift:
    """One cluster: how it differs, or why nobody knows (``failure``); ``doubt`` is why there may be more to it."""

    cluster: str
    counts: DriftCounts = DriftCounts()
    failure: Failure | None = None
    files: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def differs(self) -> bool:
        """Whether something is known to differ."""
        return bool(self.counts.changes or self.counts.left)


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """All clusters, in order of their names, and what the comparison cost."""

    run: str
    taken: str
    clusters: tuple[ClusterDrift, ...]
    buckets: int = 0
    skipped: int = 0
    bytes_read: int = 0

    @property
    def totals(self) -> DriftCounts:
        """All clusters together."""
        return sum((item.counts for item in self.clusters), DriftCounts())

    @property
    def differing(self) -> tuple[ClusterDrift, ...]:
        """The clusters that differ."""
        return tuple(item for item in self.clusters if item.differs)

    @property
    def failed(self) -> tuple[ClusterDrift, ...]:
        """The clusters of which nothing can be said."""
        return tuple(item for item in self.clusters if item.failure)

    @property
    def doubtful(self) -> tuple[ClusterDrift, ...]:
        """The clusters that were not seen whole."""
        return tuple(item for item in self.clusters if item.doubt)


def merge(
    parts: Iterable[PartialDrift], failures: Iterable[Failure], doubts: Mapping[str, str]
) -> tuple[ClusterDrift, ...]:
    """One answer for each cluster. One part that went wrong makes the cluster unknown, whatever the others say."""
    counts: dict[str, DriftCounts] = {}
    files: dict[str, list[str]] = {}
    failed = {item.cluster: item for item in failures}
    for part in parts:
        if part.error:
            failed.setdefault(part.cluster, Failure(part.cluster, "not_compared", part.error))
            continue
        counts[part.cluster] = counts.get(part.cluster, DriftCounts()) + part.counts
        if part.file:
            files.setdefault(part.cluster, []).append(part.file)
    known = (
        ClusterDrift(name, found, files=tuple(sorted(set(files.get(name, ())))), doubt=doubts.get(name, ""))
        for name, found in counts.items()
        if name not in failed
    )
    unknown = (ClusterDrift(name, failure=failure) for name, failure in failed.items())
    return tuple(sorted((*known, *unknown), key=lambda item: item.cluster))


def partial_drift_text(part: PartialDrift) -> str:
    """A part as a line of JSON."""
    return json.dumps(asdict(part), ensure_ascii=False, separators=(",", ":"))


def parse_partial_drift(text: str) -> PartialDrift:
    """The inverse of :func:`partial_drift_text`."""
    side: dict[str, Any] = json.loads(text)
    return PartialDrift(**{**side, "counts": DriftCounts(**side["counts"])})


def drift_document(drift: FleetDrift) -> dict[str, Any]:
    """What ``fleet drift --output json`` prints, without the differing rows."""
    return {
        "run": drift.run,
        "taken": drift.taken,
        "totals": asdict(drift.totals),
        "buckets": drift.buckets,
        "bucketsSkipped": drift.skipped,
        "bytesRead": drift.bytes_read,
        "clusters": [_cluster_side(item) for item in drift.clusters],
    }


def drift_text(drift: FleetDrift) -> str:
    """The drift as the store keeps it, with the names of the files that hold the differing rows."""
    files = {item.cluster: list(item.files) for item in drift.clusters if item.files}
    return json.dumps({**drift_document(drift), "files": files}, ensure_ascii=False, indent=1) + "\n"


def parse_drift(text: str) -> FleetDrift:
    """The inverse of :func:`drift_text`."""
    side = json.loads(text)
    clusters = tuple(
        ClusterDrift(
            item["cluster"],
            DriftCounts(**item["counts"]) if item["counts"] else DriftCounts(),
            Failure(**item["failure"]) if item["failure"] else None,
            tuple(side["files"].get(item["cluster"], ())),
            item.get("doubt", ""),
        )
        for item in side["clusters"]
    )
    return FleetDrift(side["run"], side["taken"], clusters, side["buckets"], side["bucketsSkipped"], side["bytesRead"])


def _cluster_side(item: ClusterDrift) -> dict[str, Any]:
    return {
        "cluster": item.cluster,
        "failure": None if item.failure is None else asdict(item.failure),
        "counts": None if item.failure else asdict(item.counts),
        "doubt": item.doubt,
    }
