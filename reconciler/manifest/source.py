"""The text of one manifest file, and what of its lines may be shown."""

import re
from typing import Final, NamedTuple

_BREAK = re.compile(r"\r\n|\r|\n")
#: Settings whose values are secrets, and the colon after them.
_SECRET = re.compile(
    r"""(?<![\w.\-])["']?(?!delegationTokens)[\w.\-]{0,100}"""
    r"""(?:password|passwd|secret|jaas\.config|oauthbearer\.config|token|credential|private|(?:ssl|sasl)[\w.\-]{0,100}key)"""
    r"""[\w.\-]{0,100}["']?[ \t]{0,100}:[ \t]*""",
    re.IGNORECASE,
)
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*(?P<end>"?)')
_SINGLE = re.compile(r"'(?:[^']|'')*(?P<end>'?)")
_IN_FLOW = re.compile(r"[^,}]*(?P<end>)")
_IN_BLOCK = re.compile(r".*(?P<end>)")
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

    A secret that goes on over several lines is masked to its end: to its closing quote, and as far as lines are
    indented deeper than its key.
    """
    shown = []
    indent_of_secret, open_quote = -1, ""
    for line in lines_of(text):
        indent = len(line) - len(line.lstrip(" "))
        if open_quote or (0 <= indent_of_secret < indent) or (indent_of_secret >= 0 and not line.strip()):
            shown.append("*" * len(line))
            open_quote = "" if open_quote in line else open_quote
            continue
        masked, open_quote, found = _masked(line)
        indent_of_secret = indent if found else -1
        shown.append(_UNSHOWABLE.sub(_REPLACEMENT, masked))
    return shown


def _masked(line: str) -> tuple[str, str, bool]:
    """The line without secrets, the quote that it leaves open, and whether there was a secret."""
    position, open_quote, found = 0, "", False
    while key := _SECRET.search(line, position):
        start = key.end()
        shape = {'"': _DOUBLE, "'": _SINGLE}.get(line[start : start + 1]) or (
            _IN_FLOW if "{" in line[:start] else _IN_BLOCK
        )
        value = shape.match(line, start)
        if value is None:
            break
        found, position = True, max(value.end(), start)
        if not _REFERENCE.fullmatch(value[0]):
            open_quote = line[start] if shape in (_DOUBLE, _SINGLE) and not value["end"] else ""
            line = line[:start] + "*" * len(value[0]) + line[position:]
        if position >= len(line):
            break
    return line, open_quote, found


def quoted(text: str) -> str:
    """``text`` in quotes for a message: one line, nothing unshowable, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return repr(shown) if shown.isprintable() else ascii(shown)
