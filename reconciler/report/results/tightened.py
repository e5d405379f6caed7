"""What ``tighten`` prints as JSON, written and read by one table; and its findings, for every format of a report."""

from collections.abc import Iterator
from typing import Final

from reconciler.codec import ANY_TEXT, BOOLEAN, COUNT, TEXT, Record, array, field, nullable, record
from reconciler.codec.values import BINDING, ORIGIN
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, Origin
from reconciler.model.naming import as_name, binding_name, ticked
from reconciler.report.results.finding import Finding, Level

#: So many names and days are written out.
_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class NarrowedEntry:
    """Rights that go together, what takes their place, and what was seen of them; ``days`` on which they were used."""

    bindings: tuple[AclBinding, ...]
    into: tuple[AclBinding, ...]
    names: tuple[str, ...]
    times: int
    days: int
    first: str | None
    last: str | None
    place: Origin | None


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """A right that stays although it was not used, or in part only."""

    binding: AclBinding
    reason: str
    detail: str
    place: Origin | None


@dataclass(frozen=True, slots=True)
class RefusalEntry:
    """An access that a stage would have refused."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    times: int
    days: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageEntry:
    """How a stage stands: what it would have refused since its day, and how many of its narrowings that concerns."""

    since: str
    not_before: str
    due: bool
    narrowings: int
    refusing: int
    gone: int
    refused: int
    refusals: tuple[RefusalEntry, ...]


@dataclass(frozen=True, slots=True)
class TightenOutput:
    """One run of ``tighten``: its logs, why they are too thin, what is narrowed and held, and the proof."""

    cluster: str
    basis: str
    first: str | None
    last: str | None
    days: int
    days_with_permitted: int
    permitted: int
    thin: tuple[str, ...]
    narrowed: tuple[NarrowedEntry, ...]
    held: tuple[HeldEntry, ...]
    decided_again: int
    stage: StageEntry | None = None


@dataclass(frozen=True, slots=True)
class FailedClusterEntry:
    """A cluster of which nothing can be said."""

    cluster: str
    message: str


@dataclass(frozen=True, slots=True)
class FleetTightenOutput:
    """One run of ``fleet tighten``."""

    clusters: tuple[TightenOutput, ...]
    failed: tuple[FailedClusterEntry, ...] = ()


_BINDINGS: Final = array(BINDING)
_TEXTS: Final = array(ANY_TEXT)
_PLACE: Final = field("place", nullable(ORIGIN), "Where it is declared.", "acls.yaml:8:16")
_DAY: Final = nullable(TEXT)
_REFUSAL: Final[Record[RefusalEntry]] = record(
    RefusalEntry,
    field("principal", TEXT, "The principal.", "User:svc-orders"),
    field("host", TEXT, "The address that it connected from.", "10.0.0.1"),
    field("operation", TEXT, "The operation.", "READ"),
    field("resourceType", TEXT, "The type of resource.", "TOPIC"),
    field("resourceName", TEXT, "The name of the resource.", "orders"),
    field("times", COUNT, "How often.", 3),
    field("days", array(TEXT), "The days on which it was seen.", ["2026-11-21"]),
)
_STAGE: Final[Record[StageEntry]] = record(
    StageEntry,
    field("since", TEXT, "The day of the proposal.", "2026-11-23"),
    field("notBefore", TEXT, "The first day on which the edit may be proposed.", "2026-12-23"),
    field("due", BOOLEAN, "Whether that day has come.", False),
    field("narrowings", COUNT, "How many narrowings it holds.", 12),
    field("refusing", COUNT, "How many of them would have refused something.", 1),
    field("gone", COUNT, "Of how many the rights are no longer declared.", 0),
    field("refused", COUNT, "How many decisions would have been refused.", 3),
    field("refusals", array(_REFUSAL), "The distinct accesses among them."),
)
TIGHTEN: Final[Record[TightenOutput]] = record(
    TightenOutput,
    field("cluster", TEXT, "The cluster.", "prod"),
    field("basis", TEXT, "The state that was looked at.", "declared"),
    field("first", _DAY, "The first day of the logs.", "2026-08-01"),
    field("last", _DAY, "The last day of the logs.", "2026-11-22"),
    field("days", COUNT, "How many days that is.", 114),
    field("daysWithPermitted", COUNT, "On how many an access was permitted.", 114),
    field("permitted", COUNT, "How many accesses were permitted.", 1_000_000),
    field("thin", _TEXTS, "Why nothing is proposed."),
    field(
        "narrowed",
        array(
            record(
                NarrowedEntry,
                field("bindings", _BINDINGS, "What goes."),
                field("into", _BINDINGS, "What takes its place."),
                field("names", _TEXTS, "The names that were seen."),
                field("times", COUNT, "How often it was used.", 4),
                field("days", COUNT, "On how many days.", 4),
                field("first", _DAY, "The first of them.", "2026-08-01"),
                field("last", _DAY, "The last of them.", "2026-10-30"),
                _PLACE,
            )
        ),
        "What is narrowed.",
    ),
    field(
        "held",
        array(
            record(
                HeldEntry,
                field("binding", BINDING, "What stays."),
                field("reason", TEXT, "Why.", "its rule says keep"),
                field("detail", ANY_TEXT, "What the reason leaves open.", "disaster recovery"),
                _PLACE,
            )
        ),
        "What stays although it was not used, or in part only.",
    ),
    field("decidedAgain", COUNT, "How many distinct accesses are proven to be decided the same.", 200),
    field("stage", nullable(_STAGE), "How a stage stands.", default=None),
)


FLEET_TIGHTEN: Final[Record[FleetTightenOutput]] = record(
    FleetTightenOutput,
    field("clusters", array(TIGHTEN), "The clusters, by name."),
    field(
        "failed",
        array(
            record(
                FailedClusterEntry,
                field("cluster", TEXT, "The cluster.", "prod"),
                field("message", TEXT, "Why nothing can be said of it.", "it is not in snapshot 20261121T051700Z"),
            )
        ),
        "Clusters of which nothing can be said.",
    ),
)


def fleet_tighten_findings(found: FleetTightenOutput) -> Iterator[Finding]:
    """The findings of all clusters, those first of which nothing is known."""
    for one in found.failed:
        yield Finding("not-judged", "not-judged", Level.ERROR, one.message, "read it again", one.cluster)
    for cluster in found.clusters:
        yield from tighten_findings(cluster)


def tighten_findings(found: TightenOutput) -> Iterator[Finding]:
    """What a review has to look at."""
    for text in found.thin:
        yield Finding("thin-evidence", "thin-evidence", Level.WARNING, text, "collect more logs", found.cluster)
    for entry in found.narrowed:
        rule = "wide-right" if entry.into else "unused-right"
        details = (f"seen: {seen_words(entry)}",) if entry.into else ()
        for one in entry.bindings:
            yield Finding(
                rule,
                rule,
                Level.WARNING,
                narrowed_words(entry),
                "narrow it" if entry.into else "remove it",
                found.cluster,
                str(one),
                entry.place,
                details,
                binding=one,
            )
    for held in found.held:
        words = f"{held.reason}: {ticked(held.detail)}" if held.detail else held.reason
        subject = str(held.binding)
        yield Finding(
            "held-right", "held-right", Level.NOTE, words, "", found.cluster, subject, held.place, binding=held.binding
        )
    for refusal in found.stage.refusals if found.stage is not None else ():
        words = f"would have been refused {refusal.times:,}×, on {days_words(refusal.days)}"
        subject = refusal_words(refusal)
        yield Finding("would-refuse", "would-refuse", Level.WARNING, words, "keep the right", found.cluster, subject)


def narrowed_words(entry: NarrowedEntry) -> str:
    """What takes the place of a right."""
    if not entry.into:
        return "not used"
    listed = ", ".join(binding_name(one) for one in entry.into[:_NAMED])
    more = f" and {len(entry.into) - _NAMED:,} more" if len(entry.into) > _NAMED else ""
    return f"used in part; instead: {listed}{more}"


def seen_words(entry: NarrowedEntry) -> str:
    """How often and when a right was used, and on which names."""
    names = ", ".join(as_name(name) for name in entry.names[:_NAMED])
    more = f" and {len(entry.names) - _NAMED:,} more" if len(entry.names) > _NAMED else ""
    on = f", on {names}{more}" if names else ""
    days = "1 day" if entry.days == 1 else f"{entry.days:,} days"
    return f"{entry.times:,}× on {days}, {entry.first or 'unknown'} to {entry.last or 'unknown'}{on}"


def refusal_words(refusal: RefusalEntry) -> str:
    """An access in a line."""
    who, name = as_name(refusal.principal), as_name(refusal.resource_name)
    host = f" from {refusal.host}" if refusal.host else ""
    return f"{who} {refusal.operation} on {refusal.resource_type} {name}{host}"


def days_words(days: tuple[str, ...]) -> str:
    """The first days, and how many more."""
    return ", ".join(days[:_NAMED]) + (f" and {len(days) - _NAMED:,} more" if len(days) > _NAMED else "")
