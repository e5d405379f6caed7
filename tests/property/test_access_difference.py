"""access(before) + difference = access(after), at every point of a small universe; and every witness is real."""

from unittest.mock import patch

from hypothesis import Phase, given, settings

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import AccessDifference, DifferenceRow, InterpretationDifference, compare_access
from reconciler.access.names import ALL_NAMES
from reconciler.model.acl import AclOperation, ResourceType
from tests.property.access_naive import Cluster, reach
from tests.property.access_states import ASKERS, FROM, POINTS, changes
from tests.property.test_access_authorizer import authorizer_of

Change = tuple[frozenset[AclOperation], frozenset[AclOperation]]
NONE: Change = (frozenset(), frozenset())

#: A point-by-point check is slow, and shrinking repeats it thousands of times.
quick = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])


def told(
    difference: AccessDifference, rows: list[DifferenceRow], principal: str, host: str, kind: ResourceType, name: str
) -> Change:
    """What the rows say of one point: the principal's own first, then those of everybody else."""
    version = difference.before.kafka_version
    for who in (principal, None):
        found = [
            row
            for row in rows
            if row.principal == who
            and row.resources.resource_type is kind
            and row.resources.contains(name)
            and row.hosts.contains(host, version)
        ]
        assert len(found) <= 1, f"rows overlap: {found}"
        if found:
            return found[0].gained, found[0].lost
    return NONE


@quick
@given(changes())
def test_the_difference_is_right_at_every_point(change: tuple[Cluster, Cluster]) -> None:
    before, after = change
    difference = compare_access(authorizer_of(before), authorizer_of(after))
    rows = [*difference.rows, *difference.exceptions, *difference.reached_with_exceptions()]
    for principal in ASKERS:
        if principal in before.super_users:
            continue
        for host in FROM:
            for kind, name in POINTS:
                old, new = (reach(side, principal, host, kind, name) for side in change)
                assert told(difference, rows, principal, host, kind, name) == (new - old, old - new)


@quick
@given(changes())
def test_whom_a_change_reaches_is_all_who_gain_or_lose(change: tuple[Cluster, Cluster]) -> None:
    """Nobody is left out whose own bindings are about other names than those that change."""
    before, after = map(authorizer_of, change)
    found = compare_access(before, after)
    with patch.object(InterpretationDifference, "_decisive", return_value=[ALL_NAMES]):
        everybody = compare_access(before, after)
        rows = everybody.reached()
    assert (found.rows, found.reached()) == (everybody.rows, rows)


@quick
@given(changes())
def test_every_witness_is_real_and_shortest(change: tuple[Cluster, Cluster]) -> None:
    before, after = change
    difference = compare_access(authorizer_of(before), authorizer_of(after))
    for row in (*difference.rows, *difference.reached()):
        kind = row.resources.resource_type
        principal, host, name = row.witness
        assert row.resources.contains(name)
        old, new = (reach(side, principal, host, kind, name) for side in change)
        assert (new - old, old - new) == (row.gained, row.lost)
        shorter = [text for of, text in POINTS if of is kind and len(text) < len(name)]
        assert not any(row.resources.contains(text) for text in shorter)


@quick
@given(changes())
def test_nothing_changes_between_equal_states(change: tuple[Cluster, Cluster]) -> None:
    state = authorizer_of(change[0])
    assert compare_access(state, state).is_empty
    anew: Authorizer = authorizer_of(change[0])
    assert compare_access(state, anew).is_empty
