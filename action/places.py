"""Judges the paths that a pipeline's script is given.

Whoever proposes the checkout chooses what is in it: links, files and directories of any name. None of it may decide
which directory of the base commit is read, which file of the operator's is meant, or where results go. Prints ``own``
once OUT is known to be the pipeline's own, which may be emptied then; and if all else is right, the top of the checkout
and the place of MANIFESTS below it; each with a NUL. Ends with 64 and a message where a path is refused. Standard
library only.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

_GIT = ("git", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false")


class RefusedError(Exception):
    """A path is refused; ``str()`` says why, and what to do."""


class Checkout(NamedTuple):
    """The repository that MANIFESTS is in, or MANIFESTS itself where it is in none."""

    top: Path
    prefix: str
    is_repository: bool

    def holds(self, place: Path) -> bool:
        """Whether a place without links is below the top."""
        top = Path(os.path.realpath(self.top))
        return place != top and place.is_relative_to(top)


def checkout_of(manifests: str) -> Checkout:
    """Where MANIFESTS is, by its name alone: a link of the proposal would name another directory."""
    if not os.path.isdir(manifests):
        raise RefusedError(f"there is no directory {manifests}")
    place = _called(manifests)
    if not (place.exists() and place.samefile(manifests)):
        raise RefusedError(f"MANIFESTS {manifests} leads through a link and back: write its path without ..")
    tops = _tops(place)
    link = next((one for one in _below(place, tops[-1]) if one.is_symlink()), None) if tops else None
    if link is not None or (not tops and place.is_symlink()):
        raise RefusedError(
            f"MANIFESTS {manifests}: {link or place} is a link, and a change could make it lead to a directory with "
            "other rules: name the directory itself"
        )
    if not tops:
        return Checkout(place, "", is_repository=False)
    checkout = Checkout(tops[0], os.path.relpath(place, tops[0]), is_repository=True)
    _check_repository(checkout, place)
    return checkout._replace(prefix="" if checkout.prefix == "." else checkout.prefix)


def _called(path: str) -> Path:
    """The whole path as it is called, links as they are; the shell knows by which of them somebody came here."""
    said = os.environ.get("PWD", "")
    here = said if os.path.isabs(said) and os.path.isdir(said) and os.path.samefile(said, ".") else os.getcwd()
    return Path(os.path.normpath(Path(here, path)))


def _tops(place: Path) -> list[Path]:
    """The repositories that a place is in, the nearest first. No file of a commit can be called ``.git``."""
    return [one for one in (place, *place.parents) if os.path.lexists(one / ".git")]


def _below(place: Path, top: Path) -> list[Path]:
    """The directories from below the top down to the place."""
    return [one for one in (place, *place.parents) if one != top and one.is_relative_to(top)][::-1]


def _check_repository(checkout: Checkout, place: Path) -> None:
    """Refuses what git itself does not take for the checkout: a repository inside of it, or somebody else's."""
    seen = _git(place, "rev-parse", "--show-toplevel")
    if seen.returncode:
        if "bare repository" in seen.stderr:
            raise RefusedError(f"{place} looks like a repository of its own")
        advice = "; if it is yours: git config --global --add safe.directory" if "dubious" in seen.stderr else ""
        raise RefusedError(f"git cannot read the checkout {checkout.top}: {_first_line(seen.stderr)}{advice}")
    if not os.path.samefile(seen.stdout.rstrip("\n"), checkout.top):
        raise RefusedError(f"{place} looks like a repository of its own")
    if _git(place, "rev-parse", "--show-superproject-working-tree").stdout.strip():
        raise RefusedError(
            f"{checkout.top} is a submodule, whose commit a change chooses: check its repository out by itself"
        )


def apart(checkout: Checkout, name: str, path: str) -> None:
    """Refuses an operator's path that leads into the checkout, or through it."""
    if any(checkout.holds(step) for step in _steps(path)):
        raise RefusedError(
            f"{name} {path} lies in the checkout of the manifests, where a change could edit it: the operator's files "
            "have to come from elsewhere"
        )


def _existing(kind: Callable[[str], bool], word: str) -> Callable[[Checkout, str, str], None]:
    def check(checkout: Checkout, name: str, path: str) -> None:
        if not kind(path):
            raise RefusedError(f"there is no {word} {path}")
        apart(checkout, name, path)

    return check


def _guardrails(checkout: Checkout, name: str, path: str) -> None:
    if path not in ("base", "none"):
        _existing(os.path.isdir, "directory")(checkout, name, path)


