"""Undo: what a run did is turned back, what cannot be is said, what has expired stays gone."""

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import given

from reconciler.apply.environment import Outcome, Progress
from reconciler.apply.kinds.interface import CreatedByRuns
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.records import PastRun, past_runs
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import UndoRequest, identities, performed_steps, revert_steps
from reconciler.model.acl import ResourceType
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.listing import Create, Delete, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicReplicas, TopicUse
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.property.transitions import DAY, TOPICS, Transition, transitions
from tests.worlds import acl

PLACE = Origin("plan.json", 1, 1)
NOTHING = DesiredState()


def after(plan: Plan, live: ClusterState) -> ClusterState:
    cluster = MemoryCluster(live)
    perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))
    return cluster.read(ReadRequest())


def back(steps: tuple[Step, ...], live: ClusterState, declared: DesiredState = NOTHING) -> UndoRequest:
    return revert_steps(steps, live, Scope(), declared, PLACE, known_of(steps, live))


def known_of(steps: Iterable[Step], live: ClusterState, written: int | None = 0) -> CreatedByRuns:
    """The live topics are those that were created, and hold as many records as said."""
    made = {step.id: step.change.after.name for step in steps if isinstance(step.change.after, Topic)}
    ids = {step: live.topics[name].topic_id or "" for step, name in made.items() if name in live.topics}
    return CreatedByRuns(ids, {name: TopicUse(written=written) for name in made.values()})


def undo_plan(found: UndoRequest, live: ClusterState) -> Plan:
    names = {*TOPICS, *found.desired.topics}
    accepted = [AcceptedGuard(guard, name) for guard in (Guard.TOPIC_DELETE, Guard.DATA_LOSS) for name in names]
    accepted.append(AcceptedGuard(Guard.EMPTY_DESIRED, "c"))
    request = Request(DAY, Options(allow_deletes=True), accepted=tuple(accepted))
    return propose(found.desired, live, Terms("c", default_allow=False), request)


@given(transitions())
def test_undo_restores_every_binding_and_what_can_be_of_topics(transition: Transition) -> None:
    live = transition.live
    plan = transition.plan()
    now = after(plan, live)
    expired_free = tuple(replace(step, origin=None) for step in plan.steps)
    found = back(expired_free, now)
    restored = after(undo_plan(found, now), now)
    assert restored.bindings == live.bindings
    creatable = {name for name, topic in live.topics.items() if "cleanup.policy" not in topic.configs}
    assert creatable <= restored.topics.keys() <= live.topics.keys()
    for name in creatable:
        assert restored.topics[name].configs == live.topics[name].configs


def test_what_others_did_meanwhile_stays() -> None:
    live = before(4)
    plan = plan_for(live, wish(4))
    now = after(plan, live)
    others = acl("somebody-else", "User:other")
    now = replace(now, bindings=now.bindings | {others})
    restored = after(undo_plan(back(plan.steps, now), now), now)
    assert restored.bindings == live.bindings | {others}


def test_an_expired_grant_is_never_restored_unless_the_manifests_want_it_again() -> None:
    grant = acl("x", "User:a")
    live = ClusterState("cluster", frozenset({grant}))
    ended = Declaration(Origin("team.yaml", 3, 1), expires=Expiry(datetime.date(2025, 12, 31)))
    desired = DesiredState(expired={grant: ended})
    accepted = (AcceptedGuard(Guard.EMPTY_DESIRED, "c"),)
    plan = propose(
        desired,
        live,
        Terms("c", default_allow=False),
        Request(DAY, Options(allow_deletes=True), accepted=accepted),
    )
    now = after(plan, live)
    for declared in (NOTHING, desired):
        found = back(plan.steps, now, declared)
        assert grant not in found.desired.bindings
        assert "expired" in found.kept[0]
    assert grant in back(plan.steps, now, DesiredState({grant: Declaration(PLACE)})).desired.bindings


def test_a_grant_that_is_restored_ends_when_the_manifests_say() -> None:
    """Saved today and applied when its day is over, undo must not bring it back either."""
    grant, last = acl("x", "User:a"), datetime.date(2026, 1, 31)
    now = ClusterState("cluster")
    declared = DesiredState({grant: Declaration(Origin("team.yaml", 3, 1), expires=Expiry(last))})
    found = back((Step(Phase.DELETE_ALLOW, Delete(grant)),), now, declared)
    assert [step.expires for step in undo_plan(found, now).steps] == [Expiry(last)]


