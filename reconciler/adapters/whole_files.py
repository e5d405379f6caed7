"""Files that are there whole or not at all, whoever reads them meanwhile."""

import os
import tempfile
from pathlib import Path


def write_whole(text: str, out: str) -> None:
    """Write ``text`` as UTF-8 to ``out``, readable by everybody; raises ``OSError``."""
    target = Path(out)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
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
