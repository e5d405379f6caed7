"""A fleet as text: a line for each cluster or for those that are alike, failures with their reason, sums at the end."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.model.characters import Style, counted, plain, safe
from reconciler.results.fleet_drift import DriftCounts, FleetRun
from reconciler.show.document import first_names, lines_shown
from reconciler.show.fleet_report import FleetCluster, FleetReport, counts_words

_STYLES: Final = {"+": "add", "-": "remove", "~": "change", "!": "warn"}
#: From the cluster's side: what a plan would delete is there and undeclared.
_SEEN: Final = {"+": "-", "-": "+"}
#: Lines for the differences of all clusters together, and how many each one has at least.
_ROOM: Final = 60
_FEWEST: Final = 2
#: So many reasons why clusters are not known.
_UNKNOWN: Final = 10


_HARMLESS: Final = 5


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
        found = f"{counted(reading.rows, 'binding')}, {counted(reading.topic_count, 'topic')}"
        yield f"  {safe(reading.cluster):{width}}  {found}" + "".join(style("warn", f"; {note}") for note in notes)
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
    known = [same for same in groups if same[0].counts is not None]
    unknown = [same for same in groups if same[0].counts is None]
    # Neither hides the other: many clusters may be out of reach at once, and one of the others may have been opened.
    shown = [
        *unknown[: lines_shown(len(unknown), expand=expand, most=_UNKNOWN)],
        *known[: lines_shown(len(known), expand=expand)],
    ]
    if len(shown) < len(groups):
        clusters, total = (sum(map(len, some)) for some in (shown, groups))
        cut = f"{clusters:,} of {total:,} clusters that differ or are not known shown"
        yield style("warn", f"{cut}, the gravest first; --expand shows the others")
    yield style("title", f"Drift of the fleet, by snapshot {safe(report.run)}")
    differing = sum(1 for same in shown if same[0].differs)
    room = None if expand else max(_FEWEST, _ROOM // max(1, differing))
    for same in shown:
        item, names = same[0], cluster_names([one.cluster for one in same], expand=expand)
        if item.failure is not None:
            yield style("error", f"  {names}: not known: {safe(item.failure.code)}")
            said = (*item.failure.message.splitlines(), *item.failure.advice.splitlines())
            yield from (f"      {safe(line)}" for line in said if line)
        else:
            yield style("title", f"  {names}") + f"{', each' if len(same) > 1 else ''}: {item.words}"
            yield from _differences(item, style, room)
    named = {same[0].cluster for same in shown}
    if others := [one for same in groups if same[0].cluster not in named for one in same]:
        counts = sum((one.counts for one in others if one.counts is not None), DriftCounts())
        unseen = sum(one.counts is None for one in others)
        left = [counts_words(counts)] if unseen < len(others) else []
        left += [f"{unseen:,} not known"] if unseen else []
        yield f"  and {counted(len(others), 'cluster')} more: {', '.join(left)}"
    yield ""
    yield style("title", drift_summary(report))
    skipped = f"{report.buckets_skipped:,} of {counted(report.buckets, 'bucket')} were equal by digest and not read"
    yield style("dim", skipped)


def drift_summary(report: FleetReport) -> str:
    """``4 clusters: 1 as declared, 2 differ, 1 not known; 9 differences among 40 bindings in scope``."""
    totals = report.totals
    return f"{report.words}; {counted(totals.changes, 'difference')} among {counted(totals.owned, 'binding')} in scope"


def _alike(report: FleetReport, *, expand: bool) -> list[list[FleetCluster]]:
    """Clusters that are not as declared, those that differ alike together: the gravest first, or all by name.

    An undeclared binding may be somebody's way in, so those weigh most; a cluster of which nothing is known more still.
    """
    found = [cluster for cluster in report.clusters if cluster.failure is not None or cluster.differs]
    if expand:
        return [[one] for one in found]
    groups: dict[Hashable, list[FleetCluster]] = {}
    for one in found:
        failure = one.failure and (one.failure.code, one.failure.message, one.failure.advice)
        groups.setdefault((failure, one.words, one.differences), []).append(one)
    return sorted(groups.values(), key=lambda same: _gravity(same[0]))


def _gravity(one: FleetCluster) -> tuple[bool, int, int, int, int]:
    counts = one.counts or DriftCounts()
    return one.counts is not None, -counts.deletes, -counts.creates, -counts.others, -counts.left


def _differences(item: FleetCluster, style: Style, room: int | None) -> Iterator[str]:
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
    return "" if value is None else safe(str(value))
