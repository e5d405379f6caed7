"""Quotas of one address in several spellings: whatever is live, and wherever a run ends, the declared one is enforced.

The broker here does as ``ClientQuotaControlManager`` and ``ConnectionQuotas``: a value that is set already makes no
record, a deletion takes the limit off the address, and of two spellings the one that was set last holds.
"""

import datetime
from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from typing import Final

import pytest

from reconciler.apply.environment import Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import Preflight
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Delete, Listing, resource_of, values_of
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import kind_of
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock

KEY: Final = "connection_creation_rate"
SPELLINGS: Final = ("127.0.0.9", "::ffff:127.0.0.9", "127.9")
DAY: Final = datetime.date(2027, 1, 1)


def quota(text: str, rate: int) -> ClientQuota:
    return ClientQuota(QuotaEntity.of(ip=text), {KEY: rate})


class Broker(MemoryCluster):
    """Enforces as brokers do; takes ``left`` requests."""

    def __init__(self, live: Sequence[ClientQuota], left: int = 1000) -> None:
        super().__init__(ClusterState("c").with_listing(ClientQuota, Listing(frozenset(live))))
        self.enforced = {one.enforced: one.values[KEY] for one in live}
        self.left = left

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        for change in changes:
            for part in kind_of(change).parts(change):
                if not self.left:
                    raise ClusterError("NO_ANSWER", "the connection was closed")
                self.left -= 1
                item = resource_of(part)
                before = values_of(self.state.listing(ClientQuota).by_key.get(item.key))
                assert super().send([part])[0].good
                now = values_of(self.state.listing(ClientQuota).by_key.get(item.key))
                if before != now:
                    self.enforced.pop(item.enforced, None)
                    self.enforced |= {item.enforced: now[KEY]} if now else {}
        return [Answer(AnswerStatus.DONE)] * len(changes)


def planned(broker: Broker, wanted: ClientQuota, *, prune: bool) -> Plan:
    desired = DesiredState(
        listed={ClientQuota.KIND: {wanted.key: DesiredItem(wanted, Declaration(Origin("q.yaml", 1, 1)))}}
    )
    terms = Terms(
        "c",
        Scope(include=(Selector(NameSelector(any_name=True)),)),
        prune=frozenset({ClientQuota.KIND} if prune else ()),
    )
    return propose(desired, broker.state, terms, Request(DAY, Options(allow_deletes=True)))


def applied(broker: Broker, plan: Plan) -> bool:
    live = broker.read(ReadRequest(listings=[ClientQuota.KIND]))
    findings = Preflight(tuple(step.observed(live) for step in plan.steps))
    return perform(plan, live, findings, ApplyEnvironment(broker, StillClock(), Progress())).succeeded


_WANTED: Final = quota(SPELLINGS[0], 1)
LIVE: Final = [
    tuple(quota(text, rate) for text, rate in zip(order, rates, strict=True))
    for number in range(len(SPELLINGS) + 1)
    for order in permutations(SPELLINGS, number)
    for rates in product((1, 1000), repeat=number)
]


@cache
def _whole(live: tuple[ClientQuota, ...]) -> tuple[Plan, int]:
    """The plan of a live state, and how many requests carry it out."""
    broker = Broker(live)
    plan = planned(broker, _WANTED, prune=True)
    before = broker.left
    assert applied(broker, plan), live
    return plan, before - broker.left


@pytest.mark.parametrize("cut", range(8))
def test_wherever_a_run_ends_the_same_plan_ends_with_the_declared_limit(cut: int) -> None:
    for live in LIVE:
        plan, requests = _whole(live)
        if cut > requests:
            continue  # nothing is cut off: as with the last request
        broker = Broker(live, cut)
        applied(broker, plan)
        broker.left = 1000
        assert applied(broker, plan), live
        assert broker.state.listing(ClientQuota).items == frozenset({_WANTED})
        if len(live) > 1 or _WANTED not in live:
            assert broker.enforced == {_WANTED.enforced: 1}, live
        assert not planned(broker, _WANTED, prune=True).steps


def test_no_run_takes_more_requests_than_are_cut() -> None:
    assert max(_whole(live)[1] for live in LIVE) < 8


def test_what_stays_beside_a_declared_one_is_told_and_never_nothing() -> None:
    wanted = quota(SPELLINGS[0], 1)
    for live in LIVE:
        broker = Broker(live)
        plan = planned(broker, wanted, prune=False)
        others = {one for one in live if one.key != wanted.key}
        told = {resource_of(one.change): one.detail for one in plan.skipped if one.change is not None}
        assert told.keys() == others
        assert all(f"same address as the {wanted.subject}" in one and "cannot be read" in one for one in told.values())


def test_the_quota_of_a_host_is_told_and_does_not_go_while_an_address_has_one() -> None:
    wanted, host = quota(SPELLINGS[0], 1), quota("broker-1", 1)
    for prune in (False, True):
        for live in ((host,), (host, wanted)):
            plan = planned(Broker(live), wanted, prune=prune)
            gone = [step.change for step in plan.steps if step.change.after is None]
            assert gone == ([Delete(host)] if prune and wanted not in live else [])
            assert bool(plan.skipped) == (not gone)
    assert planned(Broker((host,)), ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1}), prune=False).skipped
