"""Lines of log files on this machine, packed or not, or from standard input; without Spark and its libraries."""

import bz2
import glob
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from reconciler.parts.evidence.usage.scan import MAX_LINE

#: What is read from standard input, as in ``kubectl logs … | reconciler usage --logs -``.
STDIN: Final = "-"
_CHUNK: Final = 4 * 1024 * 1024
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


def log_files(place: str) -> list[str]:
    """A file, all files below a directory, or those that a pattern names, in order; raises ``FileNotFoundError``."""
    path = Path(place)
    if place == STDIN or path.is_file():
        return [place]
    found = path.rglob("*") if path.is_dir() else map(Path, glob.iglob(place, recursive=True))
    files = sorted(str(file) for file in found if file.is_file() and not file.name.startswith("."))
    if not files:
        raise FileNotFoundError(f"there are no files in {place}" if path.is_dir() else f"there is no {place}")
    return files


def line_batches(file: str) -> Iterator[list[bytes]]:
    """The lines, some megabytes at a time, without their line feeds; what is longer than any line may be is cut.

    Raises ``OSError`` where the file cannot be read, or not further; what came before it is good.
    """
    with sys.stdin.buffer if file == STDIN else Path(file).open("rb") as raw:
        stream = raw if file == STDIN else _unpacked(raw)
        rest = b""
        try:
            while data := stream.read(_CHUNK):
                lines = (rest + data).split(b"\n")
                rest = lines.pop()[: MAX_LINE + 1]
                yield lines
        except EOFError as error:  # how gzip and bz2 say that a file was cut off
            raise OSError(str(error)) from error
        if rest:
            yield [rest]


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The file's content; rotation renames files, so what packed it shows in its first bytes and not in its name."""
    beginning = raw.read(4)
    raw.seek(0)
    if beginning.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if beginning.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if beginning.startswith(_ZSTANDARD):
        raise OSError(
            "it is compressed with Zstandard: unpack it with `zstd -d` first, or use `reconciler fleet usage`"
        )
    return raw
