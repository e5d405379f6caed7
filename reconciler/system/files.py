"""Files: manifests read; texts, plans and secrets written atomically; Java properties.

Read manifests from a directory or a file. A file that cannot be read is a problem, never skipped.

Hidden files and directories are skipped; a link that leads out of the directory, or nowhere, is refused.
"""

import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reconciler.manifest.project import PROJECT_FILE, is_project
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import Code, ManifestError, Problem
from reconciler.model.characters import is_visible
from reconciler.model.desired import Origin
from reconciler.plan.file import PlanFileError, file_digest, parse_plan, plan_text
from reconciler.plan.proposal import Plan
from reconciler.system.process import broken_link

# Write files atomically: readers see the old or the new content, never a part.


def write_atomically(text: str | bytes, out: str) -> None:
    """Write bytes, or text as UTF-8, to ``out``, with the permissions that the umask leaves; raises ``OSError``."""
    write_pieces_atomically([text], out)


def write_pieces_atomically(pieces: Iterable[str | bytes], out: str) -> None:
    """The same of a text that is made while it is written; what that raises leaves ``out`` as it was.

    Pipes and devices are written to directly, and links are followed; otherwise the rename would replace
    ``/dev/stdout`` by a file, for a user who may.
    """
    if Path(out).exists() and not Path(out).is_file():
        Path(out).write_bytes(b"".join(map(_encoded, pieces)))  # a pipe cannot be replaced by a rename
        return
    target = Path(os.path.realpath(out))
    try:
        descriptor, temporary = _new_file(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, out) from error  # report the name that the user gave
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(map(_encoded, pieces))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _encoded(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode("utf-8")


def _new_file(target: Path) -> tuple[int, str]:
    """A file of its own beside ``target``. ``tempfile`` would make it 0600, whatever the umask is."""
    temporary = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}"))
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666), temporary


#: Some hundred thousand bindings; nobody writes a larger file.
MAX_FILE_BYTES: Final = 32 * 1024 * 1024
_SUFFIXES: Final = (".yaml", ".yml")
#: What editors, people and mail programs put at the end of a name, and with it take the file out of what is read.
_PUT_ASIDE: Final = re.compile(
    r"\.ya?ml(?P<end>\.(?:txt|bak|backup|old|orig|save|new|tmp|rej|copy|[0-9]+)|~)\Z", re.IGNORECASE
)
#: In the beginning of a file in JSON: a manifest, and no plan, snapshot or report.
_MANIFEST_IN_JSON: Final = re.compile(rb'"apiVersion"\s*:\s*"reconciler/')
_BEGINNING: Final = 4_096
#: So many files that are not read are named.
_MOST_LOST: Final = 20
_MOST_SOUGHT: Final = 1 << 20


def read_manifest_files(path: Path) -> list[Source]:
    """The texts of all ``*.yaml`` and ``*.yml`` below a directory, or of one file, sorted by path.

    Paths are relative to the directory, with ``/``. Raises :class:`ManifestError` with every file that cannot be read.
    """
    if path.exists() and not path.is_dir():
        return _Reading(path.parent, whole=False).read([path])
    if not path.is_dir():
        message = broken_link(path) or "there is no such directory"
        raise ManifestError([_nothing(path, message, "pass the directory that contains the manifests")])
    reading = _Reading(path)
    sources = reading.read(reading.find())
    if not sources:
        advice = "manifests end in .yaml or .yml; `reconciler init` writes a first set"
        nothing = _nothing(path, "there are no manifests in this directory", advice)
        raise ManifestError([nothing, *files_not_read(path)])
    return sources


_MEND: Final = "mend the link or remove it"


def texts_below(path: Path) -> Iterator[str]:
    """What files with the name of a manifest say, at most their first megabyte; those that cannot be read are left out.

    To look for something, and never to judge by: see :func:`read_manifest_files`.
    """
    for directory, names, files in os.walk(path):
        names[:] = [name for name in names if not name.startswith(".")]
        for file in (Path(directory, name) for name in files if name.endswith((".yaml", ".yml"))):
            with suppress(OSError):
                if file.is_file():
                    with file.open("rb") as opened:
                        yield opened.read(_MOST_SOUGHT).decode("utf-8", "replace")


def files_not_read(path: Path) -> tuple[Problem, ...]:
    """A warning for each file below a directory that somebody may take for manifests, by its name or as JSON.

    What such a file declares is missing, and a plan that may delete takes it away.
    """
    lost = sorted(_lost(path))
    problems = [_not_read(name, f"its name ends in {end}") for name, end in lost[:_MOST_LOST]]
    for name, _ in lost[_MOST_LOST : _MOST_LOST + 1]:
        problems.append(_not_read(name, f"nor are {len(lost) - _MOST_LOST - 1:,} more with such names"))
    return tuple(problems)


def _lost(root: Path) -> Iterator[tuple[str, str]]:
    """The files below a directory that may be meant as manifests and are none, each with the end of its name."""
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = Path(directory, name)
            if not name.startswith(".") and (end := _end_of_lost(path)):
                yield path.relative_to(root).as_posix(), end


def _not_read(name: str, why: str) -> Problem:
    message, advice = f"this file is not read: {why}", "rename it to .yaml, or move it out of the directory"
    return Problem(Code.FILE_NOT_READ, Origin(_printable(name), 1, 1), message, advice=advice, severity="warning")


