"""The client quotas of those who gain access in a plan: read for the reviewer, also where manifests declare none."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from reconciler.adapters.snapshot import SnapshotCluster
from reconciler.model import NOT_READ, ClusterState, DesiredState, Listing
from reconciler.model.kinds.quota import ClientQuota
from reconciler.plan import Plan, gaining
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.clusters import Target

#: Waits for the quotas.
Quotas: TypeAlias = Callable[[], Listing[ClientQuota]]


def read_live(
    target: Target, asking: ReadRequest, wanted: DesiredState
) -> tuple[ClusterState, Listing[ClientQuota] | None]:
    """The state, and the quotas of a snapshot where they were not asked for.

    A pattern that is declared and there is one object, not two of which millions take 100 MB.
    """
    asking = replace(asking, known={pattern: pattern for pattern, _ in wanted.bindings})
    if isinstance(target.cluster, SnapshotCluster) and ClientQuota.KIND not in asking.listings:
        whole = target.read(asking.also(ClientQuota.KIND))
        return whole.with_listing(ClientQuota, NOT_READ), whole.listing(ClientQuota)
    return target.read(asking), None


@contextmanager
def limits_beside(
    target: Target, wanted: DesiredState, live: ClusterState, read: Listing[ClientQuota] | None
) -> Iterator[Quotas]:
    """Reads the quotas while a plan is made, if ``wanted`` has a binding that ``live`` lacks; as read, if they were.

    ``read`` is what a snapshot has, which would be read as a whole once more for them alone; ``None`` of a cluster.

    The read is another process, and takes about as long as planning a thousand grants. It has ended when this ends:
    nobody closes a connection below it.
    """
    known = live.listing(ClientQuota)
    if known != NOT_READ and (known.items is not None or known.gap is not None):
        yield lambda: known
    elif wanted.bindings.keys() <= live.bindings:
        yield lambda: NOT_READ
    elif read is not None:
        yield lambda: read
    else:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(_read, target).result


def _read(target: Target) -> Listing[ClientQuota]:
    try:
        state = target.cluster.read(ReadRequest(acls=False, all_topics=False, listings=[ClientQuota.KIND]))
    except ClusterError as error:
        return Listing(gap=error.message)
    return state.listing(ClientQuota)


def with_gaining(plan: Plan, quotas: Quotas) -> Plan:
    """The plan with who gains and what limits them; without it where nobody gains or the quotas are not known."""
    if not any(row.gained for row in plan.access.access_changes) or (items := quotas().items) is None:
        return plan
    return replace(plan, gaining=gaining(plan.access.access_changes, items, (step.change for step in plan.steps)))
