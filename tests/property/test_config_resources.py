"""Laws of group configs and client metrics: apply reaches them, undo goes back, an export plans to nothing."""

import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.apply.environment import Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import revert_steps
from reconciler.codec.kinds import LISTED
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.model.config_resource import ConfigResource
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock

DAY = datetime.date(2026, 1, 1)
PLACE = Declaration(Origin("g.yaml", 1, 1))

group_values = {
    "consumer.session.timeout.ms": st.sampled_from(["45000", "50000"]),
    "consumer.heartbeat.interval.ms": st.sampled_from(["1000", "46000", "5000"]),
    "share.auto.offset.reset": st.sampled_from(["earliest", "by_duration:PT1H", "never"]),
    "share.renew.acknowledge.enable": st.sampled_from(["true", "false"]),
    "streams.rack.aware.assignment.tags": st.sampled_from(["a,b", ""]),
    "a.key.of.a.newer.kafka": st.sampled_from(["1", "x: y", "'", "${x}"]),
}
metrics_values = {
    "interval.ms": st.sampled_from(["99", "100", "3600000", "5000", "often"]),
    "match": st.sampled_from(
        ["", "client_id=a.*", "client_id=a,client_id=b", "who=a", "client_id= b , client_source_port=1"]
    ),
    "metrics": st.sampled_from(["*", "", "b, a", "a,a", "a,,b", "it's: x"]),
    "a.key.of.a.newer.kafka": st.sampled_from(["1", "x: y", "'", "${x}"]),
}
names = st.one_of(st.sampled_from(["pay", "*", "a b", "${x}", "__kr.x", "ü:/é"]), st.text(min_size=1, max_size=5))
Items = frozenset[ConfigResource]


def worlds(resource: type[ConfigResource], values: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[Items]:
    configs = st.fixed_dictionaries({}, optional=values).filter(bool)
    found = st.lists(st.builds(resource.of, names, configs), max_size=4, unique_by=lambda one: one.key)
    return found.map(frozenset)


states = st.one_of(worlds(GroupConfig, group_values), worlds(ClientMetrics, metrics_values))


@st.composite
def two_states(draw: st.DrawFn) -> tuple[Items, Items]:
    """Two of one kind that brokers take."""
    kind = draw(st.sampled_from([worlds(GroupConfig, group_values), worlds(ClientMetrics, metrics_values)]))
    one, other = (frozenset(item for item in draw(kind) if item.refusal() is None) for _ in range(2))
    return one, other


def kind_of(*items: Items) -> type[ConfigResource]:
    return next((type(one) for some in items for one in some), GroupConfig)


def live_state(items: Items, kind: type[ConfigResource]) -> ClusterState:
    return ClusterState("c", listings={kind.KIND: Listing(items)})


def wanted(items: Items, goes: Items = frozenset()) -> DesiredState:
    gone = {one.key: DesiredItem(one.with_values({}), PLACE, absent=True) for one in goes}
    return DesiredState(
        listed={kind_of(items, goes).KIND: {**gone, **{one.key: DesiredItem(one, PLACE) for one in items}}}
    )


def planned(desired: DesiredState, live: ClusterState) -> Plan:
    return propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))


def applied(plan: Plan, live: ClusterState) -> ClusterState:
    cluster = MemoryCluster(live)
    perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))
    return cluster.read(ReadRequest(listings=LISTED))


@settings(max_examples=40)
@given(two_states())
def test_apply_reaches_what_is_declared_and_undo_goes_back(both: tuple[Items, Items]) -> None:
    before, after = both
    kind = kind_of(before, after)
    # A key that this version does not know stays on a group that no longer declares it.
    known = frozenset(one for one in before if all(map(one.understands, one.values)))
    live = live_state(known, kind)
    plan = planned(wanted(after, known), live)
    assert parse_plan(plan_text(plan)) == plan
    now = applied(plan, live)
    assert now.listing(kind).items == after
    assert planned(wanted(after), now).steps == ()
    found = revert_steps(plan.steps, now, Scope(), DesiredState(), Origin("plan.json", 1, 1))
    back = applied(planned(found.desired, now), now).listing(kind).items or frozenset()
    known_back = {one.with_values({k: v for k, v in one.values.items() if one.understands(k)}) for one in back}
    assert {one for one in known_back if one.values} == known


@settings(max_examples=40)
@given(states)
def test_an_export_plans_to_nothing_but_what_it_left(items: Items) -> None:
    kind = kind_of(items)
    state = live_state(items, kind)
    assert parse_snapshot(snapshot_text(state)) == state
    export = export_manifests(state, cluster="prod")
    cluster = {"cluster.yaml": cluster_document("prod", ["broker-1:9093"])}
    assert differences(export, state, cluster, "prod") == []
    sources = [Source(path, text) for path, text in {**cluster, **export.files}.items()]
    desired = desired_state(load(sources), "prod", DAY)
    assert planned(desired, state).steps == ()
    assert {one.item for one in desired.of(kind).values()} == items - {one.item for one in export.inexpressible}
