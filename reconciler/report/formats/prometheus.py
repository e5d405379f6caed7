"""A report as a Prometheus textfile: drift by cluster, kind and action, and when it was last known.

Clusters are few and chosen by the operator; principals and names are many and chosen by anybody, so they are no labels.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reconciler.diff import LeftReason
from reconciler.plan import AccessChange, Plan
from reconciler.report.formats.interface import Options
from reconciler.report.paint import safe
from reconciler.report.results import Finding, Level, Report, Standing

#: Kind and action of a step; every pair has a series, so that nought is said and not left out.
_KINDS: Final = {
    "CreateAcl": ("acl", "create"),
    "DeleteAcl": ("acl", "delete"),
    "CreateTopic": ("topic", "create"),
    "DeleteTopic": ("topic", "delete"),
    "CreatePartitions": ("topic", "add-partitions"),
    "AlterConfigs": ("topic", "alter-configs"),
}


def write(report: Report, options: Options) -> str:
    """The file's text."""
    registry = CollectorRegistry(auto_describe=False)
    _steps(registry, "reconciler_drift", "Differences between what is declared and the cluster", report.drifts)
    _steps(registry, "reconciler_plan_steps", "Steps of the plan", report.plans)
    _left(registry, report.all_plans)
    _access(registry, report.all_plans)
    _findings(registry, report)
    _checks(registry, report)
    last = Gauge(
        "reconciler_last_success_timestamp_seconds",
        "When the cluster was last read and compared, or its manifests were last checked",
        ["cluster"],
        registry=registry,
    )
    for cluster in report.clusters:
        last.labels(_label(cluster)).set(int(options.made.timestamp()))
    return generate_latest(registry).decode()


def _steps(registry: CollectorRegistry, name: str, words: str, plans: Iterable[Plan]) -> None:
    plans = list(plans)
    if not plans:
        return
    gauge = Gauge(name, words, ["cluster", "kind", "action"], registry=registry)
    for plan in plans:
        counts = Counter(type(step.change).__name__ for step in plan.steps)
        for change, (kind, action) in _KINDS.items():
            gauge.labels(_label(plan.terms.cluster), kind, action).inc(counts[change])


def _left(registry: CollectorRegistry, plans: Iterable[Plan]) -> None:
    plans = list(plans)
    if not plans:
        return
    gauge = Gauge("reconciler_left", "Differences that no plan removes", ["cluster", "reason"], registry=registry)
    for plan in plans:
        counts = Counter(left.reason for left in plan.left)
        for reason in LeftReason:
            gauge.labels(_label(plan.terms.cluster), str(reason)).inc(counts[reason])


def _access(registry: CollectorRegistry, plans: Iterable[Plan]) -> None:
    plans = list(plans)
    if not plans:
        return
    words = "Rows of access that would be gained or lost"
    gauge = Gauge("reconciler_access_rows", words, ["cluster", "change"], registry=registry)
    for plan in plans:
        gained = sum(bool(row.gained) for row in plan.access.consequences)
        lost = sum(bool(row.lost) for row in plan.access.consequences)
        gauge.labels(_label(plan.terms.cluster), str(AccessChange.WIDENING)).inc(gained)
        gauge.labels(_label(plan.terms.cluster), str(AccessChange.NARROWING)).inc(lost)


def _findings(registry: CollectorRegistry, report: Report) -> None:
    gauge = Gauge("reconciler_findings", "Findings that nobody has accepted", ["cluster", "level"], registry=registry)
    found = Counter((one.cluster, one.level) for one in report.open_findings)
    for cluster in sorted({*report.clusters, *map(_cluster, report.open_findings)}):
        for level in Level:
            gauge.labels(_label(cluster), str(level)).set(found[cluster, level])


def _checks(registry: CollectorRegistry, report: Report) -> None:
    if not report.checks:
        return
    gauge = Gauge("reconciler_checks", "Claims, policies and guards", ["cluster", "standing"], registry=registry)
    found = Counter((one.cluster, one.standing) for one in report.checks)
    for cluster in sorted({one.cluster for one in report.checks}):
        for standing in Standing:
            gauge.labels(_label(cluster), str(standing)).set(found[cluster, standing])


def _cluster(finding: Finding) -> str:
    return finding.cluster


def _label(text: str) -> str:
    """A label's value: without what steers whoever prints the file."""
    return safe(text)
