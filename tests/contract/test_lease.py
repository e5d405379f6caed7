"""The lease on every cluster there is: taken once, renewed, given back, broken, on names that no listing hides."""

import secrets
from collections.abc import Iterator

import pytest

from reconciler.apply.environment import Identity, LeaseRequest, Progress
from reconciler.apply.lease import Lease, LeaseHeldError, lease_claims
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError
from reconciler.model.acl import AclBinding
from reconciler.system.process import SystemClock
from tests.contract.subject import ACLS, Subject
from tests.faults.scenario import before, plan_for, wish
from tests.verbs import deletions


def _lease(subject: Subject, holder: str, *breaks: str) -> Lease:
    world = ApplyEnvironment(
        subject.cluster, SystemClock(), Progress(), identity=Identity(secrets.token_hex(4), holder)
    )
    return Lease(Run(plan_for(before(1), wish(1)), world, subject.read(ACLS), False), LeaseRequest(holder, breaks))


@pytest.fixture(autouse=True)
def tidy(subject: Subject) -> Iterator[None]:
    """Brokers are shared: a lease that a failed test left would keep others from applying."""
    yield
    if left := [claim.binding for claim in lease_claims(subject.read(ACLS).bindings)]:
        subject.cluster.send(deletions(left))


def _markers(subject: Subject, expected: set[AclBinding]) -> None:
    """Waits until these markers stand, and no other."""
    subject.shows(ACLS, lambda state: {claim.binding for claim in lease_claims(state.bindings)} == expected)


def test_one_run_at_a_time(subject: Subject, own: str) -> None:
    first, second = _lease(subject, f"{own}.ÿ first"), _lease(subject, f"{own}-second")
    first.take()
    with pytest.raises(LeaseHeldError, match=f"{own}.ÿ first holds the lease"):
        second.take()
    first.renew_at = 0.0
    first.renew()
    _markers(subject, set(first.placed))
    first.release()
    _markers(subject, set())
    second.take()
    second.release()
    _markers(subject, set())


def test_a_broken_lease_is_noticed(subject: Subject, own: str) -> None:
    first, second = _lease(subject, f"{own}-first"), _lease(subject, f"{own}-second", f"{own}-first")
    first.take()
    second.take()
    _markers(subject, set(second.placed))
    with pytest.raises(StoppedError, match=f"broken by {own}-second"):
        first.renew(subject.read(ACLS))
    second.release()
    _markers(subject, set())
