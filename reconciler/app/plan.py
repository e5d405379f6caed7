"""A plan, a drift report and a saved plan made again, from the names of directory and cluster.

Light: connecting and listing take the cluster longer than it takes this process to load what compares, so they begin
first.
"""

import datetime
import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reconciler.app.connections import manifests_below
from reconciler.app.options import ConnectionOptions, PlanOptions, Tell, ignore, moment
from reconciler.app.reasons import RequestError
from reconciler.app.session import open_declared, refuse_another_time
from reconciler.dataclass import dataclass
from reconciler.plan.file import differences
from reconciler.plan.proposal import Plan

if TYPE_CHECKING:
    from reconciler.app.planning import Planned


def plan(
    path: str,
    cluster: str | None,
    options: PlanOptions = PlanOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    ask_broker: bool = False,
    again: bool = False,
    tell: Tell = ignore,
) -> "Planned":
    """Compare the manifests below ``path`` with ``cluster`` (``NAME``, ``snapshot:FILE`` or ``NAME=snapshot:FILE``).

    ``None`` is the only cluster that they declare. Nothing is written. A guard that refuses is in
    ``Planned.plan.refusals``; :func:`checks_of` says whether access tests, owners and topic policies agree. With
    ``ask_broker`` the cluster says what it would answer to each step on a topic. ``again``: as a plan was made in the
    past; without it a past ``as_of`` is refused for a cluster that is read as it is now. Raises a
    :class:`WorkflowError`.
    """
    if not again:
        refuse_another_time(cluster, options.as_of)
    with open_declared(path, cluster, connection, tell, options.guardrails, lists=True) as (manifests, target):
        from reconciler.app.planning import plan_on, with_answers

        planned = plan_on(target, manifests, path, options)
        if not ask_broker:
            return planned
        return replace(planned, plan=with_answers(planned.plan, planned.live, target))


def drift(
    path: str,
    cluster: str | None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    as_of: datetime.date | None = None,
    base: str | None = None,
    tell: Tell = ignore,
) -> "Planned":
    """How ``cluster`` differs from the manifests below ``path``: the steps of the plan, and what it skips.

    With ``base``, the manifests that were applied last, ``Planned.plan.causes`` says which differences were merged
    since and wait for apply, and which are changes by hand.

    Bindings that nobody declared are steps whether or not a plan may delete; a report refuses nothing, for guards
    speak when somebody plans to change the cluster. On a cluster without an authorizer all but ACLs is compared:
    ``unjudged`` says so where any are declared. Raises a :class:`WorkflowError`.
    """
    refuse_another_time(cluster, as_of)
    with open_declared(path, cluster, connection, tell, lists=True) as (manifests, target):
        from reconciler.app.planning import drift_on

        applied = None if base is None else functools.partial(manifests_below, base, connection)
        return drift_on(target, manifests, path, as_of or moment(), applied)


@dataclass(frozen=True, slots=True)
class Verification:
    """What a saved plan was compared with: the plan of now for ``cluster``; ``None``: with nothing.

    ``differences`` are places in the document, one for each field that is not the same.
    """

    cluster: str | None = None
    differences: tuple[str, ...] = ()


#: Of a plan that was only read.
NOT_VERIFIED: Final = Verification()


def verify(
    saved: Plan,
    path: str,
    cluster: str,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    guardrails: str | None = None,
    base: str | None = None,
    tell: Tell = ignore,
) -> Verification:
    """Plan again as the saved plan says it was planned, and compare; ``guardrails`` and ``base`` as for planning.

    Reading a plan checks its bytes, its ids, what follows from its steps, and their order. Whether its access rows,
    effects, callouts, facts, counts and warnings are true, only the cluster and the manifests can say: this asks them.
    A cluster that has changed since gives differences too. Raises a :class:`WorkflowError`; :class:`RequestError` for a
    plan that ``undo`` or break-glass made, which does not follow from manifests.
    """
    if saved.options.undo:
        raise RequestError("a plan that undo made does not follow from the manifests: make it again with undo")
    if saved.options.break_glass is not None:
        raise RequestError("a break-glass plan does not follow from the manifests: review the plan itself")
    options = PlanOptions(
        as_of=saved.as_of,
        allow_deletes=saved.options.allow_deletes,
        accept=saved.accepted,
        only=saved.options.selection.items,
        guardrails=guardrails,
        base=base,
    )
    asked = saved.topics.validation is not None
    now = plan(path, cluster, options, connection, ask_broker=asked, again=True, tell=tell)
    return Verification(saved.terms.cluster, differences(saved, now.plan))
