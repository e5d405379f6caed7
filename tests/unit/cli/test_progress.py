"""Progress of an apply says the same on a terminal and in a log, and steers only terminals that can be steered."""

import io
import os
import pty
import select
from collections.abc import Iterator
from typing import NamedTuple

import click
import pytest

from reconciler.cli.terminal import ProgressLines, progress_for
from reconciler.plan.phase import Phase

_WARNING = "waiting 2 s for every broker; this cannot detect a broker that is cut off"


class _Terminal(NamedTuple):
    """Both ends of a terminal: what a program writes to, and the number from which that is read."""

    stream: io.TextIOWrapper
    other_end: int

    def shown(self) -> str:
        """What has been written so far; it comes through in pieces."""
        self.stream.flush()
        pieces = []
        while select.select([self.other_end], [], [], 0.5)[0]:
            pieces.append(os.read(self.other_end, 65536))
        return click.unstyle(b"".join(pieces).decode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Terminal]:
    for name in ("CI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    other_end, number = pty.openpty()
    with open(number, "w", encoding="utf-8") as stream:
        yield _Terminal(stream, other_end)
    os.close(other_end)


def test_a_wait_is_called_one_on_a_terminal_and_in_a_log(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with progress_for(terminal.stream) as progress:
        progress.barrier(2)
    assert _WARNING in terminal.shown()
    with progress_for(io.StringIO()) as progress:
        progress.barrier(2)
    assert capsys.readouterr().err == f"   {_WARNING}\n"


def test_a_dumb_terminal_gets_lines(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with progress_for(terminal.stream) as progress:
        progress.barrier(2)
    assert capsys.readouterr().err == f"   {_WARNING}\n"


def test_a_log_says_now_and_then_how_far_a_long_phase_is(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, *(float(second) for second in range(0, 40, 4))])
    progress = ProgressLines(lambda: next(times))
    progress.phase(Phase.DELETE_ALLOW, 30_000)
    for _ in range(9):
        progress.sent(1_000)
    assert capsys.readouterr().err.splitlines() == [
        "delete ALLOW ACLs: 30,000",
        "   3,000 of 30,000 after 12 s",
        "   6,000 of 30,000 after 24 s",
        "   9,000 of 30,000 after 36 s",
    ]


def test_a_short_phase_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 0.0, 1.0, 60.0])
    progress = ProgressLines(lambda: next(times))
    progress.phase(Phase.CREATE_ALLOW, 2)
    progress.sent(1)
    progress.sent(1)  # the last outcome is no progress any more
    assert capsys.readouterr().err == "create ALLOW ACLs: 2\n"


def test_bytes_that_brokers_copy_are_a_bar_on_a_terminal_and_a_line_a_minute_in_a_log(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with progress_for(terminal.stream) as progress:
        progress.phase(Phase.MOVE_REPLICAS, 1)
        progress.moving("topic [t]: 2 partitions left", 8 * 2**20)
        progress.moving("topic [t]: 1 partitions left", 2 * 2**20)
        progress.moving("topic [t]: 1 partitions left", 2**20 + 1)
    shown = terminal.shown()
    assert "topic [t]: 1 partitions left (MiB)" in shown
    assert "6/8" in shown
    seconds = [0.0]
    lines = ProgressLines(lambda: seconds[0])
    lines.phase(Phase.MOVE_REPLICAS, 1)
    for now in (0.0, 30.0, 59.0, 60.0, 61.0, 125.0):
        seconds[0] = now
        lines.moving(f"after {now:g}", 1)
    assert [line for line in capsys.readouterr().err.splitlines() if "after" in line] == [
        "   after 0",
        "   after 60",
        "   after 125",
    ]
