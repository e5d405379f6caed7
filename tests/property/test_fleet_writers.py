"""Several drivers write their clusters to one store at the same time, in any order of their writes, and are killed.

Whoever reads the store gets of each cluster what was read last, by whatever run: a cluster that is lost, or as it was
before, would look as calm as one in which nothing differs.
"""

import datetime
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest

from reconciler.parts.fleet import store as stores
from reconciler.parts.fleet.membership import without_duplicates
from reconciler.parts.fleet.store import FleetStore, StoreFiles, entries
from reconciler.results.fleet_drift import Bucket, Failure, FleetRun, Reading, parse_run
from tests.contract.memory_files import MemoryFiles
from tests.unit.workflow.killed_fleets import KilledError

_START = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)


class Schedule:
    """Whose turn it is: a driver goes on to its next access to the store, and the test's thread waits until then."""

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.running: int | None = None
        self.waiting: set[int] = set()
        self.killed: set[int] = set()
        self.of_thread: dict[int, int] = {}

    def pause(self) -> None:
        """Before an access: until it is this thread's turn; a killed driver does nothing any more."""
        me = self.of_thread.get(threading.get_ident())
        if me is None:
            return
        with self.turn:
            self.waiting.add(me)
            self.running = None
            self.turn.notify_all()
            self.turn.wait_for(lambda: self.running == me)
            self.waiting.discard(me)
            if me in self.killed:
                raise KilledError(me)

    def resume(self, driver: int, *, kill: bool) -> None:
        """Let a driver go on until it waits again or has ended; with ``kill``, it ends here."""
        with self.turn:
            if kill:
                self.killed.add(driver)
            self.running = driver
            self.turn.notify_all()
            assert self.turn.wait_for(lambda: self.running is None, 30)


class Watched:
    """The files of a store, each access in its turn.

    As object stores and file systems promise: a file is there whole or not, once written it is seen, and a listing has
    what was there when it began. What is written meanwhile it may have or not.
    """

    def __init__(self, files: MemoryFiles, schedule: Schedule, late: Callable[[], bool]) -> None:
        self.files, self.schedule, self.late = files, schedule, late

    def __getattr__(self, name: str) -> Any:
        access = getattr(self.files, name)

        def in_turn(*words: Any) -> Any:
            self.schedule.pause()
            found = access(*words)
            if name in ("names", "names_by_age"):
                self.schedule.pause()
                seen = set(access(*words)) if self.late() else set()
                return sorted(seen | set(found)) if name == "names" else found
            return found

        return in_turn if callable(access) else access


class Driver:
    """One driver: runs over these clusters, one after the other, each with what a snapshot does."""

    def __init__(self, number: int, store: FleetStore, clock: Callable[[], datetime.datetime], plan: Any) -> None:
        self.number, self.store, self.clock = number, store, clock
        self.skew, self.runs = plan
        #: What was said to be read, with the run that read it.
        self.told: dict[str, str] = {}
        self.wholes: list[str] = []

    def perform(self) -> None:
        for clusters, others, keep in self.runs:
            began = stores.run_name(self.store.next_time(self.clock() + datetime.timedelta(seconds=self.skew)))
            run = FleetRun(began, "now", *self._read(began, clusters))
            for reading in run.readings:
                self.store.note(began, reading)
            if others is not _everything:
                self.wholes.append(began)
            self.store.commit(run, others, without_duplicates)
            self.told |= dict.fromkeys(clusters, began)
            if not keep:
                self.store.forget(self.store.run_ids())

    def _read(self, began: str, clusters: Sequence[str]) -> tuple[tuple[Reading, ...], tuple[Failure, ...]]:
        readings, failures = [], []
        for cluster in clusters:
            if cluster == "unread":
                failures.append(Failure(cluster, "timed_out", began))
                continue
            name = self.store.files.write(f"bindings/taken={began}/cluster={cluster}/0.parquet", began.encode())
            readings.append(Reading(cluster, f"id-{cluster}", began, "1", "s", (Bucket(name, 1, "d", 1, 0, "d"),)))
        return tuple(readings), tuple(failures)


_ALL = ("a", "b", "c", "unread")
#: One that no whole run reads: it goes with the next one that begins.
_UNDECLARED = "d"


