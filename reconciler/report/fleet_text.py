"""A fleet as text: one line a cluster, failures with their reason, sums at the end."""

from collections.abc import Callable, Iterator, Sequence

from reconciler.diff import Left
from reconciler.fleet import ClusterDrift, FleetDrift, Run
from reconciler.model import AclBinding, Change, Create, Delete, Origin
from reconciler.plan import describe
from reconciler.report.paint import Paint, counted, plain, safe

#: What differs on a cluster, and what is left: read from the store when it is shown.
Details = Callable[[ClusterDrift], tuple[Sequence[tuple[Change, Origin | None]], Sequence[Left]]]


def run_lines(run: Run, paint: Paint = plain) -> Iterator[str]:
    """A snapshot run."""
    yield paint("title", f"Snapshot {run.id}")
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
        yield f"  {safe(reading.cluster):{width}}  {found}" + "".join(paint("warn", f"; {note}") for note in notes)
    for failure in run.failures:
        yield paint(
            "error", f"  {safe(failure.cluster):{width}}  not read: {safe(failure.code)}: {safe(failure.message)}"
        )
        if failure.advice:
            yield paint("dim", f"  {'':{width}}  {safe(failure.advice)}")
    rows = sum(reading.rows for reading in run.readings)
    yield f"{counted(len(run.readings), 'cluster')} read, {len(run.failures)} not; {counted(rows, 'binding')}"


def drift_lines(drift: FleetDrift, details: Details, paint: Paint = plain, *, shown: int = 10) -> Iterator[str]:
    """How a fleet differs: clusters that do with their first differences, the others counted."""
    yield paint("title", f"Drift of the fleet, by snapshot {drift.run}")
    for item in drift.clusters:
        if item.failure is not None:
            yield paint("error", f"  {safe(item.cluster)}: not known: {safe(item.failure.code)}")
            yield from (f"      {safe(line)}" for line in item.failure.message.splitlines() if line)
            continue
        if item.differs:
            yield paint("title", f"  {safe(item.cluster)}") + f": {_counts(item)}"
            yield from _details(item, details, paint, shown)
    equal = len(drift.clusters) - len(drift.differing) - len(drift.failed)
    yield ""
    totals = drift.totals
    yield (
        f"{counted(len(drift.clusters), 'cluster')}: {equal:,} as declared, {len(drift.differing):,} differ, "
        f"{len(drift.failed):,} not known{_not_whole(drift)}; {totals.changes:,} differences "
        f"among {counted(totals.owned, 'binding')} in scope"
    )
    yield paint("dim", f"{drift.skipped:,} of {counted(drift.buckets, 'bucket')} were equal by digest and not read")


def _not_whole(drift: FleetDrift) -> str:
    return f", {len(drift.doubtful):,} not seen whole" if drift.doubtful else ""


def _counts(item: ClusterDrift) -> str:
    counts = item.counts
    found = (
        (counts.creates, "binding", "missing"),
        (counts.deletes, "binding", "undeclared"),
        (counts.topics, "topic", "different"),
        (counts.left, "difference", "that no plan removes"),
    )
    return ", ".join(f"{counted(number, noun)} {what}" for number, noun, what in found if number)


def _details(item: ClusterDrift, details: Details, paint: Paint, shown: int) -> Iterator[str]:
    changes, left = details(item) if shown else ((), ())
    for change, origin in changes[:shown]:
        place = "" if origin is None else paint("dim", f"  {safe(str(origin))}")
        match change:
            case Create(AclBinding() as binding):
                yield paint("add", f"      + {safe(str(binding))}") + place
            case Delete(AclBinding() as binding):
                yield paint("remove", f"      - {safe(str(binding))}") + place
            case _:
                yield paint("change", f"      ~ {safe(describe(change))}") + place
    rest = len(left[:shown])
    for stays in left[:shown]:
        yield paint("warn", f"      ! {safe(stays.subject)}: {safe(stays.detail)}")
    hidden = item.counts.changes + item.counts.left - len(changes[:shown]) - rest
    if shown and hidden > 0:
        yield paint("dim", f"      … and {hidden:,} more")
