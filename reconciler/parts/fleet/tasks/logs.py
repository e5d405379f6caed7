"""Logs of many clusters: scanned in tasks, counted by cluster, asked a task a cluster.

What goes from task to task are different decisions with their counts, not lines.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import pyarrow as pa
from pyarrow import fs

from reconciler.access.authorizer import Authorizer
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, OpaqueBinding
from reconciler.model.flavor import KafkaVersion
from reconciler.model.scope import Scope
from reconciler.parts.evidence.usage.cluster import (
    ClusterUsage,
    UsageAnalysis,
    UsageQuestion,
)
from reconciler.parts.evidence.usage.counts import DatedCount, EventCount
from reconciler.parts.evidence.usage.message import Event, Window
from reconciler.parts.evidence.usage.scan import MAX_LINE, Scan, Summary, batches, summary_of
from reconciler.parts.fleet.engine import BYTES_IN_A_TASK, Engine, Groups, reason
from reconciler.parts.fleet.readings import bucket_rows
from reconciler.parts.fleet.store import StoreFiles
from reconciler.parts.fleet.tables import binding_of, from_parquet, table_rows
from reconciler.results.access import ClaimedFacts
from reconciler.results.fleet_drift import Reading

# Log files: where they are, in which parts they are read, and their lines; packed or not, whole or damaged.

#: Larger files are read in parts of this size, if they are not packed.
PART_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 16 * 1024 * 1024
#: Where a packed file breaks off, the piece in which it does is lost: pieces are small.
_PACKED_CHUNK: Final = 64 * 1024
#: By how they begin: rotation renames files, so names say little.
_PACKED: Final = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\x28\xb5\x2f\xfd", "zstd"))
_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True, order=True)
class LogPart:
    """The lines of a file that begin in a range of its bytes; of an unnamed cluster where the lines say of which.

    ``end`` is ``None`` where the file is read to its end.
    """

    cluster: str
    file: str
    start: int
    end: int | None
    size: int


def find_parts(cluster: str, place: str, *, deep: bool = True) -> list[LogPart]:
    """The parts of a file, of all files below a directory (or, not ``deep``, in it), or of those that a pattern names.

    Raises ``FileNotFoundError`` if there are none, and ``OSError``.
    """
    system, path = _opened(place)
    info = None if _WILD.intersection(path) else system.get_file_info(path)
    if info is not None and info.type is fs.FileType.File:
        entries = [info]
    elif info is not None and info.type is fs.FileType.Directory:
        entries = system.get_file_info(fs.FileSelector(path, recursive=deep))
    elif info is None:
        base = path[: min(path.find(sign) for sign in _WILD if sign in path)].rpartition("/")[0]
        selector = fs.FileSelector(base or "/", recursive=True, allow_not_found=True)
        entries = [item for item in system.get_file_info(selector) if fnmatchcase(item.path, path)]
    else:
        raise FileNotFoundError(f"there is no {place}")
    files = [item for item in entries if item.type is fs.FileType.File and not item.base_name.startswith(".")]
    if not files and deep:
        raise FileNotFoundError(f"there are no files in {place}")
    prefix = _prefix(place)
    return sorted(part for item in files for part in _parts(system, cluster, prefix, item))


def directories(place: str) -> list[str]:
    """The names of the directories in a directory, in order; raises ``OSError``."""
    system, path = _opened(place)
    entries = system.get_file_info(fs.FileSelector(path))
    return sorted(item.base_name for item in entries if item.type is fs.FileType.Directory)


def line_batches(part: LogPart) -> Iterator[list[bytes]]:
    """The lines, some megabytes at a time, without their line feeds; what is longer than any line may be is cut.

    Raises ``OSError`` where the file cannot be read, or not further; what came before it is good.
    """
    system, path = _opened(part.file)
    with system.open_input_file(path) as file:
        packed = _packing(file.read(4))
        file.seek(0)
        if packed is not None:
            with pa.CompressedInputStream(file, packed) as stream:
                yield from batches(lambda _: bytes(stream.read(_PACKED_CHUNK)), _PACKED_CHUNK)
            return
        yield from batches(_ranged(file, part), _CHUNK)


def _parts(system: Any, cluster: str, prefix: str, item: Any) -> Iterator[LogPart]:
    address, size = f"{prefix}{item.path}", int(item.size or 0)
    if size <= PART_BYTES or _is_packed(system, item.path):
        yield LogPart(cluster, address, 0, None, size)
        return
    for start in range(0, size, PART_BYTES):
        end = min(start + PART_BYTES, size)
        yield LogPart(cluster, address, start, None if end == size else end, end - start)


def _is_packed(system: Any, path: str) -> bool:
    with system.open_input_file(path) as file:
        return _packing(file.read(4)) is not None


def _packing(beginning: bytes) -> str | None:
    return next((name for sign, name in _PACKED if beginning.startswith(sign)), None)


def _ranged(file: Any, part: LogPart) -> Callable[[int], bytes]:
    """A reader of the lines that begin in the part: from the first line feed before it to the first one after it."""
    if part.start:
        file.seek(part.start - 1)
        _skip_line(file)
    done = part.end is not None and file.tell() >= part.end

    def read(size: int) -> bytes:
        nonlocal done
        if done:
            return b""
        if part.end is None:
            return bytes(file.read(size))
        remaining = part.end - file.tell()
        if remaining > 0:
            data = bytes(file.read(min(size, remaining)))
            done = not data or (remaining <= size and data.endswith(b"\n"))
            return data
        done = True
        return _rest_of_line(file)

    return read


def _skip_line(file: Any) -> None:
    while data := file.read(_CHUNK):
        place = data.find(b"\n")
        if place >= 0:
            file.seek(file.tell() - len(data) + place + 1)
            return


def _rest_of_line(file: Any) -> bytes:
    """Up to the next line feed, or so much that the line is too long anyway."""
    head, _, _ = bytes(file.read(MAX_LINE + 1)).partition(b"\n")
    return head


def _opened(place: str) -> tuple[Any, str]:
    if "://" in place:
        system, path = fs.FileSystem.from_uri(place)
        return system, path
    return fs.LocalFileSystem(), str(Path(place).absolute())


def _prefix(place: str) -> str:
    """What makes a path an address again."""
    if "://" not in place:
        return ""
    _, path = fs.FileSystem.from_uri(place)
    return place[: len(place) - len(path)] if path and place.endswith(path) else ""


def total(parts: Iterable[LogPart]) -> int:
    """All bytes, as they are on disk."""
    return sum(part.size for part in parts)


S = TypeVar("S")
R = TypeVar("R")
#: A scan hands on what it holds when it holds so many different decisions.
_MOST_HELD: Final = 100_000
#: The number of a cluster, and a decision; ``None`` for what is to be said of the reading itself.
_Key: TypeAlias = tuple[int, Event | None]
#: A decision and its :class:`EventCount`, or :class:`DatedCount` where days are kept; or ``None`` and a Summary.
Counted: TypeAlias = tuple[Event | None, Any]


class Days(NamedTuple):
    """Days with decisions of one cluster, each with whether something was permitted."""

    cluster_id: str
    days: frozenset[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class CountedLogs:
    """The decisions of clusters, by their numbers; they are counted when something is asked of them.

    ``nobody`` is the number for what lines of no known cluster came to.
    """

    groups: Groups
    nobody: int

    def ask(self, subjects: Sequence[S], work: Callable[[S, Iterable[Counted]], R]) -> tuple[list[R], Summary]:
        """What ``work`` makes of each cluster, a task each; and the summary of nobody's lines.

        ``subjects`` are the clusters in the order in which they were counted.
        """
        *results, unassigned = self.groups.ask(partial(_asked, subjects=subjects, work=work))
        return cast("list[R]", results), cast("Summary", unassigned)

    def kept(self) -> AbstractContextManager[None]:
        """Count once while several things are asked, not for each of them again."""
        return self.groups.kept()


def counted_logs(
    engine: Engine,
    parts: Sequence[LogPart],
    clusters: Sequence[tuple[str, str]],
    window: Window,
    *,
    by_day: bool = False,
) -> CountedLogs:
    """The decisions in all parts, by cluster; ``clusters`` are names with ids, where these are known.

    ``by_day`` keeps the days of each decision.
    """
    numbers = {name: number for number, (name, _) in enumerate(clusters)}
    ids = {cluster_id: number for number, (_, cluster_id) in enumerate(clusters) if cluster_id}
    nobody = len(clusters)
    lists = engine.shared_out(parts, BYTES_IN_A_TASK, [part.size for part in parts])
    work = partial(_scan_all, window=window, by_day=by_day, assigned=_Assignment(numbers, ids, nobody))
    return CountedLogs(engine.grouped(lists, work, nobody + 1, "count decisions in logs"), nobody)


def trouble(error: Exception) -> str:
    """Why a cluster could not be judged, in a few words."""
    return f"{reason(error)}: {error}" if isinstance(error, OSError) else reason(error)


def _asked(
    number: int, chunks: Sequence[bytes], *, subjects: Sequence[S], work: Callable[[S, Iterable[Counted]], R]
) -> object:
    counted: dict[Event | None, Any] = {}
    for chunk in chunks:
        for event, count in pickle.loads(chunk).items():  # noqa: S301 - of a task of ours
            counted[event] = counted[event] + count if event in counted else count
    if number == len(subjects):
        return counted.get(None, Summary())
    return work(subjects[number], counted.items())


def _scan_all(
    parts: Sequence[LogPart], attempt: str, *, window: Window, by_day: bool, assigned: "_Assignment"
) -> Iterator[tuple[int, bytes]]:
    counted: dict[int, dict[Event | None, Any]] = {}
    different = 0
    for part in parts:
        for (number, event), count in assigned.of(part.cluster, scan_part(part, window, by_day=by_day)):
            of_cluster = counted.setdefault(number, {})
            different += event not in of_cluster
            of_cluster[event] = of_cluster[event] + count if event in of_cluster else count
            if different > _MOST_HELD:
                yield from _chunks(counted)
                counted, different = {}, 0
    yield from _chunks(counted)


def _chunks(counted: Mapping[int, Mapping[Event | None, Any]]) -> Iterator[tuple[int, bytes]]:
    return ((number, pickle.dumps(of_cluster)) for number, of_cluster in counted.items())


@dataclass(frozen=True, slots=True)
class _Assignment:
    """Clusters by their numbers: by name, and by id where that is known; ``nobody`` is the number of no known one."""

    numbers: Mapping[str, int]
    ids: Mapping[str, int]
    nobody: int

    def of(
        self, cluster: str, counts: Iterable[tuple[Event, EventCount | DatedCount] | Days | Summary]
    ) -> Iterator[tuple[_Key, Any]]:
        """What a part told, by the number of the cluster that it is about: the part's own, or the one events name."""
        own, ids, nobody = self.numbers.get(cluster), self.ids, self.nobody
        own_id_known = own in ids.values()

        def number_of(cluster_id: str) -> int:
            if own is None:
                return ids.get(cluster_id, nobody)
            return nobody if own_id_known and cluster_id and ids.get(cluster_id) != own else own

        foreign = 0
        for item in counts:
            if isinstance(item, Summary):
                yield (nobody if own is None else own, None), item._replace(foreign=foreign)
            elif isinstance(item, Days):
                if (number := number_of(item.cluster_id)) != nobody:
                    yield (number, None), Summary(days=item.days)
            else:
                event, tally = item
                if (number := number_of(event.cluster_id)) != nobody:
                    yield (number, event._replace(cluster_id="")), tally
                else:
                    foreign += tally.times


