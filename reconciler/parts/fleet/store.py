"""The readings of a fleet over time, as runs; each run is one record that names its files.

Several drivers may write to one store, each its clusters, and any of them may be killed between two writes. A record
takes over what other runs have, and says which runs it took into account; who reads it looks into the others too
(:meth:`FleetStore.run`). So the newest run has the newest reading of every cluster, whoever wrote it.

Layout below the root: ``runs/ID.json``; ``begun/ID/NAME.json`` for each cluster that a run has read, until it is there;
``bindings|topics|configs/taken=ID/cluster=NAME/…`` for live state;
``compiled/KEY.json`` and ``wishes|…/key=KEY/cluster=NAME/…`` for desired state. Files never change once written.

Every file carries a digest: Parquet in its name, JSON as its first field, which covers the file's name too. So a file
that was changed, cut short, or put in another one's place is found when it is read. Whoever may write the store can
write a digest as well. Only ``results`` have none: each comparison writes them again.
"""

import datetime
import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.results import fleet_drift
from reconciler.results.fleet_drift import Failure, FleetDrift, FleetRun, HeaderError, Reading

#: So many desired states are kept.
_MOST_COMPILED: Final = 30
_DATA: Final = ("bindings", "topics", "configs")
_COMPILED: Final = ("wishes", "desired-topics", "desired-configs", "expired")


class NoRunError(Exception):
    """The store has no run, or not the requested one."""


class DamagedError(OSError):
    """A file of the store is not as it was written, or not where it was."""

    def __init__(self, name: str, why: str = "is not as it was written: it was changed, cut short or replaced") -> None:
        """``name`` is that of the file below the store."""
        super().__init__(f"{name} {why}")


class ClockError(OSError):
    """The newest run lies in the future: what is written now would count as older than it."""


#: So far in the future a run may lie: clocks of several machines are never quite alike.
_CLOCKS: Final = datetime.timedelta(seconds=60)
#: A directory of data or results; others put files beside them, such as the markers of S3's tools.
_OURS: Final = re.compile(r"(taken|run)=[\w.-]+")
_NAMED: Final = re.compile(r"(.*)-([0-9a-f]{32})\.parquet", re.DOTALL)
_SEALED: Final = re.compile(rb'\{"digest":"([0-9a-f]{64})",')


def with_digest(name: str, data: bytes) -> tuple[str, bytes]:
    """The name and the bytes of a file with its digest; the bytes of JSON have to be an object with fields."""
    if name.endswith(".parquet") and not name.startswith("results/"):
        return f"{name.removesuffix('.parquet')}-{hashlib.sha256(data).hexdigest()[:32]}.parquet", data
    if name.endswith(".json"):
        return name, b'{"digest":"%s",' % _seal(name, data[1:]) + data[1:]
    return name, data


def checked(name: str, data: bytes) -> bytes:
    """The bytes that were written, of those of a file; raises :class:`DamagedError`."""
    if name.endswith(".parquet") and not name.startswith("results/"):
        named = _NAMED.fullmatch(name)
        if named is None or hashlib.sha256(data).hexdigest()[:32] != named[2]:
            raise DamagedError(name)
    elif name.endswith(".json"):
        sealed = _SEALED.match(data)
        if sealed is None or sealed[1] != _seal(name, data[sealed.end() :]):
            raise DamagedError(name)
        return b"{" + data[sealed.end() :]
    return data