def _end_of_lost(path: Path) -> str | None:
    """The end of the name of a file that may be meant as manifests and is none; ``None`` for any other."""
    if aside := _PUT_ASIDE.search(path.name):
        return aside["end"]
    if path.suffix.lower() != ".json" or not stat.S_ISREG(path.lstat().st_mode):  # a pipe would not end
        return None
    try:
        with path.open("rb") as file:
            return path.suffix if _MANIFEST_IN_JSON.search(file.read(_BEGINNING)) else None
    except OSError:
        return None


class _Reading:
    """One pass over a root."""

    def __init__(self, root: Path, *, whole: bool = True) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._problems: list[Problem] = []
        self._whole = whole

    def find(self) -> list[Path]:
        """The files to read, without links to files that are read anyway."""
        plain, links = list[Path](), list[Path]()
        for directory, names, files in os.walk(self._root, onerror=self._unlistable):
            names[:] = sorted(name for name in names if not name.startswith("."))
            for name in names:
                if Path(directory, name).is_symlink():
                    self._check_directory_link(Path(directory, name))
            for name in files:
                path = Path(directory, name)
                if not name.startswith(".") and name.lower().endswith(_SUFFIXES):
                    (links if path.is_symlink() else plain).append(path)
                elif not name.startswith(".") and (message := broken_link(path)) is not None:
                    # It may have led to a directory of manifests, and what these declare would be missing.
                    self._refuse(Code.UNREADABLE_FILE, path, message, _MEND)
        read = {os.path.realpath(path) for path in plain}
        return plain + [link for link in links if self._is_inside(link) and os.path.realpath(link) not in read]

    def read(self, paths: list[Path]) -> list[Source]:
        """The texts, sorted by path."""
        sources = []
        for path in paths:
            text = self._text(path)
            if text is not None and not self._is_project_file(path, text):
                sources.append(Source(self._name(path), text))
        if self._problems:
            raise ManifestError(self._problems)
        return sorted(sources)

    def _is_project_file(self, path: Path, text: str) -> bool:
        """Whether it holds defaults for options. Deeper down the name is a manifest's, of a team called so perhaps."""
        return path.name == PROJECT_FILE and path.parent == self._root and self._whole and is_project(text)

    def _text(self, path: Path) -> str | None:
        if not is_visible(self._name(path)):
            self._refuse(Code.UNREADABLE_FILE, path, "the file's name contains unprintable characters", "rename it")
            return None
        try:
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES:
                return self._decoded(path, path.read_bytes())
        except OSError as error:
            broken, message = broken_link(path), f"the file cannot be read: {error.strerror}"
            advice = _MEND if broken else "check that it exists and may be read"
            self._refuse(Code.UNREADABLE_FILE, path, broken or message, advice)
            return None
        if stat.S_ISREG(status.st_mode):
            message = f"the file has {status.st_size:,} bytes, more than {MAX_FILE_BYTES:,}"
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
    return name if is_visible(name) else ascii(name)[1:-1]


def _nothing(path: Path, message: str, advice: str) -> Problem:
    return Problem(Code.NO_MANIFESTS, Origin(_printable(path.as_posix()), 1, 1), message, advice=advice)


# Saved plans on disk: written atomically, read with their digest.


def write_plan(plan: Plan, out: str) -> str:
    """Write the plan and return its ``file-…`` digest; raises ``OSError``."""
    text = plan_text(plan)
    write_atomically(text, out)
    return file_digest(text)


def read_plan(path: str) -> tuple[Plan, str]:
    """The plan and its ``file-…`` digest; raises ``OSError`` or ``PlanFileError``."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PlanFileError("not a saved plan: the file is not UTF-8 text") from error
    return parse_plan(text), file_digest(text)


# Files of Java properties, as Kafka's own tools take them.

_LARGEST: Final = 1024 * 1024


def read_properties(file: Path) -> dict[str, str]:
    """Keys and values; raises ``ValueError`` without a value of the file, which may be a secret."""
    import javaproperties  # noqa: PLC0415 - it loads an HTTP client, a mail parser and XML, for few files' sake

    try:
        with file.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
        text = raw.decode()
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8 text") from None
    if len(raw) > _LARGEST:
        raise ValueError("the file is larger than 1 MiB")
    try:
        pairs = javaproperties.loads(text, object_pairs_hook=list)
    except javaproperties.InvalidUEscapeError:
        raise ValueError("it is no file of Java properties: \\u is not followed by four hex digits") from None
    if twice := next((key for key, times in Counter(key for key, _ in pairs).items() if times > 1), None):
        raise ValueError(f"{twice} is there more than once: keep one of them")
    return dict(pairs)


# A secret in a file of its own, for its owner only: all of it or nothing, and never over another one unasked.


@contextmanager
def prepared_secret(secret: str, out: str, *, replace: bool) -> Iterator[Callable[[], None]]:
    """Write a secret next to ``out``, mode 0600, without a line break; calling what is yielded gives it its name.

    Until then nothing of that name changes, and what was written goes if the block ends before. Raises ``OSError``, as
    ``FileExistsError`` where there is such a file and ``replace`` does not say that it may go.
    """
    target = Path(out)
    if not replace and os.path.lexists(target):
        raise FileExistsError(17, "there is a file already", out)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(temporary, flags, 0o600)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, out) from error  # the name that the user gave
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)  # whatever the umask takes away
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())

        def publish() -> None:
            if replace:
                temporary.replace(target)
            else:
                os.link(temporary, target)  # fails if somebody made one meanwhile, where a rename would replace it

        yield publish
    finally:
        temporary.unlink(missing_ok=True)
