"""Bridges while an apply runs: which are built, what they keep open, and that they are gone at its end."""

from dataclasses import replace

import pytest

from reconciler.apply.environment import Outcome, Progress
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.markers import bridge_on, marker_of, standing_bridges
from reconciler.plan.difference import SkipReason
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.ports import Answer, AnswerStatus
from tests.contract.faults import Fault
from tests.property.naive import Ask, permitted
from tests.unit.apply.bridge_stage import CLOSED, DENY, OPEN, TERMS, Stage, asks
from tests.verbs import creations
from tests.worlds import acl


@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_closing_and_opening_a_resource_refuse_nobody_whom_both_states_permit(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding]
) -> None:
    stage = Stage(live, wanted)
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences)
    assert result.notes == ()
    assert stage.bindings == wanted, "neither bridge nor marker is left"
    assert stage.violations(asks("x")) == []
    assert [record["action"] for record in stage.journal if record["record"] == "bridges"] == [
        "create",
        "created",
        "remove",
        "removed",
    ]


def test_the_run_s_own_sentinels_keep_no_pattern_from_being_bridged() -> None:
    """A pattern on every name shares names with them, and nobody asks for those."""
    stage = Stage(frozenset(), frozenset({acl("*", "User:a"), acl("*", "User:a", permission=DENY)}))
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences)
    assert result.notes == ()
    assert stage.violations(asks("xa")) == []


@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_without_an_observation_there_is_no_bridge_and_the_result_says_whom_it_may_have_interrupted(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding]
) -> None:
    hides = acl("*", "User:z", resource_type=ResourceType.GROUP)
    stage = Stage(live | {hides}, wanted | {hides})
    stage.nodes.otherwise = {2}  # brokers disagree
    result = stage.apply()
    assert not any(bridge_on(acl("x", "").pattern) in state for state in stage.cluster.history)
    assert result.succeeded
    assert len(result.notes) == 1
    assert "TOPIC x: User:a, User:b may have been refused" in result.notes[0]
    assert {kind for kind, _ in stage.violations(asks("x"))} == {"cut"}


def test_a_bridge_is_never_seen_without_its_marker() -> None:
    stage = Stage(OPEN, CLOSED)
    stage.apply()
    bridge = bridge_on(acl("x", "").pattern)
    seen = [state for state in stage.cluster.history if bridge in state]
    assert seen
    assert all(bridge in standing_bridges(state) for state in seen)


def test_default_deny_gets_no_bridge_whatever_is_declared() -> None:
    stage = Stage(OPEN, CLOSED, terms=replace(TERMS, default_allow=False), default_allow=False)
    assert stage.apply().succeeded
    assert not any(standing_bridges(state) for state in stage.cluster.history)


def test_existing_names_under_a_partly_covered_pattern_are_bridged_one_by_one() -> None:
    live = frozenset({acl("pay-x", "User:z")})
    wanted = frozenset({acl("pay-x", "User:z"), acl("pay-", "User:a"), acl("pay-", "User:b", AclOperation.ALL, DENY)})
    stage = Stage(live, wanted, topics=("pay-1", "pay-2", "pay-x", "else"))
    plan = stage.plan()
    assert {bridge.pattern.name for bridge in plan.bridges.wanted} == {"pay-1", "pay-2"}
    assert [(item.pattern.name, item.principals) for item in plan.bridges.unbridged] == [("pay-", ("User:a",))]
    result = stage.apply(plan)
    assert result.succeeded
    assert stage.bindings == wanted
    assert stage.violations(asks("pay-1", "pay-2", "pay-x")) == []
    assert "names that do not exist yet" in result.notes[0]


class Noting(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)


@pytest.mark.parametrize(("names", "count"), [((), 0), (("x",), 1), (("x", "y"), 2)])
def test_the_bridges_that_a_run_builds_are_told_with_their_number(names: tuple[str, ...], count: int) -> None:
    """A binding that serves as one is none: it is told with the steps."""
    very = bridge_on(acl("very", "").pattern)
    wanted = OPEN | {very, *(acl(name, "User:a") for name in names)}
    told = Noting()
    assert Stage(OPEN, wanted, progress=told).apply().succeeded
    bridges = [note for note in told.notes if "bridges exist" in note]
    words = f"{count} bridges exist until the ACLs of the plan are in force; without --lease, drift and plans of others"
    assert [note.startswith(words) for note in bridges] == [True] * bool(count)


