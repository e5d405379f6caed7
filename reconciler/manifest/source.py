"""The text of one manifest file, and what of its lines may be shown."""

import re
from typing import Final, NamedTuple

_BREAK = re.compile(r"\r\n|\r|\n")
#: Settings whose values are secrets: what follows the colon is never shown.
_SECRET = re.compile(
    r"""(?P<key>["']?[\w.\-]*(?:password|passwd|secret|jaas\.config|token|credential|private|(?:ssl|sasl)[\w.\-]*key)"""
    r"""[\w.\-]*["']?[ \t]*:[ \t]*)(?P<value>"(?:[^"\\]|\\.)*"?|'[^']*'?|[^,}\n]*)""",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"""["']?\$\{[^}]*\}["']?[ \t]*""")
#: What a terminal or a reader could take for something else.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_REPLACEMENT: Final = "\ufffd"
_SHOWN: Final = 80


class Source(NamedTuple):
    """One file: its path relative to the manifests' root, with ``/``, and its text."""

    path: str
    text: str


def lines_of(text: str) -> list[str]:
    """The lines as YAML counts them: a line feed, a carriage return, or both end one."""
    return _BREAK.split(text)


def showable_lines(text: str) -> list[str]:
    """The lines with the values of secret settings masked and unshowable characters replaced, lengths unchanged.

    A secret that goes on over several lines is masked to its end: lines indented deeper than its key are part of it.
    """
    shown = []
    secret_indent: int | None = None
    for line in lines_of(text):
        indent = len(line) - len(line.lstrip(" "))
        if secret_indent is not None and line.strip() and indent <= secret_indent:
            secret_indent = None
        if secret_indent is not None:
            shown.append("*" * len(line))
            continue
        masked = _SECRET.sub(_mask, line)
        if _SECRET.search(line):
            secret_indent = indent
        shown.append(_UNSHOWABLE.sub(_REPLACEMENT, masked))
    return shown


def quoted(text: str) -> str:
    """``text`` in quotes for a message: one line, nothing unshowable, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return repr(shown) if shown.isprintable() else ascii(shown)


def _mask(found: re.Match[str]) -> str:
    value = found["value"]
    return found[0] if _REFERENCE.fullmatch(value) else found["key"] + "*" * len(value)
