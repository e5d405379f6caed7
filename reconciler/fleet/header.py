"""The header of a stored reading, which is read before its rows, and the record of a run over many clusters.

A run is atomic: its record is written last, in one piece, and names every file of the run. A cluster that could not be
read is in it with the reason, so it never looks empty.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.codec import (
    ANY_TEXT,
    COUNT,
    TEXT,
    Record,
    SchemaError,
    array,
    compact,
    constant,
    derived,
    document_text,
    field,
    known_minor,
    load,
    mapping,
    record,
)
from reconciler.codec.listings import DECLARED, listings
from reconciler.codec.values import BINDING, KAFKA_VERSION, opaque_codec
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, DesiredItem, FrozenMap, Listing, OpaqueBinding

FORMAT_VERSION: Final = "1.0"


class HeaderError(Exception):
    """A run's record is damaged or of a format that this version does not read."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One file of bindings. ``digest`` is over all rows, ``owned_digest`` over those in scope; ``bytes`` is on disk."""

    file: str
    rows: int
    digest: str
    owned: int
    ignored: int
    owned_digest: str
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """One cluster at one moment. Bucket *n* of *m* is ``buckets[n]``; ``scope`` is the digest of the scope.

    ``topics`` and ``configs`` are files, ``""`` if there is none. Only desired readings have the file ``expired`` and
    ``wanted``, the declared resources of listed kinds by ``KIND`` and key; ``listings`` are the live ones by ``KIND``.
    ``leftovers`` are the live bindings on reserved names, and the bridges that they mark: few, and no comparison of
    buckets finds them. ``notes`` say how it was read otherwise than usual.
    """

    cluster: str
    cluster_id: str
    taken: str
    tool_version: str
    scope: str
    buckets: tuple[Bucket, ...]
    topic_count: int = 0
    topics: str = ""
    configs: str = ""
    expired: str = ""
    opaque: tuple[OpaqueBinding, ...] = ()
    unreadable_topics: Mapping[str, str] = dataclasses.field(default_factory=FrozenMap)
    acl_gap: str | None = None
    topic_gap: str | None = None
    listings: Mapping[str, Listing[Any]] = dataclasses.field(default_factory=FrozenMap)
    kafka_version: tuple[int, int] | None = None
    kafka_version_gap: str | None = None
    metadata_version: int | None = None
    wanted: Mapping[str, Mapping[Any, DesiredItem[Any]]] = dataclasses.field(default_factory=dict)
    leftovers: tuple[AclBinding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many bindings there are."""
        return sum(bucket.rows for bucket in self.buckets)

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of this reading."""
        found = (*(bucket.file for bucket in self.buckets), self.topics, self.configs, self.expired)
        return tuple(name for name in found if name)


@dataclass(frozen=True, slots=True, order=True)
class Failure:
    """A cluster that could not be read, and why; nothing is known about its contents."""

    cluster: str
    code: str
    message: str
    advice: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class FleetRun:
    """One pass over a fleet; ``id`` sorts by time. A cluster is in ``readings`` or in ``failures``, never in both."""

    id: str
    taken: str
    readings: tuple[Reading, ...]
    failures: tuple[Failure, ...] = ()

    def reading(self, cluster: str) -> Reading | None:
        """The reading of a cluster, or ``None``."""
        return next((item for item in self.readings if item.cluster == cluster), None)


_DIGEST: Final = "0" * 64
_BUCKET: Final[Record[Bucket]] = record(
    Bucket,
    field("file", TEXT, "The file, below the store.", "bindings/bucket=0/part.parquet"),
    field("rows", COUNT, "How many bindings it holds.", 1200),
    field("digest", TEXT, "A digest of all rows.", _DIGEST),
    field("owned", COUNT, "How many rows are in scope.", 1000),
    field("ignored", COUNT, "How many rows somebody else manages.", 0),
    field("owned_digest", TEXT, "A digest of the rows in scope.", _DIGEST),
    field("bytes", COUNT, "Its size on disk.", 4096),
)
READING: Final[Record[Reading]] = record(
    Reading,
    field("cluster", TEXT, "The cluster's name.", "prod"),
    field("cluster_id", TEXT, "The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw"),
    field("taken", TEXT, "When it was read.", "2026-11-21T05:17:00Z"),
    field("tool_version", TEXT, "The version that read it.", "0.1.0"),
    field("scope", TEXT, "A digest of the scope.", "0" * 16),
    field("buckets", array(_BUCKET), "The files of its bindings."),
    field("topic_count", COUNT, "How many topics it has.", 40),
    field("topics", TEXT, "The file of its topics.", "topics/part.parquet", default="", omit=True),
    field("configs", TEXT, "The file of its topics' configs.", "configs/part.parquet", default="", omit=True),
    field("expired", TEXT, "The file of what has expired.", "expired/part.parquet", default="", omit=True),
    field("opaque", array(opaque_codec(closed=False)), "Entries that cannot be named.", default=(), omit=True),
    field(
        "unreadable_topics",
        mapping(TEXT),
        "Topics that could not be read: name to reason.",
        default=FrozenMap(),
        omit=True,
    ),
    field("acl_gap", TEXT, "Why the ACLs may be incomplete.", "one broker only", default=None, omit=True),
    field("topic_gap", TEXT, "Why the topics may be incomplete.", "one broker only", default=None, omit=True),
    field("listings", listings(), "What it has of the listed kinds, as in a snapshot.", default=FrozenMap(), omit=True),
    field("kafka_version", KAFKA_VERSION, "The release whose rules it follows.", "4.3", default=None, omit=True),
    field(
        "kafka_version_gap",
        TEXT,
        "Why its release is left open.",
        "an upgrade is not finished",
        default=None,
        omit=True,
    ),
    field("metadata_version", COUNT, "The finalized level of metadata.version.", 32, default=None, omit=True),
    field("wanted", DECLARED, "What is declared of the listed kinds.", default={}, omit=True),
    field("leftovers", array(BINDING), "What runs have there for their own use.", default=(), omit=True),
    field("notes", array(TEXT), "How it was read otherwise than usual.", default=(), omit=True),
)
FAILURE: Final[Record[Failure]] = record(
    Failure,
    field("cluster", TEXT, "The cluster's name.", "prod"),
    field("code", TEXT, "What went wrong, as a stable word.", "timed_out"),
    field("message", ANY_TEXT, "What went wrong, in words.", "no answer in 120 s"),
    field("advice", ANY_TEXT, "What to do.", "Is it reachable from here?"),
    field("attempts", COUNT, "How often it was tried.", 3),
)
RUN: Final[Record[FleetRun]] = record(
    FleetRun,
    field("id", TEXT, "The run's name; names sort by time.", "20261121T051700Z"),
    field("taken", TEXT, "When it began.", "2026-11-21T05:17:00Z"),
    field("readings", array(READING, lines=True), "The clusters that were read."),
    field("failures", array(FAILURE, lines=True), "The clusters that were not."),
    derived("complete", constant(True), "The record was written to its end.", get=lambda _: True),
)


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
    try:
        document = load(text)
        known_minor(document, FORMAT_VERSION)
        return RUN.read(document)
    except SchemaError as error:
        raise HeaderError(f"the record of the run is damaged: {error}") from error


def reading_text(reading: Reading) -> str:
    """One reading as a line of JSON."""
    return compact(READING.write(reading))


def parse_reading(text: str) -> Reading:
    """The inverse of :func:`reading_text`; raises :class:`HeaderError`."""
    try:
        return READING.read(load(text))
    except SchemaError as error:
        raise HeaderError(f"the header of a reading is damaged: {error}") from error


def failure_text(failure: Failure) -> str:
    """One failure as a line of JSON."""
    return compact(FAILURE.write(failure))


def parse_failure(text: str) -> Failure:
    """The inverse of :func:`failure_text`; raises :class:`HeaderError`."""
    try:
        return FAILURE.read(load(text))
    except SchemaError as error:
        raise HeaderError(f"the record of a failure is damaged: {error}") from error
