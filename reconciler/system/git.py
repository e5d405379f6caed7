"""Commits read and made by the user's own git; the files and the index of the working tree stay as they are."""

import datetime
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reconciler.system.commit_files import OWN_REPOSITORY, UnreadableCommitError, first_error, write_commit
from reconciler.system.process import child_environment

_SECONDS: Final = 60
_NEW_FILE: Final = "100644"
#: Without submodules: the commit that is checked out says where those come from.
_FETCH: Final = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
#: Where a fetched reference is kept: no branch of the user's.
_FETCHED: Final = "refs/reconciler/serve"
#: What git blame says before each line: commit, the line's number there, and its number here.
_BLAMED: Final = re.compile(r"[0-9a-f]{40,64} [0-9]+ ([0-9]+)(?: [0-9]+)?$")


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
    commit = _git(top, "commit-tree", tree, "-p", head, "-m", message).strip()
    # The last argument: only if there is no such branch.
    _git(top, "update-ref", f"refs/heads/{branch}", commit, "")
    return commit


def fetch(root: Path, remote: str, reference: str) -> str:
    """Fetch a reference; the id of its commit. Raises :class:`GitError`."""
    _git(root, "fetch", *_FETCH, remote, f"+{reference}:{_FETCHED}")
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


def line_authors(root: Path, file: str) -> dict[int, str]:
    """Whose each line of a file is, by number from 1: the addresses of the commits' authors; raises :class:`GitError`.

    A line that is not committed is nobody's, nor is one from before a shallow clone begins: git names the author of
    the first commit that it has for all of those.
    """
    authors: dict[int, str] = {}
    number = 0
    shallow = _git(root, "rev-parse", "--is-shallow-repository").strip() != "false"
    for line in _git(root, "blame", "--line-porcelain", "--", file).split("\n"):
        if (head := _BLAMED.match(line)) is not None:
            number = int(head[1])
        elif line.startswith("author-mail <") and line != "author-mail <not.committed.yet>":
            authors[number] = line.removeprefix("author-mail <").removesuffix(">")
        elif shallow and line == "boundary":
            authors.pop(number, None)
    return authors


def top_of(path: Path) -> Path:
    """The top directory of the repository that a directory is in; raises :class:`GitError`."""
    return Path(_git(path, "rev-parse", "--show-toplevel").strip())


def write_tree(root: Path, commit: str, directory: Path, below: str = "") -> None:
    """Write what a commit has below a path, at the same place below an empty directory; raises :class:`GitError`.

    The project files above the path come with it, as git's objects have them (``commit_files``).
    """
    try:
        write_commit(top_of(root), commit, below, directory, child_environment("GIT_"))
    except UnreadableCommitError as error:
        raise GitError(str(error)) from error


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
            # What is looked for in its words are English ones.
            env={**child_environment("GIT_"), "LC_ALL": "C", **more},
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
        name = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        raise GitError(f"git {name}: {first_error(done.stderr)}")
    return done.stdout.decode("utf-8")
