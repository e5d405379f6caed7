"""``reconciler fleet pack``: what spark-submit takes to run fleet commands on executors that have nothing of ours.

``environment.tar.gz`` is for ``--archives``: this package and what it requires, with a ``bin/python`` that finds them
beside itself, wherever Spark unpacks it. ``kafka_reconciler.zip`` is for ``--py-files`` where the executors' Python has
the requirements; it holds this package alone. ``reconciler_main.py`` is the application.
"""

import io
import os
import re
import shlex
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from sys import version_info
from typing import Final

import click

import reconciler
from reconciler.cli.console import CommandError, out, progress
from reconciler.system.files import write_atomically

ENVIRONMENT, PACKAGE, APPLICATION = "environment.tar.gz", "kafka_reconciler.zip", "reconciler_main.py"
_OURS: Final = "kafka-reconciler"
#: Spark brings its own to each executor, of the version that the cluster runs.
_OF_SPARK: Final = ("pyspark", "py4j")
#: Tests, headers and examples of packages: a tenth of the archive, and no worker reads them.
_LEFT_OUT: Final = re.compile(r"(^|/)(tests|include)/|\.(pxd|pyx|h|hpp)$|(^|/)__pycache__/")
_MAIN: Final = """\
# For spark-submit: the words after this file's name are those of the command.
from reconciler.cli.main import main

main()
"""
#: A link or pyvenv.cfg would need the interpreter in the place where it is here.
_PYTHON: Final = """\
#!/bin/sh
here=$(cd "$(dirname -- "$0")/.." && pwd) || exit 127
PYTHONPATH="$here/lib${{PYTHONPATH:+:$PYTHONPATH}}"
export PYTHONPATH
for python in {place} python{version} python3; do
  if [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = {version} ]; then
    exec "$python" "$@"
  fi
done
echo "this environment needs Python {version}, and $(hostname) has none" >&2
exit 127
"""


@click.command("pack", short_help="Pack the environment for a Spark cluster's executors")
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def command(*, directory: Path) -> None:
    """Write to DIR what spark-submit needs to run fleet commands on executors without this package.

    DIR receives environment.tar.gz for --archives (this package and its requirements; the executors need a Python of
    the same minor version), kafka_reconciler.zip for --py-files (this package alone, for executors whose Python has the
    requirements), and reconciler_main.py, the application.
    """
    home = Path(reconciler.__file__).parent
    if not home.is_dir():
        raise CommandError("this package runs from an archive", "install it, then pack")
    directory.mkdir(parents=True, exist_ok=True)
    packages = list(_required())
    progress(f"packing {len(packages)} packages: up to a minute")
    _whole(directory / ENVIRONMENT, lambda place: _pack_environment(place, home, packages))
    _whole(directory / PACKAGE, lambda place: _pack_package(place, home))
    write_atomically(_MAIN, str(directory / APPLICATION))
    for name in (ENVIRONMENT, PACKAGE, APPLICATION):
        out([f"{directory / name}  {(directory / name).stat().st_size / 1e6:,.1f} MB"])


def _required() -> Iterator[Distribution]:
    """What this package requires here, with its extras as far as they are installed, but for what Spark brings."""
    names, seen = [_OURS], {*_OF_SPARK}
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError as error:
            if name == _OURS:
                raise CommandError(f"the package {_OURS} is not installed", "pip install it, then pack") from error
            continue  # of another platform, or of an extra
        if name != _OURS:
            yield package
        wanted = (each for each in package.requires or () if name == _OURS or "extra ==" not in each)
        names += [match[0] for match in map(re.compile(r"[\w.-]+").match, wanted) if match is not None]


def _own_files(home: Path) -> Iterator[tuple[Path, str]]:
    """Those of this package, and their names below a directory of packages."""
    for file in sorted(home.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            yield file, file.relative_to(home.parent).as_posix()


def _files_of(packages: Iterable[Distribution]) -> Iterator[tuple[Path, str]]:
    """Those of installed packages."""
    for package in packages:
        for path in package.files or ():
            name, file = path.as_posix(), Path(str(path.locate()))
            # What is elsewhere are scripts, which name this machine's Python.
            if ".." not in path.parts and not _LEFT_OUT.search(name) and file.is_file():
                yield file, name


def _pack_environment(place: Path, home: Path, packages: Iterable[Distribution]) -> None:
    version = f"{version_info.major}.{version_info.minor}"
    script = _PYTHON.format(place=shlex.quote(os.path.realpath(sys.executable)), version=version).encode()
    with tarfile.open(place, "w:gz", compresslevel=4) as archive:
        for name in ("bin/python", "bin/python3"):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(script), 0o755
            archive.addfile(entry, io.BytesIO(script))
        for file, name in (*_own_files(home), *_files_of(packages)):
            archive.add(file, f"lib/{name}", filter=_without_owner)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Where it is unpacked, its owner is whoever runs the executor, who may read it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode |= 0o444
    return entry


def _pack_package(place: Path, home: Path) -> None:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, name in _own_files(home):
            archive.write(file, name)


def _whole(place: Path, make: Callable[[Path], None]) -> None:
    """A file that is there whole or not at all."""
    begun = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        make(begun)
        begun.replace(place)
    finally:
        begun.unlink(missing_ok=True)
