"""What forbids a plan: of any number of reasons at once the worst is told, and without one it may be performed."""

import datetime
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from reconciler.apply.preflight import Preflight, RefusedError, StalePlanError, UndeclaredDefaultError, check, reading
from reconciler.model.acl import ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.guards import DeleteLimits
from reconciler.plan.observed import Facts, StepState
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ClusterError, ReadRequest
from tests.property.transitions import DAY
from tests.unit.apply.test_perform import acl

PLACE: Final = Origin("a.yaml", 1, 1)
LAST: Final = Expiry(DAY)
QUOTA: Final = ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1})
DENY, OLD, NEW = acl("x", "DENY", "User:b"), acl("old"), acl("x", principal="User:*")
TOPIC: Final = Topic("t", 1, 1, {"flush.ms": "1"}, "id")
LIVE: Final = ClusterState(
    "c", frozenset({DENY, OLD, acl("kept")}), {"t": TOPIC}, listings={ClientQuota.KIND: Listing(frozenset())}
)
WISH: Final = DesiredState(
    {**dict.fromkeys((DENY, acl("kept")), Declaration(PLACE)), NEW: Declaration(PLACE, expires=LAST)},
    {"t": DesiredTopic(Topic("t", 1, 1, {"flush.ms": "2"}), PLACE)},
    listed={ClientQuota.KIND: {QUOTA.entity: DesiredItem(QUOTA, Declaration(PLACE))}},
)
TERMS: Final = Terms("c", default_allow=False)
PLAN: Final = propose(WISH, LIVE, replace(TERMS, default_allow=None), Request(DAY, Options(allow_deletes=True)))
_OTHERS: Final = Selector(resource_type=ResourceType.TOPIC, names=NameSelector(literal=("x",)))


class Given:
    """A plan, the cluster and the declaration as they are by now, and the day."""

    def __init__(self) -> None:
        self.plan, self.live, self.terms = PLAN, LIVE, TERMS
        self.as_of: datetime.date = DAY

    def check(self, **how: bool) -> Preflight:
        return check(self.plan, self.live, self.terms, as_of=self.as_of, **how)

    def another_cluster(self) -> None:
        self.live = replace(self.live, cluster_id="other")

    def another_topic(self) -> None:
        self.live = replace(self.live, topics={"t": replace(TOPIC, configs={"flush.ms": "7"})})

    def no_right(self) -> None:
        self.live = self.live.with_listing(ClientQuota, Listing(frozenset(), may_alter=False))

    def too_late(self) -> None:
        self.as_of = DAY + datetime.timedelta(1)

    def out_of_scope(self) -> None:
        self.terms = replace(self.terms, scope=Scope(exclude=(_OTHERS,)))

    def another_order(self) -> None:
        steps = self.plan.steps
        self.plan = replace(self.plan, steps=(*steps[1:], steps[0]))

    def too_many(self) -> None:
        self.terms = replace(self.terms, limits=DeleteLimits(max_deletes=0))

    def unreviewed(self) -> None:
        self.live = replace(self.live, bindings=self.live.bindings - {DENY})

    def undeclared(self) -> None:
        self.terms = replace(self.terms, default_allow=None)


#: The worst first.
REASONS: Final[tuple[tuple[Callable[[Given], None], type[Exception], str], ...]] = (
    (Given.another_cluster, StalePlanError, "the plan is for cluster c, this is cluster other"),
    (Given.another_topic, StalePlanError, "the cluster has changed since the plan was made"),
    (Given.no_right, ClusterError, "not authorized to create quota of user a: nothing was sent"),
    (Given.too_late, StalePlanError, "the plan creates what has expired since it was made"),
    (Given.out_of_scope, StalePlanError, "the plan touches what the cluster's scope does not include"),
    (Given.another_order, StalePlanError, "the steps are not in the order that is safe for this cluster"),
    (Given.too_many, RefusedError, "limit: 1 deletions, but deleteLimits.maxDeletes is 0"),
    (Given.unreviewed, StalePlanError, "the plan would now grant access that was not reviewed"),
    (
        Given.undeclared,
        UndeclaredDefaultError,
        "1 patterns of cluster c change between having a binding and having none",
    ),
)


