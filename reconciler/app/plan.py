"""A plan and a drift report, from the names of directory and cluster. Light: what compares is loaded meanwhile.

Connecting and listing take the cluster longer than it takes this process to load the rest, so they begin first.
"""

import datetime
import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.app.connections import manifests_below
from reconciler.app.options import ConnectionOptions, PlanOptions, Tell, ignore, moment
from reconciler.app.session import open_declared, refuse_another_time

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
