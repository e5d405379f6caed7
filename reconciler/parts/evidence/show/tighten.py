"""What ``tighten`` proposes, as text: what goes, what stays and why, and what a stage would have refused."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.model.acl import AclBinding
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.model.desired import Declaration, Origin
from reconciler.parts.evidence.tighten.evidence import Period
from reconciler.parts.evidence.tighten.narrowing import Held, Narrowing
from reconciler.parts.evidence.tighten.proof import Shadow, Stage
from reconciler.results.tightened import (
    FleetTightenOutput,
    HeldEntry,
    NarrowedEntry,
    RefusalEntry,
    StageEntry,
    TightenOutput,
    days_words,
    refusal_words,
    seen_words,
)

_DAYS: Final = 31


def narrowed_entry(narrowing: Narrowing, places: Mapping[AclBinding, Declaration]) -> NarrowedEntry:
    """One narrowing for programs."""
    return NarrowedEntry(
        narrowing.bindings,
        narrowing.into,
        narrowing.names,
        narrowing.times,
        narrowing.days.number,
        str(narrowing.days.first) if narrowing.days.first else None,
        str(narrowing.days.last) if narrowing.days.last else None,
        _place(narrowing.first, places),
    )


def held_entry(held: Held, places: Mapping[AclBinding, Declaration]) -> HeldEntry:
    """One right that stays for programs."""
    return HeldEntry(held.binding, held.reason.value, held.detail, _place(held.binding, places))


def stage_entry(stage: Stage, shadow: Shadow, *, due: bool) -> StageEntry:
    """How a stage stands for programs."""
    refusals = tuple(
        RefusalEntry(
            refusal.event.request.principal,
            refusal.event.request.host,
            refusal.event.request.operation.name,
            refusal.event.request.resource_type.name,
            refusal.event.request.resource_name,
            refusal.tally.times,
            tuple(str(day) for day in refusal.days.each()),
        )
        for refusal in shadow.refusals
    )
    return StageEntry(
        str(stage.since),
        str(stage.not_before),
        due,
        len(stage.narrowings),
        len(shadow.refusing),
        len(shadow.gone),
        shadow.refused,
        refusals,
    )


def period_words(period: Period) -> dict[str, Any]:
    """The days of the logs, as fields of the output."""
    return {
        "first": str(period.first) if period.first else None,
        "last": str(period.last) if period.last else None,
        "days": period.days,
        "days_with_permitted": period.heard.number,
    }


def tighten_lines(found: TightenOutput, style: Style = plain, *, shown: int = 20) -> Iterator[str]:
    """The whole answer."""
    yield style("title", f"Cluster {safe(found.cluster)}, {found.basis}")
    when = f", {found.first} to {found.last}" if found.first and found.last else ""
    quiet = found.days - found.days_with_permitted
    silent = f", {counted(quiet, 'day')} without any" if quiet else ""
    yield f"{found.permitted:,} permitted{when}{silent}"
    if found.stage is not None:
        yield from _stage_lines(found.stage, style, shown)
    for text in found.thin:
        yield style("warn", f"too thin: {safe(text)}")
    if found.thin:
        yield "Nothing is proposed on such evidence."
        return
    for entry in found.narrowed[:shown]:
        yield from _narrowed_lines(entry, style)
    yield from _more(len(found.narrowed), shown, style)
    yield from _held_lines(found, style, shown)
    if found.narrowed:
        gone = sum(not entry.into for entry in found.narrowed)
        yield f"{gone:,} unused, {len(found.narrowed) - gone:,} narrowed"
        yield (
            f"proven: nobody gains anything, and {found.decided_again:,} distinct accesses that were seen "
            "are decided as before; access tests and Ownership hold"
        )


def fleet_tighten_lines(found: FleetTightenOutput, style: Style = plain, *, shown: int = 5) -> Iterator[str]:
    """The answer for the first clusters, those with too thin evidence before the others, and the sum."""
    clusters = sorted(found.clusters, key=lambda item: not item.thin)
    for cluster in clusters[:shown]:
        yield from tighten_lines(cluster, style, shown=shown)
    if len(clusters) > shown:
        more = counted(len(clusters) - shown, "more cluster")
        yield style("dim", f"… and {more}: --limit N shows more, --output json all")
    thin = sum(bool(cluster.thin) for cluster in found.clusters)
    narrowed = sum(bool(cluster.narrowed) for cluster in found.clusters)
    sums = f"{narrowed:,} with narrower rights, {thin:,} with too thin evidence, {len(found.failed):,} unknown"
    yield style("title", f"{counted(len(found.clusters), 'cluster')}: {sums}")


def _narrowed_lines(entry: NarrowedEntry, style: Style) -> Iterator[str]:
    place = style("dim", f"  {safe(str(entry.place))}") if entry.place else ""
    for number, binding in enumerate(entry.bindings):
        yield style("remove", f"  - {safe(binding_name(binding))}") + (place if not number else "")
    yield from (style("add", f"  + {safe(binding_name(binding))}") for binding in entry.into)
    yield style("dim", f"      {safe(seen_words(entry)) if entry.into else 'not used'}")


def _held_lines(found: TightenOutput, style: Style, shown: int) -> Iterator[str]:
    if not found.held:
        return
    yield f"not used in full, and skipped: {len(found.held):,}"
    for reason, number in sorted(Counter(held.reason for held in found.held).items(), key=lambda item: -item[1]):
        yield f"  {number:,}  {reason}"
        held = [item for item in found.held if item.reason == reason]
        for item in held[: max(1, shown // 4) if shown else 0]:
            detail = f" ({safe(as_name(item.detail))})" if item.detail else ""
            yield style("dim", f"      {safe(binding_name(item.binding))}{detail}")
        yield from _more(number, max(1, shown // 4) if shown else 0, style)


def _stage_lines(stage: StageEntry, style: Style, shown: int) -> Iterator[str]:
    role = "warn" if stage.refused else "add"
    yield style(role, f"would have refused {stage.refused:,} decisions since {stage.since}")
    by_day = Counter(day for refusal in stage.refusals for day in refusal.days)
    for day, number in sorted(by_day.items())[-_DAYS:]:
        yield f"  {day}  {counted(number, 'refused request')}"
    for refusal in stage.refusals[:shown]:
        yield style("remove", f"  {refusal.times:,}× {safe(refusal_words(refusal))}")
        yield style("dim", f"      on {days_words(refusal.days)}")
    yield from _more(len(stage.refusals), shown, style)
    if stage.gone:
        yield f"{stage.gone:,} of {stage.narrowings:,} narrowings are about rights that are no longer declared"
    if stage.refusing:
        yield f"{stage.refusing:,} of {stage.narrowings:,} narrowings would have refused something: not proposed"
    if not stage.due:
        yield f"Nothing is proposed before {stage.not_before}."


def _more(count: int, shown: int, style: Style) -> Iterator[str]:
    if count > shown:
        yield style("dim", f"  … and {count - shown:,} more")


def _place(binding: AclBinding, places: Mapping[AclBinding, Declaration]) -> Origin | None:
    said = places.get(binding)
    return None if said is None else said.origin