def _planned(chance: random.Random) -> tuple[int, list[tuple[Sequence[str], Callable[[str], bool] | None, bool]]]:
    """By how many seconds its clock is wrong; of each run the clusters, the others, and if older ones stay."""
    runs: list[tuple[Sequence[str], Callable[[str], bool] | None, bool]] = []
    for _ in range(chance.randint(1, 4)):
        keep = chance.random() < 0.6
        match chance.randrange(4):
            case 0:
                runs.append((_ALL, None, keep))
            case 1:
                runs.append((_ALL[:2], _ALL[2:].__contains__, keep))
            case _:
                runs.append((chance.sample((*_ALL, _UNDECLARED), chance.randint(1, 2)), _everything, keep))
    return chance.choice((0, 0, 30, -20)), runs


def _everything(_: str) -> bool:
    return True


def _steps(chance: random.Random) -> list[tuple[int, int, bool]]:
    """Who goes on, for how many accesses to the store, and whether it is killed then."""
    return [
        (chance.randrange(2), chance.choice((1, 2, 4, 40)), chance.random() < 0.02)
        for _ in range(chance.randint(0, 60))
    ]


@pytest.mark.parametrize("part", range(4))
def test_the_newest_run_has_what_was_read_last_of_every_cluster(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        try:
            _perform(random.Random(seed))
        except BaseException as trouble:
            trouble.add_note(f"seed {seed}")
            raise


def _perform(chance: random.Random) -> None:
    files, schedule, ticks = MemoryFiles(), Schedule(), [0]
    plans, steps = (_planned(chance), _planned(chance)), _steps(chance)
    names: list[str] = []

    def clock() -> datetime.datetime:
        ticks[0] += 1
        return _START + datetime.timedelta(milliseconds=ticks[0])

    def unique(_: int) -> str:
        names.append("")
        return f"{chance.randrange(10)}{len(names):07}"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("secrets.token_hex", unique)
        # A run whose record is pushed aside by this many others is written again: here that happens.
        patched.setattr(stores, "_NAMED_RUNS", 2)
        watched = Watched(files, schedule, lambda: chance.random() < 0.5)
        store = FleetStore(cast("StoreFiles", watched))
        drivers = [Driver(number, store, clock, plan) for number, plan in enumerate(plans)]
        _seed(FleetStore(files))
        _play(drivers, schedule, steps)
        _check(FleetStore(files), drivers)


def _seed(store: FleetStore) -> None:
    began = stores.run_name(_START - datetime.timedelta(hours=1))
    driver = Driver(-1, store, lambda: _START, (0, []))
    store.commit(FleetRun(began, "now", *driver._read(began, _ALL)))


def _play(drivers: Sequence[Driver], schedule: Schedule, steps: Sequence[tuple[int, int, bool]]) -> None:
    troubles: list[BaseException] = []

    def perform(driver: Driver) -> None:
        schedule.of_thread[threading.get_ident()] = driver.number
        try:
            schedule.pause()
            with suppress(KilledError):
                driver.perform()
        except BaseException as trouble:
            troubles.append(trouble)
        finally:
            with schedule.turn:
                schedule.running = None
                schedule.turn.notify_all()

    threads = [threading.Thread(target=perform, args=(driver,), daemon=True) for driver in drivers]
    for thread in threads:
        thread.start()
    with schedule.turn:
        assert schedule.turn.wait_for(lambda: len(schedule.waiting) == len(threads), 30)
    # Behind the given steps, each goes on to its end.
    for number, count, kill in [*steps, (0, 1_000, False), (1, 1_000, False)]:
        for place in range(count):
            if number in schedule.waiting:
                schedule.resume(number, kill=kill and place == count - 1)
    for thread in threads:
        thread.join(30)
    for trouble in troubles:
        if not isinstance(trouble, KilledError):
            raise trouble


def _check(store: FleetStore, drivers: Sequence[Driver]) -> None:
    newest = store.run()
    has = entries(newest)
    records = [parse_run(store.files.read(f"runs/{name}.json").decode()) for name in store.run_ids()]
    assert set(has) >= set(_ALL)
    for cluster in (*_ALL, _UNDECLARED):
        last = max([found[cluster][0] for found in map(entries, records) if cluster in found], default="")
        if cluster == _UNDECLARED and last <= max(began for driver in drivers for began in ("", *driver.wholes)):
            continue
        told = [driver.told[cluster] for driver in drivers if cluster in driver.told]
        assert has[cluster][0] >= max([last, *told]), cluster
    for reading in (reading for reading in newest.readings if reading.cluster in _ALL):
        assert store.files.read(reading.buckets[0].file).decode() == has[reading.cluster][0] == reading.taken
    for failure in newest.failures:
        assert failure.message == has[failure.cluster][0]
