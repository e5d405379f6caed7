"""What the rounds of a server saw and did, and what is shown of it: metrics, and lines for a page."""

import datetime
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reconciler.dataclass import dataclass
from reconciler.model.characters import counted, safe
from reconciler.plan.proposal import Plan
from reconciler.show.formats import prometheus
from reconciler.show.reading import Report

#: So many rounds are kept as a line each; a server runs for months.
HISTORY: Final = 200


class ApprovedStatus(StrEnum):
    """What became of a saved plan in a round."""

    #: Performed in this round, and verified.
    PERFORMED = "performed"
    #: Performed in part, or refused: it is tried again in the next round.
    FAILED = "failed"
    #: Too few people have signed it.
    WAITING = "waiting"
    #: Somebody else is applying.
    HELD = "held"


@dataclass(frozen=True, slots=True)
class ApprovedOutcome:
    """A saved plan, by the name of its file, and what became of it; ``why`` is empty where it was performed whole."""

    file: str
    status: ApprovedStatus
    why: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round saw and did; ``failure`` is why it saw nothing, ``held_back`` why it did less than it would.

    ``drift`` are all differences, ``revoked`` how many bindings were deleted because their time is over, ``waiting``
    how many still are to be, ``removed`` how many bindings of dead runs went, ``next_end`` when the next access ends.
    """

    cluster: str
    began: datetime.datetime
    seconds: float = 0.0
    drift: Plan | None = None
    servers: tuple[str, ...] = ()
    failure: str = ""
    advice: str = ""
    held_back: tuple[str, ...] = ()
    revoked: int = 0
    waiting: int = 0
    removed: int = 0
    approved: tuple[ApprovedOutcome, ...] = ()
    next_end: datetime.datetime | None = None

    def words(self) -> str:
        """The round in one line."""
        if self.drift is None:
            return f"failed: {safe(self.failure)}"
        steps, skipped = len(self.drift.steps), len(self.drift.skipped)
        parts = [f"{counted(steps, 'difference')}" if steps else "no difference"]
        parts += [f"{skipped:,} more that no plan removes"] if skipped else []
        parts += [f"revoked {counted(self.revoked, 'expired binding')}"] if self.revoked else []
        parts += [f"{counted(self.waiting, 'expired binding')} still live"] if self.waiting else []
        parts += [f"removed {counted(self.removed, 'binding')} of dead runs"] if self.removed else []
        parts += [
            f"plan {safe(approval.file)} {approval.status}{f': {safe(approval.why)}' if approval.why else ''}"
            for approval in self.approved
        ]
        return "; ".join([*parts, *map(safe, self.held_back)])


@dataclass(frozen=True, slots=True)
class PastRound:
    """A line of the history."""

    cluster: str
    began: datetime.datetime
    words: str
    failed: bool


@dataclass(slots=True)
class _Totals:
    """Counts since the server began."""

    rounds: int = 0
    failures: int = 0
    revoked: int = 0
    removed: int = 0


@dataclass(slots=True)
class RoundHistory:
    """The last round of each cluster, the last one that read it, and a line for each of the last rounds.

    One thread adds and others read; what they read was put there by one assignment.
    """

    clusters: tuple[str, ...]
    latest: Mapping[str, Round] = field(default_factory=dict)
    read: Mapping[str, Round] = field(default_factory=dict)
    past: tuple[PastRound, ...] = ()
    _lines: deque[PastRound] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _totals: dict[str, _Totals] = field(default_factory=dict)

    def add(self, finished: Round) -> None:
        """Keep a round. The plan of an older one goes: a history of plans would grow without bound."""
        totals = self._totals.setdefault(finished.cluster, _Totals())
        totals.rounds += 1
        totals.failures += finished.drift is None
        totals.revoked += finished.revoked
        totals.removed += finished.removed
        self._lines.append(PastRound(finished.cluster, finished.began, finished.words(), finished.drift is None))
        self.past = tuple(reversed(self._lines))
        self.latest = {**self.latest, finished.cluster: replace(finished, drift=None)}
        if finished.drift is not None:
            self.read = {**self.read, finished.cluster: finished}

    def late(self, at: datetime.datetime, most: datetime.timedelta) -> tuple[str, ...]:
        """The clusters that no round has read for longer than ``most``."""
        return tuple(name for name in self.clusters if name not in self.read or at - self.read[name].began > most)

    def report(self, clusters: Iterable[str] | None = None) -> Report:
        """The drift of clusters as they were last read."""
        readings = [self.read[name] for name in clusters or self.clusters if name in self.read]
        return Report(
            drifts=tuple(reading.drift for reading in readings if reading.drift is not None),
            servers=tuple((reading.cluster, reading.servers) for reading in readings),
        )

    def metrics(self) -> str:
        """Everything as Prometheus' text: what ``report -o prometheus`` writes of drift, and the rounds."""
        registry = CollectorRegistry(auto_describe=False)
        read = self.read
        prometheus.register(registry, self.report(), lambda cluster: read[cluster].began)
        for name, words, value in _TOTALS:
            gauge = Gauge(name, words, ["cluster"], registry=registry)
            for cluster, totals in dict(self._totals).items():
                gauge.labels(safe(cluster)).set(getattr(totals, value))
        for name, words, measured in _OF_LAST:
            gauge = Gauge(name, words, ["cluster"], registry=registry)
            for cluster, finished in self.latest.items():
                if (number := measured(finished)) is not None:
                    gauge.labels(safe(cluster)).set(number)
        return generate_latest(registry).decode()


_TOTALS: Final = (
    ("reconciler_serve_rounds", "Rounds since the server began", "rounds"),
    ("reconciler_serve_failed_rounds", "Rounds since the server began that could not read the cluster", "failures"),
    ("reconciler_serve_revoked", "Expired bindings deleted since the server began", "revoked"),
    ("reconciler_serve_removed", "Bindings of dead runs removed since the server began", "removed"),
)
#: Of the last round of a cluster; ``None`` where it has none.
_OF_LAST: Final[tuple[tuple[str, str, Callable[[Round], float | None]], ...]] = (
    ("reconciler_serve_round_ok", "Whether the last round read the cluster", lambda last: not last.failure),
    ("reconciler_serve_expired_live", "Expired bindings that are live", lambda last: last.waiting),
    ("reconciler_serve_held_back", "Why the last round did less than it would", lambda last: len(last.held_back)),
    (
        "reconciler_serve_next_end_timestamp_seconds",
        "When the next access ends",
        lambda last: None if last.next_end is None else int(last.next_end.timestamp()),
    ),
)
