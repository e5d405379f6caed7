"""Facts that only manifests state: what a plan shows is never smaller than in any world in which they may be untrue."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome
from reconciler.access.assertions import Checker
from reconciler.access.authorizer import Authorizer
from reconciler.model.acl import SUPPORTED_OPERATIONS, AclBinding, AclOperation, ResourcePattern, ResourceType
from reconciler.model.state import FactSource, FactSources
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.review.access_review import AccessTrend
from tests.property.naive import permitted
from tests.property.test_access_review import moved
from tests.property.transitions import ASKS, DAY, TOPICS, Transition, bindings, transitions

_CLAIMED = FactSources(super_users=FactSource.MANIFESTS, default_allow=FactSource.MANIFESTS)
_super_users = st.sampled_from([(), ("User:a",), ("User:a", "User:b")])


def _plan(found: Transition, facts: Facts, default_allow: bool | None) -> Plan:
    guards = (Guard.TOPIC_DELETE, Guard.DATA_LOSS)
    accepted = [AcceptedGuard(guard, name) for guard in guards for name in TOPICS]
    request = Request(DAY, Options(allow_deletes=True), accepted=tuple(accepted))
    return propose(found.desired, found.live, Terms("c", default_allow=default_allow, facts=facts), request)


@given(transitions(), _super_users, st.booleans(), st.booleans())
def test_no_gain_and_no_loss_is_hidden_by_a_claim(
    found: Transition, super_users: tuple[str, ...], stated: bool, truth: bool
) -> None:
    plan = _plan(found, Facts(super_users=super_users, sources=_CLAIMED), stated)
    gained, lost = moved(plan, found.live, default_allow=truth)
    for gains, asks in ((True, gained), (False, lost)):
        for ask in asks:
            assert any(
                row.principal in (None, ask.principal)
                and row.resources.resource_type is ask.resource_type
                and row.resources.contains(ask.name)
                and ask.operation in (row.gained if gains else row.lost)
                for row in plan.access.access_changes
            ), ask
    if gained:
        assert plan.access.trend in (AccessTrend.WIDENING, AccessTrend.MIXED)
    if lost:
        assert plan.access.trend in (AccessTrend.NARROWING, AccessTrend.MIXED)


@given(transitions(), _super_users, st.booleans())
def test_established_facts_are_reviewed_as_they_are(
    found: Transition, super_users: tuple[str, ...], stated: bool
) -> None:
    operators = replace(_CLAIMED, super_users=FactSource.OPERATOR, default_allow=FactSource.OPERATOR)
    plan = _plan(found, Facts(super_users=super_users, sources=operators), stated)
    known = _plan(found, Facts(), stated)
    assert [replace(row, super_user=None) for row in plan.access.access_changes] == list(known.access.access_changes)
    assert all(row.reading is None for row in plan.access.access_changes)
    assert plan.terms.claims == ()


@given(
    st.frozensets(bindings, max_size=6),
    _super_users,
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(["User:a", "User:b"]),
    st.sampled_from([AclOperation.READ, AclOperation.WRITE]),
    st.sampled_from([AssertionKind.MUST, AssertionKind.MUST_NOT]),
)
def test_no_assertion_passes_by_a_claim(
    live: frozenset[AclBinding],
    super_users: tuple[str, ...],
    default_allow: tuple[bool, bool],
    principal: str,
    operation: AclOperation,
    kind: AssertionKind,
) -> None:
    stated, truth = default_allow
    authorizer = Authorizer(live, super_users, stated).doubting(super_users, default_allow=True)
    pattern = ResourcePattern(ResourceType.TOPIC, "xa")
    assertion = Assertion("t", kind, frozenset({operation}), (pattern,), (principal,), ())
    outcome = Checker(authorizer, claimed_super_users=super_users).check(assertion).outcome
    assert operation in SUPPORTED_OPERATIONS[ResourceType.TOPIC]
    asks = [ask for ask in ASKS if (ask.principal, ask.name, ask.operation) == (principal, "xa", operation)]
    answers = {permitted(live, ask, default_allow=truth) for ask in asks if ask.resource_type is ResourceType.TOPIC}
    broken = False in answers if kind is AssertionKind.MUST else True in answers
    assert not (broken and outcome is AssertionOutcome.PASS)
