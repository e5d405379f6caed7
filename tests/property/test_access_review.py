"""What a plan says about access, against the naive authorizer: nothing gained or lost is missing from its rows."""

import json
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.apply.preflight import StalePlanError, check
from reconciler.model.acl import (
    SUPPORTED_OPERATIONS,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Create, Delete
from reconciler.model.state import ClusterState
from reconciler.plan.file import plan_to_json
from reconciler.plan.kinds.acl import is_acl_change, touched_binding, touched_bindings
from reconciler.plan.observed import Facts
from reconciler.plan.order import UnsafeOrderError, prove
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan, bindings_after
from reconciler.plan.review.access_change import authorizer_of, transition
from reconciler.plan.review.access_review import difference_review, unreviewed
from reconciler.plan.review.effects import EffectKind
from reconciler.plan.step import Step
from reconciler.show.plan import plan_lines
from tests.property.naive import Ask, applies, covers, permitted
from tests.property.transitions import ASKS, Transition, bindings, crowded, declared, transitions
from tests.unit.apply.test_perform import acl

_TAGS = {
    (AclPermissionType.ALLOW, True): EffectKind.GRANT,
    (AclPermissionType.ALLOW, False): EffectKind.REVOKE,
    (AclPermissionType.DENY, True): EffectKind.NARROWS,
    (AclPermissionType.DENY, False): EffectKind.WIDENS,
}


def moved(plan: Plan, live: ClusterState, *, default_allow: bool) -> tuple[list[Ask], list[Ask]]:
    """The requests that a plan newly permits, and those that it no longer permits."""
    before, after = live.bindings, bindings_after(live.bindings, plan.steps)
    answers = [
        (ask, permitted(before, ask, default_allow=default_allow), permitted(after, ask, default_allow=default_allow))
        for ask in ASKS
        if ask.operation in SUPPORTED_OPERATIONS[ask.resource_type]
    ]
    return [ask for ask, old, new in answers if new and not old], [ask for ask, old, new in answers if old and not new]


@given(transitions(), st.booleans())
def test_every_gain_and_every_loss_has_a_row(found: Transition, default_allow: bool) -> None:
    plan = found.plan(default_allow=default_allow)
    for gained, asks in zip((True, False), moved(plan, found.live, default_allow=default_allow), strict=True):
        for ask in asks:
            assert any(
                row.principal in (None, ask.principal)
                and row.resources.resource_type is ask.resource_type
                and row.resources.contains(ask.name)
                and ask.operation in (row.gained if gained else row.lost)
                for row in plan.access.access_changes
            ), ask


@given(transitions())
def test_the_word_for_the_whole_plan_is_true(found: Transition) -> None:
    plan = found.plan()
    gained, lost = moved(plan, found.live, default_allow=False)
    document = plan_to_json(plan)
    if gained:
        assert document["accessChange"] in ("widening", "mixed")
    if lost:
        assert document["accessChange"] in ("narrowing", "mixed")


@given(transitions())
def test_a_step_with_a_share_in_a_change_is_tagged_with_it(found: Transition) -> None:
    plan = found.plan()
    gained, lost = moved(plan, found.live, default_allow=False)
    for step, effect in zip(plan.steps, plan.access.effects, strict=True):
        if (binding := touched_binding(step.change)) is None:
            assert effect is None
            continue
        assert effect is not None
        created = isinstance(step.change, Create)
        tag = _TAGS[binding.entry.permission_type, created]
        asks = gained if tag in (EffectKind.GRANT, EffectKind.WIDENS) else lost
        if any(covers(binding, ask) and applies(binding, ask) for ask in asks):
            assert effect.kind is tag
        if effect.kind is EffectKind.REDUNDANT:
            other = effect.covered_by
            assert other in bindings_after(found.live.bindings, plan.steps)
            assert other != binding
            assert not [ask for ask in ASKS if _says(binding, ask) and not _says(other, ask)]


def _says(binding: AclBinding | None, ask: Ask) -> bool:
    return binding is not None and covers(binding, ask) and applies(binding, ask)


@given(transitions(), st.permutations([Phase.CREATE_DENY, Phase.CREATE_ALLOW, Phase.DELETE_ALLOW, Phase.DELETE_DENY]))
def test_a_wrong_order_is_caught_with_a_request_that_shows_it(found: Transition, order: list[Phase]) -> None:
    plan = found.plan()
    acl = [step for step in plan.steps if step.phase in order]
    shuffled = sorted(acl, key=lambda step: order.index(step.phase))
    before = Authorizer(found.live.bindings)
    wrong = _naive_violation(found.live, shuffled)
    try:
        prove(before, shuffled, default_allow=False)
    except UnsafeOrderError as error:
        said = error.violation
    else:
        assert wrong is None
        return
    if said.resource_type is ResourceType.CLUSTER or said.operation not in {ask.operation for ask in ASKS}:
        return
    ask = Ask(said.principal, said.host, said.operation, said.resource_type, said.name)
    states = [found.live.bindings, _behind(found.live, shuffled, said.phase), bindings_after(found.live.bindings, acl)]
    old, now, new = (permitted(state, ask, default_allow=False) for state in states)
    assert (old, now, new) in ((False, True, False), (True, False, True))


def _behind(live: ClusterState, steps: list[Step], phase: Phase) -> frozenset[AclBinding]:
    last = max(index for index, step in enumerate(steps) if step.phase is phase)
    return bindings_after(live.bindings, steps[: last + 1])


def _naive_violation(live: ClusterState, steps: list[Step]) -> Ask | None:
    """A request that some state between phases answers as neither end does."""
    after = bindings_after(live.bindings, steps)
    for phase in {step.phase for step in steps}:
        now = _behind(live, steps, phase)
        for ask in ASKS:
            old, seen, new = (permitted(state, ask, default_allow=False) for state in (live.bindings, now, after))
            if old == new != seen:
                return ask
    return None


def test_the_order_of_other_tools_is_caught() -> None:
    """Deleting before creating interrupts whoever both states permit."""
    old, new = acl("x"), acl("x", operation="ALL")
    steps = [Step(Phase.DELETE_ALLOW, Delete(old)), Step(Phase.CREATE_ALLOW, Create(new))]
    with pytest.raises(UnsafeOrderError, match="READ TOPIC x would be interrupted"):
        prove(Authorizer({old}), steps, default_allow=False)


def test_what_is_open_for_a_moment_is_found_beside_what_stays_open() -> None:
    """A prefix comes and goes, a name below it comes and stays: the request that shows it is about another name."""
    prefix = acl("x-")
    stays = prefix._replace(pattern=ResourcePattern(ResourceType.TOPIC, "x-"))
    steps = [Step(Phase.CREATE_ALLOW, Create(one)) for one in (prefix, stays)]
    with pytest.raises(UnsafeOrderError, match="would be too open") as found:
        prove(Authorizer({}), [*steps, Step(Phase.DELETE_ALLOW, Delete(prefix))], default_allow=False)
    name = found.value.violation.name
    assert name.startswith("x-")
    assert name != "x-"


def test_what_only_we_use_is_nobodys_access() -> None:
    mark = acl("__kr.run.1")
    request = AccessRequest("User:a", "127.0.0.1", AclOperation.READ, ResourceType.TOPIC, mark.pattern.name)
    assert Authorizer({mark}).permits([request]) == [True]
    assert authorizer_of(ClusterState("c", frozenset({mark})), False).permits([request]) == [False]


_CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")


def test_a_right_that_moves_to_another_resource_is_told_where_it_is_missed() -> None:
    """CREATE on a topic's name does what CREATE on the cluster does, but the DENY on the one comes before the other."""
    topics = acl("x-", operation="CREATE")
    cluster, deny = (
        acl("x", permission, principal, "CREATE")._replace(pattern=_CLUSTER)
        for permission, principal in (("ALLOW", "User:a"), ("DENY", "User:*"))
    )
    live = ClusterState("cluster", frozenset({cluster}))
    plan = Transition(live, declared(frozenset({deny, topics}), {})).plan()
    told = [callout.text for callout in plan.access.callouts if callout.rule == "interrupted"]
    assert told == [
        "after “create DENY ACLs”, "
        "User:a is refused CREATE on TOPIC x- for a moment: what permits it before and after are rights "
        "on two resources, and the one goes before the other comes"
    ]
    shown = "\n".join(plan_lines(plan))
    assert "Safe order: at every step, nobody has access that neither the old nor the new state gives." in shown
    smooth = Transition(live, declared(frozenset({topics}), {})).plan()
    assert not [callout for callout in smooth.access.callouts if callout.rule == "interrupted"]


@given(transitions(), st.frozensets(bindings | crowded, max_size=4), st.frozensets(bindings, max_size=3), st.data())
def test_no_grant_slips_through_that_nobody_reviewed(
    drawn: Transition, kept: frozenset[AclBinding], foreign: frozenset[AclBinding], data: st.DataObject
) -> None:
    """Whatever else somebody changes meanwhile: a gain that was none at review time is named."""
    found = Transition(
        replace(drawn.live, bindings=drawn.live.bindings | kept),
        replace(drawn.desired, bindings={**drawn.desired.bindings, **declared(kept, {}).bindings}),
    )
    plan = found.plan()
    mine = set(touched_bindings(step.change for step in plan.steps))
    gone = {binding for binding in sorted(found.live.bindings - mine) if data.draw(st.booleans())}
    now = ClusterState(found.live.cluster_id, (found.live.bindings - gone) | (foreign - mine))
    reviewed = set(moved(plan, found.live, default_allow=False)[0])
    more = [ask for ask in moved(plan, now, default_allow=False)[0] if ask not in reviewed]
    again = transition(now, plan.steps, Facts(), default_allow=False)
    named = () if again is None else tuple(unreviewed(difference_review(again.difference), plan.access))
    for ask in more:
        assert any(row.resources.contains(ask.name) and ask.operation in row.gained for row in named), ask
    if now.bindings == found.live.bindings:
        assert named == ()


@given(transitions(), st.data())
def test_a_plan_that_is_half_done_still_means_what_was_reviewed(found: Transition, data: st.DataObject) -> None:
    plan = found.plan()
    done = [step for step in plan.steps if is_acl_change(step.change) and data.draw(st.booleans())]
    half = ClusterState(
        found.live.cluster_id, bindings_after(found.live.bindings, done), found.live.topics, found.live.opaque
    )
    check(plan, half, plan.terms)


def test_a_grant_that_was_not_reviewed_is_stale() -> None:
    """A DENY that stood at review time and is gone at apply: the same step would grant more."""
    deny, other = acl("x", permission="DENY", principal="User:b"), acl("other")
    everyone = acl("x", principal="User:*")
    live = ClusterState("cluster", frozenset({deny, other}))
    found = Transition(live, declared(frozenset({deny, other, everyone}), {}))
    plan = found.plan()
    check(plan, found.live, plan.terms)
    with pytest.raises(StalePlanError, match="not reviewed") as caught:
        check(plan, ClusterState("cluster", frozenset({other})), plan.terms)
    assert [finding.subject for finding in caught.value.findings] == ["User:b on topic `x`"]


def test_a_gain_under_default_allow_alone_does_not_stand_for_a_certain_one() -> None:
    """Nobody declared default-allow: the reviewer saw a gain if it is on. By now somebody permits it in any case."""
    deny, foreign = acl("x", permission="DENY", principal="User:b"), acl("x", principal="User:b")
    live = ClusterState("cluster", frozenset({deny}))
    plan = Transition(live, declared(frozenset(), {})).plan(default_allow=None)
    assert {row.reading for row in plan.access.access_changes} == {"most"}
    with pytest.raises(StalePlanError, match="not reviewed"):
        check(plan, replace(live, bindings=live.bindings | {foreign}), plan.terms)


def test_a_denial_of_somebody_who_was_only_counted_may_not_go_either() -> None:
    """More principals are reached than are listed one by one: what keeps the others out still belongs to the review."""
    others = {acl("x", principal=f"User:p{number:03}", operation="WRITE") for number in range(300)}
    deny = acl("x", permission="DENY", principal="User:p250")
    everyone = acl("x", principal="User:*")
    live = ClusterState("cluster", frozenset({deny, *others}))
    plan = Transition(live, declared(frozenset({deny, everyone, *others}), {})).plan()
    assert plan.access.more_principals == 99
    listed = {row.principal for row in plan.access.access_changes} | {one.principal for one in plan.access.exceptions}
    assert len(listed - {None}) == 200
    check(plan, live, plan.terms)
    check(plan, replace(live, bindings=live.bindings | {acl("y", principal="User:q")}), plan.terms)
    with pytest.raises(StalePlanError, match="not reviewed"):
        check(plan, replace(live, bindings=live.bindings - {deny}), plan.terms)


def test_nobody_gains_or_loses_unseen_behind_those_who_are_listed() -> None:
    """Many with rights of their own see no change; the one who does is listed, whatever it is called."""
    others = {acl("x", principal=f"User:p{number:03}", operation="WRITE") for number in range(300)}
    own, deny = acl("x", principal="User:z"), acl("x", permission="DENY", principal="User:*")
    open_, closed = (ClusterState("cluster", frozenset({own, *others, *more})) for more in ((), (deny,)))
    for live, after, change in ((closed, open_, "widening"), (open_, closed, "narrowing")):
        access = Transition(live, declared(after.bindings, {})).plan().access
        assert (access.trend, access.more_principals) == (change, 0)
        assert [row.principal for row in access.access_changes] == ["User:z"]


def test_one_who_loses_is_listed_beside_any_number_who_gain() -> None:
    held = {acl("x", principal=f"User:p{number:03}") for number in range(300)}
    deny, open_, own = (
        acl("x", permission="DENY", principal="User:*"),
        acl("y", principal="User:*"),
        acl("y", principal="User:z", operation="WRITE"),
    )
    live = ClusterState("cluster", frozenset({deny, open_, own, *held}))
    access = Transition(live, declared(frozenset({own, *held}), {})).plan().access
    assert (access.trend, access.more_principals) == ("mixed", 101)
    assert [row.principal for row in access.access_changes if row.lost] == [None, "User:z"]


def test_a_gain_of_somebody_who_would_only_be_counted_is_stale() -> None:
    held = {acl("x", principal=f"User:p{number:03}") for number in range(300)}
    deny = acl("x", permission="DENY", principal="User:*")
    live = ClusterState("cluster", frozenset({deny, *held}))
    plan = Transition(live, declared(frozenset(held), {})).plan()
    assert (plan.access.trend, plan.access.more_principals) == ("widening", 100)
    assert len(plan.access.access_changes) == 200
    check(plan, live, plan.terms)
    with pytest.raises(StalePlanError, match="not reviewed"):
        check(plan, replace(live, bindings=live.bindings | {acl("x", principal="User:z")}), plan.terms)


@given(transitions())
def test_the_document_names_every_principal_that_gains(found: Transition) -> None:
    plan = found.plan()
    rows = json.loads(json.dumps(plan_to_json(plan)["access"]))["rows"]
    gaining = {row["principal"] for row in rows if row["gained"]}
    assert gaining == {row.principal for row in plan.access.access_changes if row.gained}
