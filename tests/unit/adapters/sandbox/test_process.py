"""Only the very process that was started is ever ended, on real processes."""

import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.state import Process, end, is_alive, spawn, start_time, this_process


@pytest.fixture
def sleeper(tmp_path: Path) -> Process:
    return _spawn(tmp_path, "exec sleep 60")


def test_a_process_lives_until_it_is_ended(sleeper: Process) -> None:
    assert is_alive(sleeper)
    end([sleeper], patience=10)
    assert not is_alive(sleeper)
    assert start_time(sleeper.pid) is None


def test_a_pid_that_somebody_else_has_now_is_left_alone(sleeper: Process) -> None:
    predecessor = replace(sleeper, started="in another life")
    assert not is_alive(predecessor)
    end([predecessor], patience=0)
    assert is_alive(sleeper)
    end([sleeper], patience=0)


def test_a_process_whose_start_is_unknown_is_left_alone(sleeper: Process) -> None:
    assert not is_alive(replace(sleeper, started=""))
    end([replace(sleeper, started="")], patience=0)
    assert is_alive(sleeper)
    end([sleeper], patience=0)


def test_one_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = _spawn(tmp_path, "trap '' TERM; echo deaf; while :; do sleep 0.05; done")
    while not (tmp_path / "output").read_text(encoding="utf-8"):
        time.sleep(0.01)
    end([deaf], patience=0.2)
    assert not is_alive(deaf)


def test_it_has_a_session_of_its_own_and_its_output_in_a_private_file(tmp_path: Path) -> None:
    process = _spawn(tmp_path, "echo said; echo warned >&2; exec sleep 60")
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    output = tmp_path / "output"
    while output.read_text(encoding="utf-8") != "said\nwarned\n":
        time.sleep(0.01)
    assert output.stat().st_mode & 0o077 == 0
    end([process], patience=10)


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE) as child:
        started = start_time(child.pid)
        assert started is not None
        assert child.stdin is not None
        child.stdin.close()
        while start_time(child.pid) is not None:  # nobody has waited for it yet, so its pid is still taken
            time.sleep(0.01)
        assert Path(f"/proc/{child.pid}").exists() or not Path("/proc").exists()


def test_this_process_is_alive_and_always_the_same() -> None:
    assert is_alive(this_process())
    assert this_process() == this_process()


def _spawn(tmp_path: Path, script: str) -> Process:
    shell = shutil.which("sh")
    assert shell
    return spawn([shell, "-c", script], tmp_path / "output", os.environ)