def scan_part(
    part: LogPart, window: Window, *, by_day: bool = False
) -> Iterator[tuple[Event, EventCount | DatedCount] | Days | Summary]:
    """The counted decisions of one part, the days with any by cluster, and last what reading it was like."""
    scan, broken = Scan(window, by_day=by_day), ""
    try:
        for lines in line_batches(part):
            scan.take(lines)
            if scan.size > _MOST_HELD:
                yield from _drained(scan, by_day=by_day)
    except OSError as error:
        broken = f"{part.file}: after {scan.lines:,} lines: {error}"
    yield from _drained(scan, by_day=by_day)
    yield from (Days(cluster_id, frozenset(days)) for cluster_id, days in scan.days.items())
    yield summary_of(scan, part.file, broken)


def _drained(scan: Scan, *, by_day: bool) -> Iterator[tuple[Event, EventCount | DatedCount]]:
    if not by_day:
        yield from scan.drain()
        return
    yield from ((event, DatedCount(count, days)) for event, count, days in scan.drain_by_day())


# Use and refusals of many clusters: their logs counted, and each cluster judged by a task.
#
# A task that judges holds the cluster's bindings, and what was refused.


@dataclass(frozen=True, slots=True)
class LoggedCluster:
    """One cluster that is judged: by what was read of it, or by what is desired of it where nothing was.

    ``claimed`` are those of its facts that only manifests state. ``added`` and ``removed`` are a plan's; ``to_desired``
    asks for the change to what the manifests want in scope.
    """

    cluster: str
    cluster_id: str = ""
    live: Reading | None = None
    desired: Reading | None = None
    scope: Scope = Scope()
    super_users: frozenset[str] = frozenset()
    default_allow: bool | None = None
    kafka_version: KafkaVersion | None = None
    claimed: ClaimedFacts = ClaimedFacts()
    to_desired: bool = False
    planned: bool = False
    added: tuple[AclBinding, ...] = ()
    removed: tuple[AclBinding, ...] = ()


