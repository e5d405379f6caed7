"""The directories of sandboxes, created, listed and removed under one lock."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.places import state_directory
from reconciler.adapters.sandbox.process import Process, end, is_alive, this_process
from reconciler.adapters.sandbox.spec import check_name
from reconciler.adapters.sandbox.state import Sandbox, load, save

_POLL_SECONDS = 0.02


def sandbox_root(root: Path | None) -> Path:
    """``root``, or ``$XDG_STATE_HOME/reconciler/sandbox``, by default below ``~/.local/state``."""
    if root is not None:
        return root.absolute()
    return state_directory() / "sandbox"


def claim(sandbox: Sandbox) -> None:
    """Makes the sandbox's directory and record; raises if the name is in use, clears what a crash left."""
    with _locked(sandbox.directory.parent):
        if sandbox.directory.exists():
            refuse_if_up(sandbox.directory)
            _discard(sandbox.directory)
        sandbox.directory.mkdir(mode=0o700)
        save(sandbox)


def refuse_if_up(directory: Path) -> None:
    """Raises :class:`SandboxError` if a sandbox in this directory is up, partly up or starting."""
    found = load(directory)
    if found is None or found.condition() == "crashed":
        return
    if found.condition() == "starting":
        raise SandboxError(f"Sandbox {found.name} is just being started.", "Wait, or choose another name.")
    advice = f"Choose another name, or end it: reconciler sandbox down --name {found.name}"
    raise SandboxError(f"Sandbox {found.name} is already up ({found.bootstrap}).", advice)


def remove(directory: Path) -> None:
    """Ends a sandbox's processes and removes its directory; raises if it is absent or being started."""
    check_name(directory.name)
    if not directory.exists():
        raise not_up(directory.name)
    with _locked(directory.parent):
        found = load(directory)
        starter = found.starter if found else None
        if starter and starter != this_process() and is_alive(starter):
            raise SandboxError(f"Sandbox {directory.name} is just being started.", f"Interrupt process {starter.pid}.")
        _discard(directory)


def remove_after(directory: str, pid: int, started: str) -> None:
    """Removes the sandbox that this process held, once it is gone; one that somebody else has made since is left."""
    holder = Process(pid, started)
    while is_alive(holder):  # its files are closed, which is how we know, a moment before its pid is free
        time.sleep(_POLL_SECONDS)
    found = load(Path(directory))
    if found and found.holder == holder:
        remove(found.directory)


def stored(root: Path) -> list[Sandbox]:
    """Every sandbox that has a record, sorted by name."""
    if not root.is_dir():
        return []
    found = [load(directory) for directory in sorted(root.iterdir())]
    return [sandbox for sandbox in found if sandbox]


def not_up(name: str) -> SandboxError:
    """The error for a name that no sandbox has."""
    return SandboxError(f"Sandbox {name} is not up.", f"Start it: reconciler sandbox up --name {name}")


def _discard(directory: Path) -> None:
    if found := load(directory):
        # The data is deleted anyway: nothing is lost with a node that is killed, and a polite end takes seconds.
        end([node.process for node in found.nodes if node.process], 0.0)
    shutil.rmtree(directory)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Holds the lock on the directory of all sandboxes; it is on the directory itself, so no lock file is left."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
