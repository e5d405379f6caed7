"""The table of intervals of one cluster, as Parquet files in the store of snapshots.

Layout: ``intervals/cluster=NAME/id=CLUSTER/FILE`` and ``sightings/cluster=NAME/id=CLUSTER/FILE``. The names of files
sort by the order in which they were written. Rows are only added. A file has all intervals of a fact of which it has
any, so of each fact the newest file counts; an earlier one says what was known then. Sightings are kept for ever, so
intervals can be derived again when readings and logs are gone.

The newest file names all others, with their digests. What it does not name is left over of a write that was cut short,
or of another one at the same time, and does not count.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reconciler.codec.document import compact
from reconciler.dataclass import dataclass
from reconciler.parts.fleet.store import StoreFiles
from reconciler.parts.fleet.tables import COLUMNS, TEXT_COLUMNS, from_parquet, parquet
from reconciler.parts.history.evidence import ACLS
from reconciler.parts.history.intervals import Cause, Fact, FactSighting, Interval

#: Of the table's files; a reader refuses a newer one.
FORMAT: Final = 1
#: Where the schema of a file holds the coverage.
_COVERAGE: Final = b"coverage"
#: So many files are put together into one.
_MOST_FILES: Final = 64

_TIME: Final = pa.timestamp("s", tz="UTC")
_FACT: Final = [
    pa.field("kind", pa.string(), nullable=False),
    *(pa.field(name, pa.string() if name in TEXT_COLUMNS else pa.int8()) for name in COLUMNS),
    pa.field("value", pa.string()),
]
#: ``name`` is the key of what is no ACL, and ``value`` its value as JSON.
INTERVALS: Final = pa.schema(
    [
        *_FACT,
        *(pa.field(name, _TIME) for name in ("from_lo", "from_hi", "to_lo", "to_hi")),
        pa.field("began_run", pa.string()),
        pa.field("began_sure", pa.bool_()),
        pa.field("began_at", _TIME),
        pa.field("ended_run", pa.string()),
        pa.field("ended_sure", pa.bool_()),
        pa.field("ended_at", _TIME),
        pa.field("ticket", pa.string()),
        pa.field("known_at", _TIME),
    ]
)
SIGHTINGS: Final = pa.schema(
    [
        *_FACT,
        pa.field("lo", pa.int64()),
        pa.field("hi", pa.int64()),
        pa.field("there", pa.bool_()),
        pa.field("run", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("left", pa.bool_()),
    ]
)
_FIELDS: Final = len(_FACT)


class TableError(Exception):
    """The table cannot be used; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class TableCoverage:
    """What a table rests on: which cluster, which readings and which log lines.

    ``first`` and ``last`` are the bounds of each kind's first and last reading in seconds. ``reading`` and ``run`` are
    the last reading's time and the run of the store that has it. ``logs`` are, by id, how many lines were taken in and
    the digest of the last one. ``times`` are of runs that had not ended. ``runs`` say whose a run was. ``thinned``:
    readings before it may be gone. ``open`` is of how many intervals a later reading may say more,
    ``scanned`` the last run of the store that was looked at. ``files`` and ``kept`` are the table's own files of
    intervals and of sightings, in the order in which they were written.
    """

    cluster_id: str
    first: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    last: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    reading: str = ""
    run: str = ""
    logs: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    times: Mapping[str, Sequence[int]] = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    thinned: int = 0
    open: int = 0
    scanned: str = ""
    files: Sequence[str] = ()
    kept: Sequence[str] = ()

    @property
    def begin(self) -> int:
        """The first time of which ACLs are known."""
        return self.first[ACLS][0] if ACLS in self.first else 0

    @property
    def begin_of_last(self) -> int:
        """The earliest time of the last reading of ACLs."""
        return self.last[ACLS][0] if ACLS in self.last else 0

    @property
    def end(self) -> int:
        """The last time of which ACLs are known."""
        return self.last[ACLS][1] if ACLS in self.last else 0


@dataclass(frozen=True, slots=True)
class FactRow:
    """An interval of a fact; ``ticket`` is why it began, as its declaration said."""

    fact: Fact
    interval: Interval
    ticket: str = ""


#: Which rows of a file may be meant, as a column of booleans.
Choice: TypeAlias = Callable[[pa.Table], Any]


def at_time(time: int) -> Choice:
    """The intervals that hold at a time, or perhaps do."""
    moment = pa.scalar(time, _TIME)

    def choice(table: pa.Table) -> Any:
        begun = [pc.less_equal(table[name], moment) for name in ("from_lo", "from_hi")]
        lasting = [pc.greater_equal(table[name], moment) for name in ("to_lo", "to_hi")]
        began = pc.or_kleene(pc.is_null(table["from_lo"]), pc.fill_null(pc.or_kleene(*begun), False))
        lasts = pc.or_kleene(pc.is_null(table["to_hi"]), pc.fill_null(pc.or_kleene(*lasting), False))
        return pc.and_(began, lasts)

    return choice


