"""A fleet as text: one line a cluster, failures with their reason, sums at the end."""

from collections.abc import Iterator
from typing import Final

from reconciler.fleet import FleetRun
from reconciler.report.results.fleet import FleetCluster, FleetReport
from reconciler.report.style import Style, counted, plain, safe

_STYLES: Final = {"+": "add", "-": "remove", "~": "change", "!": "warn"}


def run_lines(run: FleetRun, style: Style = plain) -> Iterator[str]:
    """A snapshot run."""
    yield style("title", f"Snapshot {run.id}")
    names = [*(item.cluster for item in run.readings), *(item.cluster for item in run.failures)]
    width = max(map(len, names), default=0)
    for reading in run.readings:
        notes = [safe(gap) for gap in (reading.acl_gap, reading.topic_gap) if gap]
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


def drift_lines(report: FleetReport, style: Style = plain) -> Iterator[str]:
    """How a fleet differs: clusters that do, with their first differences; the others counted."""
    yield style("title", f"Drift of the fleet, by snapshot {safe(report.run)}")
    for item in report.clusters:
        if item.failure is not None:
            yield style("error", f"  {safe(item.cluster)}: not known: {safe(item.failure.code)}")
            said = (*item.failure.message.splitlines(), *item.failure.advice.splitlines())
            yield from (f"      {safe(line)}" for line in said if line)
        elif item.differs:
            yield style("title", f"  {safe(item.cluster)}") + f": {item.words}"
            yield from _differences(item, style)
    yield ""
    totals = report.totals
    yield f"{report.words}; {totals.changes:,} differences among {counted(totals.owned, 'binding')} in scope"
    skipped = f"{report.buckets_skipped:,} of {counted(report.buckets, 'bucket')} were equal by digest and not read"
    yield style("dim", skipped)


def _differences(item: FleetCluster, style: Style) -> Iterator[str]:
    for line in item.differences:
        place = style("dim", f"  {safe(line.place)}") if line.place else ""
        yield style(_STYLES[line.sign], f"      {line.sign} {safe(line.text)}") + place
    counts = item.counts
    hidden = 0 if counts is None else counts.changes + counts.left - len(item.differences)
    if item.differences and hidden > 0:
        yield style("dim", f"      … and {hidden:,} more")