@dataclass(frozen=True, slots=True)
class LogFindings:
    """What logs show of each cluster, in order; ``unassigned`` is what lines of no known cluster came to."""

    clusters: tuple[ClusterUsage, ...]
    unassigned: Summary


def read_logs(
    engine: Engine,
    files: StoreFiles,
    parts: Sequence[LogPart],
    subjects: Sequence[LoggedCluster],
    question: UsageQuestion,
) -> LogFindings:
    """Scan all parts and judge every subject; a cluster that cannot be judged says why."""
    clusters = [(subject.cluster, subject.cluster_id) for subject in subjects]
    logs = counted_logs(engine, parts, clusters, question.window)
    usages, unassigned = logs.ask(subjects, partial(_judge, files=files, question=question))
    return LogFindings(tuple(sorted(usages, key=lambda item: item.cluster)), unassigned)


def _judge(
    subject: LoggedCluster, counted: Iterable[Counted], *, files: StoreFiles, question: UsageQuestion
) -> ClusterUsage:
    try:
        return _judged(subject, counted, files, question)
    except Exception as error:  # one cluster's trouble must not hide the others
        return ClusterUsage(subject.cluster, trouble(error))


def _judged(
    subject: LoggedCluster, counted: Iterable[Counted], files: StoreFiles, question: UsageQuestion
) -> ClusterUsage:
    origins = desired_bindings(files, subject.desired) if subject.desired else {}
    live, opaque = live_bindings(subject, files)
    bindings = origins.keys() if live is None else live
    before = Authorizer(bindings, subject.super_users, subject.default_allow, subject.kafka_version, opaque=opaque)
    after = _after(subject, before, frozenset(bindings), origins)
    judge = UsageAnalysis(subject.cluster, question, before, after, subject.claimed)
    for event, count in counted:
        if event is None:
            judge.note(count)
        else:
            judge.see(event, count)
    return judge.result(origins)


