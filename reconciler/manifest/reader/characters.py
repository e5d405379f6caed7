"""Characters that no manifest may hold: a reviewer must see all that a machine reads, and tell it apart."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.source import quoted
from reconciler.model import Origin
from reconciler.model.characters import composed, hidden_in, is_odd_blank, named, sort_of

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
    yield from ((found.start(), found[0]) for found in _LONE_RETURN.finditer(text))


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
            breaks = [found.end() for found in _LINE.finditer(text)]
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
    if escapes and (found := "".join(characters for _, characters in forbidden_in(text))):
        message = f"{describe(found)} not allowed in a manifest, nor as an escape"
        return Trouble(Code.FORBIDDEN_CHARACTER, message, "remove it" if len(found) == 1 else "remove them")
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
    start = next((at for at, (one, other) in enumerate(zip(text, right, strict=False)) if one != other), len(right))
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
