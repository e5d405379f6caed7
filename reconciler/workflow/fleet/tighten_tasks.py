"""What a task does for one cluster of a fleet that is tightened: gathers what was seen, and proves a suggestion."""

import datetime
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from reconciler.access import Authorizer
from reconciler.adapters.spark.log_counting import Counted, trouble
from reconciler.adapters.spark.log_reading import LoggedCluster, desired_bindings, live_bindings
from reconciler.dataclass import dataclass
from reconciler.fleet.store import StoreFiles
from reconciler.fleet.tighten import Held, Narrowing, UsageEvidence, prove
from reconciler.fleet.tighten.evidence import BindingUsage, period_of
from reconciler.fleet.tighten.sharing import SharedUsage
from reconciler.fleet.usage import Summary, Window
from reconciler.manifest import Manifests
from reconciler.model import AclBinding, AclPermissionType, standing_bridges
from reconciler.workflow.manifests import desired
from reconciler.workflow.tightening.holding import later_too, tests_hold

if TYPE_CHECKING:
    from pyspark import Broadcast


@dataclass(frozen=True, slots=True)
class TightenTask:
    """What every task needs: the store, the window, how many hosts count, the manifests, the time."""

    files: StoreFiles
    window: Window
    hosts: int
    manifests: "Broadcast[Manifests]"
    at: datetime.date


@dataclass(frozen=True, slots=True)
class SeenOnCluster:
    """What the logs show of one cluster's rights; ``failure`` says why that is not known."""

    cluster: str
    failure: str = ""
    summary: Summary = field(default_factory=Summary)
    usage: SharedUsage = field(default_factory=SharedUsage)
    decisions: int = 0


@dataclass(frozen=True, slots=True)
class ProvenOnCluster:
    """The narrowings that hold on one cluster, and those rights that do not let go."""

    cluster: str
    failure: str = ""
    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()
    replayed: int = 0


def seen_on(subject: LoggedCluster, counted: Iterable[Counted], *, task: TightenTask) -> SeenOnCluster:
    """Gather; no single access leaves the task."""
    try:
        rights = [one for one in _declared(subject, task) if one.entry.permission_type is AclPermissionType.ALLOW]
        evidence, summary = _evidence(subject, rights, counted, task)
    except Exception as error:  # one cluster's trouble must not hide the others
        return SeenOnCluster(subject.cluster, trouble(error))
    theirs = {one.entry.principal for one in rights}
    for usage in evidence.usage.values():
        _only_countable(usage, task.hosts)
    return SeenOnCluster(
        subject.cluster,
        summary=summary,
        usage=SharedUsage(
            evidence.period,
            evidence.usage,
            {name: days for name, days in evidence.principals.items() if name in theirs},
            {name: frozenset(found) for name, found in evidence.creates.items() if name in theirs},
        ),
        decisions=sum(one.tally.times for found in evidence.accesses.values() for one in found),
    )


def proven_on(
    asked: tuple[LoggedCluster, tuple[Narrowing, ...]], counted: Iterable[Counted], *, task: TightenTask
) -> ProvenOnCluster:
    """Prove a suggestion on the state of one cluster, by every access that was seen there."""
    subject, narrowings = asked
    if not narrowings:
        return ProvenOnCluster(subject.cluster)
    try:
        rights = _authorizer(subject, task)
        evidence, _ = _evidence(subject, rights.bindings, counted, task)
        holds = tests_hold(task.manifests.value, subject.cluster, rights, task.at, live=subject.live is not None)
        wanted = desired(task.manifests.value, subject.cluster, task.at)
        proven = prove(rights, narrowings, evidence, later_too(holds, rights, wanted, narrowings, task.at))
    except Exception as error:  # what is not proven on this cluster is not proposed for it
        return ProvenOnCluster(subject.cluster, trouble(error))
    return ProvenOnCluster(subject.cluster, "", proven.narrowings, proven.held, proven.replayed)


def _declared(subject: LoggedCluster, task: TightenTask) -> Iterable[AclBinding]:
    return desired_bindings(task.files, subject.desired) if subject.desired else ()


def _authorizer(subject: LoggedCluster, task: TightenTask) -> Authorizer:
    """The rights as declared; of a cluster that was read, with what is out of scope as it is there."""
    live, opaque = live_bindings(subject, task.files)
    ours = standing_bridges(frozenset(subject.live.leftovers)) if subject.live is not None else ()
    kept = {one for one in live or () if not subject.scope.owns(one) or one in ours}
    bindings = kept.union(_declared(subject, task))
    rights = Authorizer(bindings, subject.super_users, subject.default_allow, subject.kafka_version, opaque=opaque)
    return subject.claimed.doubted(rights)


def _evidence(
    subject: LoggedCluster, bindings: Iterable[AclBinding], counted: Iterable[Counted], task: TightenTask
) -> tuple[UsageEvidence, Summary]:
    version = Authorizer((), kafka_version=subject.kafka_version).kafka_version
    evidence, summary = UsageEvidence(bindings, version), Summary()
    for event, found in counted:
        if event is None:
            summary += found
        else:
            evidence.see(event, found.tally, found.days)
    evidence.period = period_of(summary.days, task.window.since, task.window.until)
    return evidence, summary


def _only_countable(usage: BindingUsage, hosts: int) -> None:
    """Leave out hosts beyond the number that counts: one more says that there are too many."""
    for host in sorted(usage.hosts)[hosts + 1 :]:
        del usage.hosts[host]
