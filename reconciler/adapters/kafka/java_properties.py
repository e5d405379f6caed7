"""Java's properties files, as ``java.util.Properties.load`` reads them."""

import re
from typing import Final

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_KEY: Final = re.compile(r"((?:[^\\=:\s]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """Keys to values; the last of equal keys counts."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match is not None:
            found[_unescape(match[1])] = _unescape(match[2])
    return found


def _logical_lines(text: str) -> list[str]:
    """Lines with their continuations, without comments and blank ones."""
    lines: list[str] = []
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if (len(pending) - len(pending.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        lines.append(pending)
        pending = ""
    return [*lines, pending] if pending else lines


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text)
