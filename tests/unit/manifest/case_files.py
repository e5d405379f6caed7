"""Cases in text files: manifests, and the problems they have, word for word."""

import re
from pathlib import Path
from typing import NamedTuple

from reconciler.manifest.read.findings import Source

_ACLS = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n  rules:\n"
_TOPICS = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: a}\nspec:\n  topics:\n"
_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}|\\r")


class Case(NamedTuple):
    """One case; ``question`` is ``load``, or ``desired`` or ``warnings`` for a cluster on a day."""

    name: str
    sources: tuple[Source, ...]
    question: tuple[str, ...]
    expected: str


def read_cases(file: Path) -> list[Case]:
    """All cases of a file."""
    _, *parts = re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_case(f"{file.stem}: {part.partition(chr(10))[0]}", part) for part in parts]


def _case(name: str, part: str) -> Case:
    _, *sections = re.split(r"^--- (.+)\n", part, flags=re.MULTILINE)
    sources, question, expected = [], ("load",), ""
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        match title.split():
            case ["problems"]:
                expected = text.strip("\n")
            case ["acls"]:
                sources.append(Source("a.yaml", _ACLS + _indented(text)))
            case ["topics"]:
                sources.append(Source("a.yaml", _TOPICS + _indented(text)))
            case ["desired" | "warnings", *_]:
                question = tuple(title.split())
            case _:
                sources.append(Source(title, _ESCAPE.sub(_character, text)))
    return Case(name, tuple(sources), question, expected)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else "\r"
