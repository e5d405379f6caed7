"""How a fleet drifted: what ``fleet drift --output json`` prints, and what every format of it is made from.

As text: a line for each cluster or for those that are alike, failures with their reason, sums at the end.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, ClassVar, Final, TypeAlias

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

from reconciler.dataclass import dataclass
from reconciler.model.characters import Style, counted, plain, safe
from reconciler.plan.difference import DeclaredChange, Skipped
from reconciler.plan.review.topics import TopicReview
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.results.fleet_drift import ClusterDrift, DriftCounts, Failure, FleetDrift, FleetRun
from reconciler.show.document import first_names, lines_shown
from reconciler.show.kinds import kind_of, sign_of

_SHAPE = ConfigDict(alias_generator=to_camel, populate_by_name=True)

#: What differs on a cluster, and what no plan changes: read from the store when it is shown.
Details: TypeAlias = Callable[[ClusterDrift], tuple[Sequence[DeclaredChange], Sequence[Skipped]]]


@dataclass(frozen=True, slots=True)
class FleetDifference:
    """One difference. ``sign``: ``+`` missing, ``-`` undeclared, ``~`` different, ``!`` not changed by any plan."""

    __pydantic_config__: ClassVar = _SHAPE
    sign: str
    text: str
    place: str = ""


def counts_words(counts: DriftCounts) -> str:
    """``2 bindings missing, 1 change of topics or others``; or that all is as declared."""
    parts = (
        (counts.creates, "binding", "missing"),
        (counts.deletes, "binding", "undeclared"),
        (counts.others, "change", "of topics or others"),
        (counts.left, "difference", "that no plan removes"),
    )
    return ", ".join(f"{counted(number, noun)} {what}" for number, noun, what in parts if number) or "as declared"


@dataclass(frozen=True, slots=True)
class FleetCluster:
    """One cluster. ``counts`` is ``None`` where nothing is known of it: ``failure`` says why.

    ``doubt`` is why there may be more to it. ``taken`` is when it was read (RFC 3339). ``teams`` are its differences by
    team, where they were counted; ``differences`` the first of them.
    """

    __pydantic_config__: ClassVar = _SHAPE
    cluster: str
    counts: DriftCounts | None = None
    failure: Failure | None = None
    doubt: str = ""
    taken: str = ""
    teams: dict[str, int] = field(default_factory=dict)
    differences: tuple[FleetDifference, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether something is known to differ."""
        return self.counts is not None and bool(self.counts.changes or self.counts.left)

    @property
    def words(self) -> str:
        """``2 bindings missing, 1 change of topics or others``; why it is not known; or that it is as declared."""
        if self.failure is not None:
            return f"not known: {self.failure.code}: {' '.join(self.failure.message.split())}"
        return counts_words(self.counts or DriftCounts())


@dataclass(frozen=True, slots=True)
class FleetReport:
    """All clusters in order of their names, by the snapshot ``run``, and what the comparison cost."""

    __pydantic_config__: ClassVar = _SHAPE
    run: str
    taken: str
    clusters: tuple[FleetCluster, ...]
    buckets: int = 0
    buckets_skipped: int = 0
    bytes_read: int = 0

    @property
    def totals(self) -> DriftCounts:
        """The counts of all clusters together."""
        return sum((cluster.counts for cluster in self.clusters if cluster.counts is not None), DriftCounts())

    @property
    def differing(self) -> tuple[FleetCluster, ...]:
        """The clusters that differ."""
        return tuple(cluster for cluster in self.clusters if cluster.differs)

    @property
    def unknown(self) -> tuple[FleetCluster, ...]:
        """The clusters of which nothing is known."""
        return tuple(cluster for cluster in self.clusters if cluster.counts is None)

    @property
    def doubtful(self) -> tuple[FleetCluster, ...]:
        """The clusters that were not seen whole."""
        return tuple(cluster for cluster in self.clusters if cluster.doubt)

    @property
    def words(self) -> str:
        """``4 clusters: 1 as declared, 2 differ, 1 not known``."""
        equal = len(self.clusters) - len(self.differing) - len(self.unknown)
        doubt = f", {len(self.doubtful):,} not seen whole" if self.doubtful else ""
        return (
            f"{counted(len(self.clusters), 'cluster')}: {equal:,} as declared, {len(self.differing):,} differ, "
            f"{len(self.unknown):,} not known{doubt}"
        )


