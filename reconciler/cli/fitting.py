"""Lines that fit a terminal: broken between words, never within a name, and what goes on is indented.

What goes to a file or a pipe stays whole, so that searches find it; ``COLUMNS`` breaks it there too.
"""

import os
import re
import shutil
from typing import Final, TextIO

#: No narrower than this, whatever a terminal says: a name has to fit somewhere.
_NARROWEST: Final = 40
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_INDENT: Final = 4


def width_of(stream: TextIO) -> int | None:
    """How many columns there are; ``None`` where nobody says."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def fitted(line: str, width: int | None) -> str:
    """``line`` in as many lines as it needs; colours do not count."""
    if width is None or _columns(line) <= width:
        return line
    bare = _COLOUR.sub("", line)
    margin = min(len(bare) - len(bare.lstrip(" ")) + _INDENT, width // 2)
    lines: list[str] = []
    last = ""
    # Spaces before a word belong to it, so that the gaps within a line stay as they are.
    for word in re.findall(r" *[^ ]+", line):
        if last and _columns(last) + _columns(word) > width:
            lines.append(last)
            last = f"{' ' * margin}{word.lstrip(' ')}"
        else:
            last += word
    return "\n".join([*lines, last])


def _columns(text: str) -> int:
    """How wide a terminal shows it: signs of East Asia take two columns."""
    bare = _COLOUR.sub("", text)
    if bare.isascii():
        return len(bare)
    from rich.cells import cell_len  # it takes time to import, and names are mostly ASCII

    return cell_len(bare)
