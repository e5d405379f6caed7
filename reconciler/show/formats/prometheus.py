"""A report as a Prometheus textfile: drift by cluster, kind and difference, and when it was last known.

Clusters are few and chosen by the operator; principals and names are many and chosen by anybody, so they are no labels.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reconciler.model.characters import safe
from reconciler.plan.difference import SkipReason
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_review import AccessTrend
from reconciler.results.findings import CheckStatus, Finding, Level
from reconciler.show.fleet_report import FleetReport
from reconciler.show.formats import FormatOptions
from reconciler.show.kinds import KINDS, kind_of
from reconciler.show.plan import Deviation, deviation
from reconciler.show.reading import Report

#: Gauges of a fleet's clusters, by the count that each shows.
_FLEET: Final = {
    "creates": ("bindings_missing", "Declared bindings that are not there"),
    "deletes": ("bindings_undeclared", "Bindings in scope that nobody declared"),
    "others": ("other_resources_different", "Changes that topics and other kinds than ACLs need"),
    "left": ("differences_left", "Differences that no plan removes"),
    "owned": ("bindings_in_scope", "Live bindings in scope"),
}


def write(report: Report, options: FormatOptions) -> str:
    """The file's text."""
    registry = CollectorRegistry(auto_describe=False)
    register(registry, report, lambda _: options.made_at)
    return generate_latest(registry).decode()


def register(registry: CollectorRegistry, report: Report, read_at: Callable[[str], datetime.datetime]) -> None:
    """Put a report's series into a registry; ``read_at`` says when a cluster was read."""
    _drift(registry, report.drifts)
    _steps(registry, report.plans)
    _remaining_gauge(registry, report.all_plans)
    _access(registry, report.all_plans)
    _findings(registry, report)
    _checks(registry, report)
    for fleet in report.fleets:
        _fleet(registry, fleet)
    last = Gauge(
        "reconciler_last_success_timestamp_seconds",
        "When the cluster was last read and compared, or its manifests were last checked",
        ["cluster"],
        registry=registry,
    )
    for cluster in report.clusters:
        last.labels(_label(cluster)).set(int(read_at(cluster).timestamp()))


def _drift(registry: CollectorRegistry, plans: Sequence[Plan]) -> None:
    """From the cluster's side: what a plan would delete is there and undeclared."""
    if not plans:
        return
    words = "Differences between what is declared and the cluster"
    gauge = Gauge("reconciler_drift", words, ["cluster", "kind", "difference"], registry=registry)
    for plan in plans:
        counts = Counter((kind_of(step.change).METRIC, deviation(step.change)) for step in plan.steps)
        # Every pair has a series, so that zero is said and not left out.
        for kind in KINDS:
            for which in Deviation:
                gauge.labels(_label(plan.terms.cluster), kind.METRIC, str(which)).inc(counts[kind.METRIC, which])


def _steps(registry: CollectorRegistry, plans: Sequence[Plan]) -> None:
    if not plans:
        return
    gauge = Gauge("reconciler_plan_steps", "Steps of the plan", ["cluster", "kind", "action"], registry=registry)
    for plan in plans:
        counts = Counter(step.action for step in plan.steps)
        for kind in KINDS:
            for action, label in kind.ACTIONS.items():
                gauge.labels(_label(plan.terms.cluster), kind.METRIC, label).inc(counts[action])


def _remaining_gauge(registry: CollectorRegistry, plans: Iterable[Plan]) -> None:
    plans = list(plans)
    if not plans:
        return
    gauge = Gauge("reconciler_left", "Differences that no plan removes", ["cluster", "reason"], registry=registry)
    for plan in plans:
        counts = Counter(skipped.reason for skipped in plan.skipped)
        for reason in SkipReason:
            gauge.labels(_label(plan.terms.cluster), str(reason)).inc(counts[reason])


def _access(registry: CollectorRegistry, plans: Iterable[Plan]) -> None:
    plans = list(plans)
    if not plans:
        return
    words = "Rows of access that would be gained or lost"
    gauge = Gauge("reconciler_access_rows", words, ["cluster", "change"], registry=registry)
    for plan in plans:
        gained = sum(bool(row.gained) for row in plan.access.access_changes)
        lost = sum(bool(row.lost) for row in plan.access.access_changes)
        gauge.labels(_label(plan.terms.cluster), str(AccessTrend.WIDENING)).inc(gained)
        gauge.labels(_label(plan.terms.cluster), str(AccessTrend.NARROWING)).inc(lost)


def _findings(registry: CollectorRegistry, report: Report) -> None:
    gauge = Gauge("reconciler_findings", "Findings that nobody has accepted", ["cluster", "level"], registry=registry)
    counts = Counter((finding.cluster, finding.level) for finding in report.open_findings)
    for cluster in sorted({*report.clusters, *map(_cluster, report.open_findings)}):
        for level in Level:
            gauge.labels(_label(cluster), str(level)).set(counts[cluster, level])


def _checks(registry: CollectorRegistry, report: Report) -> None:
    if not report.checks:
        return
    gauge = Gauge("reconciler_checks", "Claims, policies and safety checks", ["cluster", "standing"], registry=registry)
    counts = Counter((check.cluster, check.standing) for check in report.checks)
    for cluster in sorted({check.cluster for check in report.checks}):
        for standing in CheckStatus:
            gauge.labels(_label(cluster), str(standing)).set(counts[cluster, standing])


def _fleet(registry: CollectorRegistry, fleet: FleetReport) -> None:
    """A cluster that is not known has no counts: a missing series, never a zero.

    When each was read is a series of its own: a file that nobody renews any more, or a snapshot, shows by its age.
    """
    words = "Whether the cluster could be read and compared (1) or not (0)"
    compared = Gauge("reconciler_fleet_cluster_known", words, ["cluster"], registry=registry)
    words = "When the cluster was read, of a cluster that is known"
    read = Gauge("reconciler_fleet_read_timestamp_seconds", words, ["cluster"], registry=registry)
    gauges = {
        field: Gauge(f"reconciler_fleet_{name}", words, ["cluster"], registry=registry)
        for field, (name, words) in _FLEET.items()
    }
    for cluster in fleet.clusters:
        label = _label(cluster.cluster)
        compared.labels(label).set(int(cluster.counts is not None))
        if cluster.counts is not None and cluster.taken:
            read.labels(label).set(int(datetime.datetime.fromisoformat(cluster.taken).timestamp()))
        for field, gauge in gauges.items() if cluster.counts is not None else ():
            gauge.labels(label).set(getattr(cluster.counts, field))


def _cluster(finding: Finding) -> str:
    return finding.cluster


def _label(text: str) -> str:
    """A label's value: without what steers whoever prints the file."""
    return safe(text)
