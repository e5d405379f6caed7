"""The client quotas that questions are about: declared, live, of a snapshot, before and after a plan."""

from dataclasses import replace

from reconciler.app.manifests import desired
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.session import open_any, refuse_another_time, time_said
from reconciler.app.states import check_cluster, declared_access, plan_asked
from reconciler.model.kinds.quota import ClientQuota
from reconciler.plan.kinds.interface import items_after
from reconciler.ports import ReadRequest
from reconciler.results.access import Basis
from reconciler.show.quota import QuotaView
from reconciler.snapshot.file import SnapshotCluster


def quota_views(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> list[QuotaView]:
    """The quotas of one state, or with a plan of the states before and after it.

    Raises a :class:`WorkflowError` where they cannot be read: a client is not unlimited because nobody may look.
    """
    if request.store is not None:
        raise RequestError("quotas are asked of a cluster as it is now", "leave the past time out, or the client id")
    plan = None if request.plan is None else plan_asked(request, request.plan)
    if not request.live:
        found = declared_access(request, connection)
        wanted = found.desired.of(ClientQuota) if found.desired else {}
        declared = frozenset(wish.item for wish in wanted.values() if not wish.goes)
        return [QuotaView(found.view.cluster, Basis.DECLARED, declared, wanted, as_of=found.view.as_of)]
    refuse_another_time(request.cluster, request.as_of, ahead=True)
    with open_any(request.path, request.cluster, connection, tell) as (manifests, target):
        state = target.read(ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND]))
        known = manifests is not None and target.declaration is not None
        wanted = desired(manifests, target.name, request.at).of(ClientQuota) if known and manifests else {}
        basis = Basis.SNAPSHOT if isinstance(target.cluster, SnapshotCluster) else Basis.LIVE
    live, gap = state.listing(ClientQuota).items, state.listing(ClientQuota).gap
    # A listing that could not be read is no empty one: "no quota" would be taken for "unlimited".
    if live is None:
        raise WorkflowError(f"the client quotas could not be read: {gap or 'the snapshot has none'}")
    before = QuotaView(target.name, basis, live, wanted, time_said(request.at))
    if plan is None:
        return [before]
    check_cluster(plan, state)
    after = items_after(ClientQuota, live, (step.change for step in plan.steps))
    return [before, replace(before, basis=Basis.PLANNED, quotas=after)]
