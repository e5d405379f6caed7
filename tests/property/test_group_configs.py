"""Laws of group configs: apply reaches what is declared, undo goes back, an export plans to nothing."""

import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.apply.environment import ApplyEnvironment, Silent
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.undo import revert_steps
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.file.document import parse_plan, plan_text
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock

DAY = datetime.date(2026, 1, 1)
PLACE = Declaration(Origin("g.yaml", 1, 1))
KIND = GroupConfig.KIND

values = {
    "consumer.session.timeout.ms": st.sampled_from(["45000", "50000"]),
    "consumer.heartbeat.interval.ms": st.sampled_from(["1000", "46000", "5000"]),
    "share.auto.offset.reset": st.sampled_from(["earliest", "by_duration:PT1H", "never"]),
    "share.renew.acknowledge.enable": st.sampled_from(["true", "false"]),
    "streams.rack.aware.assignment.tags": st.sampled_from(["a,b", ""]),
    "a.key.of.a.newer.kafka": st.sampled_from(["1", "x: y", "'", "${x}"]),
}
configs = st.fixed_dictionaries({}, optional=values).filter(bool)
names = st.one_of(st.sampled_from(["pay", "*", "a b", "${x}", "__kr.x", "ü:/é"]), st.text(min_size=1, max_size=5))
states = st.lists(st.builds(GroupConfig, names, configs), max_size=4, unique_by=lambda one: one.group).map(frozenset)
taken = states.map(lambda found: frozenset(one for one in found if one.refusal() is None))


def live_state(items: frozenset[GroupConfig]) -> ClusterState:
    return ClusterState("c", listings={KIND: Listing(items)})


def wanted(items: frozenset[GroupConfig], goes: frozenset[GroupConfig] = frozenset()) -> DesiredState:
    gone = {one.group: DesiredItem(one.with_values({}), PLACE, absent=True) for one in goes}
    return DesiredState(listed={KIND: {**gone, **{one.group: DesiredItem(one, PLACE) for one in items}}})


def planned(desired: DesiredState, live: ClusterState) -> Plan:
    return propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))


def applied(plan: Plan, live: ClusterState) -> ClusterState:
    cluster = MemoryCluster(live)
    perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Silent()))
    return cluster.read(ReadRequest(listings=[KIND]))


@settings(max_examples=40)
@given(taken, taken)
def test_apply_reaches_what_is_declared_and_undo_goes_back(
    before: frozenset[GroupConfig], after: frozenset[GroupConfig]
) -> None:
    # A key that this version does not know stays on a group that no longer declares it.
    known = frozenset(one for one in before if all(map(one.understands, one.values)))
    live = live_state(known)
    plan = planned(wanted(after, known), live)
    assert parse_plan(plan_text(plan)) == plan
    now = applied(plan, live)
    assert now.listing(GroupConfig).items == after
    assert planned(wanted(after), now).steps == ()
    found = revert_steps(plan.steps, now, Scope(), DesiredState(), Origin("plan.json", 1, 1))
    back = applied(planned(found.desired, now), now).listing(GroupConfig).items or frozenset()
    known_back = {one.with_values({k: v for k, v in one.values.items() if one.understands(k)}) for one in back}
    assert {one for one in known_back if one.values} == known


@settings(max_examples=40)
@given(states)
def test_an_export_plans_to_nothing_but_what_it_left(items: frozenset[GroupConfig]) -> None:
    state = live_state(items)
    assert parse_snapshot(snapshot_text(state)) == state
    export = export_manifests(state, cluster="prod")
    cluster = {"cluster.yaml": cluster_document("prod", ["broker-1:9093"], {})}
    assert differences(export, state, cluster, "prod") == []
    sources = [Source(path, text) for path, text in {**cluster, **export.files}.items()]
    desired = desired_state(load(sources), "prod", DAY)
    assert planned(desired, state).steps == ()
    assert {one.item for one in desired.of(GroupConfig).values()} == items - {one.item for one in export.left}
