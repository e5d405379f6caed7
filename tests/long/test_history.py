"""Two years of a large cluster's past: ten thousand changes, a hundred thousand questions."""

import pytest

from tests.unit.history.simulation import Simulation
from tests.unit.history.test_simulation import derived, judge

pytestmark = pytest.mark.long


@pytest.mark.parametrize("seed", [3, 17, 29])
def test_ten_thousand_changes_and_a_hundred_thousand_questions(seed: int) -> None:
    world = Simulation(seed=seed, changes=10_500, seconds=2 * 365 * 86_400, facts=400)
    assert len(world.changes) >= 10_000
    judged = judge(world, derived(world), 100_000)
    print(f"{len(world.changes):,} changes, {len(world.rounds):,} readings: {judged}")
    assert judged.answered > 80_000
    assert judged.unknown > 5_000