def test_what_cannot_be_restored_is_said() -> None:
    live = before(4)
    plan = plan_for(live, wish(4))
    now = after(plan, live)
    kept = "\n".join(back(plan.steps, now).kept)
    assert "topic old0 is made again without its records" in kept
    assert "topic kept0 keeps 2 partitions" in kept


def test_settings_that_somebody_changed_since_stay() -> None:
    live = before(4)
    plan = plan_for(live, wish(4))
    now = after(plan, live)
    changed = replace(now, topics={**now.topics, "kept1": Topic("kept1", 2, 1, {"retention.ms": "1"})})
    found = back(plan.steps, changed)
    assert any("retention.ms of topic kept1 stays" in text for text in found.kept)
    assert found.desired.topics["kept1"].topic.configs == {"retention.ms": "1"}
    assert found.desired.topics["kept0"].topic.configs == {"retention.ms": "3600000"}


def test_only_what_the_run_performed_is_reverted_and_doubt_is_settled_by_the_cluster() -> None:
    live = before(4)
    plan = plan_for(live, wish(4))
    done, already, shown, lost = plan.steps[:4]
    now = after(replace(plan, steps=(done, already, shown)), live)
    run = PastRun("r", "p", "cluster", "", None, "", {done.id: Outcome.DONE, already.id: Outcome.ALREADY})
    run.steps |= {shown.id: None, lost.id: Outcome.UNKNOWN}
    assert performed_steps(plan, [run], now) == (done, shown)


def test_a_topic_that_left_the_scope_stays_and_is_said() -> None:
    live = before(4)
    plan = plan_for(live, wish(4))
    now = after(plan, live)
    nothing = Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=("kept1",))),))
    found = revert_steps(plan.steps, now, nothing, NOTHING, PLACE)
    assert set(found.desired.topics) == {"kept1"}
    assert "“create topic new0” stays: it is not in the cluster's scope any more" in found.kept


def test_a_throttle_that_stays_is_said() -> None:
    throttle = "leader.replication.throttled.replicas"
    change = Update(TopicConfigs("kept0", {throttle: None}), TopicConfigs("kept0", {throttle: "*"}))
    now = before(4)
    now = replace(now, topics={**now.topics, "kept0": Topic("kept0", 1, 1, {throttle: "*"})})
    found = back((Step(Phase.ALTER_CONFIGS, change),), now)
    assert found.kept == (f"{throttle} of topic kept0 stays: whoever moves replicas removes the throttle",)


def test_each_config_goes_back_to_what_it_was_unless_somebody_changed_it_since() -> None:
    keys, values = ("retention.ms", "segment.ms"), (None, "1", "2")
    for old, new, now in product(product(values, repeat=2), repeat=3):
        before_it, after_it = dict(zip(keys, old, strict=True)), dict(zip(keys, new, strict=True))
        there = {key: value for key, value in zip(keys, now, strict=True) if value is not None}
        live = ClusterState("cluster", topics={"t": Topic("t", 3, 1, {**there, "flush.ms": "9"})})
        change = Update(TopicConfigs("t", before_it), TopicConfigs("t", after_it))
        found = back((Step(Phase.ALTER_CONFIGS, change),), live)
        wanted = dict(found.desired.topics["t"].topic.configs)
        assert wanted.pop("flush.ms") == "9", "what the step did not touch"
        mine = [value == then for value, then in zip(now, new, strict=True)]
        expected = [was if same else value for was, value, same in zip(old, now, mine, strict=True)]
        assert [wanted.get(key) for key in keys] == expected, (old, new, now)
        assert len(wanted) == len([value for value in expected if value is not None])
        assert len(found.kept) == mine.count(False)
        assert found.desired.topics["t"].topic.num_partitions is None, "its partitions are nobody's wish"


def test_replicas_go_back_only_from_where_the_step_left_them() -> None:
    old, new = ((1, 2), (2,)), ((3, 2), (3,))
    change = Update(TopicReplicas("t", old), TopicReplicas("t", new))
    step = Step(Phase.MOVE_REPLICAS, change)
    for there in (old, new, ((3, 2), (1,)), None):
        live = ClusterState("cluster", topics={"t": Topic("t", 2, 2, {"flush.ms": "9"}, replica_assignments=there)})
        found = back((step,), live)
        if there != new:
            assert (len(found.kept), found.desired.topics) == (1, {})
            assert "somebody has moved them since" in found.kept[0]
            continue
        wanted = found.desired.topics["t"].topic
        assert (wanted.num_partitions, wanted.replication_factor, wanted.replica_assignments) == (2, 2, old)
        assert wanted.configs == {"flush.ms": "9"}
        # With a change of configs of the same topic both go back.
        configs = Update(TopicConfigs("t", {"flush.ms": None}), TopicConfigs("t", {"flush.ms": "9"}))
        for steps in ((step, Step(Phase.ALTER_CONFIGS, configs)), (Step(Phase.ALTER_CONFIGS, configs), step)):
            both = back(steps, live).desired.topics["t"].topic
            assert (both.configs, both.replica_assignments) == ({}, old)
    gone = ClusterState("cluster")
    for one in (step, Step(Phase.ALTER_CONFIGS, Update(TopicConfigs("t", {"a": None}), TopicConfigs("t", {"a": "1"})))):
        found = back((one,), gone)
        assert (len(found.kept), found.desired.topics) == (1, {})
        assert "no longer exists" in found.kept[0]


