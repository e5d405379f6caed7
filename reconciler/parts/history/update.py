"""Keeps readings of a cluster in the store, and brings a table of intervals up to date with them.

A reading is new where something differs; else the newest one still holds. The table takes in readings of the store and
lines of audit logs that it has not seen. A line counts once a reading that ended later is there, which checks it. A log
that comes late is taken in as long as the readings of its time are there.
"""

import datetime
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.app.options import now
from reconciler.app.reasons import WorkflowError
from reconciler.app.session import Target
from reconciler.app.terms import stated_facts
from reconciler.apply.audit import line_digest, log_of
from reconciler.codec.document import compact, load
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.model.desired import moment_text
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.readings import Place, read_live, write_live
from reconciler.parts.fleet.store import FleetStore, NoRunError, run_name, thinned
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.history.evidence import ACLS, DeedReader, Deeds, ReadingSeries, SeenState, facts_of, seconds
from reconciler.parts.history.intervals import CLOCKS, Fact, FactSighting, Interval, intervals
from reconciler.parts.history.table import Choice, FactRow, IntervalTable, TableCoverage, TableError
from reconciler.ports import ClusterError, ReadRequest
from reconciler.results.audit import LogLine, broken_at, log_lines
from reconciler.results.fleet_drift import FleetRun, HeaderError, Reading

#: The directory with a file for each cluster that says until when its newest reading held.
CONFIRMED: Final = "confirmed"


_ASK_AUDIT: Final = "from there on it does not count; audit verify says more"


class NoReadingError(Exception):
    """The store has no reading of the cluster; ``str()`` says so."""


@dataclass(slots=True)
class History:
    """What is known of a cluster's past: intervals, what they rest on, and what is to be said of their sources.

    ``unwritten`` are all intervals, where the table could not be written.
    """

    coverage: TableCoverage
    table: IntervalTable
    notes: Sequence[str] = ()
    unwritten: Sequence[FactRow] | None = None

    def rows(self, choice: Choice | None = None) -> Sequence[FactRow]:
        """All intervals, or those that a choice leaves, and perhaps others."""
        return self.table.rows(choice) if self.unwritten is None else self.unwritten


def history_of(
    store: FleetStore, cluster: str, logs: Mapping[str, Sequence[bytes]], known_at: int, *, keep: bool = True
) -> History:
    """The table of a cluster, with what is new taken in; it is written with ``keep``, where that is permitted.

    ``logs`` are the lines of audit logs, by file. Raises :class:`NoReadingError`, ``HeaderError``, ``TableError``,
    ``LogsError`` and ``OSError``.
    """
    ids = store.files.names(f"intervals/cluster={cluster}")
    cluster_id = _newest_id(store, cluster) or (ids[-1].removeprefix("id=") if ids else None)
    if cluster_id is None:
        names = sorted({reading.cluster for run_id in store.run_ids()[-1:] for reading in store.run(run_id).readings})
        others = f": it has {', '.join(names)}" if names else ": there is none of any cluster in it"
        raise NoReadingError(f"the store {store.files.root} has no reading of cluster {cluster}{others}")
    table = IntervalTable(store.files, cluster, cluster_id)
    notes = [
        f"the name {cluster} was once that of another cluster, {other.removeprefix('id=')}: its past is not this one's"
        for other in ids
        if other != f"id={cluster_id}"
    ]
    before = table.coverage() or TableCoverage(cluster_id)
    return _Taking(store, table, before, notes).take(logs, known_at, keep=keep)


def _newest_id(store: FleetStore, cluster: str) -> str | None:
    for run_id in reversed(store.run_ids()):
        if (reading := store.run(run_id).reading(cluster)) is not None:
            return reading.cluster_id
    return None


class _NewLine(NamedTuple):
    """A line that was not taken in, its time, and its number and digest in its file."""

    line: LogLine
    time: int
    number: int
    digest: str


