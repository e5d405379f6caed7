"""Writes the files of a commit below a directory: ``base.py CHECKOUT COMMIT PREFIX DESTINATION``.

Whoever proposed the checkout may have put settings for git into it, in ``.gitattributes`` above all: a checkout would
convert files by them, and an archive leave files out. So the objects are read as they are.
Ends with 0; with 3 if the commit has no such directory; with 64 and a message if the commit cannot be read.
"""

import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

_COMMIT = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINK, _SUBMODULE = "120000", "160000"
_GIT = ("git", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false")


class UnreadableError(Exception):
    """The commit cannot be read; ``str()`` says why, and what to do."""


def main(checkout: str, commit: str, prefix: str, destination: str) -> int:
    """Writes them; the exit status."""
    if not _COMMIT.fullmatch(commit) or not commit.strip("0"):
        raise UnreadableError(f"BASE has to be the whole id of a commit, not {commit!r}")
    if _git(checkout, "cat-file", "-t", commit).returncode:
        raise UnreadableError(
            f"the base commit {commit} is not in this checkout: fetch it too (GitHub: fetch-depth: 0 in "
            "actions/checkout, GitLab: GIT_DEPTH: 0), or set GUARDRAILS to a directory, or to none"
        )
    listed = _git(checkout, "ls-tree", "-r", "-z", "--full-tree", commit, "--", prefix or ".")
    if listed.returncode:
        raise UnreadableError(f"the base commit {commit} cannot be listed: {listed.stderr.decode(errors='replace')}")
    entries = [entry for entry in listed.stdout.decode("utf-8", "surrogateescape").split("\0") if entry]
    for entry in entries:
        head, _, path = entry.partition("\t")
        mode, _, name = head.split(" ")
        _write(checkout, mode, name, PurePosixPath(path).relative_to(prefix or "."), Path(destination))
    return 0 if entries else 3


def _write(checkout: str, mode: str, name: str, path: PurePosixPath, destination: Path) -> None:
    if mode == _SUBMODULE:
        raise UnreadableError(f"{path} of the base commit is a submodule, whose manifests cannot be read")
    if path.is_absolute() or ".." in path.parts:
        raise UnreadableError(f"the base commit has a file outside of the manifests: {path}")
    found = _git(checkout, "cat-file", "blob", name)
    if found.returncode:
        raise UnreadableError(f"{path} of the base commit cannot be read")
    file = destination / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if mode == _LINK:
        # Read like any other link: one that leads out of the directory is refused.
        file.symlink_to(os.fsdecode(found.stdout))
    else:
        file.write_bytes(found.stdout)


def _git(checkout: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # No object from elsewhere: neither a replacement that was fetched nor one that a partial clone would fetch now.
    own = {"LC_ALL": "C", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    command = [*_GIT, "-C", checkout, *arguments]
    return subprocess.run(command, env={**os.environ, **own}, capture_output=True, check=False)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except UnreadableError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(64)
