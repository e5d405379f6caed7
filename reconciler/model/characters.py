"""Characters and names that people read: what is visible, what looks alike, what is escaped, names in sentences.

Which characters a person can see and tell apart, by the tables of one stated version of Unicode.

Not by ``unicodedata``: each Python has another version of it, and a manifest that is valid on a reviewer's machine has
to be valid, and mean the same, on the one that applies it. ``unicodedata2`` has the number of its Unicode version.
"""

import re
import shlex
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from reconciler.model.acl import AclBinding, ResourcePattern

#: Assigned and not of a format category, and yet they show nothing: fillers, joiners, variation selectors, blanks.
_BLANK: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u2d7f\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001107f\U00013440-\U00013442\U00013447-\U00013455\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
_BIDIRECTIONAL: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: What lines and columns are made of.
_LAYOUT: Final = "\t\n\r"
_HIDDEN_SORTS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_WORDS: Final = {"Cc": "control", "Cs": "control", "Co": "private-use", "Cn": "unassigned"}


def is_hidden(character: str) -> bool:
    """Whether nobody sees it, or sees what it is: controls, formats, private use, unassigned, and what is blank."""
    return category(character) in _HIDDEN_SORTS or _blank().match(character) is not None


def is_odd_blank(character: str) -> bool:
    """Whether it looks like a space and is another one, such as U+00A0 and U+3000."""
    return character != " " and category(character) == "Zs"


def hidden_in(text: str) -> Iterator[tuple[int, str]]:
    """The runs of hidden characters in a text of several lines, each with its position."""
    # Each different character is asked for once: a table of all of them takes longer to make than most files to read.
    hidden = [c for c in set(text).difference(_LAYOUT) if is_hidden(c)]
    planes = ([c for c in hidden if c <= "\uffff"], [c for c in hidden if c > "\uffff"])
    runs = "|".join(f"[{re.escape(''.join(plane))}]+" for plane in planes if plane)
    if runs:
        yield from ((run.start(), run[0]) for run in re.finditer(runs, text))


def is_visible(text: str) -> bool:
    """Whether ``text`` is on one line and every character of it is seen as what it is; spaces are plain ones.

    ``str.isprintable`` by one version of Unicode, and without what is printable and shows nothing.
    """
    return _is_plain(text) or not any(map(_is_unsafe, set(text)))


def without_leading_blanks(text: str) -> str:
    """A setting as librdkafka takes it (``rd_kafka_anyconf_set_prop``): without what is blank to C at its start.

    So do the clients that are built on it, for Python, Go, .NET and Node.js; Java's client keeps them.
    """
    return text.lstrip(" \t\n\v\f\r")


def category(character: str) -> str:
    """The general category."""
    return str(_tables().category(character))


def code_point(character: str) -> str:
    """``U+0430``."""
    return f"U+{ord(character):04X}"


def named(character: str) -> str:
    """``U+0430 CYRILLIC SMALL LETTER A``."""
    return f"{code_point(character)} {_tables().name(character, '')}".rstrip()


def replace_unsafe(text: str, replace: Callable[[str], str]) -> str:
    """``text`` with each character that is hidden, blank or of another line replaced."""
    if _is_plain(text):
        return text
    unsafe = {ord(character): replace(character) for character in set(text) if _is_unsafe(character)}
    return text.translate(unsafe) if unsafe else text


def sort_of(character: str) -> str:
    """``bidirectional``, ``control``, ``private-use``, ``unassigned`` or ``invisible``, of a hidden character."""
    return "bidirectional" if character in _BIDIRECTIONAL else _WORDS.get(category(character), "invisible")


def composed(text: str) -> str:
    """``text`` in Unicode's form NFC, in which one text has one spelling."""
    return text if text.isascii() else str(_tables().normalize("NFC", text))


def decomposed(text: str) -> str:
    """``text`` in Unicode's form NFD."""
    return text if text.isascii() else str(_tables().normalize("NFD", text))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _is_unsafe(character: str) -> bool:
    return character in _LAYOUT or is_hidden(character) or is_odd_blank(character)


def compatible(text: str) -> str:
    """``text`` in Unicode's compatible composed form (NFKC): a wide or small sign is the plain one."""
    return text if text.isascii() else str(_tables().normalize("NFKC", text))


@cache
def _tables() -> ModuleType:
    return import_module("unicodedata2")  # only texts that are not ASCII need it


@cache
def _blank() -> re.Pattern[str]:
    return re.compile(f"[{_BLANK}]")


# Names that look like another name: Unicode's skeletons (UTS 39), and scripts that are mixed in one name.
#
# The table is generated (``tests/unit/model/confusables_table.py``). Two names look alike if their skeletons are
# equal; a skeleton is for comparison and is never shown.

