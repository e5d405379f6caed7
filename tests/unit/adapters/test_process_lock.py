"""Locks between processes."""

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

from reconciler.system.process import in_turn

_CONTEXT = multiprocessing.get_context("fork")


def _take_turns(lock: Path, log: Path) -> None:
    for _ in range(20):
        with in_turn(lock), log.open("a", encoding="ascii") as lines:
            lines.write("in ")
            lines.flush()
            lines.write("out ")


def test_no_two_are_in_it_at_once_and_nothing_is_left(tmp_path: Path) -> None:
    lock, log = tmp_path / ".lock", tmp_path / "log"
    several = [_CONTEXT.Process(target=_take_turns, args=(lock, log)) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert [one.exitcode for one in several] == [0, 0, 0, 0]
    assert log.read_text(encoding="ascii").split() == ["in", "out"] * 80
    assert not lock.exists()


def _hold(lock: Path, held: Event) -> None:
    with in_turn(lock):
        held.set()
        _CONTEXT.Event().wait()


def test_whoever_is_killed_in_it_holds_up_nobody(tmp_path: Path) -> None:
    lock, held = tmp_path / ".lock", _CONTEXT.Event()
    holder = _CONTEXT.Process(target=_hold, args=(lock, held))
    holder.start()
    assert held.wait(60)
    holder.kill()
    holder.join()
    with in_turn(lock):
        assert lock.exists()
    assert not lock.exists()
