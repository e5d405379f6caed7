"""What ``tighten`` prints as JSON, and its findings, for every format of a report."""

from collections.abc import Iterator
from typing import Annotated, Final

from reconciler.codec.annotated import record_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, binding_name, first_of, ticked
from reconciler.model.desired import Origin
from reconciler.model.says import REQUIRED, AnyText, Says
from reconciler.results.findings import Finding, Level

#: So many names and days are written out.
_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class NarrowedEntry:
    """Rights that go together, what takes their place, and what was seen of them; ``days`` on which they were used."""

    bindings: Annotated[tuple[AclBinding, ...], Says("What goes.")]
    into: Annotated[tuple[AclBinding, ...], Says("What takes its place.")]
    names: Annotated[tuple[AnyText, ...], Says("The names that were seen.")]
    times: Annotated[int, Says("How often it was used.", 4)]
    days: Annotated[int, Says("On how many days.", 4)]
    first: Annotated[str | None, Says("The first of them.", "2026-08-01")]
    last: Annotated[str | None, Says("The last of them.", "2026-10-30")]
    place: Annotated[Origin | None, Says("Where it is declared.", "acls.yaml:8:16")]


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """A right that stays although it was not used, or in part only."""

    binding: Annotated[AclBinding, Says("What stays.")]
    reason: Annotated[str, Says("Why.", "its rule says keep")]
    detail: Annotated[AnyText, Says("What the reason leaves open.", "disaster recovery")]
    place: Annotated[Origin | None, Says("Where it is declared.", "acls.yaml:8:16")]


@dataclass(frozen=True, slots=True)
class RefusalEntry:
    """An access that a stage would have refused."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    host: Annotated[str, Says("The address that it connected from.", "10.0.0.1")]
    operation: Annotated[str, Says("The operation.", "READ")]
    resource_type: Annotated[str, Says("The type of resource.", "TOPIC")]
    resource_name: Annotated[str, Says("The name of the resource.", "orders")]
    times: Annotated[int, Says("How often.", 3)]
    days: Annotated[tuple[str, ...], Says("The days on which it was seen.", ["2026-11-21"])]


@dataclass(frozen=True, slots=True)
class StageEntry:
    """How a stage stands: what it would have refused since its day, and how many of its narrowings that concerns."""

    since: Annotated[str, Says("The day of the proposal.", "2026-11-23")]
    not_before: Annotated[str, Says("The first day on which the edit may be proposed.", "2026-12-23")]
    due: Annotated[bool, Says("Whether that day has come.", False)]
    narrowings: Annotated[int, Says("How many narrowings it holds.", 12)]
    refusing: Annotated[int, Says("How many of them would have refused something.", 1)]
    gone: Annotated[int, Says("Of how many the rights are no longer declared.", 0)]
    refused: Annotated[int, Says("How many decisions would have been refused.", 3)]
    refusals: Annotated[tuple[RefusalEntry, ...], Says("The distinct accesses among them.")]


@dataclass(frozen=True, slots=True)
class TightenOutput:
    """One run of ``tighten``: its logs, why they are too thin, what is narrowed and held, and the proof."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    basis: Annotated[str, Says("The state that was looked at.", "declared")]
    first: Annotated[str | None, Says("The first day of the logs.", "2026-08-01")]
    last: Annotated[str | None, Says("The last day of the logs.", "2026-11-22")]
    days: Annotated[int, Says("How many days that is.", 114)]
    days_with_permitted: Annotated[int, Says("On how many an access was permitted.", 114)]
    permitted: Annotated[int, Says("How many accesses were permitted.", 1_000_000)]
    thin: Annotated[tuple[AnyText, ...], Says("Why nothing is proposed.")]
    narrowed: Annotated[tuple[NarrowedEntry, ...], Says("What is narrowed.")]
    held: Annotated[tuple[HeldEntry, ...], Says("What stays although it was not used, or in part only.")]
    decided_again: Annotated[int, Says("How many distinct accesses are proven to be decided the same.", 200)]
    stage: Annotated[StageEntry | None, Says("How a stage stands.")] = None


@dataclass(frozen=True, slots=True)
class FailedClusterEntry:
    """A cluster of which nothing can be said."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    message: Annotated[str, Says("Why nothing can be said of it.", "it is not in snapshot 20261121T051700Z")]


@dataclass(frozen=True, slots=True)
class FleetTightenOutput:
    """One run of ``fleet tighten``."""

    clusters: Annotated[tuple[TightenOutput, ...], Says("The clusters, by name.")]
    failed: Annotated[
        tuple[FailedClusterEntry, ...], Says("Clusters of which nothing can be said.", default=REQUIRED)
    ] = ()


TIGHTEN: Final = record_of(TightenOutput)
FLEET_TIGHTEN: Final = record_of(FleetTightenOutput)


def fleet_tighten_findings(tightened: FleetTightenOutput) -> Iterator[Finding]:
    """The findings of all clusters, those first of which nothing is known."""
    for item in tightened.failed:
        yield Finding("not-judged", "not-judged", Level.ERROR, item.message, "read it again", item.cluster)
    for cluster in tightened.clusters:
        yield from tighten_findings(cluster)


def tighten_findings(tightened: TightenOutput) -> Iterator[Finding]:
    """What a review has to look at."""
    for text in tightened.thin:
        yield Finding("thin-evidence", "thin-evidence", Level.WARNING, text, "collect more logs", tightened.cluster)
    for entry in tightened.narrowed:
        rule = "wide-right" if entry.into else "unused-right"
        details = (f"seen: {seen_words(entry)}",) if entry.into else ()
        for binding in entry.bindings:
            yield Finding(
                rule,
                rule,
                Level.WARNING,
                narrowed_words(entry),
                "narrow it" if entry.into else "remove it",
                tightened.cluster,
                str(binding),
                entry.place,
                details,
                binding=binding,
            )
    for held in tightened.held:
        words = f"{held.reason}: {ticked(held.detail)}" if held.detail else held.reason
        subject = str(held.binding)
        yield Finding(
            "held-right",
            "held-right",
            Level.NOTE,
            words,
            "",
            tightened.cluster,
            subject,
            held.place,
            binding=held.binding,
        )
    for refusal in tightened.stage.refusals if tightened.stage is not None else ():
        words = f"would have been refused {refusal.times:,}×, on {days_words(refusal.days)}"
        subject = refusal_words(refusal)
        yield Finding(
            "would-refuse", "would-refuse", Level.WARNING, words, "keep the right", tightened.cluster, subject
        )


def narrowed_words(entry: NarrowedEntry) -> str:
    """What takes the place of a right."""
    if not entry.into:
        return "not used"
    return f"used in part; instead: {first_of(entry.into, _NAMED, binding_name)}"


def seen_words(entry: NarrowedEntry) -> str:
    """How often and when a right was used, and on which names."""
    names = first_of(entry.names, _NAMED, as_name)
    on = f", on {names}" if names else ""
    days = "1 day" if entry.days == 1 else f"{entry.days:,} days"
    return f"{entry.times:,}× on {days}, {entry.first or 'unknown'} to {entry.last or 'unknown'}{on}"


def refusal_words(refusal: RefusalEntry) -> str:
    """An access in a line."""
    who, name = as_name(refusal.principal), as_name(refusal.resource_name)
    host = f" from {refusal.host}" if refusal.host else ""
    return f"{who} {refusal.operation} on {refusal.resource_type} {name}{host}"


def days_words(days: tuple[str, ...]) -> str:
    """The first days, and how many more."""
    return first_of(days, _NAMED)
