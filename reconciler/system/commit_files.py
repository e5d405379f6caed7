"""Writes the manifests of a commit below a directory, from git's objects as they are.

A checkout or an archive would obey what the commit or the working tree says in ``.gitattributes``: it leaves files out,
converts their encoding, and runs filters. Standard library only: the scripts of pipelines run this file by itself
(``action/base.py`` is a link to it), as ``base.py CHECKOUT COMMIT PREFIX DESTINATION``. It ends with 0; with 3 if the
commit has no such directory; with 64 and a message if the commit cannot be read.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

#: Manifests may be anybody's: files among them could look like a repository, with settings that name commands to run.
OWN_REPOSITORY: Final = ("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false")
#: No object from elsewhere: neither a replacement that was fetched nor one that a partial clone would fetch now.
_OWN_OBJECTS: Final = {
    "LC_ALL": "C",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_COMMIT: Final = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINK, _SUBMODULE, _DIRECTORY = "120000", "160000", "040000"
#: As in ``reconciler.app.manifests``, which this file cannot import; a test holds the two together.
PROJECT_NAME: Final = "reconciler.yaml"
#: So many objects are in memory at once.
_BATCH: Final = 200
_SECONDS: Final = 60


class UnreadableCommitError(Exception):
    """The commit cannot be read; ``str()`` says why."""


class _CommitFile(NamedTuple):
    mode: str
    name: str
    path: PurePosixPath


def write_commit(
    repository: str | Path, commit: str, prefix: str, destination: Path, environment: Mapping[str, str]
) -> bool:
    """Write what a commit has in the directory (or the file) ``prefix``, at the same place below ``destination``.

    The project files above it, up to the top, are written too, and an empty ``.git`` says that nothing is above them.
    A link stays a link, which whoever reads manifests follows inside the directory only. Whether the commit has the
    prefix; raises :class:`UnreadableCommitError`, and ``OSError`` where nothing can be written.
    """
    reader = _CommitReader(str(repository), environment)
    wanted = PurePosixPath(prefix)
    above = [str(parent / PROJECT_NAME) for parent in wanted.parents] if wanted.parts else []
    listed = [entry for entry in reader.listed(commit, [prefix or "."]) if entry.mode != _DIRECTORY]
    if any(entry.path == wanted and entry.mode == _LINK for entry in listed):
        raise UnreadableCommitError(f"{prefix} is a link in the commit {commit}: name the directory that it leads to")
    projects = [item for item in reader.listed(commit, above) if str(item.path) in above] if listed and above else []
    (destination / ".git").mkdir(parents=True, exist_ok=True)
    # Links last, so that nothing is written through one.
    entries = sorted({*listed, *projects}, key=lambda entry: (entry.mode == _LINK, entry.path))
    for start in range(0, len(entries), _BATCH):
        part = entries[start : start + _BATCH]
        for entry, data in zip(part, reader.contents(commit, part), strict=True):
            _write(entry, data, destination)
    return bool(listed)


def _write(entry: _CommitFile, data: bytes, destination: Path) -> None:
    file = destination / entry.path
    if any(parent.is_symlink() for parent in file.parents if parent.is_relative_to(destination)):
        raise UnreadableCommitError(f"the commit has {entry.path} below a link")
    file.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == _LINK:
        file.symlink_to(os.fsdecode(data))
    else:
        file.write_bytes(data)


class _CommitReader(NamedTuple):
    repository: str
    environment: Mapping[str, str]

    def listed(self, commit: str, paths: list[str]) -> list[_CommitFile]:
        """What is at or below the paths."""
        listed = self._git(commit, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
        entries = []
        for line in listed.decode("utf-8", "surrogateescape").split("\0"):
            head, _, path = line.partition("\t")
            if head:
                mode, _, name = head.split(" ")
                entries.append(_CommitFile(mode, name, _inside(PurePosixPath(path), mode)))
        return entries

    def contents(self, commit: str, entries: list[_CommitFile]) -> Iterator[bytes]:
        """The objects' bytes, in order."""
        names = "".join(f"{entry.name}\n" for entry in entries).encode()
        answer = self._git(commit, "cat-file", "--batch", stdin=names)
        start = 0
        for entry in entries:
            end = answer.index(b"\n", start)
            words = answer[start:end].split(b" ")
            if words[1] != b"blob":
                raise UnreadableCommitError(f"{entry.path} of the commit {commit} is not in this repository")
            start = end + 1 + int(words[2])
            yield answer[end + 1 : start]
            start += 1

    def _git(self, commit: str, *arguments: str, stdin: bytes = b"") -> bytes:
        try:
            done = subprocess.run(
                ["git", *OWN_REPOSITORY, "-C", self.repository, *arguments],  # noqa: S607 - the user's own git
                env={**self.environment, **_OWN_OBJECTS},
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.SubprocessError as error:
            raise UnreadableCommitError(f"the commit {commit} cannot be read: {error}") from error
        if done.returncode:
            raise UnreadableCommitError(f"the commit {commit} cannot be read: {first_error(done.stderr)}")
        return done.stdout


def _inside(path: PurePosixPath, mode: str) -> PurePosixPath:
    if mode == _SUBMODULE:
        raise UnreadableCommitError(f"{path} is a submodule, whose manifests cannot be read")
    if path.is_absolute() or ".." in path.parts or any(part.lower() == ".git" for part in path.parts):
        raise UnreadableCommitError(f"the commit has a file outside of the manifests: {path}")
    return path


def first_error(stderr: bytes) -> str:
    """The first line that says what is wrong: git ends with advice, and may begin with warnings and hints."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    wrong = [line for line in lines if not line.lower().startswith(("warning:", "hint:"))]
    line = next(iter(wrong or lines), "failed")
    for word in ("fatal: ", "error: "):
        line = line.removeprefix(word)
    return re.sub("://[^/@ ]+@", "://", line)  # an address may hold a password


def main(checkout: str, commit: str, prefix: str, destination: str) -> int:
    """Writes them; the exit status."""
    if not _COMMIT.fullmatch(commit) or not commit.strip("0"):
        raise UnreadableCommitError(f"BASE has to be the whole id of a commit, not {commit!r}")
    try:
        _CommitReader(checkout, os.environ).listed(commit, [PROJECT_NAME])
    except UnreadableCommitError as error:
        raise UnreadableCommitError(
            f"the base commit {commit} is not in this checkout: fetch it too (GitHub: fetch-depth: 0 in "
            f"actions/checkout, GitLab: GIT_DEPTH: 0), or set GUARDRAILS to a directory, or to none ({error})"
        ) from error
    return 0 if write_commit(checkout, commit, prefix, Path(destination), os.environ) else 3


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (UnreadableCommitError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(64)