def test_a_topic_that_went_comes_back_unless_somebody_made_it_again_and_one_that_came_goes() -> None:
    was = Topic("t", 2, 1, {"flush.ms": "9"}, "A", ((1,), (2,)))
    gone = Step(Phase.DELETE_TOPIC, Delete(was))
    found = back((gone,), ClusterState("cluster"))
    assert found.desired.topics["t"].topic == replace(was, topic_id=None, replica_assignments=None)
    assert not found.desired.topics["t"].absent
    again = back((gone,), ClusterState("cluster", topics={"t": replace(was, topic_id="B")}))
    assert (again.kept, again.desired.topics) == (("topic t stays: somebody has created it again",), {})
    came = back((Step(Phase.CREATE_TOPIC, Create(Topic("t", 2, 1, {"flush.ms": "9"}))),), state(was))
    assert came.desired.topics["t"].absent
    assert (came.kept, came.own) == ((), ("t",))


def state(topic: Topic) -> ClusterState:
    return ClusterState("cluster", topics={topic.name: topic})


def test_a_created_topic_goes_only_if_it_is_still_that_one_and_nobody_has_touched_it() -> None:
    step = Step(Phase.CREATE_TOPIC, Create(Topic("t", 2, 1, {"flush.ms": "9"})))
    same = Topic("t", 2, 1, {"flush.ms": "9"}, "A")
    cases: list[tuple[Topic, str, int | None, str, bool]] = [
        (same, "A", 0, "", True),
        (replace(same, topic_id="B"), "A", 0, "stays: it is another one of that name", False),
        (replace(same, topic_id="B", num_partitions=5), "A", 500, "stays: it is another one of that name", False),
        (replace(same, num_partitions=3), "A", 0, "somebody has changed it since: partitions: 2 → 3", False),
        (replace(same, configs={"flush.ms": "8"}), "A", 0, "changed it since: configs.flush.ms: 9 → 8", False),
        (replace(same, configs={}), "A", 0, "changed it since: configs.flush.ms: 9 → not set", False),
        (same, "A", 17, "stays: somebody has written to it since, 17 records", False),
        (same, "A", None, "whether it holds records could not be read: look at it first", True),
        (same, "", 0, "its id is not in the journal, so somebody may have created it again", True),
        (same, "", 17, "stays: somebody has written to it since", False),
        (replace(same, topic_id=None), "A", 0, "its id is not in the journal", True),
    ]
    for topic, identity, written, words, goes in cases:
        known = CreatedByRuns({step.id: identity} if identity else {}, {"t": TopicUse(written=written)})
        found = revert_steps([step], state(topic), Scope(), NOTHING, PLACE, known)
        assert ("t" in found.desired.topics) is goes, topic
        assert [words in text for text in found.kept] == [True] * bool(words), (topic, found.kept)
        assert found.own == (("t",) if goes and not words else ())
    assert revert_steps([step], ClusterState("cluster"), Scope(), NOTHING, PLACE).desired.topics == {}


def test_the_journal_keeps_the_id_of_each_topic_that_was_created() -> None:
    records: list[Mapping[str, Any]] = []

    class Kept:
        def write(self, *found: Mapping[str, Any]) -> None:
            records.extend(found)

    live = before(4)
    plan = plan_for(live, wish(4))
    cluster = MemoryCluster(live)
    world = ApplyEnvironment(cluster, StillClock(), Progress(), journal=Kept())
    perform(plan, live, check(plan, live, plan.terms), world)
    (run,) = past_runs(json.loads(json.dumps(records)))
    created = {step.id: step.change.after.name for step in plan.steps if isinstance(step.change.after, Topic)}
    assert created
    assert identities([run]) == {step: cluster.state.topics[name].topic_id for step, name in created.items()}