@cache
def _adapter() -> TypeAdapter[FleetReport]:
    # Every plan loads this module, and few commands say what a fleet is like: to build this takes 8 ms.
    return TypeAdapter(FleetReport)


def fleet_report(
    drift: FleetDrift,
    details: Details,
    *,
    taken: Mapping[str, str],
    teams: Mapping[str, Mapping[str, int]],
    shown: int | None,
) -> FleetReport:
    """The report of a comparison, with the first ``shown`` differences of each cluster (``None``: all of them).

    ``teams`` may be empty.
    """
    clusters = (
        FleetCluster(
            item.cluster,
            item.counts,
            item.failure,
            item.doubt,
            taken.get(item.cluster, ""),
            {team: number for team, number in sorted(teams.get(item.cluster, {}).items()) if number},
            tuple(_differences(item, details, shown)) if item.differs and shown != 0 else (),
        )
        for item in drift.clusters
    )
    return FleetReport(drift.run, drift.taken, tuple(clusters), drift.buckets, drift.skipped, drift.bytes_read)


def _differences(item: ClusterDrift, details: Details, shown: int | None) -> Iterator[FleetDifference]:
    changes, skipped = details(item)
    for declared in changes[:shown]:
        words = kind_of(declared.change).words([declared.change], TopicReview())
        yield FleetDifference(
            sign_of(declared.change), words.text, "" if declared.origin is None else str(declared.origin)
        )
    for difference in skipped[:shown]:
        yield FleetDifference(
            "!",
            f"{difference.subject}: {difference.detail}",
            "" if difference.origin is None else str(difference.origin),
        )


def fleet_document(report: FleetReport) -> dict[str, Any]:
    """The report for programs."""
    document = _adapter().dump_python(report, mode="json", by_alias=True)
    totals: dict[str, Any] = TypeAdapter(DriftCounts).dump_python(report.totals, mode="json")
    return {**document, "totals": totals}


def fleet_findings(report: FleetReport) -> Iterator[Finding]:
    """One for each cluster that differs, that nothing is known of, or that was not seen whole."""
    for cluster in report.clusters:
        details = tuple(f"{line.sign} {line.text}" for line in cluster.differences)
        if cluster.failure is not None:
            rule, level, message, advice = "fleet-unknown", Level.ERROR, cluster.words, cluster.failure.advice
            yield Finding(rule, rule, level, message, advice, cluster.cluster, cluster.cluster, checked=True)
        elif cluster.differs:
            rule, level, message = "fleet-drift", Level.WARNING, f"differs from what is declared: {cluster.words}"
            yield Finding(
                rule, rule, level, message, "", cluster.cluster, cluster.cluster, details=details, checked=True
            )
        if cluster.doubt:
            rule, level, message = "fleet-doubt", Level.WARNING, f"not seen whole: {cluster.doubt}"
            yield Finding(rule, rule, level, message, "", cluster.cluster, cluster.cluster, checked=True)


def fleet_checks(report: FleetReport) -> Iterator[Check]:
    """One for each cluster: it fails where the cluster differs, and is undecided where that is not known."""
    for cluster in report.clusters:
        in_doubt = CheckStatus.UNDECIDED if cluster.failure or cluster.doubt else CheckStatus.PASSED
        standing = CheckStatus.FAILED if cluster.differs else in_doubt
        doubt = (f"not seen whole: {cluster.doubt}",) if cluster.doubt else ()
        lines = (*doubt, *(f"{line.sign} {line.text}" for line in cluster.differences))
        yield Check("Fleet", "as declared", cluster.cluster, standing, cluster.words, lines)


