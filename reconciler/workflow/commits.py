"""Which commit the manifests are at, by the user's own git."""

import subprocess
from pathlib import Path

from reconciler.adapters.child_environment import child_environment
from reconciler.adapters.commit_files import OWN_REPOSITORY


def source_commit(path: str) -> str | None:
    """The commit of the manifests' repository, marked where files differ from it; ``None`` outside of git."""
    commit = _git(path, "rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}-dirty" if _git(path, "status", "--porcelain", "--", ".") else commit


def _git(path: str, *arguments: str) -> str | None:
    directory = Path(path) if Path(path).is_dir() else Path(path).parent
    try:
        done = subprocess.run(
            ["git", *OWN_REPOSITORY, "-C", str(directory), *arguments],  # noqa: S607 - the user's own git
            env=child_environment("GIT_"),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
