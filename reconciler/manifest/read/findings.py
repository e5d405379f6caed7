"""One manifest file: its text, its nodes, forbidden characters, the problems found in it.

Collects the problems of one file, each with the text of its line.
"""

import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias, TypeVar

from reconciler.manifest.read.problem import Code, Problem, Severity, more_problems
from reconciler.model.characters import composed, hidden_in, is_odd_blank, is_visible, named, replace_unsafe, sort_of
from reconciler.model.desired import Origin

# The text of one manifest file, and what of its lines may be shown.

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
        line = min(max(number, 1), len(self._shown))
        return line, self._shown[line - 1]


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
        masked, open_quote, has_secret = _masked(line)
        indent_of_secret = _indent(line) if has_secret else -1
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
    position, has_secret = 0, False
    while key := _SECRET.search(line, position):
        has_secret, start = True, key.end()
        reference = _REFERENCE.match(line, start)
        if reference is None:
            left_open = line[start : start + 1] in ('"', "'") and not _QUOTED.match(line, start)
            return line[:start] + "*" * (len(line) - start), line[start] if left_open else "", True
        position = reference.end()
    return line, "", has_secret


def _repr(text: str) -> str:
    """As Python writes a text with only visible characters, whatever its version takes for one."""
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + text.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote


def quoted(text: str) -> str:
    """``text`` in quotes for a message: one line, nothing unshowable, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return _repr(shown) if is_visible(shown) else ascii(shown)


# What a YAML text holds, with the place of each value. All scalars are texts; the models give them types.

M = TypeVar("M")

#: A value without its places, as pydantic takes it.
Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


class ScalarNode:
    """One text. Line and column count from 0; ``length`` 0 means up to the end of the line."""

    __slots__ = ("column", "length", "line", "plain")

    def __init__(self, plain: str, line: int, column: int, length: int) -> None:
        """Keeps its arguments."""
        self.plain, self.line, self.column, self.length = plain, line, column, length


class SequenceNode:
    """A list; ``plain`` holds the items' plain values."""

    __slots__ = ("column", "items", "length", "line", "plain")

    def __init__(self, line: int, column: int) -> None:
        """Starts empty."""
        self.items: list[Node] = []
        self.plain: list[Plain] = []
        self.line, self.column, self.length = line, column, 1


class MappingNode:
    """A mapping; ``keys`` and ``values`` by key text, in the order of the file."""

    __slots__ = ("column", "keys", "length", "line", "plain", "values")

    def __init__(self, line: int, column: int) -> None:
        """Starts empty."""
        self.keys: dict[str, ScalarNode] = {}
        self.values: dict[str, Node] = {}
        self.plain: dict[str, Plain] = {}
        self.line, self.column, self.length = line, column, 1

    def get(self, *path: str) -> "Node | None":
        """The value at the end of a path of keys, or ``None`` where there is none."""
        node: Node | None = self
        for key in path:
            node = node.values.get(key) if isinstance(node, MappingNode) else None
        return node

    def text(self, *path: str) -> str | None:
        """The text at the end of a path of keys, or ``None`` where there is no scalar."""
        node = self.get(*path)
        return node.plain if isinstance(node, ScalarNode) else None


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def scalars(node: Node | None) -> list[ScalarNode]:
    """A scalar, or the scalars of a list; anything else has been reported by the models."""
    if isinstance(node, ScalarNode):
        return [node]
    if isinstance(node, SequenceNode):
        return [item for item in node.items if isinstance(item, ScalarNode)]
    return []


def paired(node: Node | None, models: Sequence[M] | None) -> Iterator[tuple[MappingNode, M | None]]:
    """The mappings of a list, each with its model where the document has one."""
    for index, item in enumerate(node.items if isinstance(node, SequenceNode) else []):
        if isinstance(item, MappingNode):
            yield item, models[index] if models is not None else None


_WORD = re.compile(r"""[^\s,\]}]+""")
#: So many errors, and as many warnings, are kept of one file; nobody reads more, and a hostile file has millions.
MOST_PROBLEMS: Final = 100


class Trouble(NamedTuple):
    """What is wrong with a value, in whatever field."""

    code: Code
    message: str
    advice: str = ""


def trouble_of(code: Code, error: ValueError, about: str = "") -> Trouble:
    """What a reader of texts says, ``message: advice``, of a value that ``about`` names."""
    message, _, advice = str(error).partition(": ")
    return Trouble(code, f"{about}: {message}" if about else message, advice)


