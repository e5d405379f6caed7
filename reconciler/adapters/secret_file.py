"""A secret in a file of its own, for its owner only: all of it or nothing, and never over another one unasked."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def prepared_secret(secret: str, out: str, *, replace: bool) -> Iterator[Callable[[], None]]:
    """Write a secret next to ``out``, mode 0600, without a line break; calling what is yielded gives it its name.

    Until then nothing of that name changes, and what was written goes if the block ends before. Raises ``OSError``, as
    ``FileExistsError`` where there is such a file and ``replace`` does not say that it may go.
    """
    target = Path(out)
    if not replace and os.path.lexists(target):
        raise FileExistsError(17, "there is a file already", out)
    temporary = target.with_name(f".{target.name}.{token_hex(8)}")
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
