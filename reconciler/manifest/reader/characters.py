"""Characters that no manifest may hold: a reviewer must see all that a machine reads."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import Origin

#: Controls (also what YAML 1.1 takes for line breaks), surrogates, non-characters; then bidirectional and invisible.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # For YAML a line ends here; diffs and terminals show one line, so a rule could hide after a comment.
    "|\r(?!\n)"
)
_ASCII_ALLOWED: Final = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
_BIDIRECTIONAL: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARK: Final = "\ufeff"
_ADVICE: Final = {
    _MARK: "save the file as UTF-8 without a byte order mark",
    "\r": "end lines with LF, or with CR and LF",
}
_LINE = re.compile(r"\r\n|\r|\n")


def forbidden_in(text: str) -> Iterator[tuple[int, str]]:
    """Position and character of each forbidden one."""
    if text.isascii() and not text.encode("ascii").translate(None, _ASCII_ALLOWED):
        return
    for found in _FORBIDDEN.finditer(text):
        yield found.start(), found[0]


def describe(character: str) -> str:
    """``a bidirectional character, U+202E RIGHT-TO-LEFT OVERRIDE``."""
    if character in _BIDIRECTIONAL:
        sort = "a bidirectional"
    elif unicodedata.category(character) in ("Cc", "Cs", "Cn"):
        sort = "a control"
    else:
        sort = "an invisible"
    return f"{sort} character, U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def report_forbidden(findings: Findings) -> bool:
    """Reports each forbidden character of a file; whether there was one."""
    text = findings.source.text
    breaks: list[int] | None = None
    for position, character in forbidden_in(text):
        if breaks is None:
            breaks = [found.end() for found in _LINE.finditer(text)]
        line = bisect_right(breaks, position)
        column = position - (breaks[line - 1] if line else 0)
        origin = Origin(findings.source.path, line + 1, column + 1)
        message = f"{describe(character)}, is not allowed in a manifest"
        advice = _ADVICE.get(
            character if character == "\r" or position == 0 else "", "remove it, or type the text again"
        )
        findings.add_at(Trouble(Code.FORBIDDEN_CHARACTER, message, advice), origin, 1)
    return breaks is not None
