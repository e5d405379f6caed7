"""Undo of listed kinds: every small state before, after and by now; what has changed since, ended or is lost stays."""

from itertools import product
from typing import Final

import pytest

from reconciler.apply.undo import revert_steps
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Expiry, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Change, Create, Delete, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

PLACE: Final = Origin("plan.json", 1, 1)
ENTITY: Final = QuotaEntity.of("a")
KEY: Final = "producer_byte_rate"
END: Final = Expiry.of("2026-01-31")
NAMED: Final = Declaration(Origin("q.yaml", 1, 1), expires=END)


def quota(rate: int | None) -> ClientQuota:
    return ClientQuota(ENTITY, {} if rate is None else {KEY: rate})


def change_of(old: int | None, new: int | None) -> Change:
    if old is None:
        return Create(quota(new))
    return Delete(quota(old)) if new is None else Update(quota(old), quota(new))


def test_a_quota_goes_back_to_what_it_was_unless_somebody_changed_it_or_it_has_expired() -> None:
    rates = (None, 1, 2)
    for old, new, now, declared, read in product(
        rates, rates, rates, (None, "declared", "expired"), (True, "no right", None)
    ):
        if old == new:
            continue
        listing: Listing[ClientQuota] = Listing(frozenset({quota(now)} if now else ()))
        if read is not True:
            listing = Listing(None, read or None)
        items = {} if declared is None else {ENTITY: DesiredItem(quota(2), NAMED, expired=declared == "expired")}
        manifests = DesiredState(listed={ClientQuota.KIND: items})
        live = ClusterState("c", listings={ClientQuota.KIND: listing})
        step = Step(Phase.ALTER_QUOTAS, change_of(old, new))
        found = revert_steps([step], live, Scope(), manifests, PLACE)
        if declared == "expired" and old is not None:
            why = "it has expired"
        elif read is not True:
            why = read or "the client quotas were not read"
        else:
            left, there = ("not set" if one is None else f"{one}" for one in (new, now))
            why = "" if now == new else f"somebody has changed it since: producer_byte_rate: {left} → {there}"
        if why:
            assert (found.kept, found.desired.listed) == ((f"quota of user a stays: {why}",), {}), (old, new, now)
            continue
        wanted = found.desired.of(ClientQuota)[ENTITY]
        assert (wanted.item, wanted.absent, wanted.declaration.origin) == (quota(old), old is None, PLACE)
        assert wanted.declaration.expires == (END if declared else None)
        assert found.kept == ()


@pytest.mark.parametrize("declared", [None, "again"])
def test_what_went_because_its_end_had_come_stays_gone_though_the_manifests_have_lost_its_lines(
    declared: str | None,
) -> None:
    step = Step(Phase.ALTER_QUOTAS, Delete(quota(1)), NAMED.origin, END)
    items = {} if declared is None else {ENTITY: DesiredItem(quota(2), NAMED)}
    live = ClusterState("c", listings={ClientQuota.KIND: Listing(frozenset())})
    found = revert_steps([step], live, Scope(), DesiredState(listed={ClientQuota.KIND: items}), PLACE)
    assert found.kept == (() if declared else ("quota of user a stays: it has expired",))
    assert bool(found.desired.listed) is bool(declared)


def test_a_password_that_is_lost_stays_lost_and_a_user_that_came_goes() -> None:
    one, two = ScramUser("a", {"SCRAM-SHA-256": 4096}), ScramUser("a", {"SCRAM-SHA-256": 8192})
    for change, lost in ((Create(one), False), (Update(two, one), True), (Delete(two), True)):
        there = frozenset(() if change.after is None else (one,))
        live = ClusterState("c", listings={ScramUser.KIND: Listing(there)})
        found = revert_steps([Step(Phase.ALTER_USERS, change)], live, Scope(), DesiredState(), PLACE)
        assert (len(found.kept), "is gone: Kafka tells no password" in "".join(found.kept)) == (lost, lost)
        if not lost:
            assert found.desired.of(ScramUser)["a"].absent


def test_what_is_out_of_scope_by_now_stays() -> None:
    step = Step(Phase.ALTER_QUOTAS, Create(quota(1)))
    live = ClusterState("c", listings={ClientQuota.KIND: Listing(frozenset({quota(1)}))})
    scope = Scope(exclude=(Selector(principals=NameSelector(any_name=True)),))
    found = revert_steps([step], live, scope, DesiredState(), PLACE)
    assert found.kept == ("“create quota of user a” stays: it is not in the cluster's scope any more",)
    assert found.desired.listed == {}
