"""The state of any past time is the true one, or said to be unknown, and unknown only where evidence is missing."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.apply.audit import AUDIT, LogIdentity, chained
from reconciler.codec.document import load
from reconciler.parts.history.evidence import ACLS, DeedReader, ReadingSeries, SeenState, acl_fact
from reconciler.parts.history.intervals import Interval, intervals
from reconciler.parts.history.update import history_of
from reconciler.results.audit import LogLine
from tests.unit.history.simulation import TOOK, Simulation
from tests.unit.history.world import CLUSTER_ID, START, read, store

BEGIN = int(START.timestamp())


def derived(world: Simulation) -> Mapping[int, list[Interval]]:
    """The intervals of each ACL, from all evidence at once, without files."""
    readings, reader = ReadingSeries(), DeedReader(CLUSTER_ID)
    facts = [acl_fact(one) for one in world.bindings]
    for one in world.rounds:
        began = BEGIN + int(one.began)
        readings.add(SeenState(began, began + TOOK, {ACLS: frozenset(facts[number] for number in one.seen)}))
    lines, _ = chained(world.lines(), f"sha256:{'0' * 64}", LogIdentity("1", "h", None))
    for number, line in enumerate(lines, 1):
        reader.take(LogLine("log", number, "1", AUDIT.read(load(line.decode())).content))
    found = {}
    for number, fact in enumerate(facts):
        steps = reader.deeds.sightings.get(fact, [])
        found[number] = intervals([*steps, *readings.sightings(fact, steps)])
    return found


class Judged(NamedTuple):
    """How many questions were answered, and how many are unknown."""

    answered: int
    unknown: int


def judge(world: Simulation, found: Mapping[int, list[Interval]], questions: int) -> Judged:
    """Fails for a wrong answer, and where not exactly what lies inside of a built-in gap is unknown."""
    answered = unknown = 0
    for fact, time in world.questions(questions):
        answers = {one.at(BEGIN + time) for one in found[fact]}
        answer = True if True in answers else None if None in answers else False
        gaps = world.gaps(fact)
        inside = any(lo < time < hi for lo, hi in gaps)
        assert (answer is None) is inside or (not inside and world.is_beside_two(fact, time)), (fact, time, gaps)
        assert answer is None or answer is world.there(fact, time), (fact, time, found[fact], gaps)
        unknown += answer is None
        answered += answer is not None
    return Judged(answered, unknown)


@pytest.mark.parametrize(("seed", "facts"), [(7, 60), (107, 60), (110, 15), (119, 60)])
def test_two_years_of_runs_and_hands_are_told_right_or_unknown(seed: int, facts: int) -> None:
    """Of some seeds a reading is taken just as a run changes something, and then none for days."""
    world = Simulation(seed=seed, changes=600, seconds=2 * 365 * 86_400, facts=facts)
    assert len(world.changes) > 500
    judged = judge(world, derived(world), 3_000)
    assert judged.answered > 2_500
    assert judged.unknown > 200


def test_a_table_that_grows_with_each_reading_says_what_all_evidence_at_once_says(tmp_path: Path) -> None:
    """Readings come one by one, lines with them, and the table is brought up to date now and then."""
    world = Simulation(seed=11, changes=60, seconds=30 * 86_400, facts=12)
    place = store(tmp_path)
    lines, _ = chained(world.lines(), f"sha256:{'0' * 64}", LogIdentity("1", "h", None))
    times = [BEGIN + one.line for one in world.changes if one.run for _ in range(3)]
    for number, one in enumerate(world.rounds):
        read(place, world.fact_bindings(one.seen), one.began, TOOK, stated=None)
        if number % 9 == 0:
            until = BEGIN + one.began
            logs = {"audit.jsonl": [line for line, time in zip(lines, times, strict=True) if time < until]}
            history_of(place, "prod", logs, int(until))
    history = history_of(place, "prod", {"audit.jsonl": lines}, BEGIN + int(world.end))
    assert history.notes == []
    found: dict[int, list[Interval]] = {number: [] for number in range(len(world.bindings))}
    numbers = {acl_fact(one): number for number, one in enumerate(world.bindings)}
    for row in history.rows():
        found[numbers[row.fact]].append(row.interval)
    judged = judge(world, found, 3_000)
    assert judged.answered > 1_000
    assert judged.unknown > 300
