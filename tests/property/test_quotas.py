"""Laws of client quotas: equal states plan to nothing, apply reaches the plan's state, undo and export are exact."""

import datetime

from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.environment import Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import revert_steps
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.quota import QUOTA_KEYS, ClientQuota, QuotaEntity
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
PLACE = Declaration(Origin("q.yaml", 1, 1))
QUOTAS = ReadRequest(listings=[ClientQuota.KIND])

names = st.one_of(st.just(""), st.sampled_from(["alice", "bob", "*", "User:x", "a b", "${x}"]), st.text(max_size=6))
addresses = st.sampled_from(["", "10.0.0.1", "::1", "0:0:0:0:0:0:0:1", "localhost"])
clients = st.one_of(
    st.builds(QuotaEntity.of, names),
    st.builds(lambda client: QuotaEntity.of(client_id=client), names),
    st.builds(QuotaEntity.of, names, names),
)
whole = st.integers(1, 2**53).map(float)
fraction = st.one_of(whole, st.floats(1e-9, 1e6), st.decimals(1, 1000, places=3).map(float))


@st.composite
def quota(draw: st.DrawFn) -> ClientQuota:
    of_ip = draw(st.booleans())
    entity = QuotaEntity.of(ip=draw(addresses)) if of_ip else draw(clients)
    keys = [key for key, about in QUOTA_KEYS.items() if about.of_ip == of_ip]
    chosen = draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
    return ClientQuota(entity, {key: draw(whole if QUOTA_KEYS[key].whole else fraction) for key in chosen})


states = st.lists(quota(), max_size=6, unique_by=lambda one: one.entity).map(frozenset)
#: Without names of hosts and second spellings of an address: ``test_quota_addresses.py`` has those.
plain = states.filter(lambda quotas: len({one.enforced for one in quotas} - {None}) == len(quotas))


def live_state(quotas: frozenset[ClientQuota]) -> ClusterState:
    return ClusterState("c", listings={"quotas": Listing(quotas)})


def wanted(quotas: frozenset[ClientQuota], goes: frozenset[ClientQuota] = frozenset()) -> DesiredState:
    kept = {one.entity: DesiredItem(one, PLACE) for one in quotas}
    gone = {one.entity: DesiredItem(ClientQuota(one.entity), PLACE, absent=True) for one in goes}
    return DesiredState(listed={"quotas": {**gone, **kept}})


def planned(desired: DesiredState, live: ClusterState) -> Plan:
    return propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))


def applied(plan: Plan, live: ClusterState) -> ClusterState:
    cluster = MemoryCluster(live)
    perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))
    return cluster.read(QUOTAS)


@given(states)
def test_equal_states_plan_to_nothing(quotas: frozenset[ClientQuota]) -> None:
    assert planned(wanted(quotas), live_state(quotas)).steps == ()


@given(plain, plain)
def test_apply_reaches_what_is_declared_and_undo_goes_back(
    before: frozenset[ClientQuota], after: frozenset[ClientQuota]
) -> None:
    live = live_state(before)
    plan = planned(wanted(after, before), live)
    assert parse_plan(plan_text(plan)) == plan
    now = applied(plan, live)
    assert now.listing(ClientQuota).items == after
    assert planned(wanted(after, before), now).steps == ()
    found = revert_steps(plan.steps, now, Scope(), DesiredState(), Origin("plan.json", 1, 1))
    assert applied(planned(found.desired, now), now).listing(ClientQuota).items == before


@given(states)
def test_a_snapshot_reads_back_equal(quotas: frozenset[ClientQuota]) -> None:
    state = live_state(quotas)
    assert parse_snapshot(snapshot_text(state)) == state


@given(states)
def test_an_export_plans_to_nothing_but_what_it_left(quotas: frozenset[ClientQuota]) -> None:
    state = live_state(quotas)
    export = export_manifests(state, cluster="prod")
    cluster = {"cluster.yaml": cluster_document("prod", ["broker-1:9093"])}
    assert differences(export, state, cluster, "prod") == []
    sources = [Source(path, text) for path, text in {**cluster, **export.files}.items()]
    desired = desired_state(load(sources), "prod", DAY)
    assert planned(desired, state).steps == ()
    left = {one.item for one in export.inexpressible}
    assert {one.item for one in desired.of(ClientQuota).values()} == quotas - left
