"""Simple commands of a shell script, as far as they can be read without running it."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_OPENS: Final = frozenset(("if", "for", "while", "until", "case", "select", "{", "("))
_CLOSES: Final = frozenset(("fi", "done", "esac", "}", ")"))
_BETWEEN: Final = frozenset(("then", "do", "else", "elif", "!", "time", "exec", "sudo"))
_FUNCTION: Final = re.compile(r"[\w-]+\(\)\{?")
_END: Final = re.compile(r"[;&|\n]+")
_SPACE: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+")


class Word(NamedTuple):
    """One word of a command; ``open`` says what only a shell can put in its place, ``None`` if it stands for itself."""

    text: str
    open: str | None = None


class Command(NamedTuple):
    """A command with its line. ``depth`` counts the loops, conditions, functions and subshells around it."""

    line: int
    words: tuple[Word, ...]
    depth: int


def commands(text: str) -> Iterator[Command]:
    """Every simple command, in order; raises ``ValueError`` with the line where a quotation never ends."""
    text += "\n"
    position, depth, words, line, counted = 0, 0, list[Word](), 1, 0
    while position < len(text):
        if blank := _SPACE.match(text, position):
            position = blank.end()
        elif text[position] == "#":
            position = text.index("\n", position)
        elif end := _END.match(text, position):
            depth, found = _finished(words, depth, line)
            yield from found
            words = []
            position = end.end()
        else:
            if not words:
                line, counted = line + text.count("\n", counted, position), position
            word, position = _word(text, position)
            words.append(word)
    yield from _finished(words, depth, line)[1]


def _finished(words: list[Word], depth: int, line: int) -> tuple[int, list[Command]]:
    """The depth after the command, and the command without the words that only open, close or join."""
    while words:
        first = words[0].text
        if first in _OPENS:
            depth += 1
        elif first in _CLOSES:
            depth = max(0, depth - 1)
        elif _FUNCTION.fullmatch(first):
            # The body begins with a brace, here or in a word of its own.
            depth += first.endswith("{")
        elif first == "function":
            words = words[1:]
        elif first not in _BETWEEN:
            break
        words = words[1:]
        if first in ("for", "case", "select"):
            return depth, []
    return depth, [Command(line, tuple(words), depth)] if words else []


def _word(text: str, position: int) -> tuple[Word, int]:
    """The word that begins there, and where it ends."""
    parts: list[str] = []
    unknown: str | None = None
    while position < len(text) and not (_SPACE.match(text, position) or _END.match(text, position)):
        letter = text[position]
        if letter in "'\"":
            end = _closing(text, position)
            inside = text[position + 1 : end]
            if letter == '"':
                unknown = unknown or _substitution(inside)
                # In double quotes a backslash escapes these four, and stays before anything else (POSIX 2.2.3).
                inside = re.sub(r'\\([\\"$`])', r"\1", inside.replace("\\\n", ""))
            parts.append(inside)
            position = end + 1
        elif text.startswith(("$(", "<(", ">("), position):
            end = _bracket(text, position + 1)
            unknown = unknown or "a variable or a command of the shell"
            parts.append(text[position : end + 1])
            position = end + 1
        elif letter == "\\":
            parts.append(text[position + 1 : position + 2])
            position += 2
        else:
            if letter in "*?[":
                unknown = unknown or "a pattern that the shell replaces by names of files"
            elif letter in "$`":
                unknown = unknown or "a variable or a command of the shell"
            parts.append(letter)
            position += 1
    return Word("".join(parts), unknown), position


def _bracket(text: str, start: int) -> int:
    """Where the bracket that opens there is closed; quotations in it are not looked at."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position
    raise ValueError(f"line {text.count(chr(10), 0, start) + 1}: a bracket never ends")


def _substitution(inside: str) -> str | None:
    return "a variable or a command of the shell" if re.search(r"(?<!\\)[$`]", inside) else None


def _closing(text: str, start: int) -> int:
    quote, position = text[start], start + 1
    while position < len(text):
        if text[position] == quote:
            return position
        position += 2 if quote == '"' and text[position] == "\\" else 1
    raise ValueError(f"line {text.count(chr(10), 0, start) + 1}: a quotation never ends")
