"""A process that is killed takes with it the sandboxes that it held, and no other; real processes, and no broker."""

import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.parts.local.sandbox.launch import watched
from reconciler.parts.local.sandbox.state import (
    Node,
    Process,
    Sandbox,
    end,
    is_alive,
    load,
    save,
    spawn,
    start_time,
    this_process,
)

_HOLDER = """
import sys
from pathlib import Path
from reconciler.parts.local.sandbox.state import this_process
from reconciler.parts.local.sandbox.launch import watched
me = this_process()
with watched(Path(sys.argv[1]), me.pid, me.started) as watch:
    print(watch, flush=True)
    sys.stdin.read()
"""
#: A watch loads its modules when the holder is gone.
_PATIENCE_SECONDS = 60.0


class Held(NamedTuple):
    """A sandbox, the process that holds it, and the watch between them."""

    sandbox: Sandbox
    holder: "subprocess.Popen[str]"
    watch: Process


@pytest.fixture
def held(tmp_path: Path) -> Held:
    """The record of a sandbox whose only node is a sleeping process, and a process that holds it."""
    sleep = shutil.which("sleep")
    assert sleep
    directory = tmp_path / "root" / "try"
    directory.mkdir(parents=True)
    node = Node(1, ("broker",), {}, process=spawn([sleep, "600"], tmp_path / "output", {}))
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    watch = int(holder.stdout.readline())
    started = start_time(holder.pid)
    assert started
    sandbox = Sandbox("try", "4.3.1", directory, (node,), holder=Process(holder.pid, started))
    save(sandbox)
    return Held(sandbox, holder, Process(watch, start_time(watch) or ""))


def test_a_killed_holder_takes_its_sandbox_along(held: Held) -> None:
    sandbox, holder, _ = held
    holder.kill()
    holder.communicate()
    until = time.monotonic() + _PATIENCE_SECONDS
    while sandbox.directory.exists():
        assert time.monotonic() < until, "the directory stays"
        time.sleep(0.02)
    assert not sandbox.nodes[0].is_running()


def test_one_that_is_made_since_by_somebody_else_stays(held: Held) -> None:
    sandbox, holder, watch = held
    save(replace(sandbox, holder=None))
    holder.kill()
    holder.communicate()
    until = time.monotonic() + _PATIENCE_SECONDS
    while is_alive(watch):
        assert time.monotonic() < until, "the watch stays"
        time.sleep(0.02)
    assert sandbox.nodes[0].is_running()
    assert sandbox.nodes[0].process
    end([sandbox.nodes[0].process], patience=0)


def test_a_block_that_ends_dismisses_the_watch(held: Held) -> None:
    sandbox, holder, watch = held
    holder.communicate("")
    assert holder.returncode == 0
    assert not is_alive(watch)  # the block waits for it
    assert load(sandbox.directory) == sandbox
    assert sandbox.nodes[0].process
    end([sandbox.nodes[0].process], patience=0)


def test_a_watch_that_somebody_killed_is_no_error(tmp_path: Path) -> None:
    me = this_process()
    with watched(tmp_path, me.pid, me.started) as watch:
        end([Process(watch, start_time(watch) or "")], patience=0)