_STYLES: Final = {"+": "add", "-": "remove", "~": "change", "!": "warn"}
#: From the cluster's side: what a plan would delete is there and undeclared.
_SEEN: Final = {"+": "-", "-": "+"}
#: Lines for the differences of all clusters together, and how many each one has at least.
_ROOM: Final = 60
_FEWEST: Final = 2
#: So many reasons why clusters are not known.
_UNKNOWN: Final = 10


_HARMLESS: Final = 5
#: So many clusters are listed by kind of difference, below a heading and above the sum of the others.
_HOTTEST: Final = 8


def cluster_names(names: Sequence[str], *, expand: bool = False) -> str:
    """The first names of clusters, and how many there are besides."""
    shown = names if expand else first_names(names, _HARMLESS)
    more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return ", ".join(map(safe, shown)) + more


def run_lines(run: FleetRun, style: Style = plain) -> Iterator[str]:
    """A snapshot run."""
    yield style("title", f"Snapshot {run.id}")
    names = [*(item.cluster for item in run.readings), *(item.cluster for item in run.failures)]
    width = max(map(len, names), default=0)
    for reading in run.readings:
        notes = [safe(gap) for gap in (reading.acl_gap, reading.topic_gap, *reading.notes) if gap]
        if reading.opaque:
            notes.append(f"{len(reading.opaque)} entries that cannot be named")
        if reading.unreadable_topics:
            notes.append(f"{len(reading.unreadable_topics)} topics unreadable")
        if reading.taken != run.taken:
            notes.append(f"read at {reading.taken}")
        counts = f"{counted(reading.rows, 'binding')}, {counted(reading.topic_count, 'topic')}"
        yield f"  {safe(reading.cluster):{width}}  {counts}" + "".join(style("warn", f"; {note}") for note in notes)
    for failure in run.failures:
        yield style(
            "error", f"  {safe(failure.cluster):{width}}  not read: {safe(failure.code)}: {safe(failure.message)}"
        )
        if failure.advice:
            yield style("dim", f"  {'':{width}}  {safe(failure.advice)}")
    rows = sum(reading.rows for reading in run.readings)
    yield f"{counted(len(run.readings), 'cluster')} read, {len(run.failures)} not; {counted(rows, 'binding')}"


