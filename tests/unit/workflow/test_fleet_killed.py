"""A fleet's apply killed at every place: the same command again does what is left, once, and the waves still hold."""

import datetime
import errno
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from reconciler.app import apply as performed
from reconciler.app.manifests import checked, read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.reasons import StaleError, WorkflowError
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app import apply as performing
from reconciler.parts.fleet.app import runs
from reconciler.parts.fleet.app.apply import ApplyTerms, BatchBegun, FleetApply, FleetEvent, GateClosed
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlannedFleet, plan_fleet
from reconciler.parts.fleet.app.runs import RECORD_FILE, read_fleet_plan, read_record, save_fleet_plan
from reconciler.parts.fleet.membership import fleet_of
from reconciler.parts.fleet.proposal import ApplyRecord, apply_record_text
from reconciler.plan.file import parse_plan
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system import files
from tests.unit.workflow.killed_fleets import InTurn, KilledError, Life, World, play_processes, watch_files
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{wave: {wave}}}}}
spec: {{principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: false, barrier: {{wait: 1ms}}}}
---
"""
FLEET = """\
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: world}
spec:
  waves:
    - {name: first, clusters: {matchLabels: {wave: first}}}
    - {name: rest, clusters: {matchLabels: {wave: rest}}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: [orders]}]
"""
WAVES = {"a": "first", "b": "first", "c": "rest"}
WANTED, OLD = binding("User:svc ALLOW READ on TOPIC orders"), binding("User:old ALLOW READ on TOPIC orders")
#: Every change is sent once: to each cluster a creation and a deletion.
ONCE = {(name, what): 1 for name in WAVES for what in ("create", "delete")}


def saved(root: Path, fleet_text: str) -> Path:
    """Manifests in ``m``, snapshots in ``live``, the fleet's plan in ``plans``."""
    for name in ("m", "live"):
        (root / name).mkdir(parents=True)
    clusters = "".join(CLUSTER.format(name=name, wave=wave) for name, wave in WAVES.items())
    (root / "m" / "all.yaml").write_text(clusters + fleet_text, encoding="utf-8")
    for name in WAVES:
        (root / "live" / f"{name}.json").write_text(snapshot_text(ClusterState(f"id-{name}", frozenset({OLD}))))
    sources = read_sources(str(root / "m"))
    members = MemberConnections(ConnectionOptions(), str(root / "live"))
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("CI", raising=False)
        fleet = fleet_of(checked(sources))
        planned = plan_fleet(InTurn(1), sources, fleet, members, PlanOptions(allow_deletes=True))
    save_fleet_plan(planned, root / "plans")
    return root


@pytest.fixture(scope="module")
def saved_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("fleet"), FLEET)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    # Three plans, which every one of hundreds of runs would check from the first byte to the last.
    monkeypatch.setattr(files, "parse_plan", lru_cache(16)(parse_plan))
    watch_files(world, monkeypatch)
    play_processes(world, monkeypatch)
    return world


