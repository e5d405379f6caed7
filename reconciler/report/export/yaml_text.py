"""YAML as people write it: plain texts where YAML allows, quotes where it does not, lists on one line if they fit."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.model.characters import is_visible

#: The longest line that is filled; a longer list gets a line for each item.
WIDTH: Final = 100

# Indicators that cannot start a plain text (YAML 1.2, 5.3), and words that other readers than ours type otherwise.
_STARTS: Final = "-?:,[]{}#&*!|>'\"%@`=~<"
_UNSAFE = re.compile(r":(\s|$)|\s#|[\[\]{}]")
_TYPED = re.compile(
    r"(?i:null|true|false|yes|no|on|off|y|n)|[-+]?(0[xob])?[0-9a-fA-F_]*[0-9][0-9_,:]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?"
    r"|[-+]?\.[0-9_]+([eE][-+]?[0-9]+)?|[-+]?\.(?i:inf|nan)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
)


def scalar(text: str, *, flow: bool = False) -> str:
    """One printable text, quoted only where needed; in ``flow`` collections a comma needs it too."""
    if _is_plain(text, flow=flow) and not _TYPED.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def value(text: str, *, flow: bool = False) -> str:
    """A text whose field has a type of its own, so that numbers and truths need no quotes."""
    return text if _is_plain(text, flow=flow) else scalar(text, flow=flow)


def _is_plain(text: str, *, flow: bool) -> bool:
    if not text or text != text.strip() or text[0] in _STARTS:
        return False
    return not _UNSAFE.search(text) and not (flow and "," in text)


def one_or_list(key: str, texts: Sequence[str], indent: int, *, always_list: bool = False) -> list[str]:
    """``key: a``, ``key: [a, b]``, or an item a line; ``indent`` in spaces."""
    margin = " " * indent
    if len(texts) == 1 and not always_list:
        return [f"{margin}{key}: {scalar(texts[0])}"]
    line = f"{margin}{key}: [{', '.join(scalar(text, flow=True) for text in texts)}]"
    if len(line) <= WIDTH:
        return [line]
    return [f"{margin}{key}:", *(f"{margin}  - {scalar(text)}" for text in texts)]


def mapping(key: str, items: Mapping[str, str], indent: int) -> list[str]:
    """``key: {a: 1, b: 2}``, or an item a line; the values' fields have types of their own."""
    margin = " " * indent
    pairs = ", ".join(f"{scalar(name, flow=True)}: {value(text, flow=True)}" for name, text in items.items())
    line = f"{margin}{key}: {{{pairs}}}"
    if len(line) <= WIDTH and len(items) < 4:
        return [line]
    return [f"{margin}{key}:", *(f"{margin}  {scalar(name)}: {value(text)}" for name, text in items.items())]


def document_head(kind: str, name: str) -> list[str]:
    """The first lines of a document, up to its ``spec``."""
    return ["apiVersion: reconciler/v1", f"kind: {kind}", f"metadata: {{name: {scalar(name, flow=True)}}}", "spec:"]


def comment(text: str) -> str:
    """A comment line in which no character can do anything; what could is written as an escape."""
    return "# " + "".join(letter if " " <= letter < "\x7f" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    if letter.isalnum() and is_visible(letter):
        return letter
    return letter.encode("unicode_escape").decode("ascii")