def _seal(name: str, rest: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\0" + rest).hexdigest().encode()


class StoreFiles(Protocol):
    """The files of a store, named by their paths below ``root``. Picklable: tasks on other machines use it.

    Files are written atomically. Reading, writing and removing raise ``OSError``; for a missing file it is
    ``FileNotFoundError``, for one that is not as it was written :class:`DamagedError`.
    """

    @property
    def root(self) -> str:
        """The place, for messages."""
        ...

    def read(self, name: str) -> bytes:
        """All bytes of a file."""
        ...

    def write(self, name: str, data: bytes) -> str:
        """Write or replace a file atomically, with its digest; the name under which it is to be read.

        Creates directories as needed.
        """
        ...

    def names(self, directory: str) -> Sequence[str]:
        """The names in a directory, sorted; empty if there is no directory."""
        ...

    def names_by_age(self, directory: str) -> Sequence[str]:
        """The names in a directory, the oldest first."""
        ...

    def remove(self, name: str) -> None:
        """Remove one file."""
        ...

    def remove_directory(self, directory: str) -> None:
        """Remove a directory and all in it."""
        ...

    def address(self, name: str) -> str:
        """The file as Spark reads it."""
        ...


def run_name(began: datetime.datetime) -> str:
    """The id of a run: sorts by its time, to the microsecond, and is unique all the same."""
    return f"{began:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}"


def _time_of(run_id: str) -> datetime.datetime | None:
    """The time in the id of a run, if there is one."""
    try:
        return datetime.datetime.strptime(run_id[:22], "%Y%m%dT%H%M%S.%f").replace(tzinfo=datetime.UTC)
    except ValueError:
        return None


def thinned(run_ids: Sequence[str], now: datetime.datetime, days: int) -> list[str]:
    """The runs that stay: all of the last ``days``, the first of each day of a year, of each week of seven years.

    The newest one stays in any case, and so does one whose name does not begin with its time.
    """
    stays, seen = [], set[str]()
    for run_id in run_ids:
        if (taken := _time_of(run_id)) is None:
            stays.append(run_id)
            continue
        age = now - taken
        if age <= datetime.timedelta(days=days) or run_id == run_ids[-1]:
            stays.append(run_id)
        elif age <= datetime.timedelta(weeks=7 * 52):
            part = f"{taken:%Y%m%d}" if age <= datetime.timedelta(days=365) else f"{taken:%G-%V}"
            if part not in seen:
                stays.append(run_id)
            seen.add(part)
    return stays


def _behind(name: str) -> str:
    """The name of a run that is newer than this one, by as little as there is."""
    newest = _time_of(name)
    if newest is None:
        raise ClockError(f"runs/{name}.json would count as newer than any run, and no time is in its name: remove it")
    return run_name(newest + datetime.timedelta(microseconds=1))


def _is_settled(name: str, newest: str) -> bool:
    """Whether a run of that name, of which there is no record, is not being taken any more."""
    began, now = _time_of(name), _time_of(newest)
    return name <= newest if began is None or now is None else began + _UNDER_WAY < now


#: What a run has of each cluster, with the name of the run that read it.
Entries: TypeAlias = Mapping[str, tuple[str, Reading | Failure]]

#: So many runs a record takes into account by name; what is older, it takes to be so.
_NAMED_RUNS: Final = 64
#: For so long a run may be under way: what it has written by then is not removed.
_UNDER_WAY: Final = datetime.timedelta(days=1)


def entries(run: FleetRun) -> Entries:
    """What a run has of each cluster."""
    read_by = {cluster: name for name, clusters in run.read_by.items() for cluster in clusters}
    items: Iterable[Reading | Failure] = (*run.readings, *run.failures)
    return {item.cluster: (read_by.get(item.cluster, run.id), item) for item in items}


def newest_entries(first: Entries, *others: Entries) -> Entries:
    """Of each cluster what was read last."""
    newest = dict(first)
    for other in others:
        for cluster, entry in other.items():
            if cluster not in newest or entry[0] > newest[cluster][0]:
                newest[cluster] = entry
    return newest


def _with_entries(run: FleetRun, by_cluster: Entries) -> FleetRun:
    read_by: dict[str, list[str]] = {}
    for cluster, (name, _) in sorted(by_cluster.items()):
        if name != run.id:
            read_by.setdefault(name, []).append(cluster)
    items = [by_cluster[cluster][1] for cluster in sorted(by_cluster)]
    return replace(
        run,
        readings=tuple(item for item in items if isinstance(item, Reading)),
        failures=tuple(item for item in items if isinstance(item, Failure)),
        read_by={name: tuple(clusters) for name, clusters in sorted(read_by.items())},
    )


def _accounts_for(run: FleetRun, name: str) -> bool:
    """Whether this run has what the run of that name has, or what was read later."""
    return name in run.over or (len(run.over) >= _NAMED_RUNS and name < run.over[0])


def _concurrent_runs(run: FleetRun, names: Sequence[str]) -> list[str]:
    """The runs before this one that may have read something later, and that it does not take into account."""
    first = min((name for name, _ in entries(run).values()), default="")
    return [name for name in names if first < name < run.id and not _accounts_for(run, name)]


@dataclass(frozen=True, slots=True)
class FleetStore:
    """A store in ``files``; nothing is created before the first run is written."""

    files: StoreFiles

    def run_ids(self) -> list[str]:
        """All runs, the oldest first."""
        return [name.removesuffix(".json") for name in self.files.names("runs") if name.endswith(".json")]

    def run(self, run_id: str | None = None) -> FleetRun:
        """A run, the newest by default, with what runs before it have that it did not take into account.

        Other drivers wrote those at the same time. Raises :class:`NoRunError`, ``HeaderError`` or ``OSError``.
        """
        while True:
            names = self.run_ids()
            if not names:
                raise NoRunError(f"there is no snapshot of a fleet in {self.files.root}")
            if run_id is not None and run_id not in names:
                raise NoRunError(f"there is no run {run_id} in {self.files.root}: there are {', '.join(names)}")
            try:
                run = self._record(run_id or names[-1])
                others = [self._record(name) for name in _concurrent_runs(run, names)]
            except FileNotFoundError:
                if self.run_ids() == names:
                    raise
                continue  # another driver forgot it meanwhile: a newer run has what it had
            return _with_entries(run, newest_entries(entries(run), *map(entries, others))) if others else run

    def _record(self, run_id: str) -> FleetRun:
        return fleet_drift.parse_run(self.files.read(f"runs/{run_id}.json").decode())

    def before(self, run_id: str) -> str | None:
        """The run before the given one, if there is one."""
        earlier = [name for name in self.run_ids() if name < run_id]
        return earlier[-1] if earlier else None

    def next_time(self, now: datetime.datetime) -> datetime.datetime:
        """The time of a run that begins now: behind every run that is there, so that the one written last is newest.

        Raises :class:`ClockError` where that would be far from ``now``: this clock is wrong, or that of another writer;
        and where no time is behind the name of a run.
        """
        last = next(reversed(self.run_ids()), "")
        newest = _time_of(last)
        if newest is None and last > run_name(now):
            _behind(last)
        if newest is None or newest < now:
            return now
        if newest - now > _CLOCKS:
            raise ClockError(
                f"runs/{last}.json is of {newest:%Y-%m-%dT%H:%M:%SZ}, and it is {now:%Y-%m-%dT%H:%M:%SZ} by this "
                "clock: correct the clock that is wrong; if it was the other one, remove that file"
            )
        return newest + datetime.timedelta(microseconds=1)

    def commit(
        self,
        run: FleetRun,
        carries: Callable[[str], bool] | None = None,
        settle: Callable[[FleetRun], FleetRun] = lambda run: run,
    ) -> FleetRun:
        """Write a run's record; from now on the run exists. The run as it was written.

        It takes over the other clusters that it ``carries``, and those that others have read since it began; ``None``
        is none. ``settle`` has the last word on what both are together. It becomes the newest run: with another name
        if others have ended since it began. Raises :class:`ClockError`, ``HeaderError`` or ``OSError``.
        """
        while True:
            record = settle(self._joined(run, carries))
            self.files.write(f"runs/{record.id}.json", fleet_drift.run_text(record).encode())
            if self._is_seen(record.id):
                break
        self._end_begun(record, {run.id, *run.read_by})
        return record

    def _end_begun(self, record: FleetRun, taken: set[str]) -> None:
        """Remove what was noted of runs that do not go on; the record is there, whatever becomes of that."""
        with suppress(OSError):
            for begun in self.files.names("begun"):
                if begun in taken or _is_settled(begun, record.id):
                    with suppress(OSError):  # not every login may remove something, and it may be somebody else's file
                        self.files.remove_directory(f"begun/{begun}")

    def _joined(self, run: FleetRun, carries: Callable[[str], bool] | None) -> FleetRun:
        names = self.run_ids()
        name = _behind(names[-1]) if names and names[-1] >= run.id else run.id
        own = entries(run)
        if carries is None or not names:
            # What ended since it began counts all the same, for this one does not take it into account.
            over = [other for other in names if other < run.id]
        else:
            over = names
            others = entries(self.run())
            own = newest_entries(
                own, {cluster: entry for cluster, entry in others.items() if carries(cluster) or entry[0] > run.id}
            )
        return replace(_with_entries(replace(run, id=name), own), over=tuple(over[-_NAMED_RUNS:]))

    def _is_seen(self, name: str) -> bool:
        """Whether who reads the newest run looks at this one: not if very many were written while this one was."""
        newest = self._newest_record()
        return newest.id <= name or name in newest.over or not _accounts_for(newest, name)

    def _newest_record(self) -> FleetRun:
        while True:
            newest = self.run_ids()[-1]
            try:
                return self._record(newest)
            except FileNotFoundError:  # another driver forgot it meanwhile, and there is a newer one
                if self.run_ids()[-1] == newest:
                    raise

    def note(self, run_id: str, reading: Reading) -> None:
        """Write down that a run which goes on has read a cluster: another one may go on with it."""
        with suppress(FileNotFoundError):  # another one has gone on with it already
            self.files.write(f"begun/{run_id}/{reading.cluster}.json", fleet_drift.reading_text(reading).encode())

    def begun(self) -> Mapping[str, tuple[str, Reading]]:
        """What runs that did not end have read later than the newest one, by cluster, with the run that read it.

        Raises ``HeaderError`` or ``OSError``.
        """
        has = entries(self.run()) if self.run_ids() else {}
        readings: dict[str, tuple[str, Reading]] = {}
        for begun in self.files.names("begun"):
            for file in self.files.names(f"begun/{begun}"):
                reading = fleet_drift.parse_reading(self.files.read(f"begun/{begun}/{file}").decode())
                if reading.cluster not in has or has[reading.cluster][0] < begun:
                    readings[reading.cluster] = begun, reading
        return readings

    def compiled(self, key: str) -> FleetRun | None:
        """The desired state of this key, if it is compiled already."""
        try:
            return fleet_drift.parse_run(self.files.read(f"compiled/{key}.json").decode())
        except (FileNotFoundError, DamagedError, HeaderError):
            return None

    def keep_compiled(self, run: FleetRun) -> None:
        """Write the record of a desired state; its id is the key."""
        self.files.write(f"compiled/{run.id}.json", fleet_drift.run_text(run).encode())

    def keep_drift(self, name: str, drift: FleetDrift) -> None:
        """Write the result of a comparison next to its differing rows."""
        self.files.write(f"results/run={name}/drift.json", fleet_drift.drift_text(drift).encode())

    def drift(self, run_id: str | None = None) -> FleetDrift:
        """The newest comparison, of a run or of any; raises :class:`NoRunError`."""
        for part in reversed(self.files.names_by_age("results")):
            if _OURS.fullmatch(part) and part.startswith(f"run={run_id or ''}"):
                try:
                    return fleet_drift.parse_drift(self.files.read(f"results/{part}/drift.json").decode())
                except FileNotFoundError:
                    continue  # a comparison that was interrupted, or is still running
        raise NoRunError("nothing has been compared yet: run `reconciler fleet drift`")

    def forget(self, names: Iterable[str]) -> list[str]:
        """Remove these runs, and data that no other one names; returns the removed runs.

        The newest one stays, and what it does not take into account. So does what was written in the meantime, and what
        belongs to a run that is being taken. Raises ``HeaderError`` before it removes anything if the record of a run
        cannot be read.
        """
        # In this order: of data or a result that is listed, the record is listed too.
        parts = {name for what in _DATA for name in self.files.names(what) if _OURS.fullmatch(name)}
        results = [name for name in self.files.names("results") if _OURS.fullmatch(name)]
        ids = self.run_ids()
        if not ids:
            return []
        newest = self._newest_record()
        gone = sorted(set(names).intersection(ids).difference({ids[-1], newest.id, *_concurrent_runs(newest, ids)}))
        ended = {part for run_id in gone for part in self._data_of(run_id)}
        kept = sorted(set(ids).difference(gone))
        used = {part for run_id in kept for part in self._data_of(run_id)}
        for run_id in gone:
            with suppress(FileNotFoundError):
                self.files.remove(f"runs/{run_id}.json")
        for part in parts - used:
            if part in ended or _is_settled(part.removeprefix("taken="), newest.id):
                self._drop(_DATA, part)
        for part in results:
            if not any(part.startswith(f"run={run_id}") for run_id in kept):
                self._drop(("results",), part)
        # A desired state can be compiled again.
        compiled = [name for name in self.files.names_by_age("compiled") if name.endswith(".json")]
        for name in compiled[:-_MOST_COMPILED]:
            self.files.remove(f"compiled/{name}")
            self._drop(_COMPILED, f"key={name.removesuffix('.json')}")
        return gone

    def _data_of(self, run_id: str) -> set[str]:
        """The directories with what a run has; none if another driver forgot it meanwhile."""
        try:
            return {name.split("/")[1] for reading in self._record(run_id).readings for name in reading.files}
        except FileNotFoundError:
            return set()

    def _drop(self, kinds: tuple[str, ...], part: str) -> None:
        for what in kinds:
            if part in self.files.names(what):
                with suppress(FileNotFoundError):
                    self.files.remove_directory(f"{what}/{part}")


# Queries over a whole fleet, as SQL over the views of a store; each says what it counts.

_BINDING: Final = "resource_type, name, pattern_type, principal, host, operation, permission_type"

#: Access that nobody declared, by cluster and principal; of the last comparison.
UNDECLARED: Final = f"""
    select cluster, {_BINDING} from changes where action = 'DeleteAcl' order by cluster, principal, {_BINDING}"""  # noqa: S608
