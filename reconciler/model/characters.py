"""Which characters a person can see and tell apart, by the tables of one stated version of Unicode.

Not by ``unicodedata``: each Python has another version of it, and a manifest that is valid on a reviewer's machine has
to be valid, and mean the same, on the one that applies it. ``unicodedata2`` has the number of its Unicode version.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import Final, NamedTuple

#: Assigned and not of a format category, and yet they show nothing: fillers, joiners, variation selectors, blanks.
_BLANK: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u2d7f\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001107f\U00013440-\U00013442\U00013447-\U00013455\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
_BIDIRECTIONAL: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: What lines and columns are made of.
_LAYOUT: Final = "\t\n\r"
_ASTRAL: Final = "\U00010000-\U0010ffff"
_HIDDEN_SORTS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_WORDS: Final = {"Cc": "control", "Cs": "control", "Co": "private-use", "Cn": "unassigned"}


class Patterns(NamedTuple):
    """``hidden``: runs that may hold characters that nobody sees; ``unsafe`` each such character, or a blank one."""

    hidden: re.Pattern[str]
    unsafe: re.Pattern[str]


@cache
def patterns() -> Patterns:
    """The patterns of the first plane, and of all others together: those are asked for one by one.

    Made when the first text needs them, because they are not free.
    """
    codes = [code for code in range(0x10000) if chr(code) not in _LAYOUT and is_hidden(chr(code))]
    blanks = [code for code in range(0x80, 0x10000) if is_odd_blank(chr(code))]
    hidden = _class(codes)
    unsafe = _class([*codes, *blanks, *map(ord, _LAYOUT)])
    return Patterns(re.compile(f"[{hidden}]+|[{_ASTRAL}]+"), re.compile(f"[{unsafe}{_ASTRAL}]"))


def is_hidden(character: str) -> bool:
    """Whether nobody sees it, or sees what it is: controls, formats, private use, unassigned, and what is blank."""
    return category(character) in _HIDDEN_SORTS or _blank().match(character) is not None


def is_odd_blank(character: str) -> bool:
    """Whether it looks like a space and is another one, such as U+00A0 and U+3000."""
    return character != " " and category(character) == "Zs"


def hidden_in(text: str) -> Iterator[tuple[int, str]]:
    """The runs of hidden characters in a text of several lines, each with its position."""
    for found in patterns().hidden.finditer(text):
        if found[0][0] < "\U00010000":
            yield found.start(), found[0]
            continue
        position = found.start()
        for hidden, run in groupby(found[0], is_hidden):
            characters = "".join(run)
            if hidden:
                yield position, characters
            position += len(characters)


def is_visible(text: str) -> bool:
    """Whether ``text`` is on one line and every character of it is seen as what it is; spaces are plain ones.

    ``str.isprintable`` by one version of Unicode, and without what is printable and shows nothing.
    """
    if text.isascii():
        return text.isprintable()
    unsafe = patterns().unsafe.finditer(text)
    return not any(found[0] < "\U00010000" or is_hidden(found[0]) for found in unsafe)


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

    def replaced(found: re.Match[str]) -> str:
        # Beyond the first plane the pattern finds every character.
        return replace(found[0]) if found[0] < "\U00010000" or is_hidden(found[0]) else found[0]

    return patterns().unsafe.sub(replaced, text)


def sort_of(character: str) -> str:
    """``bidirectional``, ``control``, ``private-use``, ``unassigned`` or ``invisible``, of a hidden character."""
    return "bidirectional" if character in _BIDIRECTIONAL else _WORDS.get(category(character), "invisible")


def composed(text: str) -> str:
    """``text`` in Unicode's form NFC, in which one text has one spelling."""
    return text if text.isascii() else str(_tables().normalize("NFC", text))


def decomposed(text: str) -> str:
    """``text`` in Unicode's form NFD."""
    return text if text.isascii() else str(_tables().normalize("NFD", text))


@cache
def _tables() -> ModuleType:
    return import_module("unicodedata2")  # only texts that are not ASCII need it


@cache
def _blank() -> re.Pattern[str]:
    return re.compile(f"[{_BLANK}]")


def _class(codes: list[int]) -> str:
    """The inside of a character class."""
    ranges: list[list[int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)