@dataclass(slots=True)
class _Taking:
    store: FleetStore
    table: IntervalTable
    before: TableCoverage
    notes: list[str]

    def take(self, logs: Mapping[str, Sequence[bytes]], known_at: int, *, keep: bool) -> History:
        """Take in what is new."""
        before = self.before
        new = list(self._new_lines(logs))
        if (same := self._unchanged(new)) is not None:
            return same
        rows_before = self.table.rows() if before.run else []
        readings = list(self._stored(self._since(new)))
        seen = ReadingSeries()
        for state in self._states(readings):
            seen.add(state)
        last = {**before.last, **{kind: of_kind.times[-1] for kind, of_kind in seen.kinds.items()}}
        deeds, taken, times = self._deeds(new, last[ACLS][1] if ACLS in last else 0)
        pending = {row.fact for row in rows_before if row.interval.is_open}
        affected = seen.changed() | set(deeds.sightings) | pending
        first = {**{kind: of_kind.times[0] for kind, of_kind in seen.kinds.items()}, **before.first}
        added, rows = self._derived(affected, seen, deeds, rows_before)
        if not before.run:
            rows += (row for row in _unchanged(seen) if row.fact not in affected)
        run, reading = readings[-1] if readings else (before.run, None)
        all_rows = [*(row for row in rows_before if row.fact not in affected), *rows]
        coverage = replace(
            before,
            first=first,
            last=last,
            reading=reading.taken if reading is not None else before.reading,
            run=run,
            logs=taken,
            times=times,
            runs=_runs({**before.runs, **deeds.runs}, all_rows),
            scanned=max(self.store.run_ids(), default=before.scanned),
            open=sum(row.interval.is_open for row in all_rows),
        )
        if not rows and replace(coverage, last=before.last) == before:
            return History(coverage, self.table, self.notes)
        if keep:
            with suppress(PermissionError):
                self.table.add(rows, added, coverage, known_at)
                return History(coverage, self.table, self.notes)
        return History(coverage, self.table, self.notes, all_rows)

    def _unchanged(self, new: Sequence[_NewLine]) -> History | None:
        """The table as it is, where there is nothing new to take in but that the newest reading still holds."""
        before, ids = self.before, self.store.run_ids()
        confirmed = confirmed_until(self.store, self.table.cluster)
        still = confirmed is not None and confirmed[0] == before.reading
        if not before.run or (ids and ids[-1] > before.scanned) or new or (still and before.open):
            return None
        if not still or confirmed is None:
            return History(before, self.table, self.notes)
        bounds = (confirmed[1] - CLOCKS, confirmed[2] + 1 + CLOCKS)
        last = {kind: max(time, bounds) for kind, time in before.last.items()}
        return History(replace(before, last=last), self.table, self.notes)

    def _derived(
        self, affected: set[Fact], seen: ReadingSeries, deeds: Deeds, rows_before: Sequence[FactRow]
    ) -> tuple[dict[Fact, list[FactSighting]], list[FactRow]]:
        """The sightings of these facts that are new, and their intervals from all of them."""
        kept = self.table.sightings(affected) if self.before.run and affected else {}
        base = {row.fact for row in rows_before if row.interval.from_lo is None}
        tickets = {(row.interval.began.run, row.fact): row.ticket for row in rows_before if row.ticket} | deeds.tickets
        added: dict[Fact, list[FactSighting]] = {}
        rows: list[FactRow] = []
        for fact in sorted(affected, key=repr):
            old = set(kept.get(fact, ()))
            new = {*deeds.sightings.get(fact, ()), *deeds.attempts.get((fact[0], str(fact[1])), ())}
            new |= set(seen.sightings(fact, new | old))
            if fact[0] in self.before.first:
                new.add(FactSighting(*self.before.first[fact[0]], fact in base))
            added[fact] = sorted(new - old, key=lambda sighting: (sighting.lo, sighting.hi, sighting.number))
            held = intervals(old | new)
            rows += (FactRow(fact, interval, tickets.get((interval.began.run, fact), "")) for interval in held)
        return added, rows

    def _since(self, new: Sequence[_NewLine]) -> str:
        """The run of the store from which on readings are needed: the last one, or an earlier one for late lines."""
        earliest = min((line.time for line in new), default=None)
        if not self.before.run or earliest is None or earliest - 2 * CLOCKS > self.before.begin_of_last:
            return self.before.run
        wanted = datetime.datetime.fromtimestamp(max(0, earliest - 2 * CLOCKS), datetime.UTC)
        ids = [run_id for run_id in self.store.run_ids() if run_id < f"{wanted:%Y%m%dT%H%M%S}"]
        return min(ids[-1], self.before.run) if ids else ""

    def _stored(self, since: str) -> Iterator[tuple[str, Reading]]:
        """The readings of the cluster from a run on, each once, by the run that has it."""
        last: Reading | None = None
        for run_id in self.store.run_ids():
            reading = self.store.run(run_id).reading(self.table.cluster) if run_id >= since else None
            if reading is not None and reading != last and reading.cluster_id == self.before.cluster_id:
                last = reading
                yield run_id, reading

    def _states(self, readings: Sequence[tuple[str, Reading]]) -> Iterator[SeenState]:
        """What the readings saw, and once more what they saw where they were confirmed later."""
        confirmed = confirmed_until(self.store, self.table.cluster)
        before: SeenState | None = None
        for _, reading in readings:
            facts = facts_of(read_live(self.store.files, reading))
            if before is not None and reading.unchanged_until:
                again = seconds(reading.unchanged_until)
                if again > before.began:
                    yield SeenState(again, again, before.facts)
            began = seconds(reading.taken)
            before = SeenState(began, max(began, seconds(reading.ended)) if reading.ended else began, facts)
            yield before
            if confirmed is not None and confirmed[0] == reading.taken and confirmed[1] > began:
                yield SeenState(confirmed[1], confirmed[2], facts)

    def _new_lines(self, logs: Mapping[str, Sequence[bytes]]) -> Iterator[_NewLine]:
        """The lines of logs that were not taken in; a log of which lines are gone or changed is named and left."""
        offsets: dict[str, int] = {}
        new: dict[str, Sequence[bytes]] = {}
        for file, whole in logs.items():
            lines = whole
            log = next((identity.id for line in lines if (identity := log_of(line)) is not None), "")
            count, digest = self.before.logs.get(log, (0, ""))
            if (broken := broken_at(lines)) is not None:
                # The line before it may be the one that was changed.
                self.notes.append(f"{file}: line {broken} does not follow the one before: {_ASK_AUDIT}")
                lines = whole[: max(0, broken - 2)]
                if len(lines) <= count:
                    continue
            if len(lines) < count:
                self.notes.append(f"{file} has {len(lines)} lines, and {count} were taken in before: lines are gone")
            elif count and line_digest(lines[count - 1]) != digest:
                self.notes.append(f"{file}: line {count} is not as it was when it was taken in: {_ASK_AUDIT}")
            elif len(lines) > count:
                offsets[file], new[file] = count, lines[count:]
        for line in log_lines(new):
            time = seconds(getattr(line.content, "time", ""))
            yield _NewLine(line, time, offsets[line.file] + line.number, line_digest(new[line.file][line.number - 1]))

    def _deeds(
        self, new: Iterable[_NewLine], limit: int
    ) -> tuple[Deeds, dict[str, tuple[int, str]], dict[str, list[int]]]:
        """What the lines before a time say, how far each log is taken in, and the times of runs that go on."""
        reader = DeedReader(self.before.cluster_id, self.before.times)
        taken, waiting, late = dict(self.before.logs), set[str](), 0
        for new_line in new:
            if new_line.line.log in waiting:
                continue
            if new_line.time + 1 + CLOCKS > limit:
                waiting.add(new_line.line.log)
                continue
            taken[new_line.line.log] = (new_line.number, new_line.digest)
            if new_line.time - 2 * CLOCKS < self.before.thinned:
                late += 1
            else:
                reader.take(new_line.line)
        if late:
            self.notes.append(f"{late} lines of audit logs came after the readings of their time were thinned out")
        for cluster, lines in sorted(reader.deeds.foreign.items()):
            self.notes.append(f"{lines} lines of audit logs are of another cluster, {cluster}: they do not count")
        return reader.deeds, taken, reader.unfinished()