#: The keys of a distinguished name: CN=, O=. They are Latin in every language.
_KEY: Final = re.compile(r"(?:^|[,+/])\s*[A-Za-z0-9.]+=")
#: Scripts that are written together (UTS 39, "highly restrictive"), each set with Latin.
_TOGETHER: Final = tuple(
    frozenset({"Latin", *scripts})
    for scripts in (("Han", "Hiragana", "Katakana"), ("Han", "Bopomofo"), ("Han", "Hangul"))
)

#: So many bytes for each name tell its skeleton from those of others.
_PLACES_EACH: Final = 8


class _Table(NamedTuple):
    """``prototypes`` by code point; the beginnings of ranges, their ends and scripts, in order."""

    prototypes: Mapping[int, str]
    starts: list[int]
    ranges: list[tuple[int, str]]


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The names, sorted, of each set of two or more that look alike; sets in order of their first."""
    by_skeleton: dict[str, list[str]] = {}
    for name in sorted(_perhaps_alike(names)):
        by_skeleton.setdefault(skeleton(name), []).append(name)
    yield from (tuple(alike) for alike in by_skeleton.values() if len(alike) > 1)


class LookAlikes:
    """The names that look like one of some: whatever number of others is seen, only those are kept."""

    def __init__(self, names: Iterable[str]) -> None:
        """Those that others may look like."""
        self._by_skeleton: dict[str, set[str]] = {}
        for name in names:
            self._by_skeleton.setdefault(skeleton(name), set()).add(name)

    def see(self, names: Iterable[str]) -> None:
        """Other names, and perhaps some of them."""
        for name in names:
            if (alike := self._by_skeleton.get(skeleton(name))) is not None:
                alike.add(name)

    def sets(self) -> Iterator[tuple[str, ...]]:
        """The names, sorted, of each set of two or more that look alike."""
        return (tuple(sorted(alike)) for alike in self._by_skeleton.values() if len(alike) > 1)


def _perhaps_alike(names: Iterable[str]) -> Iterator[str]:
    """Each name once whose skeleton another one may have: of a million names a table of all skeletons takes 200 MB."""
    distinct = names if isinstance(names, Set) else frozenset(names)
    hashes = array("q", (hash(skeleton(name)) for name in distinct))
    # A skeleton falls into a place of its own, as a rule; who shares one is looked at again.
    size = _PLACES_EACH * len(hashes)
    counts = bytearray(size)
    for item in hashes:
        place = item % size
        counts[place] = min(counts[place] + 1, 2)
    return (name for name, item in zip(distinct, hashes, strict=True) if counts[item % size] > 1)


@lru_cache(maxsize=1 << 12)  # a fleet's clusters have the same names
def skeleton(text: str) -> str:
    """The same for texts that look alike."""
    mapped = decomposed(text).translate(_table().prototypes)
    return decomposed(mapped)


def mixed_scripts(name: str) -> tuple[str, ...]:
    """The scripts of a name, or of a principal without its type, where nobody writes them together; else nothing."""
    if name.isascii():
        return ()
    _, colon, rest = name.partition(":")
    scripts = {script for character in _KEY.sub("", rest if colon else name) if (script := _script(character))}
    if len(scripts) < 2 or any(scripts <= together for together in _TOGETHER):
        return ()
    return tuple(sorted(scripts))


def _script(character: str) -> str:
    """Its script; empty for what belongs to none, such as digits, or to a version of Unicode that the table has not."""
    table, code = _table(), ord(character)
    place = bisect_right(table.starts, code) - 1
    if place < 0:
        return ""
    last, script = table.ranges[place]
    return script if code <= last else ""


@cache
def _table() -> _Table:
    prototypes: dict[int, str] = {}
    ranges: list[tuple[int, int, str]] = []
    for line in Path(__file__).with_name("confusables.txt").read_text(encoding="ascii").splitlines():
        key, separator, rest = line.partition(" = " if " = " in line else ": ")
        if line.startswith("#") or not separator:
            continue
        if separator == " = ":
            pairs = (run.split("-") for run in rest.split())
            ranges += [(int(first, 16), int(last, 16), key) for first, last in pairs]
        else:
            text = "".join(chr(int(code, 16)) for code in key.split("+"))
            prototypes.update((int(code, 16), text) for code in rest.split())
    ranges.sort()
    return _Table(prototypes, [first for first, _, _ in ranges], [(last, script) for _, last, script in ranges])


# Characters that steer a terminal, turn text around or hide: names, principals and brokers' messages may hold any.
#
# Text for people shows them by their code; JSON writes them as escapes, which read back to the same value.

_ASCII_UNSAFE = re.compile("[\x00-\x1f\x7f]")
#: What build servers would take for a command, so that text for people never has it.
_COMMAND = re.compile("(?<=#)#")


def escape_invisible(text: str) -> str:
    """``text`` on one line, every such character shown by its code."""
    return _unsafe_replaced(text, 4, "\\u")


def escape_invisible_json(text: str) -> str:
    """JSON with every such character escaped: the same value, and text that any encoding of Unicode can carry."""
    if text.isascii() and "\x7f" not in text:  # a plan or a snapshot may have 100 MB
        return text
    return replace_unsafe(text, _escaped_json)


def shell_quoted(text: str) -> str:
    """``text`` as one word to paste into a shell: what nobody could see, or output would show otherwise, by its code.

    ``$'…'`` is understood by bash, zsh and ksh; only names that need it are written so.
    """
    spelled = text.replace("\\", r"\\").replace("'", r"\'")
    safe = _COMMAND.sub(r"\\U00000023", _unsafe_replaced(spelled, 8, "\\U"))
    return shlex.quote(text) if safe == spelled else f"$'{safe}'"


def _unsafe_replaced(text: str, digits: int, escape: str) -> str:
    def escaped(character: str) -> str:
        return f"{escape}{ord(character):0{digits}x}"

    if text.isascii():
        return _ASCII_UNSAFE.sub(lambda match: escaped(match[0]), text)
    return replace_unsafe(text, escaped)


def _escaped_json(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r":  # between the values of a document
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


# Names inside sentences: where each begins and ends, and which characters it has.
#
# A principal may hold blanks, so it could write sentences of its own into a review: "User:nobody gains nothing.
# Nobody". A name that is more than one plain word stands in backticks, which no name inside of them can close. Text
# for a terminal keeps them; Markdown and HTML make code of them.

#: One word of ASCII, that no reader and no format takes for more.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:*/=,@+-]+")
#: So many different characters are named.
_SHOWN: Final = 4


def as_name(text: str) -> str:
    """``text`` in a sentence: as it is where it is one plain word, else ``ticked``."""
    return text if _PLAIN.fullmatch(text) else ticked(text)


def ticked(text: str) -> str:
    """``text`` in backticks, then the code points of what is not ASCII; its own backticks by their code."""
    inner = text.replace("`", "\\u0060")
    return f"`{inner}`{points(text)}"


def shortened(text: str, most: int) -> str:
    """At most ``most`` characters; a name in backticks that is cut keeps both: the rest of it is no sentence."""
    if len(text) <= most:
        return text
    open_name = text[: most - 1].count("`") % 2
    kept = text[: most - 2] if open_name else text[: most - 1]
    return f"{kept}…`" if open_name and kept.count("`") % 2 else f"{kept}…"


def pattern_name(pattern: ResourcePattern) -> str:
    """``TOPIC PREFIXED payments.`` in a sentence."""
    return str(pattern._replace(name=as_name(pattern.name)))


def binding_name(binding: AclBinding) -> str:
    """``User:alice ALLOW READ on TOPIC payments`` in a sentence."""
    entry = binding.entry._replace(principal=as_name(binding.entry.principal))
    return f"{entry} on {pattern_name(binding.pattern)}"


def with_points(text: str) -> str:
    """``text``, then the code points of what is not ASCII: letters of two scripts look alike."""
    return f"{text}{points(text)}"


def points(text: str) -> str:
    """`` (U+0430)``: the characters that are not ASCII, each once; empty where there are none.

    Those that nobody sees are not among them: reports show them by their code where they stand.
    """
    if text.isascii():
        return ""
    characters = [
        character for character in dict.fromkeys(text) if not character.isascii() and not is_hidden(character)
    ]
    if not characters:
        return ""
    return f" ({first_of(characters, _SHOWN, code_point)})"


# Text for people: safe to show on a terminal whatever a cluster's names hold, coloured where somebody looks.
#
# Principals and names are hostile input: control and bidirectional characters are shown by their code.

#: Takes a style (``add``, ``remove``, ``change``, ``warn``, ``error``, ``dim``, ``title``) and a text.
Style: TypeAlias = Callable[[str, str], str]

#: Besides those: what build servers take for a command wherever it stands, and what XML cannot carry.
_BESIDES = re.compile("(?<=#)#|^ *:(?=:[A-Za-z])|[\ufffe\uffff]")


def plain(_style: str, text: str) -> str:
    """No colour."""
    return text


def safe(text: str) -> str:
    """``text`` with every character that could steer a terminal or a build server, or hide, shown by its code."""
    return _BESIDES.sub(lambda match: f"{match.group()[:-1]}\\u{ord(match.group()[-1]):04x}", escape_invisible(text))


def counted(number: int, noun: str) -> str:
    """``1 topic``, ``2,000 topics``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(items: Sequence[Any], most: int, words: Callable[[Any], str] = str) -> str:
    """``a, b and 3 more``: the first ``most`` of them in words, and how many more there are."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(map(words, items[:most])) + more
