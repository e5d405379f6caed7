"""Target replicas: what stays, what moves, and that evenness and racks come before bytes."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from reconciler.plan.replicas import PlacedPartition, PlacementBroker, copied_bytes, target_replicas

BROKERS = [PlacementBroker(n) for n in (1, 2, 3)]


def placed(*replicas: Sequence[int], size: int = 10) -> list[PlacedPartition]:
    return [PlacedPartition(tuple(one), size) for one in replicas]


def test_what_is_even_already_stays() -> None:
    live = placed((1, 2), (2, 3), (3, 1))
    assert target_replicas(live, 2, BROKERS) == ((1, 2), (2, 3), (3, 1))


def test_another_replica_is_added_where_there_are_fewest() -> None:
    live = placed((1,), (2,), (3,))
    found = target_replicas(live, 2, BROKERS)
    assert [target[0] for target in found] == [1, 2, 3]
    assert Counter(itertools.chain(*found)) == {1: 2, 2: 2, 3: 2}
    assert copied_bytes(live, found) == 30


def test_fewer_replicas_copy_nothing_and_keep_the_leader_where_that_is_even() -> None:
    live = placed((1, 2, 3), (2, 3, 1), (3, 1, 2))
    found = target_replicas(live, 2, BROKERS)
    assert [target[0] for target in found] == [1, 2, 3]
    assert copied_bytes(live, found) == 0


def test_of_replicas_that_go_the_preferred_leader_is_the_last_whatever_else_brokers_hold() -> None:
    for replicas, factor, most in itertools.product(itertools.permutations((1, 2, 3)), (1, 2, 3), (1, 2, 3)):
        (target,) = target_replicas(placed(replicas), factor, BROKERS, {most: 9})
        assert target[0] == replicas[0], (replicas, factor, most)


def test_of_partitions_that_could_move_the_smallest_does() -> None:
    live = [PlacedPartition((1,), 500), PlacedPartition((1,), 7), PlacedPartition((2,), 300)]
    assert target_replicas(live, 1, BROKERS) == ((1,), (3,), (2,))


def test_a_partition_without_records_moves_only_where_it_has_to() -> None:
    assert target_replicas(placed((2, 1), (1, 3), (3, 2), size=0), 2, BROKERS) == ((2, 1), (1, 3), (3, 2))


def test_replicas_leave_a_broker_that_is_gone() -> None:
    found = target_replicas(placed((9, 1), (9, 2), (9, 3)), 2, BROKERS)
    assert Counter(itertools.chain(*found)) == {1: 2, 2: 2, 3: 2}


def test_racks_count_more_than_brokers() -> None:
    brokers = [PlacementBroker(1, "a"), PlacementBroker(2, "a"), PlacementBroker(3, "b")]
    found = target_replicas(placed((1,), (2,), (1,), (2,)), 2, brokers)
    assert all(3 in target for target in found)


def test_replicas_beyond_the_racks_are_spread_over_them_too() -> None:
    brokers = [PlacementBroker(n, "abc"[n % 3]) for n in range(9)]
    for target in target_replicas(placed((0,), (3,), (6,)), 5, brokers):
        assert sorted(Counter(one % 3 for one in target).values()) == [1, 2, 2]


def test_brokers_without_a_rack_are_one_rack() -> None:
    brokers = [PlacementBroker(1, "a"), PlacementBroker(2), PlacementBroker(3)]
    assert all(1 in target for target in target_replicas(placed((2,), (3,)), 2, brokers))


def test_of_equal_brokers_the_one_with_less_other_load_is_taken() -> None:
    assert target_replicas(placed((1,)), 2, BROKERS, {2: 40, 3: 12}) == ((1, 3),)
    assert target_replicas(placed((1,)), 2, BROKERS) == ((1, 2),)


@pytest.mark.parametrize("factor", [0, 4])
def test_a_factor_that_no_brokers_can_have_is_refused(factor: int) -> None:
    with pytest.raises(ValueError, match="replicas need as many brokers, and there are 3"):
        target_replicas(placed((1,)), factor, BROKERS)


def test_the_order_of_brokers_changes_nothing_and_no_partition_gives_nothing() -> None:
    live = placed((1,), (1,), (2,), (2,), (3,))
    expected = target_replicas(live, 2, BROKERS)
    assert all(target_replicas(live, 2, order) == expected for order in itertools.permutations(BROKERS))
    assert target_replicas([], 2, BROKERS) == ()


def test_nothing_cheaper_is_as_even() -> None:
    """Against every assignment that there is, for small topics."""
    rng = random.Random(7)
    brokers = [PlacementBroker(1, "a"), PlacementBroker(2, "b"), PlacementBroker(3, "b"), PlacementBroker(4, "c")]
    racks = {one.id: one.rack for one in brokers}

    def uneven(targets: Sequence[Sequence[int]]) -> tuple[int, int]:
        counts = Counter(itertools.chain(*targets))
        spread = (Counter(racks[one] for one in target) for target in targets)
        return sum(n * n for rack in spread for n in rack.values()), sum(n * n for n in counts.values())

    for _ in range(40):
        live = [PlacedPartition(tuple(rng.sample(range(1, 5), rng.choice([1, 2, 3]))), rng.randrange(9)) for _ in "abc"]
        factor = rng.choice([1, 2, 3])
        found = target_replicas(live, factor, brokers)
        every = itertools.product(itertools.combinations(range(1, 5), factor), repeat=3)
        best = min((*uneven(targets), copied_bytes(live, targets)) for targets in every)
        assert (*uneven(found), copied_bytes(live, found)) == best
