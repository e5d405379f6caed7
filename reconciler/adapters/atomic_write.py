"""Write files atomically: readers see the old or the new content, never a part."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path


def write_atomically(text: str, out: str) -> None:
    """Write ``text`` as UTF-8 to ``out``, with the permissions that the process' umask leaves; raises ``OSError``."""
    write_pieces_atomically([text], out)


def write_pieces_atomically(pieces: Iterable[str], out: str) -> None:
    """The same of a text that is made while it is written; what that raises leaves ``out`` as it was.

    Pipes and devices are written to directly, and links are followed; otherwise the rename would replace
    ``/dev/stdout`` by a file, for a user who may.
    """
    if Path(out).exists() and not Path(out).is_file():
        Path(out).write_text("".join(pieces), encoding="utf-8")  # a pipe cannot be replaced by a rename
        return
    target = Path(os.path.realpath(out))
    try:
        descriptor, temporary = _new_file(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, out) from error  # report the name that the user gave
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _new_file(target: Path) -> tuple[int, str]:
    """A file of its own beside ``target``. ``tempfile`` would make it 0600, whatever the umask is."""
    temporary = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}"))
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666), temporary