def _unchanged(seen: ReadingSeries) -> Iterator[FactRow]:
    """The intervals of what is there in every reading."""
    for of_kind in seen.kinds.values():
        for fact in of_kind.first & of_kind.last:
            if fact not in of_kind.flips:
                yield FactRow(fact, Interval(None, of_kind.times[0][0], None, None))


def _runs(runs: Mapping[str, Mapping[str, object]], rows: Iterable[FactRow]) -> Mapping[str, Mapping[str, object]]:
    """Whose the runs are that rows name."""
    named = {cause.run for row in rows for cause in (row.interval.began, row.interval.ended)}
    return {run: whose for run, whose in runs.items() if run in named}


def confirmed_until(store: FleetStore, cluster: str) -> tuple[str, int, int] | None:
    """When the reading of a time was last seen to hold: its time, and when the later look began and ended."""
    try:
        document = load(store.files.read(f"{CONFIRMED}/cluster={cluster}.json").decode())
    except FileNotFoundError:
        return None
    return document["taken"], seconds(document["began"]), seconds(document["ended"])


def mark_thinned(store: FleetStore, cluster: str, known_at: int, before: int) -> None:
    """Derive what is new of a cluster, and note that its readings before a time may go."""
    history = history_of(store, cluster, {}, known_at)
    table = IntervalTable(store.files, cluster, history.coverage.cluster_id)
    table.add([], {}, replace(history.coverage, thinned=max(before, history.coverage.thinned)), known_at)


