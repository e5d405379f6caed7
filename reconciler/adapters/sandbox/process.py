"""Processes that outlive the command that started them, and that are only ended if they are still the same.

A process is its pid *and* its start time: the system reuses pids.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.dataclass import dataclass

_POLL_SECONDS = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Process:
    """One run of a program: a pid, and what the system says about when it started (compared, never read)."""

    pid: int
    started: str


def spawn(command: Sequence[str], output: Path, environment: Mapping[str, str]) -> Process:
    """Starts a program in a session of its own, so that a Ctrl-C in this terminal does not reach it."""
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGINT],
    )
    return Process(pid, start_time(pid) or "")


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Delays an interrupt to the end of the block, so that a started process is always recorded."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def this_process() -> Process:
    """The process that runs this code."""
    return Process(os.getpid(), start_time(os.getpid()) or "")


def is_alive(process: Process) -> bool:
    """Whether this process still runs; a reused pid or a zombie does not count."""
    if process.started and start_time(process.pid) == process.started:
        return True
    with contextlib.suppress(ChildProcessError):  # a child of ours: reap it
        os.waitpid(process.pid, os.WNOHANG)
    return False


def end(processes: Sequence[Process], patience: float) -> None:
    """Terminates them, kills those that have not ended within ``patience`` seconds; returns when all are gone.

    Without patience (0) they are killed at once, unasked.
    """
    if patience:
        _signal(processes, signal.SIGTERM)
        _wait(processes, patience)
    _signal(processes, signal.SIGKILL)
    _wait(processes, float("inf"))


def start_time(pid: int) -> str | None:
    """When the process with this pid started, in the system's own words; None if there is none, or only a zombie."""
    if not _BOOT_ID.exists():
        return _start_time_of_ps(pid)
    try:
        # proc(5): the name in parentheses may hold anything; state is the first field after it, starttime the 20th.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{fields[19]}"


def _start_time_of_ps(pid: int) -> str | None:
    answer = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def _signal(processes: Sequence[Process], number: signal.Signals) -> None:
    for process in processes:
        if is_alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _wait(processes: Sequence[Process], patience: float) -> None:
    until = time.monotonic() + patience
    while any(is_alive(process) for process in processes) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
