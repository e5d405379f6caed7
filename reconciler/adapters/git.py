"""Commits read and made by the user's own git; the files and the index of the working tree stay as they are."""

import datetime
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reconciler.adapters.child_environment import child_environment

#: Manifests may be anybody's: files among them could look like a repository, with settings that name commands to run.
OWN_REPOSITORY: Final = ("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false")
_SECONDS: Final = 60
_NEW_FILE: Final = "100644"
#: Where a fetched reference is kept: no branch of the user's.
_FETCHED: Final = "refs/reconciler/serve"


class GitError(Exception):
    """Git did not do it; in its words."""


class NoGitError(GitError):
    """There is no git on this machine."""


class NotCommittedError(GitError):
    """A file is not as HEAD has it, so a commit on HEAD would take something else with it."""


def commit_on_branch(
    root: Path, before: Mapping[str, str], files: Mapping[str, str | None], branch: str, message: str
) -> str:
    """A commit of ``files`` (by path from ``root``, ``None``: removed) on a new branch from HEAD; its id.

    ``before`` are the texts that the files have, which HEAD has to have too. Raises :class:`GitError`.
    """
    top = Path(_git(root, "rev-parse", "--show-toplevel").strip())
    head = _git(root, "rev-parse", "HEAD").strip()
    _git(root, "check-ref-format", "--branch", branch)
    names = {path: (root / path).resolve().relative_to(top.resolve()).as_posix() for path in files}
    modes = {}
    for path, name in names.items():
        modes[path], committed = _committed(top, head, name)
        if committed != before.get(path):
            raise NotCommittedError(f"{path} is not as it was committed, so a branch from HEAD would lack that")
    with tempfile.TemporaryDirectory() as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
        _git(top, "read-tree", head, more=index)
        for path, text in files.items():
            if text is None:
                _git(top, "update-index", "--force-remove", "--", names[path], more=index)
            else:
                blob = _git(top, "hash-object", "-w", "--stdin", "--no-filters", stdin=text).strip()
                _git(top, "update-index", "--add", "--cacheinfo", f"{modes[path]},{blob},{names[path]}", more=index)
        tree = _git(top, "write-tree", more=index).strip()
    made = _git(top, "commit-tree", tree, "-p", head, "-m", message).strip()
    # The last argument: only if there is no such branch.
    _git(top, "update-ref", f"refs/heads/{branch}", made, "")
    return made


def fetch(root: Path, remote: str, reference: str) -> str:
    """Fetch a reference; the id of its commit. Raises :class:`GitError`."""
    _git(root, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, f"+{reference}:{_FETCHED}")
    return commit_at(root, _FETCHED)


def commit_at(root: Path, reference: str) -> str:
    """The id of the commit that a reference names; raises :class:`GitError`."""
    return _git(root, "rev-parse", "--verify", "--end-of-options", f"{reference}^{{commit}}").strip()


def commit_time(root: Path, commit: str) -> datetime.datetime:
    """When a commit was made, by the clock of whoever made it; raises :class:`GitError`."""
    seconds = int(_git(root, "show", "--no-patch", "--format=%ct", commit).strip())
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def commit_before(root: Path, day: datetime.date) -> str | None:
    """The last commit in HEAD's history before a day (UTC) begins, by the committers' clocks; ``None``: there is none.

    Raises :class:`GitError`.
    """
    return _git(root, "rev-list", "-1", f"--before={day}T00:00:00Z", "HEAD").strip() or None


def top_of(path: Path) -> Path:
    """The top directory of the repository that a directory is in; raises :class:`GitError`."""
    return Path(_git(path, "rev-parse", "--show-toplevel").strip())


def write_tree(root: Path, commit: str, directory: Path) -> None:
    """Write the files of a commit below an empty directory; raises :class:`GitError`."""
    # Links would lead out of the directory: written as files, they hold the text of their target.
    own = f"--git-dir={_git(root, 'rev-parse', '--absolute-git-dir').strip()}", "-c", "core.symlinks=false"
    with tempfile.TemporaryDirectory() as apart:
        index = {"GIT_INDEX_FILE": str(Path(apart, "index"))}
        _git(root, "read-tree", commit, more=index)
        _git(directory, *own, f"--work-tree={directory}", "checkout-index", "--all", "--force", more=index)


def _committed(top: Path, head: str, name: str) -> tuple[str, str | None]:
    """Mode and text of a file at a commit; those of a new file where there is none."""
    listed = _git(top, "ls-tree", head, "--", name).split(maxsplit=1)
    if not listed:
        return _NEW_FILE, None
    return listed[0], _git(top, "cat-file", "blob", f"{head}:{name}")


def _git(directory: Path, *arguments: str, stdin: str = "", more: Mapping[str, str] = {}) -> str:
    try:
        done = subprocess.run(
            ["git", *OWN_REPOSITORY, "-C", str(directory), *arguments],  # noqa: S607 - the user's own git
            env={**child_environment("GIT_"), **more},
            input=stdin.encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise NoGitError("git is not installed here") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise GitError(f"git cannot be run: {error}") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        name = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        raise GitError(f"git {name}: {words[-1] if words else 'failed'}")
    return done.stdout.decode("utf-8")