class Findings:
    """The problems of one file; ``cut_short`` if not all of it could be read.

    The first :data:`MOST_PROBLEMS` errors are kept, and as many warnings, so that no flood of one hides the other; of
    the rest only the number. What is found at one of the ``excused`` places is marked there and not reported.
    """

    def __init__(self, source: Source, excused: Collection[Origin] = ()) -> None:
        """Starts empty."""
        self.source = source
        self.cut_short = False
        self._excused, self._has_excused = excused, False
        self._kept: list[Problem] = []
        self._found: Counter[Severity] = Counter()
        self._more: Counter[Severity] = Counter()
        self._first_more: Origin | None = None
        self._places: set[tuple[int, int]] = set()
        self._sources_of: dict[Origin, tuple[Origin, ...]] = {}
        self._lines = ShowableLines(source.text)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those that are kept, in the order of their finding; then one line that counts the rest."""
        if self._first_more is None:
            return tuple(self._kept)
        severity: Severity = "error" if self._more["error"] else "warning"
        unread = ", which was not read to its end" if self.cut_short else ""
        return (*self._kept, more_problems(self._first_more, self._more.total(), f"this file{unread}", severity))

    @property
    def count(self) -> int:
        """How many problems there are, those that are only counted among them."""
        return self._found.total() + self._more.total()

    @property
    def is_full(self) -> bool:
        """Whether further errors are only counted, so that finding words for them is lost work."""
        return self._found["error"] >= MOST_PROBLEMS

    def origin(self, node: Node) -> Origin:
        """The place of ``node``."""
        return Origin(self.source.path, node.line + 1, node.column + 1)

    def add(self, trouble: Trouble, node: Node, related: Iterable[Origin] = (), severity: Severity = "error") -> None:
        """Reports ``trouble`` at ``node``."""
        self.add_at(trouble, self.origin(node), node.length, related=related, severity=severity)

    def add_at(
        self,
        trouble: Trouble,
        origin: Origin,
        length: int | None = None,
        *,
        related: Iterable[Origin] = (),
        severity: Severity = "error",
    ) -> None:
        """Reports ``trouble`` at a place; without ``length`` the word there is meant, with 0 the rest of the line."""
        if origin in self._excused:
            self._has_excused = True
            self._places.add((origin.line, origin.column))
            return
        # A generated file with one mistake has it a thousand times: the rest is counted.
        if self._found[severity] >= MOST_PROBLEMS:
            self.count_more(origin, 1, severity)
            return
        line, text = self._lines.nearest(origin.line)
        column = min(max(origin.column, 1), len(text) + 1)
        if length is None:
            word = _WORD.match(text, column - 1)
            length = len(word[0]) if word else 1
        rest = len(text.rstrip()) - column + 1
        length = max(1, min(length or rest, rest))
        if severity == "error":
            self._places.add((line, column))
        place = Origin(origin.file, line, column)
        others = dict.fromkeys(related)
        others.update(
            dict.fromkeys(source for place in (origin, *others) for source in self._sources_of.get(place, ()))
        )
        self._keep(Problem(trouble.code, place, trouble.message, text, length, trouble.advice, tuple(others), severity))

    def relate(self, node: Node, sources: Iterable[Origin]) -> None:
        """Names in every problem that is found at ``node`` from now on the places that its value comes from."""
        self._sources_of[self.origin(node)] = tuple(sources)

    def take(self, problem: Problem) -> None:
        """Reports a problem that was found in another reading of this file."""
        if problem.more or self._found[problem.severity] >= MOST_PROBLEMS:
            self.count_more(problem.origin, problem.more or 1, problem.severity)
        else:
            self._keep(problem)

    def count_more(self, origin: Origin, number: int, severity: Severity = "error") -> None:
        """Counts ``number`` further problems, the first of them at ``origin``."""
        self._more[severity] += number
        self._first_more = self._first_more or origin

    def _keep(self, problem: Problem) -> None:
        self._kept.append(problem)
        self._found[problem.severity] += 1

    def line(self, number: int) -> str:
        """A line from 1, as it may be shown; the nearest one for a number outside of the file."""
        return self._lines.nearest(number)[1]

    @property
    def has_errors(self) -> bool:
        """Whether there is more than warnings, reported or excused."""
        return self._found["error"] > 0 or self._more["error"] > 0 or self._has_excused

    def silence(self, node: Node) -> None:
        """Counts as reported here what has been reported at another place."""
        self._places.add((node.line + 1, node.column + 1))

    def marks(self, node: Node) -> bool:
        """Whether an error has been reported at this very place."""
        return bool(self._places) and (node.line + 1, node.column + 1) in self._places


# Characters that no manifest may hold: a reviewer must see all that a machine reads, and tell it apart.

#: For YAML a line ends there; diffs and terminals show one line, so a rule could hide after a comment.
_LONE_RETURN: Final = re.compile("\r(?!\n)")
_ASCII_ALLOWED: Final = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
_MARK: Final = "\ufeff"
_ADVICE: Final = {
    _MARK: "save the file as UTF-8 without a byte order mark",
    "\r": "end lines with LF, or with CR and LF",
}
_LINE = re.compile(r"\r\n|\r|\n")
#: So many different characters of a run are named.
_NAMED: Final = 3


def forbidden_in(text: str) -> Iterator[tuple[int, str]]:
    """The runs of forbidden characters, each with its position, those of one kind before the other."""
    if text.isascii() and not text.encode("ascii").translate(None, _ASCII_ALLOWED):
        return
    yield from hidden_in(text)
    yield from ((match.start(), match[0]) for match in _LONE_RETURN.finditer(text))


def describe(characters: str) -> str:
    """``a bidirectional character, U+202E RIGHT-TO-LEFT OVERRIDE, is``; several are counted and named once each."""
    counts = Counter(characters)
    sorts = {sort_of(character) for character in counts}
    sort = sorts.pop() if len(sorts) == 1 else "invisible or unreadable"
    names = [named(character) for character in list(counts)[:_NAMED]]
    if len(counts) > _NAMED:
        names.append(f"{len(counts) - _NAMED:,} others")
    if len(characters) > 1:
        return f"{len(characters):,} {sort} characters, {', '.join(names)}, are"
    article = "an" if sort[0] in "aeiou" else "a"
    return f"{article} {sort} character, {names[0]}, is"


def report_forbidden(findings: Findings) -> bool:
    """Reports the forbidden characters of a file, a run at a time; whether there was one."""
    text = findings.source.text
    breaks: list[int] | None = None
    for position, characters in forbidden_in(text):
        if breaks is None:
            breaks = [match.end() for match in _LINE.finditer(text)]
        line = bisect_right(breaks, position)
        column = position - (breaks[line - 1] if line else 0)
        origin = Origin(findings.source.path, line + 1, column + 1)
        if findings.is_full:
            findings.count_more(origin, 1)
            continue
        message = f"{describe(characters)} not allowed in a manifest"
        advice = _ADVICE.get(
            characters if characters == "\r" or position == 0 else "",
            "remove it, or type the text again" if len(characters) == 1 else "remove them, or type the text again",
        )
        findings.add_at(Trouble(Code.FORBIDDEN_CHARACTER, message, advice), origin, len(characters))
    return breaks is not None


def text_trouble(text: str, *, escapes: bool) -> Trouble | None:
    """Why a text that is not ASCII, or that may have come from ``escapes``, cannot stand in a manifest.

    One text has to have one spelling (NFC), or two names look equal and are not; and one blank.
    """
    if escapes and (forbidden := "".join(characters for _, characters in forbidden_in(text))):
        message = f"{describe(forbidden)} not allowed in a manifest, nor as an escape"
        return Trouble(Code.FORBIDDEN_CHARACTER, message, "remove it" if len(forbidden) == 1 else "remove them")
    if text.isascii():
        return None
    odd = next(filter(is_odd_blank, text), "")
    if odd:
        message = f"a blank character that is not a space, {named(odd)}, is not allowed in a value"
        return Trouble(Code.FORBIDDEN_CHARACTER, message, "write a space, or remove it")
    right = composed(text)
    if right != text:
        return Trouble(Code.NOT_NORMALISED, *_spelling(text, right))
    return None


def _spelling(text: str, right: str) -> tuple[str, str]:
    """What differs first, by code points: both forms look the same."""
    start = next(
        (at for at, (character, other) in enumerate(zip(text, right, strict=False)) if character != other), len(right)
    )
    # What was composed has lost characters, so the rest is as long as it was, counted from the end.
    end = next(
        (at for at in range(1, len(right) - start + 1) if at > len(text) - start or text[-at] != right[-at]),
        len(right) - start + 1,
    )
    is_, should = text[start : len(text) - end + 1], right[start : len(right) - end + 1]
    message = f"this text is not in Unicode's composed form (NFC): it spells {_points(should)} as {_points(is_)}"
    return message, f"write {quoted(right)}"


def _points(text: str) -> str:
    points = [f"U+{ord(character):04X}" for character in text[:4]]
    return " ".join(points) + (" …" if len(text) > 4 else "")


def report_repeated(nodes: Node | None, twice: Trouble, findings: Findings) -> None:
    """Reports the items of a list that are called as one before them; ``{}`` in the message stands for the name."""
    first: dict[str, Origin] = {}
    for item in nodes.items if isinstance(nodes, SequenceNode) else ():
        name = item.get("name") if isinstance(item, MappingNode) else None
        if isinstance(name, ScalarNode):
            origin = findings.origin(name)
            if first.setdefault(name.plain, origin) != origin:
                trouble = twice._replace(message=twice.message.format(quoted(name.plain)))
                findings.add(trouble, name, related=[first[name.plain]])
