"""How the clusters of a fleet differ from their desired state: one result for each cluster, merged from parts."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Annotated, Any, Final

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import TEXTS, SchemaError, array, constant, document_text, mapping, same
from reconciler.codec.document import compact, known_minor, load
from reconciler.codec.kinds import DECLARED, listings
from reconciler.codec.objects import derived
from reconciler.codec.values import KAFKA_VERSION, opaque_codec
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, OpaqueBinding
from reconciler.model.desired import DesiredItem
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Listing
from reconciler.model.says import REQUIRED, AnyText, Apart, Says
from reconciler.model.state import StatedFacts

# The header of a stored reading, which is read before its rows, and the record of a run over many clusters.
#
# A run is atomic: its record is written last, in one piece, and names every file of the run. A cluster that could not
# be read is in it with the reason, so it never looks empty.

FORMAT_VERSION: Final = "1.0"
_DIGEST: Final = "0" * 64
_LISTINGS: Final = listings()


class HeaderError(Exception):
    """A run's record is damaged or of a format that this version does not read."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One file of bindings. ``digest`` is over all rows, ``owned_digest`` over those in scope; ``bytes`` is on disk."""

    file: Annotated[str, Says("The file, below the store.", "bindings/bucket=0/part.parquet")]
    rows: Annotated[int, Says("How many bindings it holds.", 1200)]
    digest: Annotated[str, Says("A digest of all rows.", _DIGEST)]
    owned: Annotated[int, Says("How many rows are in scope.", 1000)]
    ignored: Annotated[int, Says("How many rows somebody else manages.", 0)]
    owned_digest: Annotated[str, Says("A digest of the rows in scope.", _DIGEST)]
    bytes: Annotated[int, Says("Its size on disk.", 4096, default=REQUIRED)] = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """One cluster at one moment. Bucket *n* of *m* is ``buckets[n]``; ``scope`` is the digest of the scope.

    ``topics`` and ``configs`` are files, ``""`` if there is none. Only desired readings have the file ``expired`` and
    ``wanted``, the declared resources of listed kinds by ``KIND`` and key; ``listings`` are the live ones by ``KIND``.
    ``leftovers`` are the live bindings on reserved names, and the bridges that they mark: few, and no comparison of
    buckets finds them. ``notes`` say how it was read otherwise than usual.
    ``unchanged_until`` is when a server last saw the reading before this one to hold.
    """

    cluster: Annotated[str, Says("The cluster's name.", "prod")]
    cluster_id: Annotated[str, Says("The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw")]
    taken: Annotated[str, Says("When it was read.", "2026-11-21T05:17:00Z")]
    tool_version: Annotated[str, Says("The version that read it.", "0.1.0")]
    scope: Annotated[str, Says("A digest of the scope.", "0" * 16)]
    buckets: Annotated[tuple[Bucket, ...], Says("The files of its bindings.")]
    topic_count: Annotated[int, Says("How many topics it has.", 40, default=REQUIRED)] = 0
    topics: Annotated[str, Says("The file of its topics.", "topics/part.parquet", omit=True)] = ""
    configs: Annotated[str, Says("The file of its topics' configs.", "configs/part.parquet", omit=True)] = ""
    expired: Annotated[str, Says("The file of what has expired.", "expired/part.parquet", omit=True)] = ""
    opaque: Annotated[
        tuple[OpaqueBinding, ...], array(opaque_codec(closed=False)), Says("Entries that cannot be named.", omit=True)
    ] = ()
    unreadable_topics: Annotated[
        Mapping[str, str], Says("Topics that could not be read: name to reason.", omit=True)
    ] = dataclasses.field(default_factory=FrozenMap)
    acl_gap: Annotated[str | None, Says("Why the ACLs may be incomplete.", "one broker only", omit=True)] = None
    topic_gap: Annotated[str | None, Says("Why the topics may be incomplete.", "one broker only", omit=True)] = None
    listings: Annotated[
        Mapping[str, Listing[Any]], _LISTINGS, Says("What it has of the listed kinds, as in a snapshot.", omit=True)
    ] = dataclasses.field(default_factory=FrozenMap)
    kafka_version: Annotated[
        tuple[int, int] | None, KAFKA_VERSION, Says("The release whose rules it follows.", "4.3", omit=True)
    ] = None
    kafka_version_gap: Annotated[
        str | None, Says("Why its release is left open.", "an upgrade is not finished", omit=True)
    ] = None
    metadata_version: Annotated[int | None, Says("The finalized level of metadata.version.", 32, omit=True)] = None
    wanted: Annotated[
        Mapping[str, Mapping[Any, DesiredItem[Any]]], DECLARED, Says("What is declared of the listed kinds.", omit=True)
    ] = dataclasses.field(default_factory=dict)
    leftovers: Annotated[tuple[AclBinding, ...], Says("What runs have there for their own use.", omit=True)] = ()
    notes: Annotated[tuple[str, ...], Says("How it was read otherwise than usual.", omit=True)] = ()
    stated: Annotated[StatedFacts | None, Says("What was stated of its access; absent: nothing.", omit=True)] = None
    ended: Annotated[
        str, Says("When the reading ended; absent where nobody knows.", "2026-11-21T05:17:02Z", omit=True)
    ] = ""
    unchanged_until: Annotated[
        str, Says("When the reading before it was last seen to hold.", "2026-11-21T05:12:00Z", omit=True)
    ] = ""

    @property
    def rows(self) -> int:
        """How many bindings there are."""
        return sum(bucket.rows for bucket in self.buckets)

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of this reading."""
        files = (*(bucket.file for bucket in self.buckets), self.topics, self.configs, self.expired)
        return tuple(name for name in files if name)


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """A cluster that could not be read, and why; nothing is known about its contents."""

    cluster: Annotated[str, Says("The cluster's name.", "prod")]
    code: Annotated[str, Says("What went wrong, as a stable word.", "timed_out")]
    message: Annotated[AnyText, Says("What went wrong, in words.", "no answer in 120 s")]
    advice: Annotated[AnyText, Says("What to do.", "Is it reachable from here?", default=REQUIRED)] = ""
    attempts: Annotated[int, Says("How often it was tried.", 3, default=REQUIRED)] = 1


READING: Final = record_of(Reading, named=same)
FAILURE: Final = record_of(Failure, named=same)


@dataclass(frozen=True, slots=True)
class FleetRun:
    """What is known of a fleet; ``id`` sorts by time. A cluster is in ``readings`` or in ``failures``, never in both.

    ``read_by`` says of clusters that another run read which one that was; the others this run read. ``over`` are the
    newest of the runs that there were when the record was written: it has what they have, or what was read later.
    """

    id: Annotated[str, Says("The run's name; names sort by time.", "20261121T051700Z")]
    taken: Annotated[str, Says("When it began.", "2026-11-21T05:17:00Z")]
    readings: Annotated[tuple[Reading, ...], array(READING, lines=True), Says("The clusters that were read.")]
    failures: Annotated[
        tuple[Failure, ...], array(FAILURE, lines=True), Says("The clusters that were not.", default=REQUIRED)
    ] = ()
    read_by: Annotated[
        Mapping[str, tuple[str, ...]], Says("Clusters that another run read, by its name.", omit=True)
    ] = field(default_factory=FrozenMap, compare=False)
    over: Annotated[tuple[str, ...], Says("The newest runs that this one takes into account.", omit=True)] = field(
        default=(), compare=False
    )

    @property
    def rows(self) -> int:
        """How many bindings there are."""
        return sum(reading.rows for reading in self.readings)

    def reading(self, cluster: str) -> Reading | None:
        """The reading of a cluster, or ``None``."""
        return next((item for item in self.readings if item.cluster == cluster), None)


_COMPLETE: Final = derived("complete", constant(True), "The record was written to its end.", get=lambda _: True)
RUN: Final = record_of(FleetRun, _COMPLETE, named=same)


def run_text(run: FleetRun) -> str:
    """The record as JSON, a reading a line."""
    ordered = replace(
        run,
        readings=tuple(sorted(run.readings, key=lambda item: item.cluster)),
        failures=tuple(sorted(run.failures)),
    )
    return document_text({"formatVersion": FORMAT_VERSION, **RUN.write(ordered)}, compact)


def parse_run(text: str) -> FleetRun:
    """The inverse of :func:`run_text`; raises :class:`HeaderError`."""
    with _header_of("the record of the run is damaged"):
        document = load(text)
    with _header_of("the record of the run was written by another version of this program"):
        known_minor(document, FORMAT_VERSION)
    with _header_of("the record of the run is damaged"):
        return RUN.read(document)


@contextmanager
def _header_of(trouble: str) -> Iterator[None]:
    try:
        yield
    except SchemaError as error:
        raise HeaderError(f"{trouble}: {error}") from error


def reading_text(reading: Reading) -> str:
    """One reading as a line of JSON."""
    return compact(READING.write(reading))


def parse_reading(text: str) -> Reading:
    """The inverse of :func:`reading_text`; raises :class:`HeaderError`."""
    with _header_of("the header of a reading is damaged"):
        return READING.read(load(text))


#: Before the line of a failure; no reading's begins so.
_FAILED: Final = "!"


def outcome_text(outcome: Reading | Failure) -> str:
    """What a task says of one cluster, as a line: a reading, or why there is none."""
    return reading_text(outcome) if isinstance(outcome, Reading) else _FAILED + compact(FAILURE.write(outcome))


def tells_failure(line: str) -> bool:
    """Whether a line of :func:`outcome_text` says why there is no reading."""
    return line.startswith(_FAILED)


def parse_outcomes(lines: Iterable[str]) -> tuple[list[Reading], list[Failure]]:
    """The inverse of :func:`outcome_text`, of many clusters; raises :class:`HeaderError`."""
    readings: list[Reading] = []
    failures: list[Failure] = []
    for line in lines:
        if not tells_failure(line):
            readings.append(parse_reading(line))
            continue
        with _header_of("the record of a failure is damaged"):
            failures.append(FAILURE.read(load(line.removeprefix(_FAILED))))
    return readings, failures


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
        counts = (item.counts for item in self.clusters if item.counts is not None)
        object.__setattr__(self, "totals", sum(counts, DriftCounts()))

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
    compared = (
        ClusterDrift(name, counts=total, files=tuple(sorted(set(files.get(name, ())))), doubt=doubts.get(name, ""))
        for name, total in counts.items()
        if name not in failed
    )
    unknown = (ClusterDrift(name, failure=failure) for name, failure in failed.items())
    return tuple(sorted((*compared, *unknown), key=lambda item: item.cluster))


_PART: Final = record_of(PartialDrift, named=same)
_DRIFT: Final = record_of(FleetDrift)
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
    return replace(
        drift, clusters=tuple(replace(cluster, files=files.get(cluster.cluster, ())) for cluster in drift.clusters)
    )