def of_principal(principal: str) -> Choice:
    """What is about a principal by a column of its own; of other kinds, everything."""
    return lambda table: pc.or_kleene(pc.is_null(table["principal"]), pc.equal(table["principal"], principal))


def of_names(chosen: Callable[[str], bool]) -> Choice:
    """What has a name that may be meant."""

    def choice(table: pa.Table) -> Any:
        names = [name for name in pc.unique(table["name"]).to_pylist() if chosen(name)]
        return pc.is_in(table["name"], value_set=pa.array(names, pa.string()))

    return choice


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """The table of one cluster in a store."""

    files: StoreFiles
    cluster: str
    cluster_id: str

    def coverage(self) -> TableCoverage | None:
        """What it rests on; ``None``: there is none yet. Raises :class:`TableError` and ``OSError``."""
        names = self._names()
        if not names:
            return None
        coverage = _coverage(self.files.read(f"{self._place}/{names[-1]}"))
        if coverage.cluster_id != self.cluster_id:
            raise TableError(f"{self._place}/{names[-1]} is of another cluster, {coverage.cluster_id}")
        return replace(coverage, files=(*coverage.files, names[-1]))

    def rows(self, choice: Choice | None = None) -> list[FactRow]:
        """The intervals as they are known now, or those of a choice; raises :class:`TableError` and ``OSError``."""
        rows: list[FactRow] = []
        seen: set[Fact] = set()
        coverage = self.coverage()
        names = coverage.files if coverage is not None else ()
        for name in reversed(names):
            table = self._read(self._place, name)
            chosen = table if choice is None else table.filter(choice(table))
            rows += (row for row in _rows(chosen) if row.fact not in seen)
            if name != names[0]:  # what is newest counts: the oldest file hides nothing
                seen.update(_facts(table))
        return rows

    def table(self) -> pa.Table:
        """The intervals as they are known now, in columns; raises :class:`TableError` and ``OSError``."""
        coverage = self.coverage()
        files = coverage.files if coverage is not None else ()
        return _newest_of([self._read(self._place, name) for name in files])

    def sightings(self, facts: set[Fact]) -> dict[Fact, list[FactSighting]]:
        """What is kept of these facts; raises :class:`TableError` and ``OSError``."""
        by_fact: dict[Fact, list[FactSighting]] = {fact: [] for fact in facts}
        coverage = self.coverage()
        for name in coverage.kept if coverage is not None else ():
            for fact, sighting in _sightings(self._read(self._kept, name)):
                if fact in facts:
                    by_fact[fact].append(sighting)
        return by_fact

    def add(
        self,
        rows: Sequence[FactRow],
        sightings: Mapping[Fact, Iterable[FactSighting]],
        coverage: TableCoverage,
        known_at: int,
    ) -> None:
        """Add what was found to what ``coverage`` has; what is kept of evidence first: no interval rests on nothing."""
        kept = [*coverage.kept]
        if sightings:
            kept.append(self._write(self._kept, _sightings_table(sightings), known_at))
        table, rest = _rows_table(rows, known_at), replace(coverage, kept=kept)
        if len(rest.files) >= _MOST_FILES:
            table, rest = self._put_together(table, rest, known_at)
        newest = self._write(self._place, _with_coverage(table, rest), known_at)
        if not rest.files:
            for place, named in ((self._place, {newest}), (self._kept, set(rest.kept))):
                for name in set(self.files.names(place)) - named:
                    self.files.remove(f"{place}/{name}")

    def _put_together(self, newest: pa.Table, coverage: TableCoverage, known_at: int) -> tuple[pa.Table, TableCoverage]:
        """One table of all intervals, and one file of all sightings: the same rows, in the same order of files."""
        tables = [*(self._read(self._place, name) for name in coverage.files), newest]
        kept = [self._read(self._kept, name) for name in coverage.kept]
        names = [self._write(self._kept, pa.concat_tables(kept), known_at)] if kept else []
        return _newest_of(tables), replace(coverage, files=(), kept=names)

    def _read(self, place: str, name: str) -> pa.Table:
        try:
            return from_parquet(self.files.read(f"{place}/{name}"))
        except FileNotFoundError as error:
            raise TableError(f"{place}/{name} is gone, and the newest file of the table names it") from error

    def _write(self, place: str, table: pa.Table, known_at: int) -> str:
        names = self.files.names(place)
        number = int(names[-1].partition("-")[0]) + 1 if names else 1
        return self.files.write(f"{place}/{number:09d}-{known_at}.parquet", parquet(table)).rpartition("/")[2]

    @property
    def _place(self) -> str:
        return f"intervals/cluster={self.cluster}/id={self.cluster_id}"

    @property
    def _kept(self) -> str:
        return f"sightings/cluster={self.cluster}/id={self.cluster_id}"

    def _names(self) -> Sequence[str]:
        return self.files.names(self._place)