@pytest.mark.parametrize("closing", [True, False])
def test_the_very_binding_needs_no_bridge_and_comes_first_or_goes_last(closing: bool) -> None:
    own = bridge_on(acl("x", "").pattern)
    more = {own, acl("x", "User:b", AclOperation.WRITE, DENY)}
    sides = OPEN, OPEN | more
    stage = Stage(*(sides if closing else sides[::-1]))
    assert stage.apply().succeeded
    assert stage.bindings == sides[1 if closing else 0]
    assert stage.violations(asks("x")) == []
    marked = {b.pattern.name for state in stage.cluster.history for b in state if ".bridge." in b.pattern.name}
    assert marked == set()


def test_the_very_binding_stays_where_another_one_that_should_go_does_not() -> None:
    own, grant = bridge_on(acl("x", "").pattern), acl("x", "User:b")
    never = Fault("DeleteAcl", grant, Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no"), times=99)
    stage = Stage(OPEN | {own, grant}, OPEN, faults=[never])
    result = stage.apply()
    assert {str(item.outcome) for item in result.outcomes} == {"failed", "blocked"}
    assert stage.bindings == OPEN | {own, grant}
    assert stage.violations(asks("x")) == []


@pytest.mark.parametrize("said", [False, None])
def test_where_default_allow_is_not_declared_on_what_is_marked_as_a_bridge_goes_as_a_grant(said: bool | None) -> None:
    pattern = acl("x", "").pattern
    left = {bridge_on(pattern), marker_of("dead", pattern)}
    terms = replace(TERMS, default_allow=said)
    stage = Stage(OPEN | left, OPEN | {acl("x", "User:a")}, terms=terms, default_allow=False)
    plan = stage.plan()
    assert bridge_on(pattern) in deleted_bindings(step.change for step in plan.steps)
    assert [left.reason for left in plan.skipped] == [SkipReason.LEFTOVER], "the marker"
    assert stage.apply(plan).succeeded
    assert stage.bindings == OPEN | {acl("x", "User:a"), marker_of("dead", pattern)}


CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")


def _on_cluster(principal: str, operation: AclOperation, permission: AclPermissionType | None = None) -> AclBinding:
    binding = acl("kafka-cluster", principal, operation, permission or AclPermissionType.ALLOW)
    return AclBinding(CLUSTER, binding.entry)


@pytest.mark.parametrize("closing", [True, False])
def test_on_the_cluster_what_we_and_brokers_need_comes_first_and_goes_last(closing: bool) -> None:
    ours = {_on_cluster("User:ours", AclOperation.ALTER), _on_cluster("User:broker", AclOperation.CLUSTER_ACTION)}
    others = {_on_cluster("User:b", AclOperation.ALTER, DENY), _on_cluster("User:a", AclOperation.DESCRIBE)}
    sides = OPEN, OPEN | ours | others
    facts = Facts(principal="User:ours", inter_broker_principals=("User:broker",))
    stage = Stage(*(sides if closing else sides[::-1]), terms=replace(TERMS, facts=facts))
    plan = stage.plan()
    first, last = plan.steps[0], plan.steps[-1]
    outer = Phase.CREATE_FIRST if closing else Phase.DELETE_LAST
    assert [step.phase for step in plan.steps].count(outer) == 2
    assert (first if closing else last).phase is outer
    assert plan.bridges.wanted == ()
    assert "never bridged" in plan.bridges.unbridged[0].reason
    assert stage.apply(plan).succeeded
    for principal, operation in (("User:ours", AclOperation.ALTER), ("User:broker", AclOperation.CLUSTER_ACTION)):
        ask = Ask(principal, "10.0.0.1", operation, ResourceType.CLUSTER, "kafka-cluster")
        whole = [state for state in stage.cluster.history if len(state & ours) in (0, 2)]
        assert all(permitted(state, ask, default_allow=True) for state in whole)


def test_a_marker_hides_nothing_that_the_plan_creates_or_deletes() -> None:
    """A marker for a declared public grant may be forged, or left by a dead run: what is there is not unknown."""
    public = bridge_on(acl("pub", "").pattern)
    mark = marker_of("20260101T000000Z-0", public.pattern)
    stage = Stage(OPEN | {public, mark}, OPEN | {public}, topics=["pub"])
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences, result.outcomes)
    assert stage.bindings == OPEN | {public}

    stage = Stage(OPEN | {public}, OPEN, topics=["pub"])
    plan = stage.plan()
    assert [step.change.before for step in plan.steps] == [public]
    stage.cluster.send(creations([mark]))
    result = stage.apply(plan)
    assert [one.outcome for one in result.outcomes] == [Outcome.DONE]
    assert public not in stage.bindings
