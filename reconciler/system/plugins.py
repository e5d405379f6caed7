"""Entry points of other packages, read from the metadata of what is installed.

The groups are ``reconciler.commands``, ``reconciler.formats``, ``reconciler.converters`` and ``reconciler.notifiers``.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: What the section of a group begins with, in the file that lists a package's entry points.
_SECTION: Final = b"[reconciler."
#: Our own distribution: its parts are known without metadata.
_OURS: Final = "kafka_reconciler-"


class PluginError(Exception):
    """An entry point that cannot be used; ``str()`` says whose it is and why."""


def names(group: str) -> tuple[str, ...]:
    """The names that other packages give in a group, sorted."""
    return tuple(sorted(_entry_points(group, tuple(sys.path))))


def load(group: str, name: str) -> Any:
    """What the entry point of this name stands for.

    Raises ``KeyError`` where there is none, and :class:`PluginError` where two packages have it or it fails to import.
    """
    points = _entry_points(group, tuple(sys.path))[name]
    if len(points) > 1:
        packages = " and ".join(package for package, _ in points)
        raise PluginError(f"{group}: {name!r} is in two packages, {packages}: uninstall one")
    [(package, point)] = points
    try:
        return point.load()
    except Exception as error:  # whatever a package of somebody else does while it is imported
        raise PluginError(
            f"{group}: {name!r} of package {package} cannot be imported: {type(error).__name__}: {error}"
        ) from error


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> "dict[str, list[tuple[str, EntryPoint]]]":
    by_name: dict[str, list[tuple[str, EntryPoint]]] = {}
    for place in _declaring(path):
        # Slow to import, and most installations have no package that declares anything.
        from importlib.metadata import Distribution  # noqa: PLC0415

        distribution = Distribution.at(place)
        for point in distribution.entry_points.select(group=group):
            by_name.setdefault(point.name, []).append((distribution.name, point))
    return by_name


@cache
def _declaring(path: tuple[str, ...]) -> tuple[Path, ...]:
    """The metadata directories on the path whose entry points have a group of ours; the first of a name counts."""
    places: dict[str, Path] = {}
    for name, place in _metadata(path):
        if name not in places and not name.startswith(_OURS):
            try:
                text = (place / "entry_points.txt").read_bytes()
            except OSError:
                continue
            if _SECTION in text:
                places[name] = place
    return tuple(places.values())


def _metadata(path: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Not of the working directory, which may hold a proposal that nobody has reviewed."""
    here = os.path.realpath(os.curdir)
    for folder in path:
        if folder and os.path.realpath(folder) != here:
            try:
                entries = sorted(os.listdir(folder))
            except OSError:
                continue
            yield from ((name, Path(folder, name)) for name in entries if name.endswith(".dist-info"))
