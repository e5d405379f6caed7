"""Write files atomically: readers see the old or the new content, never a part."""

import os
import tempfile
from pathlib import Path


def write_atomically(text: str, out: str) -> None:
    """Write ``text`` as UTF-8 to ``out``, readable by everybody; raises ``OSError``.

    Pipes and devices are written to directly, and links are followed; otherwise the rename would replace
    ``/dev/stdout`` by a file, for a user who may.
    """
    if Path(out).exists() and not Path(out).is_file():
        Path(out).write_text(text, encoding="utf-8")  # a pipe cannot be replaced by a rename
        return
    target = Path(os.path.realpath(out))
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, out) from error  # report the name that the user gave
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