def drift_lines(report: FleetReport, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """How a fleet differs: the clusters of which nothing is known, then those that differ most; the others counted.

    Clusters that differ alike share a line, and of very many lines the first are shown; with ``expand`` every cluster
    has its own.
    """
    groups = _alike(report, expand=expand)
    compared = [same for same in groups if same[0].counts is not None]
    unknown = [same for same in groups if same[0].counts is None]
    # Neither hides the other: many clusters may be out of reach at once, and one of the others may have been opened.
    shown = [
        *unknown[: lines_shown(len(unknown), expand=expand, most=_UNKNOWN)],
        *compared[: lines_shown(len(compared), expand=expand)],
    ]
    if len(shown) < len(groups):
        clusters, total = (sum(map(len, some)) for some in (shown, groups))
        cut = f"{clusters:,} of {total:,} clusters that differ or are not known shown"
        yield style("warn", f"{cut}, the gravest first; --expand shows the others")
    yield style("title", f"Drift of the fleet, by snapshot {safe(report.run)}")
    differing = sum(1 for same in shown if same[0].differs)
    room = None if expand else max(_FEWEST, _ROOM // max(1, differing))
    for same in shown:
        item, names = same[0], cluster_names([cluster.cluster for cluster in same], expand=expand)
        if item.failure is not None:
            yield style("error", f"  {names}: not known: {safe(item.failure.code)}")
            lines = (*item.failure.message.splitlines(), *item.failure.advice.splitlines())
            yield from (f"      {safe(line)}" for line in lines if line)
        else:
            yield style("title", f"  {names}") + f"{', each' if len(same) > 1 else ''}: {item.words}"
            yield from _difference_lines(item, style, room)
    named = {same[0].cluster for same in shown}
    if others := [cluster for same in groups if same[0].cluster not in named for cluster in same]:
        counts = sum((cluster.counts for cluster in others if cluster.counts is not None), DriftCounts())
        unseen = sum(cluster.counts is None for cluster in others)
        parts = [counts_words(counts)] if unseen < len(others) else []
        parts += [f"{unseen:,} not known"] if unseen else []
        yield f"  and {counted(len(others), 'cluster')} more: {', '.join(parts)}"
    yield from _heat_lines(report, style)
    yield ""
    yield style("title", drift_summary(report))
    skipped = f"{report.buckets_skipped:,} of {counted(report.buckets, 'bucket')} were equal by digest and not read"
    yield style("dim", skipped)


def _heat_lines(report: FleetReport, style: Style) -> Iterator[str]:
    """Of a large fleet, the clusters with most differences by kind of difference, in at most ten lines."""
    differing = sorted(report.differing, key=_gravity)
    if len(differing) <= _HOTTEST:
        return
    yield ""
    rows = [(item.cluster, item.counts or DriftCounts()) for item in differing[:_HOTTEST]]
    others = sum((item.counts or DriftCounts() for item in differing[_HOTTEST:]), DriftCounts())
    rows.append((f"and {counted(len(differing) - _HOTTEST, 'cluster')} more", others))
    cells = [(name, *(f"{number:,}" for number in _kinds_of(counts))) for name, counts in rows]
    head, *lines = columns_of(("CLUSTER", "MISSING", "UNDECLARED", "TOPICS AND OTHERS", "NO PLAN REMOVES"), cells)
    yield style("title", f"  {head}")
    yield from (f"  {line}" for line in lines)


def _kinds_of(counts: DriftCounts) -> tuple[int, int, int, int]:
    """Differences by kind: missing and undeclared bindings, changes of all else, what no plan removes."""
    return counts.creates, counts.deletes, counts.others, counts.left


def drift_summary(report: FleetReport) -> str:
    """``4 clusters: 1 as declared, 2 differ, 1 not known; 9 differences among 40 bindings in scope``."""
    totals = report.totals
    return f"{report.words}; {counted(totals.changes, 'difference')} among {counted(totals.owned, 'binding')} in scope"


def _alike(report: FleetReport, *, expand: bool) -> list[list[FleetCluster]]:
    """Clusters that are not as declared, those that differ alike together: the gravest first, or all by name.

    An undeclared binding may be somebody's way in, so those weigh most; a cluster of which nothing is known more still.
    """
    clusters = [cluster for cluster in report.clusters if cluster.failure is not None or cluster.differs]
    if expand:
        return [[cluster] for cluster in clusters]
    groups: dict[Hashable, list[FleetCluster]] = {}
    for cluster in clusters:
        failure = cluster.failure and (cluster.failure.code, cluster.failure.message, cluster.failure.advice)
        groups.setdefault((failure, cluster.words, cluster.differences), []).append(cluster)
    return sorted(groups.values(), key=lambda same: _gravity(same[0]))


def _gravity(cluster: FleetCluster) -> tuple[bool, int, int, int, int]:
    counts = cluster.counts or DriftCounts()
    return cluster.counts is not None, -counts.deletes, -counts.creates, -counts.others, -counts.left


def _difference_lines(item: FleetCluster, style: Style, room: int | None) -> Iterator[str]:
    for line in item.differences[:room]:
        place = style("dim", f"  {safe(line.place)}") if line.place else ""
        sign = _SEEN.get(line.sign, line.sign)
        yield style(_STYLES[sign], f"      {sign} {safe(line.text)}") + place
    counts = item.counts
    hidden = 0 if counts is None else counts.changes + counts.left - len(item.differences[:room])
    if item.differences and hidden > 0:
        yield style("dim", f"      … and {hidden:,} more")


# Rows with named columns as text.


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of the table, and how many rows there are."""
    yield from columns_of(columns, rows)
    yield counted(len(rows), "row")


def columns_of(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A heading and a line for each row, in columns as wide as they have to be."""
    shown = [[_text(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[index]) for row in shown), 0) for index, name in enumerate(columns)]
    yield "  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip()
    for row in shown:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{safe(str(key))}: {_text(item)}" for key, item in value.items())
    return "" if value is None else safe(str(value))