def test_plans_are_written_side_by_side_and_without_one_of_them_there_is_no_fleet_s_plan(
    saved_plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_fleet_plan(saved_plan / "plans")
    together = Barrier(len(found.texts))

    def write(text: str, out: str) -> None:
        if Path(out).parent.name == "plans":
            together.wait(30)
            if Path(out).stem == "b":
                raise OSError("no space left on device")
        Path(out).write_text(text, encoding="utf-8")

    monkeypatch.setattr(runs, "write_atomically", write)
    with pytest.raises(WorkflowError, match="no space left"):
        save_fleet_plan(PlannedFleet(found.plan, found.texts), tmp_path)
    assert sorted(str(item.relative_to(tmp_path)) for item in tmp_path.rglob("*.json")) == [
        "plans/a.json",
        "plans/c.json",
    ]


def copied(root: Path, to: Path) -> Path:
    """The same fleet, of which nothing is applied."""
    shutil.copytree(root, to)
    return to


def run(root: Path, cores: int) -> tuple[list[str], list[GateClosed]]:
    """One `fleet apply`: the clusters that began, and where it stopped; each wave has to wait for the one before."""
    begun: list[str] = []
    closed: list[GateClosed] = []
    fleet = FleetApply.saved(root / "plans")
    sources = read_sources(str(root / "m"))
    for event in fleet.perform(InTurn(cores), sources, ApplyTerms(ConnectionOptions(), at_once=cores, lease=False)):
        if isinstance(event, BatchBegun):
            assert len(event.clusters) <= cores
            ended = {one.cluster: one for one in read_record(root / "plans", fleet.plan)}
            failed = [name for name in "ab" if name not in ended or not ended[name].succeeded]
            most = fleet.plan.waves[0].max_failures
            assert event.wave == "first" or len(failed) <= most, "a wave began before the one before it ended well"
            begun += event.clusters
        elif isinstance(event, GateClosed):
            closed.append(event)
    return begun, closed


def noted(root: Path) -> list[ApplyRecord]:
    return read_record(root / "plans", FleetApply.saved(root / "plans").plan)


def check_done_once(root: Path, life: Life, place: str) -> None:
    """Every cluster is as declared, by one request for each change, in the order of the waves."""
    assert Counter(life.sent) == ONCE, place
    order = [name for name, _ in life.sent]
    assert order.index("c") == 4, place
    for name in WAVES:
        assert SnapshotCluster(root / "live" / f"{name}.json").read(ReadRequest()).bindings == {WANTED}, place
    records = [one for one in noted(root) if one.succeeded]
    assert Counter(one.cluster for one in records) == dict.fromkeys(WAVES, 1), place
    assert {one.done + one.already for one in records} == {2}, place


@pytest.mark.parametrize("cores", [pytest.param(1, marks=pytest.mark.long), 2])
def test_an_apply_killed_at_any_place_is_finished_by_the_next(
    saved_plan: Path, tmp_path: Path, world: World, cores: int
) -> None:
    whole = world.begin(Life(copied(saved_plan, tmp_path / "whole"), tmp_path / "images"))
    run(whole.root, cores)
    check_done_once(whole.root, whole, "not killed")
    for number, (killed, root, sent) in enumerate(whole.images):
        place = f"place {number}: {killed}"
        life = world.begin(Life(root))
        life.sent = sent
        finished = {one.cluster for one in noted(root) if one.succeeded}
        begun, closed = run(root, cores)
        assert (begun, closed) == ([name for name in WAVES if name not in finished], []), place
        check_done_once(root, life, place)
        assert run(root, cores) == ([], []), place
    times = Counter(whole.places)
    assert times["before the process"] == times["before the result"] == times["after the result"] == len(WAVES)
    assert times["before sending"] == times["after sending"] == times["after journal intent"] == 2 * len(WAVES)
    # Each cluster's record is on disk as soon as it has ended.
    assert times["before the record"] == times["in the record"] == times["after the record"] == len(WAVES)


@pytest.mark.parametrize("full_at", [1, 2, 3])
def test_an_apply_whose_record_cannot_be_written_says_so_and_is_finished_by_the_next(
    saved_plan: Path, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch, full_at: int
) -> None:
    life = world.begin(Life(copied(saved_plan, tmp_path / "full")))
    flushed = 0

    def flush(descriptor: int) -> None:
        nonlocal flushed
        flushed += Path(f"/proc/self/fd/{descriptor}").resolve().name == RECORD_FILE
        if flushed >= full_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.fsync", flush)
        with pytest.raises(WorkflowError, match="No space left on device: clusters were changed that it does not name"):
            run(life.root, 1)
    run(life.root, 1)
    check_done_once(life.root, life, f"full at {full_at}")


def test_a_killed_apply_keeps_the_soak_time_and_a_failure_that_the_gate_allows(tmp_path: Path, world: World) -> None:
    """The first cluster fails whenever it is tried: it is another one by now."""
    gate = "{name: first, clusters: {matchLabels: {wave: first}}, gate: {soak: 1h, maxFailures: 1}}"
    root = saved(tmp_path / "saved", FLEET.replace("{name: first, clusters: {matchLabels: {wave: first}}}", gate))
    (root / "live" / "a.json").write_text(snapshot_text(ClusterState("id-other", frozenset({OLD}))))

    def soaked(root: Path, place: str) -> None:
        """The next wave begins an hour after the last that may have changed anything, no sooner, and then surely."""
        begun, closed = run(root, 1)
        assert "c" not in begun, place
        (opens,) = (one.gate.opens for one in closed if not one.gate.shut)
        last = [one for one in noted(root) if one.cluster == "b"][-1].finished
        assert last + 3_600 <= opens <= world.now + 3_600, place
        world.now = opens - 2
        begun, closed = run(root, 1)
        assert (begun, [one.gate.opens for one in closed]) == (["a"], [opens]), place
        world.now = opens
        begun, closed = run(root, 1)
        assert (begun, closed) == (["a", "c"], []), place

    whole = world.begin(Life(root, tmp_path / "images"))
    run(root, 1)
    first, ended = len(whole.images), world.now
    soaked(root, "not killed")
    done = Counter({change: 1 for change in ONCE if change[0] != "a"})
    for number, (killed, root, sent) in enumerate(whole.images[:first]):
        place = f"place {number}: {killed}"
        life = world.begin(Life(root))
        life.sent, world.now = sent, ended
        soaked(root, place)
        assert Counter(life.sent) == done, place


def test_plans_that_are_too_old_are_refused_before_anything_is_sent_and_by_each_cluster_s_process(
    saved_plan: Path, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one plan is; what has ended well is not asked for its age, and a wave that begins late is."""
    life = world.begin(Life(copied(saved_plan, tmp_path / "old")))
    later = datetime.timedelta(0)
    for module in (performing, performed):
        monkeypatch.setattr(module, "now", lambda: datetime.datetime.now(datetime.UTC) + later)

    def perform(hours: int) -> list[FleetEvent]:
        terms = ApplyTerms(ConnectionOptions(), at_once=1, lease=False, max_age=datetime.timedelta(hours=hours))
        return list(FleetApply.saved(life.root / "plans").perform(InTurn(1), read_sources(str(life.root / "m")), terms))

    later = datetime.timedelta(hours=13)
    with pytest.raises(StaleError, match=r"plans/a\.json: the plan was made at .*, which is more than 12:00:00 ago"):
        perform(12)
    assert life.sent == []
    monkeypatch.setattr(performing, "now", lambda: datetime.datetime.now(datetime.UTC))
    records = [event for event in perform(12) if isinstance(event, ApplyRecord)]
    assert [(one.cluster, one.reason) for one in records] == [("a", "stale")]
    assert life.sent == []
    perform(14)
    check_done_once(life.root, life, "fourteen hours")
    later = datetime.timedelta(days=30)
    monkeypatch.setattr(performing, "now", lambda: datetime.datetime.now(datetime.UTC) + later)
    assert [event for event in perform(12) if isinstance(event, ApplyRecord)] == []


class Elsewhere(InTurn):
    """Tasks on a machine with a clock of its own, so many seconds behind."""

    def __init__(self, behind: float) -> None:
        super().__init__(2)
        self.behind = behind

    def _each(self, lists: Sequence[Sequence[Any]], work: Callable[[Sequence[Any], str], Any]) -> Iterator[Any]:
        for (line,) in super()._each(lists, work):
            record = json.loads(line)
            yield [json.dumps({**record, "finished": record["finished"] - self.behind})]


@pytest.mark.parametrize("behind", [-86_400.0, 86_400.0])
def test_a_gate_goes_by_one_clock_whatever_those_of_workers_say(tmp_path: Path, world: World, behind: float) -> None:
    gate = "{name: first, clusters: {matchLabels: {wave: first}}, gate: {soak: 1h}}"
    root = saved(tmp_path / "saved", FLEET.replace("{name: first, clusters: {matchLabels: {wave: first}}}", gate))
    world.begin(Life(root))
    fleet, terms = FleetApply.saved(root / "plans"), ApplyTerms(ConnectionOptions(), at_once=2, lease=False)
    *_, closed = fleet.perform(Elsewhere(behind), read_sources(str(root / "m")), terms)
    assert isinstance(closed, GateClosed)
    assert closed.gate.opens == world.now + 3_600


def test_a_cluster_whose_process_is_killed_anywhere_stops_its_wave(
    saved_plan: Path, tmp_path: Path, world: World
) -> None:
    world.alone = True
    number = 0
    while True:
        root = copied(saved_plan, tmp_path / str(number))
        life = world.begin(Life(root))
        life.begin(number)
        try:
            begun, closed = run(root, 1)
        except KilledError as killed:
            place = str(killed)
            break
        place = f"place {number}"
        told = not noted(root)[0].reason  # killed after it had said how it ended
        assert begun == (["a", "b", "c"] if told else ["a"]), place
        assert [gate.gate.failed for gate in closed] == ([] if told else [("a",)]), place
        assert run(root, 1)[0] == ([] if told else ["a", "b", "c"]), place
        check_done_once(root, life, place)
        number += 1
    assert place == "before the record"  # the first place that is not in a cluster's process
    assert number > 20


def test_a_record_cut_off_at_any_byte_says_what_was_flushed_before(tmp_path: Path, saved_plan: Path) -> None:
    plan = FleetApply.saved(saved_plan / "plans").plan
    ends = [ApplyRecord(one.cluster, one.plan_id, "failed", 1.0, "größer → ✗") for one in plan.members[:2]]
    first, second = (apply_record_text(one) for one in ends)
    for size in range(len(second.encode()) + 1):
        (tmp_path / RECORD_FILE).write_bytes(f"{first}\n".encode() + second.encode()[:size])
        assert read_record(tmp_path, plan) == ends[:1], size
