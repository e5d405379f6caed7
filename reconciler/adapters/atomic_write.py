"""Files that are there whole or not at all, whoever reads them meanwhile."""

import os
import tempfile
from pathlib import Path


def write_atomically(text: str, out: str) -> None:
    """Write ``text`` as UTF-8 to ``out``, readable by everybody; raises ``OSError``.

    A pipe or a device is written to, and a link is followed: whoever may would otherwise put a file in the place of
    ``/dev/stdout``, whatever it leads to.
    """
    if Path(out).exists() and not Path(out).is_file():
        Path(out).write_text(text, encoding="utf-8")  # an unnamed pipe has no other name that leads to it
        return
    target = Path(os.path.realpath(out))
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, out) from error  # the name that somebody gave
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
