"""Cut off at any point, a run is finished by applying the same plan again: nothing lost, nothing sent twice but what
was in flight, and the journal knows every step that was performed.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from reconciler.apply.environment import Identity, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.records import past_runs
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import performed_steps
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Plan
from reconciler.ports import Cluster, ReadRequest
from reconciler.snapshot.document import parse_snapshot, snapshot_text
from reconciler.snapshot.file import MemoryCluster, SnapshotCluster
from reconciler.system.files import write_plan
from reconciler.system.journal import RecordFile, read_records
from tests.faults.kill_points import PLACES, WatchedCluster, WatchedLedger
from tests.faults.scenario import before, plan_for, wish
from tests.prepared import prepared
from tests.property.clock import StillClock

EVERYTHING = ReadRequest()


def _applied(plan: Plan, cluster: Cluster, journal: RecordFile, run: str) -> Result:
    live = cluster.read(EVERYTHING)
    world = ApplyEnvironment(cluster, StillClock(), Progress(), identity=Identity(run), journal=journal)
    return perform(plan, live, check(plan, live, plan.terms), world)


class _Places:
    """Keeps what lies on the disk at every place that a run comes by: once for places with nothing written between."""

    def __init__(self, directory: Path, kept: Path) -> None:
        self.directory, self.kept, self.names = directory, kept, list[str]()
        #: Of each place, the directory with what lay there.
        self.states: list[Path] = []
        self._files: dict[str, bytes] = {}

    def __call__(self, name: str) -> None:
        files = {file.name: file.read_bytes() for file in self.directory.iterdir()}
        if files == self._files:
            self.states.append(self.states[-1])
        else:
            self.states.append(self.kept / f"{len(self.names):04}")
            shutil.copytree(self.directory, self.states[-1])
            self._files = files
        self.names.append(name)


def _begun(directory: Path, size: int) -> Plan:
    directory.mkdir()
    live = before(size)
    (directory / "live.json").write_text(snapshot_text(live))
    plan = plan_for(live, wish(size))
    write_plan(plan, str(directory / "plan.json"))
    return plan


def _assert_finished(plan: Plan, directory: Path, now: ClusterState, size: int) -> None:
    assert plan_for(now, wish(size)).steps == ()
    runs = past_runs(read_records(str(directory / "plan.json.journal")))
    assert performed_steps(plan, runs, now) == plan.steps, "the journal knows every step"


def test_after_every_place_the_same_plan_finishes_the_work(tmp_path: Path) -> None:
    size = 7  # the work grows with the square of it, and a larger plan has no other places
    work, kept = tmp_path / "work", tmp_path / "kept"
    plan = _begun(work, size)
    kept.mkdir()
    sorts = Counter((step.phase, step.action) for step in plan.steps)
    assert sorts.keys() == {(step.phase, step.action) for step in plan_for(before(38), wish(38)).steps}
    assert min(sorts.values()) >= 2, "each sort has a first step and one that is not"
    places = _Places(work, kept)
    cluster = WatchedCluster(SnapshotCluster(work / "live.json"), places)
    start = cluster.read(EVERYTHING)
    with RecordFile(str(work / "plan.json.journal")) as journal:
        watched = WatchedLedger(journal, places)
        world = ApplyEnvironment(
            cluster, StillClock(), Progress(), identity=Identity("first"), journal=watched, max_batch=1
        )
        assert perform(plan, start, check(plan, start, plan.terms), world).succeeded
    assert places.names == list(PLACES) * len(plan.steps)
    sent: dict[Path, int] = {}
    for number, (name, directory) in enumerate(zip(places.names, places.states, strict=True)):
        if directory not in sent:
            sent[directory] = _finished(plan, directory, size)
        applied_before = number // len(PLACES) + (PLACES.index(name) >= PLACES.index("after sending"))
        assert sent[directory] == len(plan.steps) - applied_before, f"{name}: nothing is sent twice"
    assert len(sent) == 3 * len(plan.steps) + 1, "each intent, step and outcome is a state of its own"


def _finished(plan: Plan, directory: Path, size: int) -> int:
    """How many requests the same plan sends to finish from what lies in a directory."""
    memory = WatchedCluster(MemoryCluster(parse_snapshot((directory / "live.json").read_text())), lambda _: None)
    with RecordFile(str(directory / "plan.json.journal")) as journal:
        assert _applied(plan, memory, journal, "second").succeeded, directory
    _assert_finished(plan, directory, memory.read(EVERYTHING), size)
    return len(memory.sent)


# What a kill leaves on the disk is what the test above finishes from at that place: each run tries three of them.
@pytest.mark.parametrize(
    "number", [1, 47, 103, *(pytest.param(one, marks=pytest.mark.long) for one in (0, 2, 3, 4, 151, 198))]
)
def test_a_killed_process_leaves_what_another_can_finish(tmp_path: Path, number: int) -> None:
    size = 3
    work = tmp_path / "work"
    plan = _begun(work, size)
    arguments = [str(work / "live.json"), str(work / "plan.json"), str(number % (5 * len(plan.steps)))]
    status = prepared().run("tests.faults.killed_apply", *arguments)
    assert status == -9
    cluster = SnapshotCluster(work / "live.json")
    with RecordFile(str(work / "plan.json.journal")) as journal:
        assert _applied(plan, cluster, journal, "second").succeeded
    _assert_finished(plan, work, cluster.read(EVERYTHING), size)


@pytest.mark.parametrize("cut", [1, 20, 90])
def test_a_torn_last_line_is_cut_off_and_the_cluster_is_asked(tmp_path: Path, cut: int) -> None:
    work = tmp_path / "work"
    plan = _begun(work, 3)
    arguments = [str(work / "live.json"), str(work / "plan.json"), "49"]
    prepared().run("tests.faults.killed_apply", *arguments)
    file = work / "plan.json.journal"
    file.write_bytes(file.read_bytes()[:-cut])
    assert past_runs(read_records(str(file)))[0].run == "killed-at-49"
    cluster = SnapshotCluster(work / "live.json")
    with RecordFile(str(file)) as journal:
        assert _applied(plan, cluster, journal, "second").succeeded
    _assert_finished(plan, work, cluster.read(EVERYTHING), 3)


def test_without_the_journal_the_plan_recognises_its_own_steps(tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan = _begun(work, 3)
    arguments = [str(work / "live.json"), str(work / "plan.json"), "60"]
    prepared().run("tests.faults.killed_apply", *arguments)
    (work / "plan.json.journal").unlink()
    cluster = SnapshotCluster(work / "live.json")
    with RecordFile(str(tmp_path / "elsewhere.journal")) as journal:
        assert _applied(plan, cluster, journal, "elsewhere").succeeded
    assert plan_for(cluster.read(EVERYTHING), wish(3)).steps == ()
