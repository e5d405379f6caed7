"""The readings of a fleet over time, as runs; each run is one record that names its files.

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
from collections.abc import Sequence
from typing import Final, Protocol

from reconciler.dataclass import dataclass
from reconciler.results.fleet_drift import (
    FleetDrift,
    FleetRun,
    HeaderError,
    Reading,
    drift_text,
    parse_drift,
    parse_reading,
    parse_run,
    reading_text,
    run_text,
)

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
    return f"{began:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(2)}"


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


@dataclass(frozen=True, slots=True)
class FleetStore:
    """A store in ``files``; nothing is created before the first run is written."""

    files: StoreFiles

    def run_ids(self) -> list[str]:
        """All runs, the oldest first."""
        return [name.removesuffix(".json") for name in self.files.names("runs") if name.endswith(".json")]

    def run(self, run_id: str | None = None) -> FleetRun:
        """A run, the newest by default; raises :class:`NoRunError`, ``HeaderError`` or ``OSError``."""
        known = self.run_ids()
        if not known:
            raise NoRunError(f"there is no snapshot of a fleet in {self.files.root}")
        if run_id is not None and run_id not in known:
            raise NoRunError(f"there is no run {run_id} in {self.files.root}: there are {', '.join(known)}")
        return parse_run(self.files.read(f"runs/{run_id or known[-1]}.json").decode())

    def before(self, run_id: str) -> str | None:
        """The run before the given one, if there is one."""
        earlier = [known for known in self.run_ids() if known < run_id]
        return earlier[-1] if earlier else None

    def next_time(self, now: datetime.datetime) -> datetime.datetime:
        """The time of a run that begins now: behind every run that is there, so that the one written last is newest.

        Raises :class:`ClockError` where that would be far from ``now``: this clock is wrong, or that of another writer;
        and where no time is behind the name of a run.
        """
        last = next(reversed(self.run_ids()), "")
        newest = _time_of(last)
        if newest is None and last > run_name(now):
            raise ClockError(
                f"runs/{last}.json would count as newer than any run, and no time is in its name: remove it"
            )
        if newest is None or newest < now:
            return now
        if newest - now > _CLOCKS:
            raise ClockError(
                f"runs/{last}.json is of {newest:%Y-%m-%dT%H:%M:%SZ}, and it is {now:%Y-%m-%dT%H:%M:%SZ} by this "
                "clock: correct the clock that is wrong; if it was the other one, remove that file"
            )
        return newest + datetime.timedelta(microseconds=1)

    def commit(self, run: FleetRun) -> None:
        """Write a run's record; from now on the run exists."""
        self.files.write(f"runs/{run.id}.json", run_text(run).encode())
        for begun in self.files.names("begun"):
            if begun <= run.id:
                self.files.remove_directory(f"begun/{begun}")

    def note(self, run_id: str, reading: Reading) -> None:
        """Write down that a run which goes on has read a cluster: another one may go on with it."""
        self.files.write(f"begun/{run_id}/{reading.cluster}.json", reading_text(reading).encode())

    def begun(self) -> tuple[Reading, ...]:
        """What the last run that did not end has read, if none ended since; raises ``HeaderError`` or ``OSError``."""
        known, begun = self.run_ids(), self.files.names("begun")
        if not begun or (known and begun[-1] < known[-1]):
            return ()
        files = (f"begun/{begun[-1]}/{name}" for name in self.files.names(f"begun/{begun[-1]}"))
        return tuple(parse_reading(self.files.read(file).decode()) for file in files)

    def compiled(self, key: str) -> FleetRun | None:
        """The desired state of this key, if it is compiled already."""
        try:
            return parse_run(self.files.read(f"compiled/{key}.json").decode())
        except (FileNotFoundError, DamagedError, HeaderError):
            return None

    def keep_compiled(self, run: FleetRun) -> None:
        """Write the record of a desired state; its id is the key."""
        self.files.write(f"compiled/{run.id}.json", run_text(run).encode())

    def keep_drift(self, name: str, drift: FleetDrift) -> None:
        """Write the result of a comparison next to its differing rows."""
        self.files.write(f"results/run={name}/drift.json", drift_text(drift).encode())

    def drift(self, run_id: str | None = None) -> FleetDrift:
        """The newest comparison, of a run or of any; raises :class:`NoRunError`."""
        for part in reversed(self.files.names_by_age("results")):
            if run_id is None or part.startswith(f"run={run_id}"):
                try:
                    return parse_drift(self.files.read(f"results/{part}/drift.json").decode())
                except FileNotFoundError:
                    continue  # a comparison that was interrupted, or is still running
        raise NoRunError("nothing has been compared yet: run `reconciler fleet drift`")

    def retain(self, kept: Sequence[str]) -> list[str]:
        """Remove all but these runs, and data that none of them names; returns the removed runs.

        Raises ``HeaderError`` before it removes anything if the record of a kept run cannot be read.
        """
        gone = sorted(set(self.run_ids()).difference(kept))
        kept = sorted(kept)
        used = {part for run_id in kept for part in self._data_of(self.run(run_id))}
        for run_id in gone:
            self.files.remove(f"runs/{run_id}.json")
        newest = kept[-1] if kept else ""
        for part in {name for what in _DATA for name in self.files.names(what)}:
            # Data newer than the newest run may belong to a run that is being taken now.
            if part not in used and part.removeprefix("taken=") <= newest:
                self._drop(_DATA, part)
        for part in self.files.names("results"):
            if not any(part.startswith(f"run={run_id}") for run_id in kept):
                self._drop(("results",), part)
        # A desired state can be compiled again.
        for name in self.files.names_by_age("compiled")[:-_MOST_COMPILED]:
            self.files.remove(f"compiled/{name}")
            self._drop(_COMPILED, f"key={name.removesuffix('.json')}")
        return gone

    @staticmethod
    def _data_of(run: FleetRun) -> set[str]:
        return {name.split("/")[1] for reading in run.readings for name in reading.files}

    def _drop(self, kinds: tuple[str, ...], part: str) -> None:
        for what in kinds:
            if part in self.files.names(what):
                self.files.remove_directory(f"{what}/{part}")


# Queries over a whole fleet, as SQL over the views of a store; each says what it counts.

_BINDING: Final = "resource_type, name, pattern_type, principal, host, operation, permission_type"

#: Access that nobody declared, by cluster and principal; of the last comparison.
UNDECLARED: Final = f"""
    select cluster, {_BINDING} from changes where action = 'DeleteAcl' order by cluster, principal, {_BINDING}"""  # noqa: S608
