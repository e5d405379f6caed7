"""Client quotas in a plan: what is compared, when it is sent, what the file says, what a step expects."""

import datetime
from dataclasses import replace

import pytest

from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Expiry, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.kinds import kind_of
from reconciler.plan.observed import Facts, StepState
from reconciler.plan.proposal import Options, Plan, Selection, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard

DAY = datetime.date(2027, 1, 1)
ALICE, BOB, BOTH = QuotaEntity.of("alice"), QuotaEntity.of("bob"), QuotaEntity.of("alice", "app")


def quota(entity: QuotaEntity, **values: float) -> ClientQuota:
    return ClientQuota(entity, values)


def wanted(
    *quotas: ClientQuota, absent: tuple[QuotaEntity, ...] = (), expired: tuple[ClientQuota, ...] = ()
) -> DesiredState:
    terms = Declaration(Origin("q.yaml", 7, 7), "why", "T-1", Expiry(datetime.date(2027, 3, 1)))
    declared = {one.entity: DesiredItem(one, terms) for one in quotas}
    gone = {entity: DesiredItem(ClientQuota(entity), terms, absent=True) for entity in absent}
    return DesiredState(
        listed={
            "quotas": {**declared, **gone, **{one.entity: DesiredItem(one, terms, expired=True) for one in expired}}
        }
    )


def planned(
    desired: DesiredState, *live: ClientQuota, terms: Terms | None = None, select: Selection | None = None
) -> Plan:
    state = ClusterState("c", listings={"quotas": Listing(frozenset(live))})
    options = Options(allow_deletes=True, selection=select or Selection())
    return propose(desired, state, terms or Terms("prod"), Request(DAY, options))


def changes(plan: Plan) -> list[object]:
    return [step.change for step in plan.steps]


def test_declared_quotas_are_created_altered_and_deleted_as_a_whole() -> None:
    new, before, after = (
        quota(ALICE, producer_byte_rate=1),
        quota(BOB, request_percentage=1),
        quota(BOB, request_percentage=2),
    )
    old = quota(BOTH, consumer_byte_rate=3)
    plan = planned(wanted(new, after, expired=(old,)), before, old)
    assert changes(plan) == [Delete(old), Create(new), Update(before, after)]
    assert [step.action for step in plan.steps] == ["DeleteQuota", "CreateQuota", "AlterQuota"]
    assert plan.steps[1].expires == Expiry(datetime.date(2027, 3, 1))
    assert (plan.steps[1].reason, plan.steps[1].ticket) == ("why", "T-1")
    assert plan.barriers == ()


def test_a_quota_that_is_as_declared_is_no_difference() -> None:
    same = quota(ALICE, producer_byte_rate=1)
    assert changes(planned(wanted(same, absent=(BOB,)), same)) == []


def test_absence_deletes_and_silence_does_not() -> None:
    there = quota(ALICE, producer_byte_rate=1)
    assert changes(planned(wanted(absent=(ALICE,)), there)) == [Delete(there)]
    assert changes(planned(wanted(), there)) == []


def test_pruning_takes_what_is_in_scope() -> None:
    mine, other, default = (quota(entity, request_percentage=1) for entity in (ALICE, BOB, QuotaEntity.of("")))
    scope = Scope(include=(Selector(principals=NameSelector(prefixes=("User:a",))),))
    terms = Terms("prod", scope=scope, prune=frozenset({"quotas"}))
    assert changes(planned(wanted(), mine, other, default, terms=terms)) == [Delete(mine)]
    assert changes(planned(wanted(), mine, terms=replace(terms, scope=Scope()))) == []


def test_quotas_that_could_not_be_read_are_skipped_and_never_created() -> None:
    live = ClusterState("c", listings={"quotas": Listing(gap="not authorised")})
    plan = propose(wanted(quota(ALICE, producer_byte_rate=1)), live, Terms("prod"), Request(DAY))
    assert plan.steps == ()
    assert [(one.reason, one.subject, one.detail) for one in plan.skipped] == [
        (SkipReason.UNREADABLE, "quota of user alice", "not authorised")
    ]


def test_an_unknown_key_stays_and_is_listed() -> None:
    live = quota(ALICE, producer_byte_rate=1, future_rate=2)
    plan = planned(wanted(quota(ALICE, producer_byte_rate=1)), live)
    assert changes(plan) == []
    assert [(one.reason, one.subject) for one in plan.skipped] == [
        (SkipReason.UNSUPPORTED, "quota of user alice: future_rate")
    ]


