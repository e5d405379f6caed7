"""Read manifests from a directory or a file. A file that cannot be read is a problem, never skipped.

Hidden files and directories are skipped; a link that leads out of the directory is refused.
"""

import os
import stat
from pathlib import Path
from typing import Final

from reconciler.manifest import Code, ManifestError, Problem, Source
from reconciler.model import Origin

#: Some hundred thousand bindings; nobody writes a larger file.
MAX_FILE_BYTES: Final = 32 * 1024 * 1024
_SUFFIXES: Final = (".yaml", ".yml")


def read_manifest_files(path: Path) -> list[Source]:
    """The texts of all ``*.yaml`` and ``*.yml`` below a directory, or of one file, sorted by path.

    Paths are relative to the directory, with ``/``. Raises :class:`ManifestError` with every file that cannot be read.
    """
    if path.exists() and not path.is_dir():
        return _Reading(path.parent).read([path])
    if not path.is_dir():
        raise ManifestError(
            [_nothing(path, "there is no such directory", "pass the directory that contains the manifests")]
        )
    reading = _Reading(path)
    sources = reading.read(reading.find())
    if not sources:
        advice = "manifests end in .yaml or .yml; `reconciler init` writes a first set"
        raise ManifestError([_nothing(path, "there are no manifests in this directory", advice)])
    return sources


class _Reading:
    """One pass over a root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._problems: list[Problem] = []

    def find(self) -> list[Path]:
        """The files to read, without links to files that are read anyway."""
        plain, links = list[Path](), list[Path]()
        for directory, names, files in os.walk(self._root, onerror=self._unlistable):
            names[:] = sorted(name for name in names if not name.startswith("."))
            for name in names:
                if Path(directory, name).is_symlink():
                    self._check_directory_link(Path(directory, name))
            for name in files:
                if not name.startswith(".") and name.lower().endswith(_SUFFIXES):
                    found = Path(directory, name)
                    (links if found.is_symlink() else plain).append(found)
        read = {os.path.realpath(found) for found in plain}
        return plain + [link for link in links if self._is_inside(link) and os.path.realpath(link) not in read]

    def read(self, paths: list[Path]) -> list[Source]:
        """The texts, sorted by path."""
        sources = []
        for path in paths:
            text = self._text(path)
            if text is not None:
                sources.append(Source(self._name(path), text))
        if self._problems:
            raise ManifestError(self._problems)
        return sorted(sources)

    def _text(self, path: Path) -> str | None:
        if not self._name(path).isprintable():
            self._refuse(Code.UNREADABLE_FILE, path, "the file's name contains unprintable characters", "rename it")
            return None
        try:
            found = path.stat()
            if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES:
                return self._decoded(path, path.read_bytes())
        except OSError as error:
            message = f"the file cannot be read: {error.strerror}"
            self._refuse(Code.UNREADABLE_FILE, path, message, "check that it exists and may be read")
            return None
        if stat.S_ISREG(found.st_mode):
            message = f"the file has {found.st_size:,} bytes, more than {MAX_FILE_BYTES:,}"
            self._refuse(Code.FILE_TOO_LARGE, path, message, "split it")
        else:
            self._refuse(
                Code.UNREADABLE_FILE, path, "this is not a regular file", "give a file: a pipe cannot be read twice"
            )
        return None

    def _decoded(self, path: Path, data: bytes) -> str | None:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            message = f"byte 0x{data[error.start]:02x} is not UTF-8"
            self._refuse(Code.UNREADABLE_FILE, path, message, "save the file as UTF-8", line=line, column=column)
            return None

    def _is_inside(self, path: Path) -> bool:
        real = os.path.realpath(path)
        if os.path.commonpath([real, self._real_root]) == self._real_root:
            return True
        message = "this link leads out of the directory"
        self._refuse(
            Code.OUTSIDE_ROOT, path, message, "copy the files into the directory: it is the one source of truth"
        )
        return False

    def _check_directory_link(self, path: Path) -> None:
        """Linked directories are not followed: inside the root they are read under their own name, if not hidden."""
        if self._is_inside(path):
            target = os.path.relpath(os.path.realpath(path), self._real_root)
            if target != "." and any(part.startswith(".") for part in Path(target).parts):
                message = "this link leads to a hidden directory, which is not read"
                self._refuse(Code.UNREADABLE_FILE, path, message, "give the directory a name without a leading dot")

    def _unlistable(self, error: OSError) -> None:
        message = f"the directory cannot be listed: {error.strerror}"
        self._refuse(Code.UNREADABLE_FILE, Path(error.filename), message, "check that it may be read")

    def _refuse(self, code: Code, path: Path, message: str, advice: str, *, line: int = 1, column: int = 1) -> None:
        origin = Origin(_printable(self._name(path)), line, column)
        self._problems.append(Problem(code, origin, message, advice=advice))

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)[1:-1]


def _nothing(path: Path, message: str, advice: str) -> Problem:
    return Problem(Code.NO_MANIFESTS, Origin(_printable(path.as_posix()), 1, 1), message, advice=advice)
