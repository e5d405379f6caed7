"""The text of one manifest file, and what of its lines may be shown."""

import re
from typing import Final, NamedTuple

_BREAK = re.compile(r"\r\n|\r|\n")
#: Settings whose values are secrets, and the colon after them, or the sign of equality of a properties file.
_SECRET = re.compile(
    r"""(?<![\w.\-])["']?(?!delegationTokens)[\w.\-]{0,100}"""
    r"""(?:password|passwd|secret|jaas\.config|oauthbearer\.config|token|credential|private|(?:ssl|sasl)[\w.\-]{0,100}key)"""
    r"""[\w.\-]{0,100}["']?[ \t]{0,100}[:=][ \t]*""",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"""(["']?)\$\{[^{}"']{1,200}\}\1[ \t]*(?=[,}#]|$)""")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^']|'')*'(?!')")
#: A line that begins a field, or a document.
_FIELD = re.compile(r"""[ ]*(?:-[ ]+)*["']?[\w.\-]+["']?[ \t]*:(?:\s|$)|---\s*$""")
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

    A secret that goes on over several lines is masked to its end: to its closing quote, and to the next line that is
    a field and not indented deeper than the secret's own.
    """
    shown = []
    indent_of_secret, open_quote = -1, ""
    for line in lines_of(text):
        ends = indent_of_secret < 0 or (_FIELD.match(line) and _indent(line) <= indent_of_secret)
        if open_quote or not ends:
            shown.append("*" * len(line))
            open_quote = "" if open_quote in line else open_quote
            continue
        masked, open_quote, found = _masked(line)
        indent_of_secret = _indent(line) if found else -1
        shown.append(_UNSHOWABLE.sub(_REPLACEMENT, masked))
    return shown


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _masked(line: str) -> tuple[str, str, bool]:
    """The line masked from its first secret on, the quote that it leaves open, and whether it has a secret setting.

    A reference such as ``${env:NAME}`` is not a secret. The rest of the line is masked, because a line with a mistake
    in it does not tell where its secret ends.
    """
    position, found = 0, False
    while key := _SECRET.search(line, position):
        found, start = True, key.end()
        reference = _REFERENCE.match(line, start)
        if reference is None:
            left_open = line[start : start + 1] in ('"', "'") and not _QUOTED.match(line, start)
            return line[:start] + "*" * (len(line) - start), line[start] if left_open else "", True
        position = reference.end()
    return line, "", found


def quoted(text: str) -> str:
    """``text`` in quotes for a message: one line, nothing unshowable, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return repr(shown) if shown.isprintable() else ascii(shown)
