"""The permissions of the files that a command writes: its owner's alone, unless the operator says otherwise.

Plans, reports, exports and results name principals and topics. The umask is set, and not the mode of each file,
so that no file can be forgotten, whoever writes it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

_OWNER_ONLY: Final = 0o077
_MODE: Final = re.compile(r"0?[0-7]{3}")
_OWNERS_PART: Final = 0o600


class Mode(click.ParamType[int]):
    """Permissions in octal, of which the owner has at least reading and writing."""

    name = "mode"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or fail with what was expected."""
        mode = int(value, 8) if _MODE.fullmatch(value) else 0
        if mode & _OWNERS_PART != _OWNERS_PART:
            self.fail(
                f"{value!r} is not the mode of a file that its owner can write: write 600, 640 or 644", param, ctx
            )
        return mode


@contextmanager
def private_files() -> Iterator[None]:
    """Let files be readable by their owner only until the block ends."""
    before = os.umask(_OWNER_ONLY)
    try:
        yield
    finally:
        os.umask(before)


def set_mode(mode: int) -> None:
    """Let files have ``mode``; a directory can be entered by whoever may read the files in it."""
    os.umask(0o777 & ~(mode | (mode & 0o444) >> 2))
