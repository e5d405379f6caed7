"""Laws of SCRAM users: apply reaches what is declared, undo takes back what was added, an export plans to nothing."""

import datetime

from hypothesis import given, settings
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
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.secrets import SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock

DAY = datetime.date(2026, 1, 1)
PLACE = Declaration(Origin("u.yaml", 1, 1))
KIND = ScramUser.KIND

PERMIT = SecretPermit(("U_",))

credentials = st.dictionaries(
    st.sampled_from(["SCRAM-SHA-256", "SCRAM-SHA-512"]), st.sampled_from([4096, 8192, 8193, 16384]), min_size=1
)
names = st.one_of(
    st.sampled_from(["pay", "*", "a b", "${x}", "${env:X}", "__kr.x", "ü:/é", "User:a", "CN=a,O=b", "# a", "no"]),
    st.text(min_size=1, max_size=5),
)
states = st.lists(st.builds(ScramUser, names, credentials), max_size=4, unique_by=lambda one: one.name).map(frozenset)

disabled = credentials.map(lambda found: dict.fromkeys(found, DISABLED_ITERATIONS))
mixed = st.one_of(credentials, disabled, st.just({"SCRAM-SHA-256": DISABLED_ITERATIONS, "SCRAM-SHA-512": 4096}))
states_with_disabled = st.lists(st.builds(ScramUser, names, mixed), max_size=4, unique_by=lambda one: one.name).map(
    frozenset
)


def declared(user: ScramUser) -> ScramUser:
    """With a password for each mechanism."""
    return ScramUser(user.name, user.values, dict.fromkeys(user.values, PasswordSource("${env:U_A}")))


def live_state(items: frozenset[ScramUser]) -> ClusterState:
    return ClusterState("c", listings={KIND: Listing(items)})


def wanted(items: frozenset[ScramUser], goes: frozenset[ScramUser] = frozenset()) -> DesiredState:
    gone = {one.name: DesiredItem(one.with_values({}), PLACE, absent=True) for one in goes}
    return DesiredState(listed={KIND: {**gone, **{one.name: DesiredItem(declared(one), PLACE) for one in items}}})


def planned(desired: DesiredState, live: ClusterState) -> Plan:
    return propose(
        desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True), permit=PERMIT)
    )


def applied(plan: Plan, live: ClusterState) -> ClusterState:
    cluster = MemoryCluster(live)
    perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress()))
    return cluster.read(ReadRequest(listings=[KIND]))


@settings(max_examples=40)
@given(states, states)
def test_apply_reaches_what_is_declared_and_undo_takes_back_what_was_added(
    before: frozenset[ScramUser], after: frozenset[ScramUser]
) -> None:
    live = live_state(before)
    plan = planned(wanted(after, before), live)
    assert parse_plan(plan_text(plan)) == plan
    now = applied(plan, live)
    assert now.listing(ScramUser).items == after
    assert planned(wanted(after), now).steps == ()
    found = revert_steps(plan.steps, now, Scope(), DesiredState(), Origin("plan.json", 1, 1))
    back = applied(planned(found.desired, now), now).listing(ScramUser).items or frozenset()
    old, new = ({one.name: one.values for one in items} for items in (before, after))
    # What got another password keeps it, and what was deleted stays so: nobody knows the former one.
    lost = {name for name in old if not old[name].items() <= new.get(name, {}).items()}
    kept = {name: values for name, values in (*old.items(), *new.items()) if name not in lost and name in old}
    expected = {name: old[name] for name in kept} | {name: new[name] for name in lost & new.keys()}
    assert {one.name: one.values for one in back} == expected


@settings(max_examples=40)
@given(states_with_disabled)
def test_an_export_plans_to_nothing_but_what_it_left(items: frozenset[ScramUser]) -> None:
    state = live_state(items)
    assert parse_snapshot(snapshot_text(state)) == state
    export = export_manifests(state, cluster="prod")
    cluster = {"cluster.yaml": cluster_document("prod", ["broker-1:9093"])}
    assert differences(export, state, cluster, "prod") == []
    sources = [Source(path, text) for path, text in {**cluster, **export.files}.items()]
    desired = desired_state(load(sources), "prod", DAY)
    assert planned(desired, state).steps == ()
    assert {one.item for one in desired.of(ScramUser).values()} == items - {one.item for one in export.inexpressible}
