"""Chromium for tests: one pinned build, which carries its libraries and a font: npm's ``@sparticuz/chromium``.

The npm client comes from PyPI with the development dependencies, so Python is all a machine needs. The build is checked
by its SHA-512 and kept in ``$XDG_CACHE_HOME/reconciler``. It is for Linux on x86-64; elsewhere ``RECONCILER_CHROMIUM``
names an installed Chromium or Chrome. Pages are driven through ``tests.browser.driver``.
"""

import fcntl
import io
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa

from tests.browser.npm import NoPackageError, Package, packed

PACKAGE: Final = "@sparticuz/chromium"
VERSION: Final = "153.0.0"
INTEGRITY: Final = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
CHOICE: Final = "RECONCILER_CHROMIUM"


class NoBrowserError(Exception):
    """There is no Chromium for this machine, or it could not be fetched; the text says which and what to do."""


def chromium() -> Path:
    """The program, fetched when it is first asked for; raises :class:`NoBrowserError`."""
    chosen = os.environ.get(CHOICE)
    if chosen:
        return Path(chosen)
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoBrowserError(f"no Chromium is fetched for this kind of machine: let {CHOICE} name an installed one")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reconciler"
    program = cache / f"chromium-{VERSION}" / "chromium"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "chromium.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _fetch(cache, program.parent)
    return program


def environment(program: Path) -> dict[str, str]:
    """What the program needs around it: its own libraries first, and its own font where the machine has none."""
    libraries = [str(program.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    found = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    if not Path("/etc/fonts/fonts.conf").exists():
        found["FONTCONFIG_PATH"] = str(program.parent)
    return found


def _fetch(cache: Path, target: Path) -> None:
    """Into a directory of its own first, so that the target is whole or not there."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        try:
            archive = packed(Package(PACKAGE, VERSION, INTEGRITY), Path(scratch))
        except NoPackageError as error:
            raise NoBrowserError(str(error)) from error
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        _unpack(archive, unpacked)
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)


def _unpack(archive: Path, target: Path) -> None:
    """Everything below ``bin``: programs and archives, each compressed with Brotli."""
    with tarfile.open(archive) as package:
        for member in package:
            packed = package.extractfile(member) if member.name.endswith(".br") else None
            if packed is None:
                continue
            data = pa.input_stream(io.BytesIO(packed.read()), compression="brotli").read()
            name = Path(member.name).stem
            if name.endswith(".tar"):
                with tarfile.open(fileobj=io.BytesIO(data)) as inner:
                    # Python before 3.11.4 has no filters; what the archive holds is pinned by its digest.
                    inner.extraction_filter = getattr(tarfile, "data_filter", None)
                    inner.extractall(target)  # noqa: S202 - pinned
            else:
                (target / name).write_bytes(data)
                (target / name).chmod(0o755)