def test_a_selection_by_principals_selects_quotas() -> None:
    desired = wanted(quota(ALICE, producer_byte_rate=1), quota(BOB, producer_byte_rate=1))
    assert changes(planned(desired, select=Selection(only=("principals=User:a*",)))) == [
        Create(quota(ALICE, producer_byte_rate=1))
    ]
    assert changes(planned(desired, select=Selection(only=("topics=*",)))) == []


def test_a_plan_with_quotas_reads_back_equal() -> None:
    before, after = quota(BOB, request_percentage=1), quota(BOB, request_percentage=2.5)
    plan = planned(
        wanted(quota(QuotaEntity.of("", "x"), producer_byte_rate=1), after, absent=(ALICE,)),
        before,
        quota(ALICE, request_percentage=1),
    )
    assert len(plan.steps) == 3
    assert parse_plan(plan_text(plan)) == plan


def test_what_a_step_finds() -> None:
    before, after = quota(BOB, request_percentage=1, producer_byte_rate=2), quota(BOB, request_percentage=3)
    (step,) = planned(wanted(after), before).steps

    def found(*live: ClientQuota) -> str:
        return step.observed(ClusterState("c", listings={"quotas": Listing(frozenset(live))})).state.value

    assert found(before) == "pending"
    assert found(after) == "done"
    assert found() == "stale"
    assert found(quota(BOB, request_percentage=9)) == "stale"
    assert step.observed(ClusterState("c", listings={"quotas": Listing(gap="no")})).state.value == "unreadable"


def test_that_we_may_not_alter_them_is_a_warning() -> None:
    live = ClusterState("c", listings={"quotas": Listing(frozenset(), may_alter=False)})
    plan = propose(wanted(quota(ALICE, producer_byte_rate=1)), live, Terms("prod"), Request(DAY))
    assert any("ALTER_CONFIGS" in warning for warning in plan.login_warnings)


OF = QuotaEntity.of
FACTS = Facts("User:ours", ("User:broker",), ("User:admin",))
LOGINS = ["User:admin", "User:broker", "User:ours"]
LOW, HIGH = {"controller_mutation_rate": 0.001}, {"controller_mutation_rate": 1000.0}


def risky(desired: DesiredState, *live: ClientQuota, login: str | None = None, facts: Facts = FACTS) -> list[str]:
    state = ClusterState("c", listings={"quotas": Listing(frozenset(live))})
    terms = Terms("prod", facts=facts, scope=Scope(include=(Selector(NameSelector(any_name=True)),)))
    plan = propose(desired, state, terms, Request(DAY, Options(allow_deletes=True), login=login))
    assert {one.guard for one in plan.refusals} <= {Guard.LOGIN_LIMIT}
    return [one.object for one in plan.refusals]


@pytest.mark.parametrize(
    ("entity", "hit"),
    [
        (OF("ours"), ["User:ours"]),
        (OF("admin"), ["User:admin"]),
        (OF("broker"), ["User:broker"]),
        (OF("admin", "any-client"), ["User:admin"]),
        (OF("admin", ""), ["User:admin"]),
        (OF(""), LOGINS),
        (OF("", ""), LOGINS),
        (OF(client_id=""), LOGINS),
        (OF(ip=""), ["default ip"]),
        (OF("alice"), []),
        (OF("", "app"), []),
        (OF(client_id="app"), []),
        (OF(ip="10.0.0.1"), []),
    ],
    ids=str,
)
def test_a_quota_of_a_login_that_has_to_work_is_refused(entity: QuotaEntity, hit: list[str]) -> None:
    """Whichever key it limits; a default counts for every login that is under it."""
    of_ip = dict(entity.parts).get("ip") is not None
    keys = ["connection_creation_rate"] if of_ip else ["request_percentage", "controller_mutation_rate"]
    for key in [*keys, *([] if of_ip else ["producer_byte_rate", "consumer_byte_rate"])]:
        assert risky(wanted(quota(entity, **{key: 1}))) == hit


def test_the_login_of_the_connection_counts_without_any_word_of_manifests() -> None:
    assert risky(wanted(quota(OF("ANONYMOUS"), **LOW)), login="User:ANONYMOUS", facts=Facts()) == ["User:ANONYMOUS"]
    assert risky(wanted(quota(OF("ANONYMOUS"), **LOW)), facts=Facts()) == []


def test_a_default_counts_only_for_logins_without_a_quota_of_their_own() -> None:
    own = [quota(OF(name), **HIGH) for name in ("ours", "broker")]
    assert risky(wanted(quota(OF(""), **LOW), *own), *own) == ["User:admin"]


def test_a_higher_limit_and_no_limit_lock_nobody_out() -> None:
    assert risky(wanted(quota(OF("ours"), **HIGH)), quota(OF("ours"), **LOW)) == []
    assert risky(wanted(absent=(OF("ours"),)), quota(OF("ours"), **LOW)) == []
    assert risky(wanted(quota(OF("ours"), **LOW)), quota(OF("ours"), **HIGH)) == ["User:ours"]


