"""Directories of the user's own, as the operating system has them (on Linux: the XDG base directories)."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from platformdirs import PlatformDirs

from reconciler.adapters.sandbox.error import SandboxError

_DIRECTORIES: Final = PlatformDirs("reconciler", appauthor=False)


def cache_directory() -> Path:
    """What can be downloaded again: ``$XDG_CACHE_HOME/reconciler``, by default below ``~/.cache``."""
    return _absolute(lambda: _DIRECTORIES.user_cache_path, "XDG_CACHE_HOME")


def state_directory() -> Path:
    """What has to last: ``$XDG_STATE_HOME/reconciler``, by default below ``~/.local/state``."""
    return _absolute(lambda: _DIRECTORIES.user_state_path, "XDG_STATE_HOME")


def _absolute(find: Callable[[], Path], variable: str) -> Path:
    try:
        found = find()
    except RuntimeError:  # what newer versions of platformdirs raise where older ones return "~/…"
        found = Path()
    if not found.is_absolute():
        raise SandboxError(
            "There is no home directory: HOME is not set, and the system knows none for this user.",
            f"Set HOME, or {variable} to a directory that can be written to.",
        )
    return found