@dataclass(frozen=True, slots=True)
class FreshReading:
    """What was just read of a cluster, and when the reading began and ended."""

    cluster: str
    state: ClusterState
    scope: Scope
    began: datetime.datetime
    ended: datetime.datetime


def keep_reading(store: FleetStore, fresh: FreshReading) -> str | None:
    """Keep a reading as a new run of the store; its id, or ``None`` where the newest one has the same.

    Then the store says that the newest one held until this one began. Raises ``HeaderError`` and ``OSError``.
    """
    behind = store.next_time(fresh.ended)  # whose clock lies far behind the newest one's writes nothing
    before = _newest(store)
    last = before.reading(fresh.cluster) if before is not None else None
    began, ended = moment_text(fresh.began.replace(microsecond=0)), moment_text(fresh.ended.replace(microsecond=0))
    if last is not None and _same(store, last, fresh.state):
        text = compact({"taken": last.taken, "began": began, "ended": ended})
        store.files.write(f"{CONFIRMED}/cluster={fresh.cluster}.json", text.encode())
        return None
    run_id = run_name(fresh.began if behind == fresh.ended else behind)
    place = Place(store.files, f"taken={run_id}", fresh.cluster, secrets.token_hex(4))
    confirmed = confirmed_until(store, fresh.cluster)
    held = last is not None and confirmed is not None and confirmed[0] == last.taken
    until = moment_text(datetime.datetime.fromtimestamp(confirmed[1], datetime.UTC)) if held and confirmed else ""
    reading = replace(write_live(fresh.state, fresh.scope, place, began), ended=ended, unchanged_until=until)
    return store.commit(FleetRun(run_id, began, (reading,)), lambda _: True).id


def _newest(store: FleetStore) -> FleetRun | None:
    try:
        return store.run()
    except NoRunError:
        return None


def _same(store: FleetStore, reading: Reading, state: ClusterState) -> bool:
    return reading.cluster_id == state.cluster_id and facts_of(read_live(store.files, reading)) == facts_of(state)


def thin_out(store: FleetStore, days: int, at: datetime.datetime) -> list[str]:
    """Remove older runs of the store, once what is to be derived of them is derived; returns those that went.

    All runs of the last ``days`` stay, then one a day and one a week. Raises ``HeaderError`` and ``OSError``.
    """
    runs = store.run_ids()
    kept = thinned(runs, at, days)
    if len(kept) == len(runs):
        return []
    for cluster in {reading.cluster for run in runs for reading in store.run(run).readings}:
        mark_thinned(store, cluster, int(at.timestamp()), int((at - datetime.timedelta(days=days)).timestamp()))
    return store.forget(set(runs).difference(kept))


#: A server thins out once in so many seconds.
_THINNED_EVERY: Final = 86_400


def keeper(place: str, days: int = 30) -> Callable[[Target], None]:
    """Keeps what a server reads in each round; older readings are thinned out once a day."""
    store = store_at(place)
    last = 0.0

    def keep(target: Target) -> None:
        nonlocal last
        facts = target.facts
        request = ReadRequest(
            principal=facts.principal if facts else None,
            super_users=facts.super_users if facts else (),
            listings=LISTED,
        )
        began = now()
        try:
            state = replace(target.cluster.read(request), stated=stated_facts(facts) if facts else None)
            keep_reading(store, FreshReading(target.name, state, facts.scope if facts else Scope(), began, now()))
            if began.timestamp() - last > _THINNED_EVERY:
                last = began.timestamp()
                thin_out(store, days, began)
        except ClusterError as error:
            raise WorkflowError(f"no reading was kept: {error}", error.advice) from error
        except (HeaderError, NoReadingError, TableError, OSError) as error:
            raise WorkflowError(f"no reading was kept in {place}: {error}") from error

    return keep
