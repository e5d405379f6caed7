"""The text of one manifest file, and what of its lines may be shown."""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from reconciler.model.characters import is_visible, replace_unsafe

_BREAK = re.compile(r"\r\n|\r|\n")
#: Settings whose values are secrets, and the colon after them, or the sign of equality of a properties file.
_SECRET = re.compile(
    r"""(?<![\w.\-])["']?(?!delegationTokens)[\w.\-]{0,100}"""
    r"""(?:password|passwd|secret|jaas\.config|oauthbearer\.config|token|credential|private|(?:ssl|sasl)[\w.\-]{0,100}key)"""
    r"""[\w.\-]{0,100}["']?[ \t]{0,100}[:=][ \t]*""",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"""(["']?)\$\{(?:env:[^{}"':]{1,200}|(?:file|dir):[^{}"']{1,200}:[^{}"':]{1,200})\}\1[ \t]*(?=[,}#]|$)"""
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^']|'')*'(?!')")
#: A line that begins a field, or a document.
_FIELD = re.compile(r"""[ ]*(?:-[ ]+)*["']?[\w.\-]+["']?[ \t]*:(?:\s|$)|---\s*$""")
_ASCII_UNSHOWABLE: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_REPLACEMENT: Final = "\ufffd"
_SHOWN: Final = 80
_PIECE: Final = 1 << 16


class Source(NamedTuple):
    """One file: its path relative to the manifests' root, with ``/``, and its text."""

    path: str
    text: str


def _packed(text: str) -> bytes:
    # Bit by bit, not by an encoded copy of a large file.
    packer = zlib.compressobj(1)
    pieces = (text[start : start + _PIECE].encode("utf-8", "surrogatepass") for start in range(0, len(text), _PIECE))
    return b"".join([*map(packer.compress, pieces), packer.flush()])


class KeptSources(Mapping[str, Source]):
    """Files by path, for as long as manifests are used: of valid ones only a later message, or an edit, needs a text.

    So the texts are compressed, to a tenth as a rule, and made again when they are asked for.
    """

    __slots__ = ("_packed",)

    def __init__(self, sources: Iterable[Source]) -> None:
        """Keeps a compressed copy of each."""
        self._packed = {path: _packed(text) for path, text in sources}

    def __getitem__(self, path: str) -> Source:
        """The file at ``path``; raises ``KeyError``."""
        return Source(path, zlib.decompress(self._packed[path]).decode("utf-8", "surrogatepass"))

    def __contains__(self, path: object) -> bool:
        """Whether there is a file at ``path``."""
        return path in self._packed

    def __iter__(self) -> Iterator[str]:
        """The paths."""
        return iter(self._packed)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._packed)


def lines_of(text: str) -> list[str]:
    """The lines as YAML counts them: a line feed, a carriage return, or both end one."""
    return _BREAK.split(text)


class ShowableLines:
    """The lines of a text as they may be shown, made as far as they are asked for."""

    def __init__(self, text: str) -> None:
        """Starts before the first line."""
        self._text = text
        self._shown: list[str] = []
        self._rest: Iterator[str] | None = None

    def nearest(self, number: int) -> tuple[int, str]:
        """The line of that number, from 1, and its number; the first or the last one for a number outside."""
        if self._rest is None:
            self._rest = showable_lines(self._text)
        self._shown.extend(islice(self._rest, max(0, max(number, 1) - len(self._shown))))
        found = min(max(number, 1), len(self._shown))
        return found, self._shown[found - 1]


def showable_lines(text: str) -> Iterator[str]:
    """The lines with the values of secret settings masked and unshowable characters replaced, lengths unchanged.

    A secret that goes on over several lines is masked to its end: to its closing quote, and to the next line that is
    a field and not indented deeper than the secret's own.
    """
    indent_of_secret, open_quote = -1, ""
    for line in lines_of(text):
        ends = indent_of_secret < 0 or (_FIELD.match(line) and _indent(line) <= indent_of_secret)
        if open_quote or not ends:
            yield "*" * len(line)
            open_quote = "" if open_quote in line else open_quote
            continue
        masked, open_quote, found = _masked(line)
        indent_of_secret = _indent(line) if found else -1
        yield _showable(masked)


def _showable(line: str) -> str:
    """The line with a replacement for each character that is unsafe to show; tabs stay, columns stay true."""
    if line.isascii():
        return _ASCII_UNSHOWABLE.sub(_REPLACEMENT, line)
    return replace_unsafe(line, lambda character: character if character == "\t" else _REPLACEMENT)


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


def _repr(text: str) -> str:
    """As Python writes a text with only visible characters, whatever its version takes for one."""
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + text.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote


def quoted(text: str) -> str:
    """``text`` in quotes for a message: one line, nothing unshowable, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return _repr(shown) if is_visible(shown) else ascii(shown)