def test_of_every_set_of_reasons_the_worst_is_told() -> None:
    for flags in product((False, True), repeat=len(REASONS)):
        given, there = Given(), [one for flag, one in zip(flags, REASONS, strict=True) if flag]
        for apply, _, _ in there:
            apply(given)
        if not there:
            assert [one.state for one in given.check().findings] == [StepState.PENDING] * len(PLAN.steps)
            continue
        _, error, words = there[0]
        with pytest.raises(error) as caught:
            given.check()
        assert words in str(caught.value), flags


def test_what_is_stale_is_named_and_nothing_else() -> None:
    for apply, subjects in (
        (Given.another_topic, ["topic t"]),
        (Given.too_late, [f"create {NEW}"]),
        (Given.out_of_scope, [str(NEW)]),
    ):
        given = Given()
        apply(given)
        with pytest.raises(StalePlanError) as caught:
            given.check()
        assert [one.subject for one in caught.value.findings] == subjects


def test_what_is_found_again_by_whoever_looks_at_it_is_not_decided_here() -> None:
    given = Given()
    given.undeclared()
    found = given.check(observable=True)
    assert found.undeclared.opened == (OLD.pattern,)
    assert found.undeclared.closed == ()
    assert not Given().check().undeclared
    given.unreviewed()
    with pytest.raises(StalePlanError, match="not reviewed"):
        given.check(observable=True)
    # A plan that was made of this very state means what its making found.
    assert given.check(observable=True, made_of_live=True).defeated == ()


def test_a_gain_that_somebody_else_denies_by_now_is_named_and_one_that_is_there_already_is_not() -> None:
    for more, gone, defeated in (
        ((), (), []),
        ((acl("x", "DENY", "User:*"),), (), ["everybody else would not have READ on all of topic `x`"]),
        ((NEW,), (), []),
        ((acl("y", "DENY", "User:*"),), (), []),
    ):
        given = Given()
        given.live = replace(given.live, bindings=(given.live.bindings - {*gone}) | {*more})
        assert [*given.check().defeated] == defeated


@pytest.mark.parametrize("default_allow", [True, False, None])
def test_every_name_is_read_where_a_bridge_may_be_needed(default_allow: bool | None) -> None:
    terms = replace(TERMS, default_allow=default_allow, facts=Facts("User:us", super_users=("User:s",)))
    quotas: Plan = replace(PLAN, steps=tuple(step for step in PLAN.steps if step.action == "CreateQuota"))
    named = ReadRequest(all_topics=False, topic_names=("t",), listings=frozenset({"quotas"}))
    whole = replace(named, all_topics=True, principal="User:us", super_users=("User:s",), groups=True)
    assert reading(PLAN, terms) == (whole if default_allow else named)
    assert reading(quotas, terms) == replace(named, topic_names=())


def test_bindings_that_are_there_are_counted_as_before_the_first_step() -> None:
    """A share of deletions is of what there was, whatever an earlier attempt has done."""
    live = ClusterState("c", frozenset(acl(name) for name in "abcdef"))
    keep, more = [acl(name) for name in "abc"], [acl(name) for name in "uvw"]
    wish = DesiredState(dict.fromkeys([*keep, *more], Declaration(PLACE)))
    terms = Terms("c", default_allow=False, limits=DeleteLimits(max_delete_percent=50))
    plan = propose(wish, live, terms, Request(DAY, Options(allow_deletes=True)))
    for gone, came in product(range(4), repeat=2):
        now = (live.bindings - {acl(name) for name in "def"[:gone]}) | {*more[:came]}
        half = replace(live, bindings=now)
        states = [one.state for one in check(plan, half, terms).findings]
        assert states.count(StepState.DONE) == gone + came
        with pytest.raises(RefusedError, match="3 of 6 bindings in scope would go"):
            check(plan, half, replace(terms, limits=DeleteLimits(max_delete_percent=49)))
