"""How a fleet drifted: what ``fleet drift --output json`` prints, and what every format of it is made from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from reconciler.model.characters import counted
from reconciler.plan.difference import DeclaredChange, Skipped
from reconciler.plan.review.topics import TopicReview
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.results.fleet_drift import ClusterDrift, DriftCounts, Failure, FleetDrift
from reconciler.show.kinds import kind_of, sign_of

_SHAPE = ConfigDict(alias_generator=to_camel, populate_by_name=True)

#: What differs on a cluster, and what no plan changes: read from the store when it is shown.
Details: TypeAlias = Callable[[ClusterDrift], tuple[Sequence[DeclaredChange], Sequence[Skipped]]]


@dataclass(frozen=True, slots=True, config=_SHAPE)
class FleetDifference:
    """One difference. ``sign``: ``+`` missing, ``-`` undeclared, ``~`` different, ``!`` not changed by any plan."""

    sign: str
    text: str
    place: str = ""


def counts_words(counts: DriftCounts) -> str:
    """``2 bindings missing, 1 change of topics or others``; or that all is as declared."""
    found = (
        (counts.creates, "binding", "missing"),
        (counts.deletes, "binding", "undeclared"),
        (counts.others, "change", "of topics or others"),
        (counts.left, "difference", "that no plan removes"),
    )
    return ", ".join(f"{counted(number, noun)} {what}" for number, noun, what in found if number) or "as declared"


@dataclass(frozen=True, slots=True, config=_SHAPE)
class FleetCluster:
    """One cluster. ``counts`` is ``None`` where nothing is known of it: ``failure`` says why.

    ``doubt`` is why there may be more to it. ``taken`` is when it was read (RFC 3339). ``teams`` are its differences by
    team, where they were counted; ``differences`` the first of them.
    """

    cluster: str
    counts: DriftCounts | None = None
    failure: Failure | None = None
    doubt: str = ""
    taken: str = ""
    teams: dict[str, int] = Field(default_factory=dict)
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


@dataclass(frozen=True, slots=True, config=_SHAPE)
class FleetReport:
    """All clusters in order of their names, by the snapshot ``run``, and what the comparison cost."""

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


_ADAPTER = TypeAdapter(FleetReport)


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
    changes, left = details(item)
    for found in changes[:shown]:
        words = kind_of(found.change).words([found.change], TopicReview())
        yield FleetDifference(sign_of(found.change), words.text, "" if found.origin is None else str(found.origin))
    for one in left[:shown]:
        yield FleetDifference("!", f"{one.subject}: {one.detail}", "" if one.origin is None else str(one.origin))


def fleet_document(report: FleetReport) -> dict[str, Any]:
    """The report for programs."""
    document = _ADAPTER.dump_python(report, mode="json", by_alias=True)
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