def own(name: str, path: str) -> None:
    """Refuses a place for the pipeline's own files that a proposal could have made: a link, or what git tracks."""
    tops = [*_tops(_called(path)), *_tops(Path(os.getcwd()))]
    steps = [one for one in _steps(path) if any(one.is_relative_to(os.path.realpath(top)) for top in tops)]
    link = next((one for one in (*steps, Path(path)) if one.is_symlink()), None)
    if link is not None:
        raise RefusedError(f"{name} {path}: {link} is a link, which a change could have made: name the place itself")
    place = Path(os.path.realpath(path))
    if Path(os.path.realpath(os.environ["MANIFESTS"])).is_relative_to(place):
        raise RefusedError(f"{name} {path} contains the manifests: name a directory of its own")
    if any(parent.exists() and not parent.is_dir() for parent in place.parents):
        raise RefusedError(f"{name} {path} lies below a file")
    for top in _tops(place)[:1]:
        if _tracked(top, place):
            raise RefusedError(
                f"{name} {path} is part of the checkout's commit, so a change can write it: name a place outside of "
                "the checkout, and remove this one from the repository"
            )


def _tracked(top: Path, place: Path) -> bool:
    """Whether the commit or the index has something at or below a place."""
    born = _git(top, "rev-parse", "--quiet", "--verify", "HEAD").returncode == 0
    tree = ["--with-tree=HEAD"] if born else []
    below = os.path.relpath(place, top)
    listed = _git(top, "--literal-pathspecs", "ls-files", *tree, "-z", "--", below)
    if listed.returncode:
        raise RefusedError(f"git cannot say what the commit has at {place}: {_first_line(listed.stderr)}")
    return bool(listed.stdout)


def _out(name: str, path: str) -> None:
    """It is emptied and written to, and somebody copies it: nothing in it is a link."""
    own(name, path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise RefusedError(f"{name} {path} is no directory")
    for directory, names, files in os.walk(path):
        for one in (*names, *files):
            if os.path.islink(os.path.join(directory, one)):
                raise RefusedError(f"{name} {path} contains the link {one}: empty it first")


def _plan(name: str, path: str) -> None:
    own(name, path)
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(os.environ["OUT"])):
        raise RefusedError("PLAN lies in OUT, which is emptied: keep it elsewhere, with its signatures")


#: Every variable of the scripts that is a path, but for MANIFESTS: the pipeline's own places, and the operator's files.
OWN: Mapping[str, Callable[[str, str], None]] = {"OUT": _out, "PLAN": _plan}
APART: Mapping[str, Callable[[Checkout, str, str], None]] = {
    "METRICS": apart,
    "GITHUB_OUTPUT": apart,
    "GITHUB_STEP_SUMMARY": apart,
    "CONNECTIONS": _existing(os.path.isfile, "file"),
    "SNAPSHOT": _existing(os.path.isfile, "file"),
    "ALLOWED_SIGNERS": _existing(os.path.isfile, "file"),
    "SECRETS_DIR": _existing(os.path.isdir, "directory"),
    "GUARDRAILS": _guardrails,
}


def _steps(path: str) -> Iterator[Path]:
    """Every place that the system goes through to reach a path: each link, and each place without links above it."""
    here = Path("/") if os.path.isabs(path) else Path(os.getcwd())
    parts, links = [*PurePath(path).parts], 0
    while parts:
        part = parts.pop(0)
        if part == "/":
            here = Path("/")
        elif part == "..":
            here = here.parent
        else:
            step = here / part
            yield step
            if step.is_symlink() and (links := links + 1) < 40:
                parts[:0] = PurePath(os.readlink(step)).parts
            else:
                here = step


def _first_line(text: str) -> str:
    return (text.strip() or "failed").splitlines()[0].removeprefix("fatal: ")


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*_GIT, "-C", str(directory), *arguments]
    try:
        return subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise RefusedError(f"git cannot be run: {error}") from error


def main() -> None:
    """Judges the paths of the environment."""
    given = {name: os.environ[name] for name in (*OWN, *APART) if os.environ.get(name)}
    for name in OWN.keys() & given.keys():
        OWN[name](name, given[name])
    sys.stdout.buffer.write(b"own\0")
    checkout = checkout_of(os.environ["MANIFESTS"])
    for name in APART:
        if name in given:
            APART[name](checkout, name, given[name])
    sys.stdout.buffer.write(b"".join(os.fsencode(one) + b"\0" for one in (str(checkout.top), checkout.prefix)))


if __name__ == "__main__":
    try:
        main()
    except RefusedError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(64)
