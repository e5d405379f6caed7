"""Where entries are opaque: every change in any truth that they may hide is in a row, and certain rows hold in each."""

from collections.abc import Iterable
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import DifferenceRow, compare_access
from reconciler.access.effective import OwnAccess
from reconciler.model.acl import AclBinding, AclOperation, OpaqueBinding, ResourceType
from reconciler.model.flavor import KafkaVersion
from tests.property.access_naive import Cluster, reach
from tests.property.access_states import ASKERS, FROM, POINTS, bindings, changes, clusters
from tests.property.test_access_difference import quick

Change = tuple[frozenset[AclOperation], frozenset[AclOperation]]
_CODES = ("resource_type", "pattern_type", "operation", "permission_type")
hosts_asked = st.lists(st.sampled_from(FROM), min_size=2, max_size=2, unique=True)
lost = st.frozensets(st.sampled_from(_CODES))


def opaque(truth: AclBinding, codes: Iterable[str]) -> OpaqueBinding:
    """The entry as a client reads it that loses some of its codes."""
    pattern, entry = truth
    named = {
        "resource_type": int(pattern.resource_type),
        "pattern_type": int(pattern.pattern_type),
        "operation": int(entry.operation),
        "permission_type": int(entry.permission_type),
    }
    return OpaqueBinding(pattern.name, entry.principal, entry.host, **(named | dict.fromkeys(codes)))  # type: ignore[arg-type]


def shown(
    rows: Iterable[DifferenceRow], principal: str, host: str, point: tuple[ResourceType, str], version: KafkaVersion
) -> Change:
    """What rows say of one point together: those of the principal, or else those of everybody else."""
    kind, name = point
    here = [
        row
        for row in rows
        if row.resources.resource_type is kind and row.resources.contains(name) and row.hosts.contains(host, version)
    ]
    found = [row for row in here if row.principal == principal] or [row for row in here if row.principal is None]
    return frozenset().union(*(row.gained for row in found)), frozenset().union(*(row.lost for row in found))


@quick
@given(
    changes(), st.lists(st.tuples(bindings, lost), min_size=1, max_size=3), st.booleans(), st.booleans(), hosts_asked
)
def test_every_true_change_is_in_a_row_and_every_certain_row_is_true(
    change: tuple[Cluster, Cluster],
    hidden: list[tuple[AclBinding, frozenset[str]]],
    open_known: bool,
    known: bool,
    hosts: list[str],
) -> None:
    before, after = change
    authorizers = [
        Authorizer(
            side.bindings,
            side.super_users,
            side.default_allow if open_known else None,
            side.version if known else None,
            opaque=[opaque(*entry) for entry in hidden],
        )
        for side in change
    ]
    version = authorizers[0].kafka_version
    anew = compare_access(*authorizers)
    changed = compare_access(
        authorizers[0],
        authorizers[0].with_changes(
            frozenset(after.bindings) - frozenset(before.bindings),
            frozenset(before.bindings) - frozenset(after.bindings),
        ),
    )
    truth = [side._replace(bindings=frozenset(side.bindings).union(entry for entry, _ in hidden)) for side in change]
    versions = [before.version] if known else [(4, 3), (4, 4)]
    told = [
        [*difference.rows, *difference.exceptions, *difference.reached_with_exceptions()]
        for difference in (anew, changed)
    ]
    for principal, host, point in product(sorted({*ASKERS} - {*before.super_users}), hosts, POINTS):
        for running in versions:
            old, new = (reach(side._replace(version=running), principal, host, *point) for side in truth)
            for rows in told:
                gained, lost_ = shown(rows, principal, host, point, version)
                certain = [row for row in rows if row.reading is None]
                surely_gained, surely_lost = shown(certain, principal, host, point, version)
                assert surely_gained <= new - old <= gained
                assert surely_lost <= old - new <= lost_


@quick
@given(changes(), st.lists(st.tuples(bindings, lost), min_size=1, max_size=3), st.booleans())
def test_nothing_is_shown_between_equal_states(
    change: tuple[Cluster, Cluster], hidden: list[tuple[AclBinding, frozenset[str]]], known: bool
) -> None:
    cluster, _ = change
    state, anew = (
        Authorizer(
            cluster.bindings, (), None, cluster.version if known else None, opaque=[opaque(*entry) for entry in hidden]
        )
        for _ in range(2)
    )
    assert compare_access(state, anew).is_empty


@quick
@given(clusters, st.lists(st.tuples(bindings, lost), max_size=3), st.booleans(), st.booleans())
def test_rows_of_each_principal_have_every_truth_and_certain_ones_hold_in_each(
    cluster: Cluster, hidden: list[tuple[AclBinding, frozenset[str]]], open_known: bool, known: bool
) -> None:
    state = Authorizer(
        cluster.bindings,
        cluster.super_users,
        cluster.default_allow if open_known else None,
        cluster.version if known else None,
        opaque=[opaque(*entry) for entry in hidden],
    )
    truth = cluster._replace(bindings=frozenset(cluster.bindings).union(entry for entry, _ in hidden))
    truths = [truth._replace(version=running) for running in ([cluster.version] if known else [(4, 3), (4, 4)])]
    if not open_known:
        truths = [one._replace(default_allow=default) for one in truths for default in (False, True)]
    own = OwnAccess(state)
    everybody = own.everybody_else
    for principal, (kind, name) in product(sorted({*ASKERS} - {*cluster.super_users}), POINTS):
        elsewhere = not any(one.resource_type is kind and one.contains(name) for one in own.names(principal))
        rows = [*own.rows(principal), *(everybody if elsewhere else ())]
        here = [row for row in rows if row.resources.resource_type is kind and row.resources.contains(name)]
        for host in FROM:
            found = [row for row in here if row.hosts.contains(host, state.kafka_version)]
            surely = {held for row in found if row.certain for held in row.operations}
            possibly = {held for row in found for held in row.operations}
            assert all(surely <= reach(one, principal, host, kind, name) <= possibly for one in truths)
