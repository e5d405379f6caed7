"""What is known of a stored reading before any of its rows is read, and the record of a run over many clusters.

A run is the unit that appears or does not: its record is written last, in one piece, and names every file that belongs
to it. A cluster that could not be read is in it with the reason, never without rows.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.model import FrozenMap, OpaqueBinding

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

    ``topics`` and ``configs`` are files, ``""`` where there is none; ``expired`` is a file of desired readings only.
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
    unreadable_topics: Mapping[str, str] = field(default_factory=FrozenMap)
    acl_gap: str | None = None
    topic_gap: str | None = None

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
    """A cluster that could not be read, and why; nothing is known of what it holds."""

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
        """The reading of a cluster, if there is one."""
        return next((item for item in self.readings if item.cluster == cluster), None)


#: Left out of a header where there is nothing to say.
_OPTIONAL: Final = frozenset(("topics", "configs", "expired", "opaque", "unreadable_topics", "acl_gap", "topic_gap"))


def run_text(run: FleetRun) -> str:
    """The record as JSON, a reading a line."""
    readings = ",\n".join(reading_text(item) for item in sorted(run.readings, key=lambda item: item.cluster))
    failures = ",\n".join(_encode(dataclasses.asdict(item)) for item in sorted(run.failures))
    head = f'"formatVersion":"{FORMAT_VERSION}",\n"id":{_encode(run.id)},\n"taken":{_encode(run.taken)}'
    return f'{{\n{head},\n"readings":[\n{readings}\n],\n"failures":[\n{failures}\n],\n"complete":true\n}}\n'


def parse_run(text: str) -> FleetRun:
    """The inverse of :func:`run_text`; raises :class:`HeaderError`."""
    try:
        document = json.loads(text)
        if str(document["formatVersion"]).partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
            raise HeaderError(f"this version reads format {FORMAT_VERSION}, the run is {document['formatVersion']}")
        return FleetRun(
            document["id"],
            document["taken"],
            tuple(_reading(item) for item in document["readings"]),
            tuple(Failure(**item) for item in document["failures"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeaderError(f"the record of the run is damaged: {error!r}") from error


def reading_text(reading: Reading) -> str:
    """One reading as a line of JSON."""
    plain = {name: _plain(getattr(reading, name)) for name in Reading.__slots__}
    return _encode({name: value for name, value in plain.items() if value or name not in _OPTIONAL})


def parse_reading(text: str) -> Reading:
    """The inverse of :func:`reading_text`; raises :class:`HeaderError`."""
    try:
        return _reading(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeaderError(f"the header of a reading is damaged: {error!r}") from error


def _reading(side: dict[str, Any]) -> Reading:
    return Reading(
        **{
            **side,
            "buckets": tuple(Bucket(**bucket) for bucket in side.get("buckets", ())),
            "opaque": tuple(OpaqueBinding(**entry) for entry in side.get("opaque", ())),
            "unreadable_topics": FrozenMap(side.get("unreadable_topics", {})),
        }
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [dataclasses.asdict(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
