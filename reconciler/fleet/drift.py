"""How the clusters of a fleet differ from their desired state: one result for each cluster, merged from parts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Annotated, Final

from reconciler.codec import REQUIRED, TEXTS, Apart, Record, Says, compact, load, mapping, record_of, same
from reconciler.dataclass import dataclass
from reconciler.fleet.header import Failure


@dataclass(frozen=True, slots=True)
class DriftCounts:
    """What was compared and what differs; counts of parts add up to those of the whole.

    ``others`` counts changes of every other kind than ACLs.
    """

    desired: Annotated[int, Says("Bindings that are declared.", 0, default=REQUIRED)] = 0
    owned: Annotated[int, Says("Live bindings in scope.", 0, default=REQUIRED)] = 0
    ignored: Annotated[int, Says("Live bindings that somebody else manages.", 0, default=REQUIRED)] = 0
    outside: Annotated[int, Says("Live bindings out of scope.", 0, default=REQUIRED)] = 0
    creates: Annotated[int, Says("Bindings to create.", 0, default=REQUIRED)] = 0
    deletes: Annotated[int, Says("Bindings to delete.", 0, default=REQUIRED)] = 0
    others: Annotated[int, Says("Changes of topics and of every other kind.", 0, default=REQUIRED)] = 0
    left: Annotated[int, Says("Differences that stay.", 0, default=REQUIRED)] = 0

    def __add__(self, other: "DriftCounts") -> "DriftCounts":
        """Both together."""
        return DriftCounts(*(getattr(self, name) + getattr(other, name) for name in DriftCounts.__slots__))

    @property
    def changes(self) -> int:
        """How many changes would turn the cluster into what is desired."""
        return self.creates + self.deletes + self.others


@dataclass(frozen=True, slots=True)
class PartialDrift:
    """What a task found about a part of a cluster; ``file`` contains the differing rows, ``""`` if there are none."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    counts: Annotated[DriftCounts, Says("What was compared.")]
    file: Annotated[str, Says("The file of the differing rows.", "", default=REQUIRED)] = ""
    error: Annotated[str, Says("Why it could not be compared.", "", default=REQUIRED)] = ""
    bytes_read: Annotated[int, Says("How much was read.", 4096, default=REQUIRED)] = 0


@dataclass(frozen=True, slots=True)
class ClusterDrift:
    """One cluster: how it differs, or why that is unknown: with a ``failure``, ``counts`` are ``None``.

    ``doubt`` says why it may differ in more. ``files`` contain the differing rows.
    """

    cluster: Annotated[str, Says("The cluster.", "prod")]
    failure: Annotated[Failure | None, Says("Why it is not known how it differs.", default=REQUIRED)] = None
    counts: Annotated[DriftCounts | None, Says("What was compared; null where it failed.", default=REQUIRED)] = (
        DriftCounts()
    )
    files: Annotated[tuple[str, ...], Apart()] = ()
    doubt: Annotated[str, Says("Why there may be more differences.", "", default=REQUIRED)] = ""

    def __post_init__(self) -> None:
        """Keeps no counts of a cluster that could not be compared."""
        if self.failure is not None:
            object.__setattr__(self, "counts", None)

    @property
    def differs(self) -> bool:
        """Whether something is known to differ."""
        return self.counts is not None and bool(self.counts.changes or self.counts.left)


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """All clusters, sorted by name, and the cost of the comparison."""

    run: Annotated[str, Says("The run that was compared.", "20261121T051700Z")]
    taken: Annotated[str, Says("When it was taken.", "2026-11-21T05:17:00Z")]
    totals: Annotated[DriftCounts, Says("The counts of all clusters together.")] = field(init=False, compare=False)
    buckets: Annotated[int, Says("Pairs of files that hold the same part of both sides.", 64)]
    skipped: Annotated[int, Says("Pairs that were equal and never read.", 60, name="bucketsSkipped")]
    bytes_read: Annotated[int, Says("How much was read.", 4096)]
    clusters: Annotated[tuple[ClusterDrift, ...], Says("The clusters, by name.")]

    def __post_init__(self) -> None:
        """Adds up the counts of all clusters."""
        known = (item.counts for item in self.clusters if item.counts is not None)
        object.__setattr__(self, "totals", sum(known, DriftCounts()))

    @property
    def differing(self) -> tuple[ClusterDrift, ...]:
        """The clusters that differ."""
        return tuple(item for item in self.clusters if item.differs)

    @property
    def failed(self) -> tuple[ClusterDrift, ...]:
        """The clusters that could not be compared."""
        return tuple(item for item in self.clusters if item.failure)

    @property
    def doubtful(self) -> tuple[ClusterDrift, ...]:
        """The clusters that were not read completely."""
        return tuple(item for item in self.clusters if item.doubt)


def merge(
    parts: Iterable[PartialDrift], failures: Iterable[Failure], doubts: Mapping[str, str]
) -> tuple[ClusterDrift, ...]:
    """One result for each cluster. One failed part makes the whole cluster unknown."""
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
        ClusterDrift(name, counts=found, files=tuple(sorted(set(files.get(name, ())))), doubt=doubts.get(name, ""))
        for name, found in counts.items()
        if name not in failed
    )
    unknown = (ClusterDrift(name, failure=failure) for name, failure in failed.items())
    return tuple(sorted((*known, *unknown), key=lambda item: item.cluster))


_PART: Final[Record[PartialDrift]] = record_of(PartialDrift, named=same)
_DRIFT: Final[Record[FleetDrift]] = record_of(FleetDrift)
_FILES: Final = mapping(TEXTS)


def partial_drift_text(part: PartialDrift) -> str:
    """A part as a line of JSON."""
    return compact(_PART.write(part))


def parse_partial_drift(text: str) -> PartialDrift:
    """The inverse of :func:`partial_drift_text`; raises :class:`SchemaError`."""
    return _PART.read(load(text))


def drift_text(drift: FleetDrift) -> str:
    """The drift as the store keeps it, with the names of the files that hold the differing rows."""
    files = {item.cluster: item.files for item in drift.clusters if item.files}
    return json.dumps({**_DRIFT.write(drift), "files": _FILES.write(files)}, ensure_ascii=False, indent=1) + "\n"


def parse_drift(text: str) -> FleetDrift:
    """The inverse of :func:`drift_text`; raises :class:`SchemaError`."""
    document = load(text)
    files = _FILES.read(document.get("files"))
    drift = _DRIFT.read(document)
    return replace(drift, clusters=tuple(replace(one, files=files.get(one.cluster, ())) for one in drift.clusters))
