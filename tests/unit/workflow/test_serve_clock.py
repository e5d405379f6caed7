"""When a server looks, and clocks that it does not believe."""

import datetime
import threading
from pathlib import Path

import pytest

from reconciler.app.apply import Unattended
from reconciler.app.options import ConnectionOptions
from reconciler.parts.serve.rounds import ClockWatch, DirectorySource, ServeLoop, ServeOptions, git_source
from reconciler.show.rounds import RoundHistory
from reconciler.snapshot.file import SnapshotCluster
from reconciler.system.process import SystemClock
from tests.unit.workflow.serving import ACLS, LIVE, OVER, World, git


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_commit_of_the_future_says_that_our_clock_is_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")
    found = world.round(source=git_source(str(world.manifests), "main", None))
    assert "clock is behind" in found.held_back[0]
    assert world.bindings() == LIVE


@pytest.mark.parametrize(("apart", "way"), [(-1, "ahead of"), (1, "behind")])
def test_a_clock_that_is_wrong_from_its_start_is_held_against_the_controllers(
    world: World, monkeypatch: pytest.MonkeyPatch, apart: int, way: str
) -> None:
    """Ahead, it would end access too early; in every round, for nobody here knows whose clock is wrong."""
    told = datetime.datetime.now(datetime.UTC) + apart * datetime.timedelta(minutes=2)
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: told)
    for _ in range(2):
        found = world.round()
        assert [one.partition(" s ")[2].partition(" the ")[0] for one in found.held_back] == [way]
        assert world.bindings() == LIVE
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: datetime.datetime.now(datetime.UTC))
    assert world.round().revoked == 1


class _Clock(SystemClock):
    """A monotonic clock that stands still, and no jitter."""

    def monotonic(self) -> float:
        """Always the same."""
        return 0.0

    def jitter(self) -> float:
        """The middle."""
        return 0.5


def test_a_clock_that_is_set_is_noticed_once() -> None:
    watch, start = ClockWatch(_Clock()), datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)
    assert watch.doubt(start) is None
    assert watch.doubt(start + datetime.timedelta(seconds=30)) is None
    assert "set forwards by 3600 s" in str(watch.doubt(start + datetime.timedelta(seconds=3630)))
    assert watch.doubt(start + datetime.timedelta(seconds=3630)) is None
    assert "set back by 3600 s" in str(watch.doubt(start + datetime.timedelta(seconds=30)))


class _Wake(threading.Event):
    """Notes how long each pause is, and does not pause."""

    def __init__(self) -> None:
        """No pause yet."""
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Note the pause."""
        self.pauses.append(timeout or 0.0)
        return False


def _pauses(world: World, rounds: int, interval: float = 300.0) -> tuple[list[float], RoundHistory]:
    wake, history = _Wake(), RoundHistory(("prod",))
    options = [ServeOptions(world.cluster, act=True)]
    loop = ServeLoop(
        DirectorySource(str(world.manifests)),
        options,
        ConnectionOptions(),
        Unattended(),
        _Clock(),
        history,
        interval,
    )
    loop.run(lambda: len(wake.pauses) == rounds, wake)
    return wake.pauses, history


def test_the_next_round_is_in_time_for_what_ends_next(world: World) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    world.declare(ACLS.replace("2026-11-01", today.isoformat()))
    [pause], _ = _pauses(world, 1, interval=1e9)
    now = datetime.datetime.now(datetime.UTC)
    midnight = datetime.datetime.combine(today, datetime.time(), datetime.UTC) + datetime.timedelta(days=1)
    assert abs(pause - (midnight - now).total_seconds()) < 5


def test_the_next_round_is_in_time_for_an_instant(world: World) -> None:
    end = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(hours=1)
    world.declare(ACLS.replace("2026-11-01", f"{end:%Y-%m-%dT%H:%M:%SZ}"))
    assert world.round(act=False).next_end == end
    [pause], _ = _pauses(world, 1, interval=1e9)
    assert abs(pause - (end - datetime.datetime.now(datetime.UTC)).total_seconds()) < 5


def test_what_ends_at_an_instant_goes_at_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime.datetime(2026, 11, 1, 18, tzinfo=datetime.UTC)
    world.declare(ACLS.replace("2026-11-01", "2026-11-01T18:00:00Z"))
    monkeypatch.setattr("reconciler.parts.serve.rounds.now", lambda: end - datetime.timedelta(seconds=0.1))
    early = world.round()
    assert (early.revoked, early.next_end) == (0, end)
    monkeypatch.setattr("reconciler.parts.serve.rounds.now", lambda: end)
    assert world.round().revoked == 1
    assert world.bindings() == LIVE - {OVER}


def test_failures_are_tried_again_sooner_and_then_less_often(world: World) -> None:
    world.declare("kind: [")
    pauses, history = _pauses(world, 9)
    assert pauses[:5] == [5, 10, 20, 40, 80]
    assert max(pauses) == 300
    assert len(history.past) == 9


def test_a_round_that_acted_is_followed_by_a_look_but_not_by_a_race(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody puts the expired binding back after each round: the server revokes it at its interval, not faster."""
    waited = _Wake.wait

    def put_back(wake: _Wake, timeout: float | None = None) -> bool:
        world.live(LIVE)
        return waited(wake, timeout)

    monkeypatch.setattr(_Wake, "wait", put_back)
    pauses, _ = _pauses(world, 4)
    assert pauses == [0.2, 300, 0.2, 300]
