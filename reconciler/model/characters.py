"""Which characters a person can see and tell apart, by the tables of one stated version of Unicode.

Not by ``unicodedata``: each Python has another version of it, and a manifest that is valid on a reviewer's machine has
to be valid, and mean the same, on the one that applies it. ``unicodedata2`` has the number of its Unicode version.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

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
        yield from ((found.start(), found[0]) for found in re.finditer(runs, text))


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
