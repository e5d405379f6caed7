"""Directories of the user's own, where the XDG base directory specification says."""

import os
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError


def own_directory(variable: str, *below_home: str) -> Path:
    """What the environment variable names, else a directory below the user's home; raises if there is neither."""
    named = os.environ.get(variable)
    if named:
        return Path(named)
    try:
        return Path.home().joinpath(*below_home)
    except RuntimeError:
        raise SandboxError(
            "There is no home directory: HOME is not set, and the system knows none for this user.",
            f"Set HOME, or {variable} to a directory that can be written to.",
        ) from None
