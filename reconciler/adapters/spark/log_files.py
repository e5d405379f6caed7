"""Log files: where they are, in which parts they are read, and their lines; packed or not, whole or damaged."""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from reconciler.dataclass import dataclass
from reconciler.fleet.usage import MAX_LINE

#: Larger files are read in parts of this size, if they are not packed.
PART_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 16 * 1024 * 1024
#: Where a packed file breaks off, the piece in which it does is lost: pieces are small.
_PACKED_CHUNK: Final = 64 * 1024
#: By how they begin: rotation renames files, so names say little.
_PACKED: Final = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\x28\xb5\x2f\xfd", "zstd"))
_WILD: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True, order=True)
class LogPart:
    """The lines of a file that begin in a range of its bytes; of an unnamed cluster where the lines say of which.

    ``end`` is ``None`` where the file is read to its end.
    """

    cluster: str
    file: str
    start: int
    end: int | None
    size: int


def find_parts(cluster: str, place: str, *, deep: bool = True) -> list[LogPart]:
    """The parts of a file, of all files below a directory (or, not ``deep``, in it), or of those that a pattern names.

    Raises ``FileNotFoundError`` if there are none, and ``OSError``.
    """
    system, path = _opened(place)
    info = None if _WILD.intersection(path) else system.get_file_info(path)
    if info is not None and info.type is fs.FileType.File:
        found = [info]
    elif info is not None and info.type is fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(path, recursive=deep))
    elif info is None:
        base = path[: min(path.find(sign) for sign in _WILD if sign in path)].rpartition("/")[0]
        selector = fs.FileSelector(base or "/", recursive=True, allow_not_found=True)
        found = [item for item in system.get_file_info(selector) if fnmatchcase(item.path, path)]
    else:
        raise FileNotFoundError(f"there is no {place}")
    files = [item for item in found if item.type is fs.FileType.File and not item.base_name.startswith(".")]
    if not files and deep:
        raise FileNotFoundError(f"there are no files in {place}")
    prefix = _prefix(place)
    return sorted(part for item in files for part in _parts(system, cluster, prefix, item))


def directories(place: str) -> list[str]:
    """The names of the directories in a directory, in order; raises ``OSError``."""
    system, path = _opened(place)
    found = system.get_file_info(fs.FileSelector(path))
    return sorted(item.base_name for item in found if item.type is fs.FileType.Directory)


def line_batches(part: LogPart) -> Iterator[list[bytes]]:
    """The lines, some megabytes at a time, without their line feeds; what is longer than any line may be is cut.

    Raises ``OSError`` where the file cannot be read, or not further; what came before it is good.
    """
    system, path = _opened(part.file)
    with system.open_input_file(path) as file:
        packed = _packing(file.read(4))
        file.seek(0)
        if packed is not None:
            with pa.CompressedInputStream(file, packed) as stream:
                yield from _batches(lambda _: bytes(stream.read(_PACKED_CHUNK)))
            return
        yield from _batches(_ranged(file, part))


def _parts(system: Any, cluster: str, prefix: str, item: Any) -> Iterator[LogPart]:
    address, size = f"{prefix}{item.path}", int(item.size or 0)
    if size <= PART_BYTES or _is_packed(system, item.path):
        yield LogPart(cluster, address, 0, None, size)
        return
    for start in range(0, size, PART_BYTES):
        end = min(start + PART_BYTES, size)
        yield LogPart(cluster, address, start, None if end == size else end, end - start)


def _is_packed(system: Any, path: str) -> bool:
    with system.open_input_file(path) as file:
        return _packing(file.read(4)) is not None


def _packing(beginning: bytes) -> str | None:
    return next((name for sign, name in _PACKED if beginning.startswith(sign)), None)


def _ranged(file: Any, part: LogPart) -> Callable[[int], bytes]:
    """A reader of the lines that begin in the part: from the first line feed before it to the first one after it."""
    if part.start:
        file.seek(part.start - 1)
        _skip_line(file)
    done = part.end is not None and file.tell() >= part.end

    def read(size: int) -> bytes:
        nonlocal done
        if done:
            return b""
        if part.end is None:
            return bytes(file.read(size))
        left = part.end - file.tell()
        if left > 0:
            data = bytes(file.read(min(size, left)))
            done = not data or (left <= size and data.endswith(b"\n"))
            return data
        done = True
        return _rest_of_line(file)

    return read


def _skip_line(file: Any) -> None:
    while data := file.read(_CHUNK):
        place = data.find(b"\n")
        if place >= 0:
            file.seek(file.tell() - len(data) + place + 1)
            return


def _rest_of_line(file: Any) -> bytes:
    """Up to the next line feed, or so much that the line is too long anyway."""
    head, _, _ = bytes(file.read(MAX_LINE + 1)).partition(b"\n")
    return head


def _batches(read: Callable[[int], bytes]) -> Iterator[list[bytes]]:
    rest = b""
    while data := read(_CHUNK):
        lines = (rest + data).split(b"\n")
        rest = lines.pop()[: MAX_LINE + 1]
        yield lines
    if rest:
        yield [rest]


def _opened(place: str) -> tuple[Any, str]:
    if "://" in place:
        system, path = fs.FileSystem.from_uri(place)
        return system, path
    return fs.LocalFileSystem(), str(Path(place).absolute())


def _prefix(place: str) -> str:
    """What makes a path an address again."""
    if "://" not in place:
        return ""
    _, path = fs.FileSystem.from_uri(place)
    return place[: len(place) - len(path)] if path and place.endswith(path) else ""


def total(parts: Iterable[LogPart]) -> int:
    """All bytes, as they are on disk."""
    return sum(part.size for part in parts)