def desired_bindings(files: StoreFiles, reading: Reading) -> dict[AclBinding, str]:
    """The bindings that are desired, each with where it is declared."""
    declared: dict[AclBinding, str] = {}
    for bucket in reading.buckets:
        table = from_parquet(files.read(bucket.file))
        origins = table["origin"].to_pylist()
        declared.update(zip(map(binding_of, table_rows(table)), origins, strict=True))
    return declared


def live_bindings(
    subject: LoggedCluster, files: StoreFiles
) -> tuple[set[AclBinding] | None, tuple[OpaqueBinding, ...]]:
    """The bindings that were read, and what could not be named; ``None`` where nothing was read.

    Of what is on reserved names, a reading has rows of what grants something.
    """
    if subject.live is None:
        return None, ()
    return {
        binding_of(row) for bucket in subject.live.buckets for row in bucket_rows(files, bucket)
    }, subject.live.opaque


def _after(
    subject: LoggedCluster, before: Authorizer, now: frozenset[AclBinding], desired: Mapping[AclBinding, str]
) -> Authorizer | None:
    if subject.planned:
        return before.with_changes(subject.added, subject.removed)
    if not subject.to_desired:
        return None
    return before.with_changes(
        [binding for binding in desired if binding not in now],
        [binding for binding in now if subject.scope.owns(binding) and binding not in desired],
    )