def _newest_of(tables: Sequence[pa.Table]) -> pa.Table:
    """Of each fact the rows of the last table that has it."""
    rows: list[pa.Table] = []
    seen: set[Fact] = set()
    for table in reversed(tables):
        facts = list(_facts(table))
        rows.append(table.filter(pa.array([fact not in seen for fact in facts], pa.bool_())).cast(INTERVALS))
        seen.update(facts)
    return pa.concat_tables([*rows[::-1], INTERVALS.empty_table()])


@lru_cache(maxsize=2)  # a question reads it twice, and thousands of runs are in it
def _coverage(data: bytes) -> TableCoverage:
    text = (pq.read_schema(pa.BufferReader(data)).metadata or {}).get(_COVERAGE)
    if text is None:
        raise TableError("the table of intervals says of no cluster that it is of")
    fields = json.loads(text)
    if (version := fields.pop("format")) != FORMAT:
        raise TableError(f"the table of intervals has the format {version}, and this version reads {FORMAT}")
    for name in ("first", "last", "logs"):
        fields[name] = {key: tuple(value) for key, value in fields[name].items()}
    return TableCoverage(**fields)


def _with_coverage(table: pa.Table, coverage: TableCoverage) -> pa.Table:
    fields = {name: getattr(coverage, name) for name in TableCoverage.__slots__}
    return table.replace_schema_metadata({_COVERAGE: compact({"format": FORMAT, **fields}).encode()})


def _columns(facts: Sequence[Fact]) -> list[list[Any]]:
    """The columns of facts: those of ACLs have seven fields, others a key and a value."""
    acl = [
        (kind, *rest, None) if kind == ACLS else (kind, None, rest[0], *[None] * 5, rest[1]) for kind, *rest in facts
    ]
    return [list(column) for column in zip(*acl, strict=True)] if acl else [[] for _ in range(_FIELDS)]


def _facts(table: pa.Table) -> Iterator[Fact]:
    columns = [table[name].to_pylist() for name in ("kind", *COLUMNS, "value")]
    for kind, *rest, value in zip(*columns, strict=True):
        yield (kind, *rest) if kind == ACLS else (kind, rest[1], value)


def _rows_table(rows: Sequence[FactRow], known_at: int) -> pa.Table:
    columns = _columns([row.fact for row in rows])
    times = [[getattr(row.interval, name) for row in rows] for name in ("from_lo", "from_hi", "to_lo", "to_hi")]
    causes: list[list[Any]] = []
    for name in ("began", "ended"):
        cause_column: list[Cause] = [getattr(row.interval, name) for row in rows]
        causes += (
            [cause.run or None for cause in cause_column],
            [cause.sure for cause in cause_column],
            [cause.at or None for cause in cause_column],
        )
    last = [[row.ticket or None for row in rows], [known_at] * len(rows)]
    arrays = [
        pa.array(values, form.type) for values, form in zip([*columns, *times, *causes, *last], INTERVALS, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=INTERVALS)


def _rows(table: pa.Table) -> Iterator[FactRow]:
    times = [_seconds(table[name]) for name in ("from_lo", "from_hi", "to_lo", "to_hi", "began_at", "ended_at")]
    causes = [table[name].to_pylist() for name in ("began_run", "began_sure", "ended_run", "ended_sure", "ticket")]
    for fact, *bounds, began, ended, run, sure, end, end_sure, ticket in zip(
        _facts(table), *times, *causes, strict=True
    ):
        begin, until = Cause(run or "", sure, began or 0), Cause(end or "", end_sure, ended or 0)
        yield FactRow(fact, Interval(bounds[0], bounds[1], bounds[2], bounds[3], begin, until), ticket or "")


def _seconds(column: Any) -> list[int | None]:
    """Parquet has no seconds: what is read is in milliseconds."""
    seconds: list[int | None] = column.cast(_TIME).cast(pa.int64()).to_pylist()
    return seconds


def _sightings_table(sightings: Mapping[Fact, Iterable[FactSighting]]) -> pa.Table:
    pairs = [(fact, sighting) for fact, items in sightings.items() for sighting in items]
    columns = _columns([fact for fact, _ in pairs])
    names = ("lo", "hi", "there", "run", "number", "left")
    values = [[getattr(sighting, name) for _, sighting in pairs] for name in names]
    arrays = [pa.array(value, form.type) for value, form in zip([*columns, *values], SIGHTINGS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SIGHTINGS)


def _sightings(table: pa.Table) -> Iterator[tuple[Fact, FactSighting]]:
    columns = [table[name].to_pylist() for name in ("lo", "hi", "there", "run", "number", "left")]
    for fact, *values in zip(_facts(table), *columns, strict=True):
        yield fact, FactSighting(*values)