@pytest.mark.parametrize("entity", [OF("ours"), OF("ours", "tool")])
def test_the_end_of_an_own_quota_counts_where_a_lower_default_is_left(entity: QuotaEntity) -> None:
    """Also by an ``expires`` in the past."""
    live = (quota(entity, **HIGH), quota(OF(""), **LOW))
    assert risky(wanted(absent=(entity,)), *live) == ["User:ours"]
    assert risky(wanted(expired=(live[0],)), *live) == ["User:ours"]


def test_an_address_that_may_be_ours_is_a_warning() -> None:
    state = ClusterState("c", listings={"quotas": Listing(frozenset())})
    terms = Terms("prod", facts=FACTS)
    entity = OF(ip="10.0.0.1")
    plan = propose(wanted(quota(entity, connection_creation_rate=1)), state, terms, Request(DAY))
    assert plan.warnings[-1] == (
        "connections from 10.0.0.1 are limited to connection_creation_rate 1 by ip 10.0.0.1: nobody knows the "
        "addresses of our login, the super users and the brokers"
    )


def test_a_person_accepts_a_quota_of_a_login_by_name() -> None:
    state = ClusterState("c", listings={"quotas": Listing(frozenset())})
    said = AcceptedGuard(Guard.LOGIN_LIMIT, "User:ours")
    for given, left in (((), 1), ((said,), 0)):
        request = Request(DAY, accepted=given)
        plan = propose(wanted(quota(OF("ours"), **LOW)), state, Terms("prod", facts=FACTS), request)
        assert len(plan.refusals) == left
        assert not left or plan.refusals[0].message == (
            "User:ours, which is our own login, is limited to controller_mutation_rate 0.001 by user ours"
        )


def test_what_has_to_be_set_again_after_a_deletion_is_judged_only_where_the_deletion_can_be() -> None:
    one, other = (quota(QuotaEntity.of(ip=ip), connection_creation_rate=2) for ip in ("127.9", "127.0.0.9"))
    step = Delete(one.with_again(other))
    unread = ClusterState("c").with_listing(ClientQuota, Listing(gap="no right"))
    assert kind_of(step).observe(step, unread).state is StepState.UNREADABLE
    altered = quota(QuotaEntity.of(ip="127.9"), connection_creation_rate=7)
    state = ClusterState("c").with_listing(ClientQuota, Listing(frozenset({altered, other})))
    found = kind_of(step).observe(step, state)
    assert (found.state, found.subject) == (StepState.STALE, one.subject)
    # Nor is it set again as the plan has it where somebody has given it another value since.
    other_now = quota(QuotaEntity.of(ip="127.0.0.9"), connection_creation_rate=7)
    for kept, state_then in ((other, StepState.PENDING), (other_now, StepState.STALE)):
        state = ClusterState("c").with_listing(ClientQuota, Listing(frozenset({one, kept})))
        assert kind_of(step).observe(step, state).state is state_then


def test_a_limit_of_a_name_of_a_host_goes_beside_what_is_of_no_address() -> None:
    """Its addresses are the resolver's: it may be that of a declared address, never that of a declared user."""
    named = quota(QuotaEntity.of(ip="broker.example.com"), connection_creation_rate=2)
    address, user = quota(QuotaEntity.of(ip="127.9"), connection_creation_rate=3), quota(ALICE, producer_byte_rate=1)
    for kept, goes in ((user, True), (address, False)):
        plan = planned(wanted(kept, absent=(named.entity,)), named, kept)
        assert [step.change for step in plan.steps] == ([Delete(named)] if goes else [])
        assert [item.reason for item in plan.skipped] == ([] if goes else [SkipReason.IMPOSSIBLE])


def test_deletions_are_a_share_of_what_was_there_before_what_is_done_of_the_plan() -> None:
    """A limit that counts shares says the same before a run and in the middle of it."""
    here, more, gone = (quota(QuotaEntity.of(name), request_percentage=1) for name in ("here", "more", "gone"))
    altered = Update(quota(QuotaEntity.of("here"), request_percentage=2), here)
    state = ClusterState("c").with_listing(ClientQuota, Listing(frozenset({here, more})))
    step = Delete(here)
    cases: list[tuple[list[Change], int]] = [([], 2), ([Create(more)], 1), ([Delete(gone)], 3), ([altered], 2)]
    for done, there in cases:
        deletions = kind_of(step).deletions([step], state, Scope(), done)
        assert deletions is not None
        assert (deletions.number, deletions.owned) == (1, there)
