"""Where a server finds the manifests: a directory, or a reference in a git repository.

Each round looks again. What cannot be read ends the round: a server never goes on with manifests of before, for the
change that it cannot see may be the one that keeps what it is about to take away.
"""

import datetime
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from reconciler.adapters.git import GitError, NoGitError, commit_at, commit_time, fetch, top_of, write_tree
from reconciler.dataclass import dataclass
from reconciler.workflow.commits import source_commit
from reconciler.workflow.reasons import RequestError, WorkflowError


@dataclass(frozen=True, slots=True)
class Checkout:
    """Manifests as they are now: their directory, their commit, and when it was made, where that is known."""

    path: str
    commit: str | None
    committed: datetime.datetime | None = None


class ManifestSource(Protocol):
    """Where the manifests come from."""

    def checkout(self) -> AbstractContextManager[Checkout]:
        """The manifests, there until the context ends; raises a :class:`WorkflowError` where they cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A directory that somebody else keeps up to date."""

    path: str

    @contextmanager
    def checkout(self) -> Iterator[Checkout]:
        """The directory itself; a link is followed once, so that a round reads one commit where the link moves on."""
        path = str(Path(self.path).resolve())
        yield Checkout(path, source_commit(path))


@dataclass(frozen=True, slots=True)
class GitSource:
    """The directory ``below`` of a reference in a repository on this machine, fetched from ``remote`` first if given.

    Credentials are those of the operator's own git. The repository's working tree stays as it is.
    """

    repository: str
    reference: str
    below: str = "."
    remote: str | None = None

    @contextmanager
    def checkout(self) -> Iterator[Checkout]:
        """The files of the commit in a directory of their own."""
        root = Path(self.repository)
        with tempfile.TemporaryDirectory(prefix="reconciler-serve-") as directory:
            try:
                wanted = self.reference if self.remote is None else fetch(root, self.remote, self.reference)
                commit = commit_at(root, wanted)
                write_tree(root, commit, Path(directory), self.below)
                made = commit_time(root, commit)
            except GitError as error:
                raise WorkflowError(f"the manifests at {self.reference} cannot be read: {error}") from error
            path = Path(directory, self.below)
            if not path.is_dir():
                raise WorkflowError(f"{self.reference} has no directory {self.below}")
            yield Checkout(str(path), commit, made)


def git_source(path: str, reference: str, remote: str | None) -> GitSource:
    """A directory of a repository, at a reference; raises a :class:`RequestError` where it is in none."""
    try:
        top = top_of(Path(path))
        below = Path(path).resolve().relative_to(top.resolve())
    except NoGitError as error:
        raise RequestError(
            f"a git reference cannot be read: {error}",
            "read a directory that another program keeps up to date, such as git-sync",
        ) from error
    except (GitError, ValueError) as error:
        raise RequestError(f"{path} is in no git repository: {error}") from error
    return GitSource(str(top), reference, str(below), remote)
