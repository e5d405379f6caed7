"""Which bindings of one cluster are used, by the logs of its brokers; in this process, without Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.states import access_views, declared_access, live_access, plan_asked, with_desired
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration
from reconciler.parts.evidence.usage.cluster import ClusterUsage, UsageAnalysis, UsageQuestion
from reconciler.parts.evidence.usage.counts import DatedCount
from reconciler.parts.evidence.usage.message import Event, Window
from reconciler.parts.evidence.usage.scan import Scan, Summary, line_batches, log_files, summary_of
from reconciler.results.access import AccessView

EVERY_DAY: Final = UsageQuestion()
#: Distinct decisions with their counts, and their days where somebody asked for them.
Decisions: TypeAlias = dict[Event, DatedCount]


def usage(
    request: StateRequest,
    logs: Sequence[str],
    question: UsageQuestion = EVERY_DAY,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    replay: bool = False,
    tell: Tell = ignore,
) -> tuple[AccessView, ClusterUsage]:
    """What ``logs`` show of the bindings that a cluster has, or that are declared for it; and of which state that is.

    ``logs`` are files, directories, patterns, or ``-`` for standard input. With a plan in ``request``, or with
    ``replay`` for what the manifests would change, accesses that were seen are tried under that change. Facts that
    only the manifests state count as unknown: nothing is called harmless on a proposer's word. Raises a
    :class:`WorkflowError`.
    """
    files = files_of(logs)
    before, after, cluster_id = _states(request, connection, replay=replay, tell=tell)
    judged = [unclaimed(view) for view in (before, after) if view is not None]
    analysis = UsageAnalysis(before.cluster, question, judged[0], judged[1] if after is not None else None)
    counted: Decisions = {}
    for file in files:
        analysis.note(scanned(file, question.window, cluster_id, counted))
    for event, (count, _) in counted.items():
        analysis.see(event, count)
    cluster_usage = analysis.result(_origins(before.authorizer))
    undeclared = [name for name in cluster_usage.undeclared_super_users if name not in before.claimed.super_users]
    return before, replace(cluster_usage, undeclared_super_users=tuple(undeclared))


def files_of(logs: Iterable[str]) -> list[str]:
    """The files that places name, each once; raises a :class:`WorkflowError`."""
    try:
        # A file that two patterns name is read once: counted twice, a refusal would look repeated.
        return list(dict.fromkeys(file for place in logs for file in log_files(place)))
    except OSError as error:
        raise WorkflowError(f"the logs: {error}") from error


def _states(
    request: StateRequest, connection: ConnectionOptions, *, replay: bool, tell: Tell
) -> tuple[AccessView, AccessView | None, str]:
    """The state, the one after the change that is tried, and the id of the cluster as far as it was asked."""
    if request.plan is not None:
        before, after = access_views(request, connection, tell=tell)
        # The state was found to be of the plan's own cluster.
        return before, after, plan_asked(request, request.plan).cluster_id
    if not request.live:
        if replay:
            raise RequestError("a replay needs the state before the change", "name the cluster that has it")
        return declared_access(request, connection).view, None, ""
    access_state = live_access(request, connection, tell=tell)
    if replay and access_state.desired is None:
        raise RequestError("a replay needs manifests that declare the cluster", "give their directory as PATH")
    return (
        access_state.view,
        with_desired(access_state) if replay else None,
        access_state.state.cluster_id if access_state.state else "",
    )


def unclaimed(view: AccessView) -> Authorizer:
    """The rights of a state without the facts that only the manifests state."""
    return view.doubting(super_users=True, default_allow=view.claimed.default_allow is not None).authorizer


def scanned(file: str, window: Window, cluster_id: str, counted: Decisions, *, by_day: bool = False) -> Summary:
    """Count a file's decisions, and say what reading it was like; audit events name the cluster that they are about."""
    scan, broken, foreign = Scan(window, by_day=by_day), "", 0
    try:
        for lines in line_batches(file):
            scan.take(lines)
    except OSError as error:
        broken = f"{file}: after {scan.lines:,} lines: {error}"
    # A file may be cut in the middle. What was read counts as use all the same; that it is cut is said.
    for event, count, on in scan.drain_by_day():
        if event.cluster_id and cluster_id and event.cluster_id != cluster_id:
            foreign += count.times
            continue
        own = event._replace(cluster_id="")
        counted[own] = counted.get(own, DatedCount()) + DatedCount(count, on)
    days = frozenset(
        day
        for named, file_days in scan.days.items()
        if not (named and cluster_id) or named == cluster_id
        for day in file_days
    )
    return summary_of(scan, file, broken)._replace(days=days, foreign=foreign)


def _origins(authorizer: Authorizer) -> dict[AclBinding, str]:
    notes = authorizer.sources.notes
    return {binding: str(note.origin) for binding, note in notes.items() if isinstance(note, Declaration)}
