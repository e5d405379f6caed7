"""The lease of a command that performs no plan, and writes to the cluster all the same."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.apply.environment import ApplyEnvironment
from reconciler.apply.lease import Lease
from reconciler.apply.lease_markers import time_of
from reconciler.apply.run import Run
from reconciler.model import ClusterState
from reconciler.plan import Options, Plan, Terms


@contextmanager
def holding(environment: ApplyEnvironment, terms: Terms, live: ClusterState) -> Iterator[None]:
    """Hold the lease that ``environment`` asks for; without a request nothing is held.

    Raises ``LeaseHeldError``, and ``StoppedError`` where the lease cannot be taken; it leaves no marker then.
    """
    if environment.lease_request is None:
        yield
        return
    today: datetime.date = time_of(environment.clock)
    # It names what has to be read, which is all bindings, and how long a lease lasts; nobody performs it.
    nothing = Plan(live.cluster_id, terms, Options(), today, ())
    lease = Lease(Run(nothing, environment, live, terms.default_allow), environment.lease_request)
    lease.take()
    try:
        yield
    finally:
        lease.release()
